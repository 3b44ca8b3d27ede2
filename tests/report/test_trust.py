"""What the verdict rests on: the page's block and the terminal's lines, from the same facts."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from fakes import make_load
from msgspec import structs

from dyno.host import controls
from dyno.record import Doubt, Finding, Observation, Pilot
from dyno.report import Book, basis, facts
from dyno.report.document import Prose
from dyno.report.html import page
from dyno.report.render.html import render_html
from dyno.report.sections.audits import SECTION as AUDITS
from dyno.report.sections.trust import SECTION
from report.book import make_book
from report.page_text import changed, draw, said, terminal, words


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_book(tmp_path_factory.mktemp("run"), phases=2)


def found(book: Book, *findings: Finding) -> Book:
    return dataclasses.replace(book, verdict=structs.replace(book.verdict, findings=findings))


def test_restarts_and_losses_are_told_with_their_reasons(book: Book) -> None:
    told = said(book)
    assert "18 restarts in 6 blocks, the data loaded anew for each." in told
    assert "insert block 4 dropped: foreign CPU 14.2 % > 10 %" in told
    assert re.search(r"trial 16 \([^)]+\) failed: the driver was killed", told)
    assert re.search(r"vary by [\d.]+ % to [\d.]+ % \(CoV\), most in .* best to worst", told)


def test_blocks_are_counted_from_1_as_the_progress_of_a_run_counts_them(book: Book) -> None:
    """The run's first block is number 0 in its records."""
    assert "insert, block 4: foreign CPU 14.2 % > 10 %" in terminal(book)
    rendered = draw(AUDITS, book)
    assert rendered and '<b class="strong">insert, block 4</b>: foreign CPU' in rendered


def test_where_nothing_was_lost_the_limits_still_stand(book: Book) -> None:
    kept = [t for t in book.trials if t.status == "ok" and t.block != 3]
    verdict = structs.replace(book.verdict, dropped=())
    told = said(dataclasses.replace(book, trials=kept, verdict=verdict))
    assert "Nothing was dropped, failed or begun anew." in told
    assert "Limits declared before: foreign ≤ 10 %, steal ≤ 5 %." in told


def test_loads_that_come_again_are_counted(book: Book) -> None:
    kept = [
        structs.replace(t, conditions=structs.replace(t.conditions, load=make_load()))
        for t in book.trials
    ]
    told = said(dataclasses.replace(book, trials=kept))
    assert "18 restarts in 6 blocks, on 1 load of insert for each candidate." in told


def test_an_audit_that_is_not_sound_stands_open_with_its_trials_the_others_folded(
    book: Book,
) -> None:
    drawn = draw(SECTION, book)
    doubtful, sound = drawn.index("client_share"), drawn.index('<b class="strong">ledger</b>')
    assert doubtful < drawn.index("<details>") < sound
    assert '<a href="#trial-2">2</a>, <a href="#trial-5">5</a>' in drawn
    assert "1 doubtful, 1 sound." in words(drawn)


def test_the_worst_audit_comes_first(book: Book) -> None:
    findings = (Finding("a", "sound", "x"), Finding("b", "doubtful", "y"))
    judged = found(book, *findings, Finding("c", "invalid", "z"))
    assert "1 invalid, 1 doubtful, 1 sound." in said(judged)
    assert "No audit has judged this run." in said(found(book))


def test_what_was_not_checked_is_counted_apart_and_stands_with_its_reason(book: Book) -> None:
    judged = found(
        book, Finding("a", "sound", "x"), Finding("b", "not checked", "nobody was asked")
    )
    assert "1 sound, 1 not checked." in said(judged)
    drawn = draw(SECTION, judged)
    assert drawn.index("what was not checked, and why") < drawn.index("nobody was asked")
    assert drawn.index("nobody was asked") < drawn.index("what was found sound")
    assert "what was not checked, and why: b" in terminal(judged)


def test_what_does_not_apply_is_counted_apart_from_what_could_not_be_seen(book: Book) -> None:
    none = [Finding(name, "does not apply", f"there is no {name}") for name in ("c", "d")]
    blind = Finding("b", "not checked", "nobody was asked")
    judged = found(book, Finding("a", "sound", "x"), blind, *none)
    assert "1 sound, 1 not checked, 2 do not apply." in said(judged)
    assert "1 sound, 1 not checked, 2 do not apply." in terminal(judged)
    assert "1 does not apply" in terminal(found(book, none[0]))
    drawn = draw(SECTION, judged)
    assert drawn.index("nobody was asked") < drawn.index("what does not apply to this run")
    assert '<b class="strong">d</b>: there is no d' in drawn
    assert '<b class="quiet">2 do not apply' in page.build_run_page(judged)


