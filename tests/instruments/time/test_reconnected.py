"""Connections that were lost and made anew: from the driver's count to where a user reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fakes import make_record, make_run, make_tally, make_trial, make_trials
from msgspec import structs
from report.page_text import draw

from dyno.cli.play import describe_errors
from dyno.judge.analysis.judge import judge
from dyno.record import Tally, Trial, decode
from dyno.record.decode import encode
from dyno.report import Book
from dyno.report.sections.audits import SECTION


def lossy(reconnected: int) -> Trial:
    record = make_record([make_tally(1e6, reconnected=reconnected)])
    return structs.replace(make_trial(1, "new", 0, 1e6), phases=(record,))


def test_a_trial_says_how_many_connections_were_lost() -> None:
    assert describe_errors(lossy(0)) == []
    assert describe_errors(lossy(3)) == ["run reader: 3 connections were lost and made anew"]


def test_the_report_says_where_connections_were_lost(tmp_path: Path) -> None:
    def page(trial: Trial) -> str | None:
        run, trials = make_run(), [*make_trials({"new": [0.0] * 6}), trial]
        return draw(SECTION, Book(tmp_path, run, trials, judge(run, trials)))

    assert '<b class="strong">new, select, run</b>: 3' in (page(lossy(3)) or "")
    assert "lost and made anew" not in (page(lossy(0)) or "")


def test_a_record_from_before_the_count_has_none_lost() -> None:
    old: dict[str, Any] = json.loads(json.dumps(encode(make_tally(1e6))))
    del old["reconnected"]
    assert decode.decode(Tally, old).reconnected == 0
