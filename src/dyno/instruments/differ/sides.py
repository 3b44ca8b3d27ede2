"""The two engines: each plays a script on an empty database of its own, over one session.

A batch is one question to the driver. Where it has no answer, the script is played once more,
statement by statement, so that the one that crashes or hangs is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from dyno import private_files
from dyno.builds import Build, Say
from dyno.driver import Conversation, LateAnswer, WholeAnswer
from dyno.driver.plan import Session
from dyno.engines import Engine, Server
from dyno.errors import DynoError, TrialFailed, UsageError
from dyno.instruments.differ.grammar import DialectSide, read_side
from dyno.instruments.time.engine_session import ServerDied, ServerStopped, explain_death
from dyno.record import Candidate
from dyno.runs.experiment.candidates import Spec
from dyno.runs.resolve.candidates import resolve_candidates
from dyno.runs.resolve.workloads import CandidateRequest

#: What a whole script may take, and then a statement by itself.
LIMIT_S = 10.0

Ending = Literal["", "crash", "hang", "connection closed"]


@dataclass(frozen=True)
class PlayedScript:
    """What a side answered, in order; where it ended before the last, how, and in which words. With
    words alone it ended once, and not when it was asked again.
    """

    answers: tuple[WholeAnswer, ...]
    ending: Ending = ""
    words: str = ""


class ScriptSide(Protocol):
    """Whoever plays scripts; each begins with an empty database."""

    @property
    def kind(self) -> str:
        """That of the driver's session."""

    @property
    def engine_name(self) -> str:
        """Which engine it is."""

    def start(self) -> None:
        """Start it, from a thread that outlives it."""

    def stop(self) -> None:
        """End it, whatever it is at."""

    def play(self, statements: Sequence[str]) -> PlayedScript:
        """Play all statements, until one has no answer."""


@dataclass
class EngineSide:
    """An engine of ours, started anew after a crash or a hang."""

    candidate: Candidate
    engine: Engine
    build: Build
    dialect: DialectSide
    home: Path
    server: Server | None = None
    starts: int = 0
    conversation: Conversation = field(default_factory=lambda: Conversation(LIMIT_S))

    @property
    def kind(self) -> str:
        """That of the driver's session."""
        return str(self.session["kind"])

    @property
    def engine_name(self) -> str:
        """Which engine it is."""
        return self.candidate.engine

    @property
    def session(self) -> Session:
        """How the driver reaches it."""
        assert self.server, "it was started"
        return self.server.session | self.dialect.file.session

    def start(self) -> None:
        """Start the engine in a new home."""
        self.starts += 1
        place = self.home.with_name(f"{self.home.name}-{self.starts}")
        private_files.make_folder(place)
        settings = self.dialect.file.settings | self.candidate.settings
        self.server = self.engine.start(self.build, place, settings)

    def stop(self) -> None:
        """End it, whatever it is at."""
        self.conversation.close()
        server, self.server = self.server, None
        if server:
            with suppress(TrialFailed):
                self.engine.stop(server)
            private_files.remove_folder(server.home)

    def play(self, statements: Sequence[str]) -> PlayedScript:
        """Play all statements, until one has no answer; the engine is up again then."""
        # a database of the connection's own is empty where that is new
        fresh, is_own = self.dialect.file.fresh, bool(self.dialect.file.session)
        try:
            whole = self.conversation.ask_whole(self.session, [*fresh, *statements], closes=is_own)
            return PlayedScript(tuple(whole[len(fresh) :]))
        except TrialFailed as failed:
            return self._find_end(statements, failed.sentence)

    def _find_end(self, statements: Sequence[str], words: str) -> PlayedScript:
        self.stop()
        self.start()
        assert self.server, "it was started"
        answers: list[WholeAnswer] = []
        try:
            self.conversation.ask_whole(self.session, self.dialect.file.fresh)
            for sql in statements:
                with explain_death(self.server):
                    answers += self.conversation.ask_whole(self.session, [sql])
        except LateAnswer as late:
            return self._end(answers, "hang", late)
        except TrialFailed as failed:
            return self._end(answers, tell_ending(failed, self.server, self.dialect), failed)
        finally:
            self.conversation.close()
        return PlayedScript(tuple(answers), "", words)

    def _end(self, answers: list[WholeAnswer], ending: Ending, error: DynoError) -> PlayedScript:
        self.stop()
        self.start()
        return PlayedScript(tuple(answers), ending, error.sentence)


def tell_ending(failed: TrialFailed, server: Server, dialect: DialectSide) -> Ending:
    """Did the engine crash, or close the connection by rights, as after KILL and at its shutdown?
    A server that was stopped by a signal did neither; what is no fault of the server is raised.
    """
    if isinstance(failed, ServerStopped):
        return ""
    if isinstance(failed, ServerDied):
        return "connection closed" if failed.code == 0 else "crash"
    if server.pid is None:
        return "crash"
    if not failed.state:
        raise failed
    return "crash" if failed.state in dialect.file.crashed_states else "connection closed"


@dataclass(frozen=True)
class Pair:
    """Both sides, which play at the same time."""

    base: ScriptSide
    other: ScriptSide
    threads: ThreadPoolExecutor

    @property
    def same_engine(self) -> bool:
        """Return whether both are of one engine."""
        return self.base.engine_name == self.other.engine_name

    def play(self, statements: Sequence[str]) -> tuple[PlayedScript, PlayedScript]:
        """Play a script on both; on a side that stands beside itself twice."""
        if self.base is self.other:
            return self.base.play(statements), self.other.play(statements)
        theirs = self.threads.submit(self.other.play, statements)
        ours = self.base.play(statements)
        return ours, theirs.result()

    def repeat(self, side: ScriptSide) -> Pair:
        """Return a side beside itself."""
        return Pair(side, side, self.threads)


@contextmanager
def hold_pair(base: ScriptSide, other: ScriptSide) -> Iterator[Pair]:
    """Both sides from their start to their stop; the other has a thread that outlives it."""
    with ThreadPoolExecutor(max_workers=1) as threads, ExitStack() as stack:
        stack.callback(base.stop)
        base.start()
        stack.callback(other.stop)
        threads.submit(other.start).result()
        yield Pair(base, other, threads)


def resolve_sides(specs: Sequence[Spec], home: Path, say: Say) -> list[EngineSide]:
    """The engines with their builds; `UsageError` for those that cannot be played."""
    resolved = resolve_candidates([CandidateRequest(spec) for spec in specs], {}, say)
    sides = []
    for at, (candidate, engine, build) in enumerate(resolved):
        if build.attached:
            hint = "name a build: its tables are dropped before each script"
            raise UsageError(f"{candidate.name} is a server that runs already", hint=hint)
        dialect = read_side(candidate.engine, build.version)
        sides.append(EngineSide(candidate, engine, build, dialect, home / str(at)))
    return sides
