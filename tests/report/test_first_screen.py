"""The first screen of a run on a terminal: one headline, intervals drawn, reasons in sight.

`DYNO_GOLDEN=write pytest tests/report` makes first-screen.txt again; read its diff before a commit.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console
from rich.text import Text

from dyno.record import Cause, Comparison, Doubt, Finding, Metric, Run
from dyno.record.cause import CauseClause
from dyno.report import Book
from dyno.report.headline import build_headline, choose_rows, describe_largest, list_reasons
from dyno.report.names import describe_candidate, name_measurements
from dyno.report.render.plotted_table import draw_interval, draw_labels, make_axis
from dyno.report.render.terminal import render_terminal
from dyno.report.sections.verdict import build_first_screen
from report.book import make_book
from report.test_text import check

WORDS = {"slower": 6.0, "not slower": 0.1, "faster": -30.0, "inconclusive": 3.0, "invalid": 0.0}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"))


def draw(book: Book, width: int = 80, **colour: Any) -> str:
    console = Console(width=width, highlight=False, markup=False, **colour)
    with console.capture() as drawn:
        console.print(render_terminal(build_first_screen(book)))
    return "\n".join(line.rstrip() for line in drawn.get().splitlines()) + "\n"


def row(verdict: Any, phase: str = "run", candidate: str = "new", **changes: Any) -> Comparison:
    """A comparison of this word, in a phase of its own."""
    metric = Metric("insert", phase, "insert", "rate_per_s", "row/s", "higher")
    size = WORDS[verdict]
    numbers = (100.0, 100.0, -size, size, size - 1, size + 1, 2.0)
    made = Comparison(metric, True, "old", candidate, *numbers, 6, 0, 1.0, 1.0, 0.5, verdict)
    return structs.replace(made, **changes)


def with_rows(book: Book, *rows: Comparison, **changes: Any) -> Book:
    """The book with these comparisons and no others, of a run that is plain."""
    plain: dict[str, Any] = {"findings": (), "causes": (), "reason": "", "complete": True}
    words = ("invalid", "slower", "inconclusive", "faster", "not slower")
    worst = min((each.verdict for each in rows), key=words.index)
    overall = "not slower" if worst == "faster" else worst
    made = structs.replace(book.verdict, comparisons=rows, overall=overall, **(plain | changes))
    return dataclasses.replace(book, verdict=made)


def test_the_first_screen_is_as_it_was(book: Book) -> None:
    check("first-screen.txt", draw(book))


@pytest.mark.parametrize("width", [60, 80, 110])
def test_no_line_is_wider_than_the_screen(book: Book, width: int) -> None:
    assert max(map(len, draw(book, width).splitlines())) <= width


def test_it_says_the_same_without_colour(book: Book) -> None:
    coloured = draw(book, force_terminal=True, color_system="standard")
    assert "\x1b[" in coloured
    stripped = "\n".join(Text.from_ansi(line).plain.rstrip() for line in coloured.splitlines())
    assert stripped + "\n" == draw(book, force_terminal=False)


def test_an_interval_stands_between_the_lines_of_its_margin_and_of_zero() -> None:
    one = row("not slower", slowdown_percent=1.0, low_percent=0.5, high_percent=1.5)
    axis = make_axis([one], 42)
    drawn, labels = draw_interval(axis, one), draw_labels(axis, [one])
    assert len(drawn) == len(labels) == 42
    assert [drawn.index(mark) for mark in "┆│├●┤"] == sorted(drawn.index(m) for m in "┆│├●┤")
    assert drawn.rindex("┆") > drawn.index("┤")
    assert labels.split() == ["−2", "%", "0", "+2", "%"]
    assert labels.index("0") == drawn.index("│")


def test_an_interval_that_no_axis_holds_is_cut_with_an_arrow_and_no_number_draws_no_dot() -> None:
    wild = row("inconclusive", slowdown_percent=40.0, low_percent=-20.0, high_percent=900.0)
    assert draw_interval(make_axis([wild], 30), wild).endswith("▸")
    none = row("inconclusive", slowdown_percent=math.nan, low_percent=math.nan)
    assert "●" not in draw_interval(make_axis([none, wild], 30), none)


def test_a_headline_says_who_is_faster_in_how_many_and_what_is_open(book: Book) -> None:
    def told(*rows: Comparison) -> str:
        made = with_rows(book, *rows)
        return build_headline(made.run.candidates, made.verdict)

    gains = [row("faster", phase) for phase in "abc"]
    assert told(*gains, row("inconclusive", "d")) == (
        "new is faster than old in 3 of 4 measurements; 1 is inconclusive"
    )
    assert told(row("slower", "a"), row("faster", "b"), row("not slower", "c")) == (
        "new is slower than old in 1 of 3 measurements, faster in 1"
    )
    assert told(row("not slower", "a"), row("not slower", "b")) == (
        "new is not slower than old in any of 2 measurements"
    )
    assert told(row("not slower", low_percent=-1.0, high_percent=0.7)) == (
        "new is not slower than old: it is at most 0.70 % slower (margin 2 %)"
    )
    assert told(row("slower")) == "new is slower than old: it takes 6.0 % more time [5.0, 7.0]"
    assert told(row("invalid")) == "Invalid: the figures say nothing"
    assert "1.4× faster" in told(row("faster"))


def test_a_headline_says_that_a_declared_metric_is_missing(book: Book) -> None:
    made = with_rows(book, row("faster"))
    verdict = structs.replace(made.verdict, overall="inconclusive")
    told = build_headline(made.run.candidates, verdict)
    assert told.startswith("Inconclusive, since a primary metric was not measured: new is faster")


def test_with_many_candidates_the_worst_are_named_first_and_the_others_counted(book: Book) -> None:
    rows = [row("not slower", candidate=name) for name in "abcd"] + [row("slower", candidate="z")]
    made = with_rows(book, *rows)
    told = build_headline(made.run.candidates, made.verdict)
    assert told.startswith("z is slower than old")
    assert told.endswith("2 more candidates: 2 not slower")


def test_of_candidates_of_which_nothing_is_settled_it_is_said_once(book: Book) -> None:
    rows = [row("inconclusive", phase, name) for phase in "ab" for name in ("new", "newer")]
    made = with_rows(book, *rows)
    assert build_headline(made.run.candidates, made.verdict) == (
        "Inconclusive in all 2 measurements: new and newer may be slower than old or not"
    )


def test_what_is_cut_of_many_rows_is_never_the_worst_and_is_counted(book: Book) -> None:
    fine = [row("not slower", f"fine{at}") for at in range(22)]
    rows = [*fine[:10], row("slower", "bad"), row("inconclusive", "open"), *fine[10:]]
    made = with_rows(book, *rows)
    told = draw(made)
    assert "bad" in told
    assert "open" in told
    assert "12 more rows (12 not slower) not shown: dyno show" in told
    bad = [row("slower", f"bad{at}", slowdown_percent=float(at)) for at in range(20)]
    kept = choose_rows(name_measurements(made.run, bad), 5)
    assert [it.row.slowdown_percent for it in kept] == [15, 16, 17, 18, 19]


def test_why_a_run_is_invalid_doubtful_or_open_stands_in_its_first_screen(book: Book) -> None:
    finding = Finding("debug_build", "invalid", "old has assertions on")
    invalid = with_rows(book, row("invalid"), findings=(finding,))
    assert "debug_build: old has assertions on" in draw(invalid)
    doubt = Doubt("settings", "new logs every statement")
    doubtful = with_rows(book, row("faster", doubts=(doubt,)))
    told = draw(doubtful)
    assert told.startswith("Doubtful: new is faster than old")
    assert "settings: new logs every statement" in told
    assert "faster, doubtful" in told
    noisy = with_rows(book, row("inconclusive"), reason="this host is too noisy: 4 of 8 blocks")
    assert "This host is too noisy: 4 of 8 blocks" in draw(noisy)
    partial = with_rows(book, row("faster"), complete=False)
    assert "not complete" in draw(partial)
    wide = with_rows(book, row("inconclusive", mde80_percent=7.5))
    assert "6 blocks tell a slowdown of 7.5 % or more" in " ".join(draw(wide).split())


def test_reasons_beyond_three_are_counted(book: Book) -> None:
    found = tuple(Finding(f"audit{at}", "invalid", "so it is") for at in range(5))
    made = with_rows(book, row("invalid"), findings=found)
    assert list_reasons(made.verdict, ())[-1] == "and 2 more reasons, in the report"


def tell_largest(book: Book) -> str:
    return describe_largest(book.verdict, name_measurements(book.run, book.verdict.comparisons))


def test_the_largest_effect_is_told_of_several_and_a_loss_before_a_gain(book: Book) -> None:
    rows = [row("slower", "a"), row("faster", "b"), row("faster", "c", slowdown_percent=-40.0)]
    made = with_rows(book, *rows)
    assert tell_largest(made).startswith("largest loss: ")
    made = with_rows(book, *rows[1:])
    assert "takes 40 % less time" in tell_largest(made)
    assert "1.7× faster" in tell_largest(made)
    assert not tell_largest(with_rows(book, rows[0]))


def titled(run: Run, **titles: str) -> Run:
    (plan,) = run.workloads
    phases = tuple(structs.replace(p, title=titles.get(p.name, "")) for p in plan.phases)
    return structs.replace(run, workloads=(structs.replace(plan, phases=phases),))


def test_a_measurement_is_called_by_its_phases_title_and_its_own_name_stands_small(
    book: Book,
) -> None:
    names = [phase.name for phase in book.run.workloads[0].phases][:2]
    run = titled(book.run, **{names[0]: "load in key order"})
    found = name_measurements(run, [row("faster", name) for name in names])
    assert [it.title for it in found] == ["load in key order", f"insert / {names[1]}"]
    assert [it.name for it in found] == [f"insert / {name}" for name in names]
    same = titled(book.run, **dict.fromkeys(names, "load"))
    found = name_measurements(same, [row("faster", name) for name in names])
    assert [it.title for it in found] == [f"load (insert / {name})" for name in names]


def test_a_candidate_says_engine_version_build_and_what_differs(book: Book) -> None:
    side = structs.replace(
        book.run.candidates[0],
        build={"version": "9.9", "compiler": "cc (Debian 12.2.0-14) 12.2.0", "cflags": "-O2"},
        settings={"journal_mode": "wal"},
        controls={},
    )
    told = describe_candidate(side)
    assert told == f"{side.engine} 9.9, gcc 12.2.0 -O2, journal_mode=wal"
    tree = {**side.build, "source": "git /my trees/db HEAD~1 (9e111d549d17)"}
    told = describe_candidate(structs.replace(side, build=tree), with_build=False)
    assert told == f"{side.engine} 9.9 of commit 9e111d549d17, journal_mode=wal"


def test_of_a_long_cause_the_first_clauses_are_told_and_that_it_does_not_explain(
    book: Book,
) -> None:
    clauses = [CauseClause(f"clause {at}", "layers") for at in range(6)]
    clauses.append(CauseClause("nothing that was looked at is shown to explain the difference", ""))
    cause = Cause("new", "all of it", clauses=tuple(clauses))
    told = " ".join(draw(with_rows(book, row("slower"), causes=(cause,))).split())
    assert "clause 2; nothing that was looked at is shown to explain the difference; 3 more" in told
    assert "clause 3" not in told
