"""Lines of sysbench and pgbench with `--compare`, and a log in turns: to a verdict on servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import outside
from small_logs import SHOP

from dyno.cli import run_words
from dyno.cli.judged_run import EXITS

pytestmark = [pytest.mark.timeout(600)]

#: By line: scripts of sysbench and pgbench are played on servers elsewhere (compat/), and their
#: comparisons are made as a log's is.
BUILDS = dict.fromkeys(("sysbench", "pgbench"), ("null@1ms", "null@2ms"))
BUILDS |= {"log": ("postgres@12", "postgres@18")}
#: Statements of two sessions, as PostgreSQL logs them.
LOG = "".join(
    f"2026-01-01 10:00:0{second}.{at:03} UTC [{1000 + at % 2}] LOG:  statement: "
    f"SELECT name FROM item WHERE id = {at % 5}\n"
    for second in range(1)
    for at in range(0, 1000, 2)
)
LINES = {
    "sysbench": "sysbench oltp_point_select --tables=1 --table-size=100 --threads=2 --time=1 run",
    "pgbench": "pgbench -S -c 2 -T 1",
    "log": "compare {} {} --log it.log --data shop.sql --quick",
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_with_two_builds_ends_in_a_verdict(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside("setpriv")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.log").write_text(LOG)
    (tmp_path / "shop.sql").write_text(SHOP)
    words = LINES[name].format(*BUILDS[name]).split()
    words += ["--compare", *BUILDS[name], "--quick"] if name != "log" else []
    code = run_words(words)
    said = capsys.readouterr()
    assert code in EXITS.values(), said.err
    (verdict,) = (json.loads(it.read_text()) for it in tmp_path.glob("runs/*/verdict.json"))
    assert EXITS[verdict["overall"]] == code
    trials = [json.loads(it.read_text()) for it in tmp_path.glob("runs/*/trials/*.json")]
    done = [
        sum(it["done"] for phase in trial["phases"] for it in phase["streams"])
        for trial in trials
        if not trial["contents"]
    ]
    assert len(done) >= 2 * 5 and all(done), done
    assert {trial["candidate"] for trial in trials} >= set(BUILDS[name])