def test_controls_that_differ_or_could_not_be_held_stand_open(book: Book) -> None:
    told = said(book)
    assert "≠ aslr on (3.24.0, 3.54.1), off (3.54.1 -O3): the candidates differ in it" in told
    assert "governor not controllable here: no cpufreq" in told
    summary = (
        "aslr on (3.24.0, 3.54.1), off (3.54.1 -O3), pinning apart (driver and engine on core 1); "
        "1 more are left as this host has them; not available here: turbo"
    )
    assert f"5 controls: {summary}" in told
    assert summary in terminal(book)


def test_a_control_s_row_has_what_was_found_and_done(book: Book) -> None:
    told = said(book)
    assert "pinning apart apart apart 0,1 driver 1; engine 1" in told
    assert "thp keep keep keep madvise" in told


def test_the_word_of_a_control_that_could_do_nothing_is_the_controls_own() -> None:
    assert (basis.REFUSED, basis.KEEP) == (controls.NOT_HERE, controls.KEEP)


def test_what_the_pilot_chose_is_told(book: Book) -> None:
    empty_ns = {"apart": 66_400, "together": 4_100}
    piloted = changed(book, pilot=Pilot("together", empty_ns))
    sentence = "Pinning together: an empty answer takes 66 µs between two cores and 4 µs on one."
    assert sentence in said(piloted) and sentence not in said(book)
    assert sentence in terminal(piloted)


def test_the_host_is_told_worst_first_and_what_could_not_be_seen(book: Book) -> None:
    told = said(book)
    assert "Example 9000, 2 cores, kernel 6.1.0" in told
    assert "76 of 100. Not visible there: governor." in told
    assert told.index("poor swap: 1.0 of 8.0 GB") < told.index("fair CPU: Example 9000")
    assert "poor swap: 1.0 of 8.0 GB" in terminal(book)


def test_a_host_that_nobody_looked_at_is_not_a_good_one(book: Book) -> None:
    assert "Not surveyed when the run began" in said(changed(book, survey=None))
    assert "100 of 100: nothing that could be seen" in said(changed(book, survey=()))


def test_many_observations_are_folded(book: Book) -> None:
    survey = tuple(Observation(f"n{at}", "f", "fair", "w", "h", 4) for at in range(8))
    assert "3 that weigh less" in said(changed(book, survey=survey))


def test_every_link_on_the_page_leads_somewhere(book: Book) -> None:
    drawn = page.build_run_page(book)
    assert not set(re.findall(r'href="#([^"]+)"', drawn)) - set(re.findall(r'id="([^"]+)"', drawn))
    assert "#trial-2" in draw(AUDITS, book)


def test_a_long_row_of_trials_is_cut(book: Book) -> None:
    told = words(render_html([Prose(facts.link_trials(range(1, 31)))])).strip()
    assert told == "1, 2, 3, 4, 5, 6, 7, 8 and 22 more"


def test_each_trial_says_whether_it_counts(book: Book) -> None:
    drawn = words(page.build_run_page(book))
    assert drawn.count("Z yes") == 18
    assert drawn.count("no: its block was dropped") == 3
    assert drawn.count("no: failed") == 1


def test_a_run_that_has_nothing_yet_can_be_told(tmp_path: Path) -> None:
    book = make_book(tmp_path, ("old", "new"), blocks=2, phases=1)
    verdict = type(book.verdict)("invalid", "no trial ended well", False, (), (), ())
    empty = changed(Book(tmp_path, book.run, [], verdict), survey=None, calibration=None)
    assert "no restart counts." in said(empty)
    assert "no restart counts." in terminal(empty)


def test_the_first_screen_says_whether_the_verdict_is_to_be_relied_on(book: Book) -> None:
    """The verdict's bar and the audits' counts stand before the list of parts and the table."""
    why = Doubt("settings", "new logs every statement")
    told = Doubt("noise", "noise hit 5 of its blocks alone")
    rows = tuple(
        structs.replace(row, verdict="faster", doubts=(told, why))
        for row in book.verdict.comparisons
    )
    findings = tuple(Finding(each.audit, "doubtful", each.sentence) for each in (told, why))
    verdict = structs.replace(book.verdict, comparisons=rows, findings=findings)
    drawn = page.build_run_page(dataclasses.replace(book, verdict=verdict))
    first = drawn.partition("<nav")[0]
    assert "<h1>Doubtful: " in first
    assert '<b class="doubt">2 audits doubtful</b> noise, settings</a>' in first
    assert '<p class="box doubt">noise: noise hit 5 of its blocks alone</p>' in first
    assert '<p class="box doubt">settings: new logs every statement</p>' in first
    assert "<b>host 76 of 100</b> swap poor" in first and "1 lost" in first
