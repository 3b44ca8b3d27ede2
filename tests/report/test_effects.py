"""A crossed run as a reader meets it: effects and spread on the page and on the terminal."""

from __future__ import annotations

import dataclasses
import html
import re
from pathlib import Path

import pytest
from crossed import SIZES, crossed, played
from judging import judge_unaudited
from msgspec import structs

from dyno import numbers
from dyno.record import Crossing
from dyno.report import Book, load_sections
from dyno.report.charts import Band, Dots, Note
from dyno.report.html import page
from dyno.report.sections import effects, spread
from report.page_text import draw, format_verdict

SECTIONS = load_sections()


def make_book(crossing: Crossing = "factorial") -> Book:
    """ASLR costs 5 %, and preloading nothing."""
    run = crossed(SIZES, crossing)
    figure = {"cell": "aslr=off preload=on", "figure": "1.09 %", "source": "an article"}
    run = structs.replace(run, published=(figure,))
    trials = played(run, lambda at: 0.05 * (at["aslr"] == "off"))
    return Book(Path(), run, trials, judge_unaudited(run, trials))


def rendered(name: str, book: Book) -> str:
    return draw(SECTIONS[name], book)


def words(page: str) -> str:
    plain = html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL))
    return re.sub(r"\s+", " ", plain)


def test_the_effects_are_dots_with_the_main_effects_on_top() -> None:
    ((metric, rows),) = effects.group_effects(
        effects.list_primary_effects(make_book().verdict.comparisons)
    )
    (panel,) = effects.draw_effects(metric, rows).panels
    band, *notes, dots = panel.marks
    assert isinstance(band, Band) and isinstance(dots, Dots)
    labels = {each.text: each.y for each in notes if isinstance(each, Note)}
    assert list(labels.values()) == [2.4, 1.4, 0.4]
    assert list(labels) == ["aslr=off", "preload=on", "aslr=off × preload=on"]
    assert [dot.y for dot in dots.dots] == [2, 1, 0]
    assert [dot.shape for dot in dots.dots] == ["full", "full", "hollow"]
    assert dots.dots[0].x == pytest.approx(5.1, abs=0.5)
    assert (band.y, band.x) == ((0.5, 2.5), (-2.0, 2.0))


def test_the_table_of_effects_says_what_decides_and_what_is_explored() -> None:
    said = words(rendered("effects", make_book()))
    assert "select / run / reader rate" in said and "aslr=off against aslr=on" in said
    assert said.count("exploratory") == 2 and "not slower, ≤ 0." in said and "(margin 2 %)" in said
    assert "aslr (control): on, off. preload (control): off, on." in said


def test_one_at_a_time_says_that_it_knows_no_interaction() -> None:
    said = words(rendered("effects", make_book("one at a time")))
    assert "says nothing of how factors act on each other" in said and "×" not in said


def test_the_spread_of_each_cell_is_a_table_and_so_is_that_of_each_level() -> None:
    book = make_book()
    said = words(rendered("spread", book))
    for side in book.run.candidates:
        assert said.count(side.name) == 1, "mean and worst of one metric are one number"
    assert "level mean range worst range mean CoV worst CoV" in said
    found = spread.summarize_levels(book.run, book.verdict.spread)
    levels = {name: own for name, *own in found}
    assert list(levels) == ["aslr=on", "aslr=off", "preload=off", "preload=on", "all cells"]
    own = [s.range_percent for s in book.verdict.spread if s.candidate.startswith("aslr=off")]
    assert levels["aslr=off"][:2] == [numbers.format_percent(v) for v in (sum(own) / 2, max(own))]


def test_levels_that_one_at_a_time_leaves_with_unequally_many_cells_are_not_compared() -> None:
    book = make_book("one at a time")
    assert "By level" not in rendered("spread", book)
    assert "all  " in format_verdict(book.run, book.verdict)


def test_a_main_effect_s_note_stands_below_it() -> None:
    book = make_book()
    first = structs.replace(book.verdict.comparisons[0], notes=("it depends",))
    verdict = structs.replace(book.verdict, comparisons=(first, *book.verdict.comparisons[1:]))
    assert "it depends" in words(rendered("effects", dataclasses.replace(book, verdict=verdict)))


def test_a_published_spread_stands_beside_the_cell_s_own() -> None:
    said = words(rendered("published", make_book()))
    assert re.search(r"1\.09 % an article 10 restarts, reader rate: range [\d.]+ %, CoV", said)


def test_the_page_holds_no_table_of_cells_against_the_base() -> None:
    book = make_book()
    told = words(rendered("verdict", book))
    assert "aslr=off against aslr=on" in told
    assert "against" not in told.partition("All numbers")[2].partition("Slowdown")[0]
    assert "Effects of the factors" in page.build_run_page(book)


def test_a_run_without_factors_has_no_effects() -> None:
    book = make_book()
    plain = structs.replace(book.run, factors=())
    assert draw(SECTIONS["effects"], dataclasses.replace(book, run=plain)) == ""


def test_the_terminal_fits_a_hundred_columns_and_ends_with_the_verdict() -> None:
    book = make_book()
    lines = format_verdict(book.run, book.verdict).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0] == "effects on select / run / reader rate, margin 2 %"
    said = " ".join(lines[-3:])
    assert "aslr=off is slower than aslr=on" in said
    bound = r"select is at most 0\.\d+ % slower \(margin 2 %\)$"
    assert re.search(rf"; preload=on is not slower than preload=off: {bound}", said)


def test_everything_shows_an_interaction_once() -> None:
    book = make_book()
    said = format_verdict(book.run, book.verdict, everything=True)
    assert said.count("aslr=off × preload=on") == 1
