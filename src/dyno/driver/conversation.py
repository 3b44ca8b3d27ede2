"""Questions to an engine, answered by drivers that stay for the next one.

`ask` has a connection for each question, `Conversation` keeps one, as watching a server needs it.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from dyno import subprocesses
from dyno.driver.events import (
    AskMode,
    TimedAnswer,
    WholeAnswer,
    explain_silence,
    extract_answers,
    extract_rows,
    extract_whole_answers,
)
from dyno.driver.plan import VERSION, Session
from dyno.driver.process import DriverLines
from dyno.driver.questions import (
    ANSWER_BYTES,
    QUESTION_S,
    build_driver_environment,
    find_driver,
    tell_endless,
    tell_late,
)
from dyno.errors import HostError, InternalError, TrialFailed

#: A server that has answered nothing yet is given less than `QUESTION_S`: it is not asked for much
#: at first.
FIRST_S = 60.0

#: What a driver says before it ends for a fault of its own is read to here.
WORDS_BYTES = 1 << 16
#: How much of a statement an error shows.
SHOWN = 100

#: Servers that have answered something, by host and port.
_answered: set[tuple[object, object]] = set()

T = TypeVar("T")


class LateAnswer(TrialFailed):
    """The engine did not answer within the limit; it may still be at work."""


class _Driver:
    """A driver that answers question after question, until one has no answer."""

    def __init__(self, environment: Mapping[str, str] = {}) -> None:
        """Start it, with what joins its environment; `HostError` if it cannot be started."""
        self.origin = _observe_origin()
        # what it complains of: a pipe would be full one day, and it would wait for us to read it
        self._words = os.fdopen(os.memfd_create("words"), "rb")
        try:
            self.process = subprocess.Popen(
                [find_driver(), "answer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                env={**build_driver_environment(), **environment},
                process_group=0,
                bufsize=0,
            )
        except OSError as error:
            self._words.close()
            raise HostError("cannot start dyno-driver", cause=error.strerror) from error
        self._lines = DriverLines(self.process)

    def answer(
        self,
        session: Session,
        statements: Sequence[str],
        limit_s: float,
        mode: AskMode = "rows",
        closes: bool = False,
    ) -> Any:
        """Return the answers or an error event, as JSON; `closes`: the connection is closed by
        then.

        `TrialFailed` without an answer, `LateAnswer` for its time: the driver has ended then.
        """
        question = {"version": VERSION, "session": session, "statements": list(statements)}
        line = json.dumps({**question, "mode": mode, "closes": closes})
        heed = subprocesses.Heed()
        try:
            with subprocesses.wait_for(self.process, heed):
                return json.loads(self._read_answer(line, statements, limit_s))
        except (ValueError, RecursionError) as error:
            self.close()
            raise InternalError("cannot parse the driver's answer", cause=error) from error
        except BaseException:
            self.close()
            raise

    def _read_answer(self, line: str, statements: Sequence[str], limit_s: float) -> bytes:
        limit_s = subprocesses.choose_limit(limit_s)
        self._lines.say(line)
        try:
            return self._lines.read(time.monotonic() + limit_s, ANSWER_BYTES)
        except TimeoutError:
            raise LateAnswer(tell_late("the engine", limit_s)) from None
        except EOFError:
            code = self.process.wait()
            self._words.seek(max(0, self._words.seek(0, os.SEEK_END) - WORDS_BYTES))
            raise explain_silence(code, self._words.read().decode(errors="replace")) from None
        except OverflowError:
            number = _count_answers(self._lines.said)
            statement = " ".join(statements[min(number, len(statements) - 1)].split())
            shown = statement if len(statement) <= SHOWN else f"{statement[:SHOWN]}…"
            raise TrialFailed(f"{tell_endless('the engine')}: {shown}") from None

    def close(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self._words):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.process.wait()


def _observe_origin() -> tuple[object, ...]:
    """Return what a driver takes over when it is started, and keeps: its program as built,
    environment and working folder.
    """
    program = find_driver()
    built, folder = program.stat(), Path().stat()
    return (
        *(program, built.st_ino, built.st_mtime_ns, folder.st_dev, folder.st_ino),
        *sorted(build_driver_environment().items()),
    )


#: Drivers that wait for a question of any thread's; a fork's child has none of them.
_idle: list[_Driver] = []
os.register_at_fork(after_in_child=_idle.clear)


def _find_idle() -> _Driver:
    """Return an idle driver that is as one started now would be; else a new one."""
    origin = _observe_origin()
    with suppress(IndexError):
        while True:
            driver = _idle.pop()
            if driver.origin == origin and driver.process.poll() is None:
                return driver
            driver.close()
    return _Driver()


@atexit.register
def _close_idle() -> None:
    while _idle:
        _idle.pop().close()


def ask(
    session: Session, statements: Sequence[str], limit_s: float = QUESTION_S
) -> list[list[list[str | None]]]:
    """The rows of each statement as text, over a connection of their own; None is NULL. This is the
    `engines.Ask` callable.

    `TrialFailed` where the engine refuses one, has not answered all of them in `limit_s` (a server
    that never answered yet: `FIRST_S`), or answers with more than `ANSWER_BYTES`. A driver stays
    for the next server that is asked; an embedded engine has one of its own.
    """
    server = session.get("host"), session.get("port")
    if not server[0]:
        with closing(_Driver()) as own:
            said = own.answer(session, statements, limit_s, closes=True)
    else:
        limit_s = limit_s if server in _answered else min(limit_s, FIRST_S)
        driver = _find_idle()
        said = driver.answer(session, statements, limit_s, closes=True)
        _idle.append(driver)
        _answered.add(server)
    return extract_rows(said, len(statements))


def _count_answers(said: bytes) -> int:
    """Return how many answers of a list are whole, in its beginning."""
    text, decoder = said.decode(errors="replace"), json.JSONDecoder()
    at = count = 0
    while at < len(text):
        try:
            _, at = decoder.raw_decode(text, at + 1)
        except ValueError:
            break
        count += 1
    return count


class Conversation:
    """Answers as `ask` does, but keeps its driver and connection from one question to the next.

    After any failure the next question begins anew. One thread at a time may ask; asking of another
    session replaces the first. `environment` joins that of its driver, which is an embedded engine.
    """

    def __init__(self, limit_s: float = QUESTION_S, environment: Mapping[str, str] = {}) -> None:
        self._limit_s, self._environment = limit_s, environment
        self._session: Session | None = None
        self._driver: _Driver | None = None

    def __call__(self, session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        """Return the rows of each statement as text; `TrialFailed` as `driver.ask`."""
        return self._ask_for(session, statements, "rows", extract_rows)

    def ask_timed(
        self, session: Session, statements: Sequence[str], mode: AskMode = "rows"
    ) -> list[TimedAnswer]:
        """Return the answers with their times; `LateAnswer` if one took longer than the limit."""
        return self._ask_for(session, statements, mode, extract_answers)

    def ask_whole(
        self, session: Session, statements: Sequence[str], *, closes: bool = False
    ) -> list[WholeAnswer]:
        """Return all that each is answered with; a refusal is an answer. `closes`: the next
        question has a connection of its own.
        """
        return self._ask_for(session, statements, "contents", extract_whole_answers, closes)

    def _ask_for(
        self,
        session: Session,
        statements: Sequence[str],
        mode: AskMode,
        extract: Callable[[Any, int], T],
        closes: bool = False,
    ) -> T:
        if self._driver is None or self._session != session:
            self.close()
            self._session, self._driver = session, _Driver(self._environment)
        try:
            said = self._driver.answer(session, statements, self._limit_s, mode, closes)
            return extract(said, len(statements))
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        return self._driver.process.pid if self._driver else None

    def abandon(self) -> None:
        """Wait for no answer any more (for another thread to call): a waiting one gets
        `TrialFailed`.
        """
        if driver := self._driver:
            subprocesses.kill(driver.process)

    def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
