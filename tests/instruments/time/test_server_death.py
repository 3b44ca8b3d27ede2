"""A server that dies in a trial: the trial failed, and says so with the server's last words."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dyno.engines import Server
from dyno.errors import DynoError, HostError, InternalError, TrialFailed, UsageError
from dyno.instruments.time.engine_session import LINES, PATIENCE_S, explain_death, read_last_words
from dyno.tails import read_tail


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    with subprocess.Popen(["sleep", "60"]) as process:
        yield Server({}, tmp_path, process.pid, log, process)
        process.kill()


def failing(server: Server, error: DynoError, patience_s: float = PATIENCE_S) -> DynoError:
    with pytest.raises(DynoError) as raised, explain_death(server, patience_s):
        raise error
    return raised.value


@pytest.mark.parametrize("error", [TrialFailed("connection lost"), HostError("cannot connect")])
def test_a_dead_server_fails_the_trial_with_the_end_of_its_log(
    server: Server, error: DynoError
) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    raised = failing(server, error)
    assert isinstance(raised, TrialFailed)
    assert str(raised).startswith(f"the server died (signal 9): {error.message}\n")
    assert str(raised).endswith("\n  line 98\n  line 99")
    assert raised.__cause__ is error


@pytest.mark.parametrize("error", [TrialFailed("deadlock"), UsageError("a wrong word")])
def test_the_error_of_a_server_that_lives_stays_as_it_is(server: Server, error: DynoError) -> None:
    assert failing(server, error, patience_s=0.05) is error


def test_a_server_that_stands_still_is_called_that(server: Server) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, server.pid, os.WSTOPPED)
    raised = failing(server, TrialFailed("no answer within 10 s"))
    assert str(raised) == (
        "the server is stopped (SIGSTOP): no answer within 10 s\n"
        f"hint: kill -CONT {server.pid} continues it"
    )


def test_a_fault_of_our_own_is_never_blamed_on_the_server(server: Server) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    ours = InternalError("the driver panicked")
    assert failing(server, ours) is ours


def test_an_engine_without_a_process_of_its_own_cannot_die(tmp_path: Path) -> None:
    ours = TrialFailed("no such table")
    assert failing(Server({}, tmp_path), ours) is ours


def test_a_server_without_a_log_dies_in_silence(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    silent = Server({}, tmp_path, process.pid, tmp_path / "none.log")
    assert str(failing(silent, TrialFailed("lost"))).endswith("its log ends with: nothing")


def test_the_end_of_a_log_begins_with_a_whole_line(server: Server) -> None:
    assert read_tail(server.log, 20) == "line 98\nline 99\n"
    assert len(read_last_words(server)) == LINES
