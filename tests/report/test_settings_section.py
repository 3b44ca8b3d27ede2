"""The page's settings: what differs, by cost; what differs in its source only is alike."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec import structs

from dyno.report.sections.settings import SECTION
from report.book import make_book
from report.page_text import draw, words


def test_settings_that_differ_stand_by_cost_and_those_set_elsewhere_are_alike(
    tmp_path: Path,
) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=1)
    one = {"cache_size": "1", "synchronous": "off", "a_new": "1", "threads": "1"}
    two = {"cache_size": "2", "synchronous": "full", "a_new": "2", "threads": "1 (database)"}
    base = book.run.candidates[0].name
    trials = [
        structs.replace(trial, settings=one if trial.candidate == base else two)
        for trial in book.trials
    ]
    sides = tuple(structs.replace(side, engine="sqlite") for side in book.run.candidates)
    run = structs.replace(book.run, candidates=sides)
    drawn = words(draw(SECTION, dataclasses.replace(book, run=run, trials=trials)))
    places = [drawn.index(name) for name in ("synchronous", "cache_size", "a_new", "alike")]
    assert places == sorted(places)
    assert drawn.index("threads") > places[-1], "set in another place is the same value"


def test_settings_that_nobody_reported_are_not_told_as_equal(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("3.24.0", "3.54.1"), phases=1)
    silent = [structs.replace(trial, settings={}) for trial in book.trials]
    assert "No engine reported its settings" in words(
        draw(SECTION, dataclasses.replace(book, trials=silent))
    )
