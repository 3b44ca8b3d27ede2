"""The section of loads and sizes: a table where a script counted bytes, and none elsewhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec import structs

from dyno.record import Conditions, DataCondition, Phase, Primary, Trial
from dyno.report import Book
from dyno.report.sections.sizes import SECTION
from report.book import make_book
from report.page_text import draw

#: Bytes of a table, of its indexes and of all files: of the base, and twice as many of the others.
BYTES = {"data_bytes": 3_000_000, "index_bytes": 0}
FILES = 4_000_000


def weighed(trial: Trial, base: str) -> Trial:
    factor = 1 if trial.candidate == base else 2
    counters = {name: factor * size for name, size in BYTES.items()} | {"loaded": 9}
    conditions = Conditions(data=DataCondition(size_bytes=factor * FILES))
    return structs.replace(trial, counters=counters, conditions=conditions)


def loaded_book(folder: Path) -> Book:
    book = make_book(folder)
    (workload,) = book.run.workloads
    first: Phase = workload.phases[0]
    primary = structs.replace(first, primary=(Primary("insert", "rate_per_s"),))
    phases = (primary, *workload.phases[1:])
    run = structs.replace(book.run, workloads=(structs.replace(workload, phases=phases),))
    trials = [weighed(trial, run.design.base) for trial in book.trials]
    return dataclasses.replace(book, run=run, trials=trials)


def test_rates_and_sizes_stand_beside_one_another_and_against_the_base(tmp_path: Path) -> None:
    page = draw(SECTION, loaded_book(tmp_path))
    assert page
    heads = [part.partition("<")[0] for part in page.split('class="n">')[1:4]]
    assert heads[0].startswith("l.i0, ") and heads[1:] == ["data", "index"]
    for text in ("3.00 MB", "6.00 MB", "2.00×", "4.00 MB", "8.00 MB", "0 B"):
        assert text in page, text
    assert "loaded" not in page.partition("<p")[0]


def test_a_run_whose_scripts_counted_no_bytes_has_no_such_section(tmp_path: Path) -> None:
    assert draw(SECTION, make_book(tmp_path)) == ""
