"""The loop: what is asked when, what a restart and a silence come to, what is written."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from dyno.driver.plan import Session
from dyno.errors import HostError, TrialFailed
from dyno.servers.watch import mysql
from dyno.servers.watch.recorder import Recorder, RecorderOptions
from dyno.servers.watch.servers import WatchedServer
from dyno.servers.watch.source import CHANGE, WHOLE, Question, WatchSource

FAST = WatchSource("fast", ("fast",), ("k",), ("n",), recent="x")
SLOW = WatchSource("slow", ("slow",), ("k",), ("n",), every=10)
STATUS = WatchSource("global_status", ("global_status",), ("k",), ("n",), words=("w",), signed=True)


class Server:
    """Answers with the counters that a test has set; raises what it has put there."""

    def __init__(self) -> None:
        self.up_s, self.counters = 1000, {"fast": 5, "slow": 7}
        self.asked: list[list[str]] = []
        self.silent = 0

    def __call__(self, _: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        if self.silent:
            self.silent -= 1
            raise TrialFailed("gone")
        self.asked.append([it for it in statements if it not in (mysql.CLOCK, "global_status")])
        answers: dict[str, list[list[str | None]]] = {
            "begin": [],
            mysql.CLOCK: [["then"]],
            "global_status": [["Uptime", str(self.up_s), None]],
        }
        for name, n in self.counters.items():
            answers |= {it: [["a", str(n)]] for it in (name, f"{name} since then")}
        return [answers[it] for it in statements]


class Written:
    """In a store's place: every row that was written."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, list[Any]]] = []

    def write(self, rows: Mapping[WatchSource, Sequence[list[Any]]], begins: datetime) -> None:
        del begins
        self.rows += [(source.name, row[1:]) for source, found in rows.items() for row in found]

    def merge(self, *_: object) -> None: ...

    def forget(self, *_: object) -> bool:
        return False

    def of(self, name: str) -> list[list[Any]]:
        return [row for source, row in self.rows if source == name]


@pytest.fixture
def server() -> Server:
    return Server()


def recorder_of(server: Server, written: Written, **options: Any) -> Recorder:
    questions = (
        Question(FAST, "fast", "fast since {since}"),
        Question(SLOW, "slow"),
        Question(STATUS, "global_status"),
    )
    watched = WatchedServer({}, "mysql", "here", "8.0", questions, ("begin",))
    said: list[str] = []
    return Recorder(
        server,
        watched,
        written,  # type: ignore[arg-type]
        RecorderOptions(every_s=0.001, retry_s=0.001, **options),
        said.append,
    )


def test_all_is_asked_first_then_what_is_due_and_recent(server: Server) -> None:
    recorder = recorder_of(server, Written())
    for _ in range(11):
        recorder.sample()
    assert server.asked[0] == ["begin", "fast", "slow"]
    assert server.asked[1:10] == [["fast since then"]] * 9
    assert server.asked[10] == ["fast since then", "slow"]


def test_the_last_sample_is_of_all_that_is_recorded(server: Server) -> None:
    written = Written()
    recorder = recorder_of(server, written)
    recorder.sample()
    server.counters = {"fast": 6, "slow": 8}
    recorder.stop.set()
    recorder.run()
    assert server.asked[1:] == [["fast", "slow"]]
    assert [CHANGE, "a", 1] in written.of("slow")


def test_a_source_s_all_rows_are_asked_as_often_as_it_says(server: Server) -> None:
    often = replace(FAST, all_rows_every=3)
    recorder = recorder_of(server, Written())
    fast = Question(often, "fast", "fast since {since}")
    object.__setattr__(recorder.watched, "questions", (fast, recorder.watched.questions[2]))
    for _ in range(4):
        recorder.sample()
    assert [it[-1] for it in server.asked] == ["fast", *["fast since then"] * 2, "fast"]


