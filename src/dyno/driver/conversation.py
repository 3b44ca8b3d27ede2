"""A driver that is asked again and again over one connection: what watches a server for days."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from dyno import subprocesses
from dyno.driver.events import (
    AskMode,
    TimedAnswer,
    explain_silence,
    extract_answers,
    extract_rows,
)
from dyno.driver.lines import DriverLines
from dyno.driver.plan import VERSION, Session
from dyno.driver.questions import (
    ANSWER_BYTES,
    QUESTION_S,
    build_driver_environment,
    find_driver,
)
from dyno.errors import InternalError, TrialFailed

#: What a driver says before it ends for a fault of its own is read to here.
WORDS_BYTES = 1 << 16

T = TypeVar("T")


class LateAnswer(TrialFailed):
    """The engine did not answer within the limit; what it was asked may still go on there."""


class Conversation:
    """Answers as `ask` does, but keeps its driver and connection from one question to the next.

    After any failure the next question begins anew. One at a time may ask; whoever asks of another
    session opens that one in place of the first.
    """

    def __init__(self, limit_s: float = QUESTION_S) -> None:
        self._limit_s = limit_s
        self._session: Session | None = None
        self._heed = subprocesses.Heed()
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: DriverLines | None = None

    def __call__(self, session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        """The rows of each statement as text; `TrialFailed` as `driver.ask`."""
        return self._ask_for(session, statements, "rows", extract_rows)

    def ask_timed(
        self, session: Session, statements: Sequence[str], mode: AskMode = "rows"
    ) -> list[TimedAnswer]:
        """The answers with their times; `LateAnswer` where one took longer than the limit."""
        return self._ask_for(session, statements, mode, extract_answers)

    def _ask_for(
        self,
        session: Session,
        statements: Sequence[str],
        mode: AskMode,
        extract: Callable[[Any, int], T],
    ) -> T:
        self._heed = subprocesses.Heed()
        if self._process is None or self._session != session:
            self.close()
            self._open(session)
        question = {"version": VERSION, "session": session, "statements": list(statements)}
        question |= {"mode": mode} if mode != "rows" else {}
        assert self._process
        try:
            with subprocesses.wait_for(self._process, self._heed):
                said = json.loads(self._read_answer(json.dumps(question)))
            return extract(said, len(statements))
        except (ValueError, RecursionError) as error:
            self.close()
            raise InternalError("cannot parse the driver's answer", cause=error) from error
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """Its driver, while there is one."""
        return self._process.pid if self._process else None

    def abandon(self) -> None:
        """Waits for no answer any more: to be called by another thread. `TrialFailed` where one is
        waited for.
        """
        if process := self._process:
            subprocesses.kill(process)

    def close(self) -> None:
        """Ends the connection, at once."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, session: Session) -> None:
        pipe = subprocess.PIPE
        self._session = session
        self._process = subprocess.Popen(
            [find_driver(), "ask"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=build_driver_environment(),
            process_group=0,
            bufsize=0,
        )
        self._lines = DriverLines(self._process)

    def _read_answer(self, line: str) -> bytes:
        """The line that answers this one."""
        process, lines = self._process, self._lines
        assert process and process.stderr and lines
        lines.say(line)
        try:
            until_s = time.monotonic() + subprocesses.choose_limit(self._limit_s)
            return lines.read(until_s, ANSWER_BYTES)
        except TimeoutError:
            raise LateAnswer(f"the engine did not answer in {self._limit_s:.0f} s") from None
        except EOFError:
            words = os.read(process.stderr.fileno(), WORDS_BYTES).decode(errors="replace")
            raise explain_silence(process.wait(), words) from None
        except OverflowError:
            message = f"the engine answered with more than {ANSWER_BYTES >> 20} MB"
            raise TrialFailed(message) from None
