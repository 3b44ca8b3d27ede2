"""Where a statement is explained (the URL of a server, a database's file, or an engine of a version
that is started for it), its connection, and a second one.

The second one samples what the statement waits for, and ends it when we stop waiting: a server at
work does not notice that its client has gone.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dyno.driver import Conversation, LateAnswer, WholeAnswer
from dyno.driver.events import AskMode, TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import (
    Ask,
    ExplainsFiles,
    ExplainsPath,
    PathRequest,
    StatementPath,
    find_engine,
)
from dyno.errors import DynoError, UsageError
from dyno.plugins import load_modules
from dyno.record.waits import SessionState
from dyno.runs.experiment.candidates import Spec, parse_candidate

#: `engine:FILE` and `engine@build:FILE`.
_IN_FILE = re.compile(r"(?P<engine>\w+)(?:@(?P<build>[^:?]*))?:(?P<file>(?!//).+)")
HEAD_BYTES = 64
HINT = "write engine://user@host:port/database, the path of a file, or engine@version"
#: What is said of a server in the place of its address.
OWN, OWN_FILE = "a server of its own", "a file of its own"


def open_path(ask: Ask, dsn: str, request: PathRequest) -> StatementPath:
    """Return the statement's path there; `UsageError` if the DSN is invalid, or such a statement
    cannot be explained.
    """
    if Path(dsn).is_file():
        return _find_owner(ask, Path(dsn)).open_path(dsn, {}, request)
    if found := _IN_FILE.fullmatch(dsn):
        engine = find_engine(found["engine"], ask)
        if isinstance(engine, ExplainsFiles):
            return engine.open_path(found["file"], {}, request, found["build"] or "")
    if re.match(r"\s*\w+\s", dsn) and "=" not in dsn:
        raise UsageError("the DSN stands first, then the statement", cause=dsn[:40], hint=HINT)
    if _is_file_name(dsn):
        raise UsageError(f"there is no file {dsn}", hint=HINT)
    spec = parse_candidate(dsn)
    served = find_engine(spec.engine, ask)
    if not isinstance(served, ExplainsPath) or isinstance(served, ExplainsFiles) or not spec.is_url:
        raise UsageError("dyno explain takes a server that runs, or a file", hint=HINT)
    return served.open_path(spec.with_password, spec.keys, request)


def find_started(ask: Ask, dsn: str) -> Spec | None:
    """Return the engine that is to be started, if the DSN names one by its version; None if it
    names a file or a running server.
    """
    in_file = _IN_FILE.fullmatch(dsn)
    if Path(dsn).is_file() or "://" in dsn or " " in dsn.strip() or _is_file_name(dsn):
        return None
    if in_file and isinstance(find_engine(in_file["engine"], ask), ExplainsFiles):
        return None
    spec = parse_candidate(dsn)
    is_known = isinstance(find_engine(spec.engine, ask), ExplainsPath)
    return None if spec.is_url or not is_known else spec


def _is_file_name(dsn: str) -> bool:
    """Return whether it is written as a file's path, and no engine's name."""
    head = dsn.partition("?")[0]
    return not any(it in head for it in ("://", "@", "=")) and any(it in head for it in "/.")


def open_started(ask: Ask, spec: Spec, session: Session, request: PathRequest) -> StatementPath:
    """The statement's path in the engine that was started, reached as `session` says."""
    engine = find_engine(spec.engine, ask)
    assert isinstance(engine, ExplainsPath)
    is_file = isinstance(engine, ExplainsFiles)
    place = str(session["database"]) if is_file else _format_place(session)
    path = engine.open_path(place, {}, request, spec.build if is_file else "")
    path.server = OWN_FILE if is_file else OWN
    return path


def _format_place(session: Session) -> str:
    user, host = (quote(str(session[name]), safe="") for name in ("user", "host"))
    secret = session["password"]
    word = "" if secret is None else f":{quote(str(secret), safe='')}"
    port = f":{session['port']}" if session.get("port") and not host.startswith("%2F") else ""
    return f"//{user}{word}@{host}{port}/{session['database']}"


def _find_owner(ask: Ask, file: Path) -> ExplainsFiles:
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {file}", cause=error.strerror or error) from None
    for name in load_modules("dyno.engines"):
        engine = find_engine(name, ask)
        if isinstance(engine, ExplainsFiles) and engine.is_own_file(head):
            return engine
    raise UsageError(f"{file} is not a database of a known kind", hint=HINT)


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
