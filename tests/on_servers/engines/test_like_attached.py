"""`--like`: a server that we start takes the settings of one that runs already, and says which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from private_servers import login, serving

from dyno import driver
from dyno.cli import run_words

pytestmark = [pytest.mark.timeout(300)]
ODD = {
    "postgres-18": {
        "shared_buffers": "24MB",
        "work_mem": "7MB",
        "synchronous_commit": "on",
        "log_min_duration_statement": "0",
    },
    "mysql-8.0": {
        "innodb_buffer_pool_size": "64M",
        "innodb_flush_log_at_trx_commit": "1",
        "slow_query_log": "ON",
        "long_query_time": "3",
    },
}
SIZE = ["--set", "time=0.3", "--set", "table_size=200", "--blocks", "3"]
#: Other tests run beside this one, and the host's other guests.
SIZE += ["--limit", "foreign=100", "--limit", "steal=100"]


@contextmanager
def theirs(name: str) -> Iterator[str]:
    """The URL of a server with odd settings, and of an empty database of it."""
    with serving(name, **ODD[name]) as server:
        driver.ask(server.session, ["CREATE DATABASE theirs"])
        host = str(server.session["host"]).replace("/", "%2F")
        yield f"{name.partition('-')[0]}://{login(server.session)}@{host}/theirs"


@pytest.mark.parametrize(("name", "build"), [("postgres-18", "18"), ("mysql-8.0", "8.0.33")])
def test_the_started_one_runs_as_the_attached_one_does_and_a_key_of_ones_own_stays(
    name: str,
    build: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    kind = name.partition("-")[0]
    with theirs(name) as url:
        words = [f"theirs={url}", f"ours={kind}@{build}?max_connections=77", "--like", "attached"]
        code = run_words(["compare", *words, "-w", "oltp_point_select", *SIZE])
    said = capfd.readouterr()
    # 3: on this host most of so short an answer may be the way there and back
    assert code in (0, 1, 2, 3), said.err
    assert "ours takes from theirs: profile=stock" in said.err
    settings = {}
    for file in tmp_path.rglob("trials/*.json"):
        trial = json.loads(file.read_text())
        if trial["block"] < 0:  # an echo, which has no settings
            continue
        found = trial["settings"]
        settings[trial["candidate"]] = {key: found[key].partition(" (")[0] for key in ODD[name]}
        if trial["candidate"] == "ours":
            assert found["max_connections"].startswith("77")
    assert settings["ours"] == settings["theirs"]
    (verdict,) = tmp_path.rglob("verdict.json")
    told = {f["audit"]: f for f in reversed(json.loads(verdict.read_text())["findings"])}
    assert not set(ODD[name]) & set(told["settings"]["sentence"].replace(",", " ").split())
    unlike = told["unlike_conditions"]
    assert unlike["soundness"] == "doubtful" and "runs already" in unlike["sentence"]
    assert "cache" not in unlike["sentence"] and "survives" not in unlike["sentence"]
    assert "core" not in unlike["sentence"], "both are placed alike"


def test_a_server_that_logs_every_statement_makes_its_comparison_doubtful_by_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    with theirs("postgres-18") as url:
        words = [f"theirs={url}", "ours=postgres@18?profile=stock", "--strict"]
        code = run_words(["compare", *words, "-w", "oltp_point_select", *SIZE])
    (verdict,) = tmp_path.rglob("verdict.json")
    findings = json.loads(verdict.read_text())["findings"]
    found = next(f for f in findings if f["audit"] == "settings")
    assert found["soundness"] == "doubtful"
    assert "log_min_duration_statement is 0 and -1 (logging: statements" in found["sentence"]
    said = capfd.readouterr().out
    # 2: three blocks; 3: on this host most of so short an answer may be the way there and back
    assert code in (2, 3, 4)
    assert (code == 4) == ("Doubtful: " in said)


def test_what_cannot_be_liked_is_refused_in_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    pair = ["null@1us", "null@2us", "-w", "oltp_point_select"]
    assert run_words(["compare", *pair, "--like", "attached"]) == 64
    assert "--like attached means no candidate that runs already" in capfd.readouterr().err
    with theirs("postgres-18") as url:
        for other in ("sqlite", "postgres@18?profile=durable"):
            words = [f"theirs={url}", f"ours={other}", "--like", "theirs"]
            assert run_words(["compare", *words, "-w", "oltp_point_select"]) == 64
            said = capfd.readouterr().err
            assert (
                "ours cannot take the settings of theirs" in said
                or "profile of ours cannot be combined with --like" in said
            )
