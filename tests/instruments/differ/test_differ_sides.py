"""An engine that is late, or gone once: what is known of it then, and that it is up again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from dyno.driver import Conversation
from dyno.engines import Server
from dyno.errors import TrialFailed
from dyno.instruments.differ.grammar import read_side
from dyno.instruments.differ.judgement import judge_script
from dyno.instruments.differ.play import DifferPlan, read_specs
from dyno.instruments.differ.sides import EngineSide, hold_pair, resolve_sides, tell_ending
from dyno.instruments.differ.tree import MadeStatement, SqlNode
from dyno.instruments.time.engine_session import ServerDied, ServerStopped

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


def make_sides(folder: Path) -> list[EngineSide]:
    sides = resolve_sides(read_specs(DifferPlan(["sqlite@system"], 1.0, is_aa=True)), folder, print)
    for side in sides:
        side.conversation = Conversation(1.0)
    return sides


def test_a_statement_without_an_answer_is_a_hang_and_the_engine_goes_on(tmp_path: Path) -> None:
    side = make_sides(tmp_path / "0")[0]
    side.start()
    played = side.play(["CREATE TABLE t (c)", ENDLESS, "SELECT 1"])
    assert len(played.answers) == 1 and played.ending == "hang" and "1 s" in played.words
    again = side.play(["CREATE TABLE t (c)", "SELECT 1"])
    assert len(again.answers) == 2 and not again.ending and not again.words
    side.stop()


def test_an_engine_that_is_gone_once_is_counted_and_no_find(tmp_path: Path) -> None:
    base, other = make_sides(tmp_path / "0")
    script = [MadeStatement(SqlNode(("SELECT 1",)), True)]
    with hold_pair(base, other) as pair:
        assert judge_script(script, pair).words["unrepeated"] == 0
        pid = other.conversation.pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        judged = judge_script(script, pair)
        assert judged.words["unrepeated"] == judged.words["same"] == 1 and not judged.differences
        assert judge_script(script, pair).words["unrepeated"] == 0


def fail(state: str) -> TrialFailed:
    failed = TrialFailed("the connection is lost")
    failed.state = state
    return failed


def die(code: int | None) -> ServerDied:
    died = ServerDied("the server died")
    died.code = code
    return died


@pytest.mark.parametrize(
    ("failed", "engine", "ending"),
    [
        (die(-11), "mysql", "crash"),
        (die(1), "mysql", "crash"),
        (die(None), "postgres", "crash"),
        (die(0), "mysql", "connection closed"),
        (fail("08S01"), "mysql", "connection closed"),
        (fail("70100"), "mysql", "connection closed"),
        (fail("57P01"), "postgres", "connection closed"),
        (fail("08006"), "postgres", "crash"),
        (fail("57P02"), "postgres", "crash"),
        (ServerStopped("the server is stopped"), "mysql", ""),
    ],
)
def test_a_crash_takes_a_process_by_a_signal_or_an_exit_code(
    failed: TrialFailed, engine: str, ending: str, tmp_path: Path
) -> None:
    server = Server({}, tmp_path, os.getpid())
    assert tell_ending(failed, server, read_side(engine, "18")) == ending


def test_a_driver_that_dies_beside_a_server_is_no_fault_of_the_server(tmp_path: Path) -> None:
    ours = TrialFailed("the driver was killed (signal 9)")
    embedded, beside = Server({}, tmp_path), Server({}, tmp_path, os.getpid())
    assert tell_ending(ours, embedded, read_side("sqlite", "3.54.1")) == "crash"
    with pytest.raises(TrialFailed) as raised:
        tell_ending(ours, beside, read_side("mysql", "9.7.4"))
    assert raised.value is ours