def test_a_restart_makes_all_asked_at_once_and_counts_from_nothing(server: Server) -> None:
    written = Written()
    recorder = recorder_of(server, written)
    recorder.sample()
    server.up_s, server.counters = 3, {"fast": 2, "slow": 9}
    recorder.sample()
    recorder.flush()
    assert server.asked[-1] == ["fast", "slow"]
    assert written.of("slow") == [[WHOLE, "a", 7], [WHOLE, "a", 9], [CHANGE, "a", 9]]
    assert [row[1:3] for row in written.of("samples")] == [[1, 0], [1, 1]]


def test_a_server_that_is_silent_is_asked_again_and_a_first_silence_ends_it(
    server: Server,
) -> None:
    written = Written()
    recorder = recorder_of(server, written, for_s=0.2)
    recorder.sample()
    server.silent, server.counters = 2, {"fast": 6, "slow": 7}
    assert recorder.run() > 2
    assert [it for it in server.asked if "begin" in it] == [server.asked[0], server.asked[1]]
    assert [CHANGE, "a", 1] in written.of("fast")
    server.silent = 1
    with pytest.raises(TrialFailed):
        recorder_of(server, Written()).run()


def test_a_write_that_fails_is_tried_again_and_fails_the_watch_at_its_end(server: Server) -> None:
    tries = []

    class Refused(Written):
        def write(self, rows: Mapping[WatchSource, Sequence[list[Any]]], begins: datetime) -> None:
            tries.append(begins)
            raise TrialFailed("the disk is full")

    with pytest.raises(HostError, match="full"):
        recorder_of(server, Refused(), flush_s=0.01, for_s=0.5).run()
    assert len(tries) > 2 and len(set(tries)) == 1, "the same part, again and again"


class Full(Written):
    """A disk that is full until a test frees it."""

    is_full = True
    refusal: Exception = OSError(errno.ENOSPC, "No space left on device")

    def write(self, rows: Mapping[WatchSource, Sequence[list[Any]]], begins: datetime) -> None:
        if self.is_full:
            raise self.refusal
        super().write(rows, begins)


@pytest.mark.parametrize(
    "refusal",
    [
        Full.refusal,
        HostError("the engine cannot continue", cause="IO Error: No space left on device"),
        TrialFailed("the driver was killed (signal 9): No space left"),
    ],
)
def test_what_a_full_disk_refused_is_kept_told_and_written_later(
    refusal: Exception, server: Server
) -> None:
    written, said = Full(), list[str]()
    written.refusal = refusal
    recorder = recorder_of(server, written)
    recorder.say = said.append
    recorder.sample()
    recorder.flush()
    server.counters["fast"] = 9
    recorder.sample()
    assert written.rows == [] and "No space left" in said[-1]
    written.is_full = False
    recorder.flush()
    assert written.of("fast") == [[WHOLE, "a", 5], [CHANGE, "a", 4]]


def test_what_cannot_be_written_at_the_end_is_an_error(server: Server) -> None:
    recorder = recorder_of(server, Full())
    recorder.sample()
    with pytest.raises(HostError, match="rows of the record are not written"):
        recorder.flush(last=True)


def test_a_record_whose_hours_cannot_be_merged_goes_on(server: Server) -> None:
    class Unmerged(Written):
        def merge(self, *_: object) -> None:
            raise TrialFailed("DuckDB cannot read a part")

    written, said = Unmerged(), list[str]()
    recorder = recorder_of(server, written)
    recorder.say = said.append
    recorder.sample()
    recorder.flush()
    assert written.of("fast") and "not merged yet" in said[-1]


def test_a_server_that_does_not_answer_at_the_end_is_not_asked_again(server: Server) -> None:
    written = Written()
    recorder = recorder_of(server, written, flush_s=3600.0)

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        if len(server.asked) == 3:
            recorder.stop.set()
            server.silent = 1
        return server(session, statements)

    recorder.ask = ask
    assert recorder.run() == 3
    assert len(server.asked) == 3 and written.of("fast")
