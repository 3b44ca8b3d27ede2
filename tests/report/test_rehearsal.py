"""A rehearsal told: each section in all three renderers, and in the formats of other programs.

`DYNO_GOLDEN=write pytest tests/report` makes the files again; read their diff before a commit.
"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec import structs
from rehearsed import (
    EVERY,
    FAILS,
    NEW,
    OLD,
    OPTIONS,
    SAME,
    make_book,
    make_contents,
    make_rehearsal_run,
    make_timed,
)
from rich.console import Console

from dyno.judge.analysis.judge import judge
from dyno.record import ComparedStatement, Finding, FolderUpgrade, LeftOut
from dyno.record.integrity import IntegrityCheck
from dyno.report import Book
from dyno.report.document import Document, Listing, Prose, TextSpan
from dyno.report.export import build_result, to_json_result
from dyno.report.formats import find_format
from dyno.report.html.page import build_run_page
from dyno.report.rehearsal import (
    build_first_rows,
    build_rehearsal,
    list_explained,
    list_settings,
    list_upgrade,
)
from dyno.report.render.html import render_html
from dyno.report.render.markdown import render_markdown
from dyno.report.render.terminal import render_terminal
from report.test_text import check

HOSTILE = "<script>alert('@you')</script>\x1b[31m|`"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """All words, with a doubt and a block that was dropped left out."""
    made = make_book(tmp_path_factory.mktemp("run"))
    doubt = Finding("noise", "doubtful", "others took 12 % of the CPU")
    return dataclasses.replace(made, verdict=structs.replace(made.verdict, findings=(doubt,)))


def draw(document: Document, width: int = 80) -> str:
    console = Console(width=width, color_system=None, highlight=False, markup=False)
    with console.capture() as drawn:
        console.print(render_terminal(document))
    return "\n".join(line.rstrip() for line in drawn.get().splitlines()) + "\n"


def test_every_section_on_a_terminal_is_as_it_was(book: Book) -> None:
    check("rehearsal.txt", draw(build_rehearsal(book)))


def test_every_section_in_html_is_as_it_was(book: Book) -> None:
    check("rehearsal.html", f"{render_html(build_rehearsal(book))}\n")


def test_every_section_in_markdown_is_as_it_was(book: Book) -> None:
    check("rehearsal.md", render_markdown(build_rehearsal(book)) + "\n")


def test_a_first_screen_begins_with_the_first_line_and_shows_each_grave_class(book: Book) -> None:
    told = draw(build_first_rows(book), 110)
    assert told.startswith("Of 8 statement classes 1 fails on 18, 1 answers differently")
    for each in EVERY[:6]:
        assert each.text in told
    assert FAILS.why in " ".join(told.split()) or "does not exist" in told
    assert SAME.text not in told and "doubtful by noise" in told


@pytest.mark.parametrize("width", [60, 80, 110])
def test_no_line_of_a_rehearsal_is_wider_than_the_screen(book: Book, width: int) -> None:
    assert max(map(len, draw(build_first_rows(book), width).splitlines())) <= width


def test_text_of_others_is_no_markup_anywhere() -> None:
    document: Document = [
        Prose((TextSpan(HOSTILE), TextSpan(HOSTILE, code=True))),
        Listing(HOSTILE, HOSTILE),
    ]
    assert "<script" not in render_html(document)
    told = render_markdown(document)
    prose, _, listing = told.partition("```")
    assert "<script" not in prose and "@you" not in prose and "\x1b" not in told
    assert "\x1b" not in draw(document) and listing


def test_the_page_has_the_first_line_as_its_title_and_every_section_once(book: Book) -> None:
    page = build_run_page(book)
    assert f"<h1>{book.verdict.sentence.replace(' %', chr(0xA0) + '%')}</h1>" in page
    for anchor in ("classes", "time", "tables", "uncompared", "doubts", "played"):
        assert page.count(f'<section id="{anchor}"') == 1
    places = [page.index(f'<section id="{it}"') for it in ("classes", "time", "doubts", "played")]
    assert places == sorted(places)


def test_settings_of_one_release_and_other_values_are_listed(book: Book) -> None:
    told = draw(list_settings(book))
    for words in ("1 setting only 13 has", "1 setting at another value", "1 setting only 18 has"):
        assert words in told
    assert all(name in told for name in ("gone_option", "jit", "new_option"))
    assert "work_mem" not in told and "version" not in told


def test_a_class_is_a_test_case_of_junit(book: Book) -> None:
    suites = ElementTree.fromstring(str(find_format("junit").render(build_result(book), False)))
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("9", "4", "1")
    first = suites.find(".//testcase/failure")
    assert first is not None and first.text == FAILS.example
    assert (first.get("message") or "").startswith("fails: ERROR: function gone")


def test_github_is_told_of_each_class_that_needs_a_reader(book: Book) -> None:
    told = str(find_format("github").render(build_result(book), False))
    assert [line.partition(" ")[0] for line in told.splitlines()] == [
        *("::error", "::error", "::error", "::warning", "::error", "::error")
    ]


def test_markdown_begins_with_the_first_line(book: Book) -> None:
    told = str(find_format("markdown").render(build_result(book), False))
    marker, first = told.splitlines()[:2]
    assert marker.startswith("<!-- dyno: a rehearsal of ")
    assert first.startswith("#### ⛔ Of 8 statement classes 1 fails on 18") and "Next: " in first


def test_a_rehearsal_of_which_nothing_was_compared_says_why(tmp_path: Path) -> None:
    book = make_book(tmp_path, ())
    assert "Too little was judged" in build_run_page(book) or "Nothing was" in build_run_page(book)
    assert draw(build_first_rows(book)).startswith("Nothing was compared: the log has no statement")


def test_options_stand_with_both_servers_words_and_those_not_applied_by_name(
    tmp_path: Path,
) -> None:
    made = make_book(tmp_path, options=OPTIONS)
    told = draw(build_rehearsal(made), 200)
    row = next(line for line in told.splitlines() if "gone = a b" in line)
    assert all(it in row for it in ("fails", "use other_option", "unknown variable 'gone=a b'"))
    assert "soft = 1" in told and "port = 3307" not in told
    assert "1 of 3 options are taken alike." in told
    assert "not applied on this host: port (connections)." in told
    first = draw(build_first_rows(made), 200)
    assert "gone = a b" in first and "soft" not in first
    junit = ElementTree.fromstring(find_format("junit").render(build_result(made), strict=False))
    cases = {
        it.get("name"): it for it in junit.iter("testcase") if "option" in it.get("classname", "")
    }
    assert {name for name, it in cases.items() if it.find("failure") is not None} == {"gone"}
    assert len(cases) == 3


def test_an_upgraded_folder_stands_with_its_time_its_words_and_what_was_checked(
    tmp_path: Path,
) -> None:
    checks = (
        IntegrityCheck("table t"),
        IntegrityCheck("table u", unchecked="no means"),
        IntegrityCheck("table v", ("Corrupt",)),
    )
    book = make_book(tmp_path)
    found = book.verdict.rehearsal
    assert found and not list_upgrade(found)
    made = structs.replace(found, upgrade=FolderUpgrade(2.5, "Upgrade complete", checks))
    told = draw(list_upgrade(made), 120)
    assert "18 took over the data folder that 13 had loaded, in 2.50 s." in told
    rows = [line.split() for line in told.splitlines() if "table" in line]
    assert [row[0] for row in rows] == ["faults", "not", "sound"], told
    assert "Corrupt" in told and "no means" in told and "Upgrade complete" in told


LEFT = (
    LeftOut("log", 3, "not understood", "line 5: MAGIC, …"),
    LeftOut("dump", 2, "GRANT", "line 9"),
)


@pytest.mark.parametrize("hides", [False, True])
def test_what_nobody_played_of_log_and_dump_stands_wherever_a_rehearsal_is_told(
    tmp_path: Path, hides: bool
) -> None:
    made = make_book(tmp_path, left_out=LEFT, hides_literals=hides)
    assert "3 of the log (not understood), 2 of the dump (GRANT)" in draw(
        build_first_rows(made), 200
    )
    json = to_json_result(made.verdict)["rehearsal"]["left_out"]
    assert [(it["of"], it["count"], it["why"]) for it in json] == [
        (it.of, it.count, it.why) for it in LEFT
    ]
    for told in (
        build_run_page(made),
        str(find_format("markdown").render(build_result(made), False)),
        str(json),
    ):
        assert "not understood" in told and ("MAGIC" in told) is not hides
    assert "Left out" not in draw(build_first_rows(make_book(tmp_path)), 200)


def test_results_too_large_to_be_held_are_counted_as_not_compared_with_their_reason(
    tmp_path: Path,
) -> None:
    why = "answers take more than the 64 MiB that they may"
    large = ComparedStatement("SELECT * FROM t", "read", same=5, not_compared=2, why=why)
    made = make_book(tmp_path, (large, SAME))
    rows = [it.split() for it in draw(build_rehearsal(made), 120).splitlines()]
    assert ["not", "compared", "2"] in rows and [*why.split(), "2"] in rows


def test_of_the_worst_five_that_read_a_command_explains_both_sides(tmp_path: Path) -> None:
    slow = [
        ComparedStatement(f"SELECT {n}", "read", same=10 * n, name=f"s{n}", example=f"SELECT '{n}'")
        for n in range(1, 8)
    ]
    write = ComparedStatement("DELETE", "delete", same=999, name="w", example="DELETE FROM t")
    made = make_book(tmp_path, (*slow, write))
    assert not list_explained(made), "none is slower"
    run = make_rehearsal_run()
    sides = [structs.replace(it, spec=f"{it.name}={it.name}?a=b") for it in run.candidates]
    run = structs.replace(run, candidates=(*sides,))
    factors = {it.name: 2.0 for it in (*slow, write)}
    trials = [*make_contents((*slow, write)), *make_timed(factors)]
    (listing,) = list_explained(Book(tmp_path, run, trials, judge(run, trials, audits={})))
    assert isinstance(listing, Listing)
    lines = [shlex.split(it) for it in listing.text.splitlines()]
    assert [it[3] for it in lines] == [f"SELECT '{n}'" for n in range(7, 2, -1)]
    assert all(it[:3] == ["dyno", "explain", OLD] and it[-2:] == ["--against", NEW] for it in lines)
