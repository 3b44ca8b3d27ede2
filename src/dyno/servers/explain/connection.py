"""The connection of the statement that is explained, and a second one beside it.

The second one samples what the statement waits for, and ends it where we give up: a server at work
does not notice that its client has gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from dyno.driver import Conversation, LateAnswer, WholeAnswer
from dyno.driver.events import AskMode, TimedAnswer
from dyno.engines import Ask, StatementPath
from dyno.errors import DynoError
from dyno.record.waits import SessionState

#: What the server's own limit is given before the statement is ended from beside.
GRACE_S = 2.0
#: What ending it may take.
ENDING_S = 10.0


@dataclass(frozen=True)
class WaitSample:
    """What the statement was doing, at a time of time.monotonic()."""

    at_s: float
    state: SessionState


@dataclass(frozen=True)
class CallSpan:
    """When a question was under way, by time.monotonic()."""

    began_s: float
    ended_s: float

    def list_within(self, samples: Sequence[WaitSample]) -> list[SessionState]:
        return [it.state for it in samples if self.began_s <= it.at_s <= self.ended_s]


class PathConnection:
    """Asks as `engines.Talk`, and keeps in `spans` when each question was under way."""

    def __init__(self, path: StatementPath, ask: Ask, limit_s: float) -> None:
        self._path, self._ask, self._limit_s = path, ask, limit_s
        self._talk = Conversation(limit_s + (GRACE_S if path.beside else 0.0))
        self.spans: list[CallSpan] = []
        self.opened_us: float | None = None

    def __call__(self, statements: Sequence[str], mode: AskMode = "rows") -> list[TimedAnswer]:
        """Return the answers; an exception while waiting ends the statement at the server, too."""
        began_s = time.monotonic()
        try:
            answers = self._talk.ask_timed(self._path.session, statements, mode)
            # some statements answer as if nothing were when they are ended (MySQL's SLEEP)
            if any(it.elapsed_ns >= 1e9 * self._limit_s for it in answers):
                raise LateAnswer(f"the engine did not answer in {self._limit_s:g} s")
        except BaseException:
            self._end_statement()
            raise
        finally:
            self.spans.append(CallSpan(began_s, time.monotonic()))
        if answers and answers[0].opened_ns is not None:
            self.opened_us = answers[0].opened_ns / 1000
        return answers

    def ask_whole(self, statements: Sequence[str]) -> list[WholeAnswer]:
        """Return all that they are answered with; ends as a call does."""
        try:
            return self._talk.ask_whole(self._path.session, statements)
        except BaseException:
            self._end_statement()
            raise

    def _end_statement(self) -> None:
        """Ask by a second connection; if the first has ended already, there is no statement to
        end.
        """
        self._talk.close()
        for statement in self._path.list_endings() if self._path.beside else ():
            with suppress(DynoError, KeyboardInterrupt):
                self._ask(self._path.beside or {}, [statement])

    def close(self) -> None:
        self._talk.close()


class StatementSampler:
    """A thread that asks by a second connection what the statement is doing, while `sample` is
    entered.

    It lives as long as its connection: a driver ends with the thread that started it.
    """

    def __init__(self, path: StatementPath) -> None:
        self._path = path
        self._talk = Conversation(ENDING_S)
        self._wanted, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._sample_on, daemon=True)
        self.samples: list[WaitSample] = []
        self.missing = ""

    @contextmanager
    def sample(self) -> Iterator[None]:
        if self._path.beside and self._thread.ident is None:
            self._thread.start()
        self._wanted.set()
        try:
            yield
        finally:
            self._wanted.clear()

    def _sample_on(self) -> None:
        try:
            while not self._ended.wait(self._path.sample_s):
                if self._wanted.wait() and not self._ended.is_set() and self._path.wait_sql:
                    (rows,) = self._talk(self._path.beside or {}, [self._path.wait_sql])
                    if (state := self._path.read_wait(rows)) is not None and self._wanted.is_set():
                        self.samples.append(WaitSample(time.monotonic(), state))
        except (DynoError, KeyboardInterrupt) as refused:
            if not self._ended.is_set():
                self.missing = str(refused).partition("\n")[0] or "interrupted"
        finally:
            self._talk.close()

    def close(self) -> None:
        self._ended.set()
        self._wanted.set()
        if self._thread.ident is not None:
            self._thread.join(ENDING_S)
