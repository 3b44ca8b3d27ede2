"""Rounds of a statement's path, over several connections, and the record that is made of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import get_args

from msgspec import structs

import dyno
from dyno.answers import Sameness
from dyno.driver import WholeAnswer, compare_whole_answers
from dyno.engines import (
    Ask,
    ChecksRemains,
    StatementPath,
    TellsInnerStatements,
    check_placeholders,
)
from dyno.errors import TrialFailed, UsageError
from dyno.record.explanation import (
    REST,
    Explanation,
    InnerStatement,
    PathRound,
    PathStage,
    PlanNode,
    StageName,
    StagePart,
)
from dyno.record.waits import SessionState
from dyno.servers.explain.target import CallSpan, PathConnection, StatementSampler

#: Stages in the order of the path, without the rest, which is the last.
ORDER: tuple[StageName, ...] = get_args(StageName)[:-1]
#: Rounds over one connection; then a new one is opened, since each has its own luck.
PER_SESSION = 2
#: A statement that takes so long is looked at while it runs.
SAMPLED_US = 20_000.0
#: A shorter one runs so often in each round, so that each way of running it meets warm caches.
REPEATED_US, REPEATS = 5_000.0, 5
#: How servers say that they refuse to write, and that a statement took too long.
REFUSED = re.compile(r"read[- _]only", re.IGNORECASE)
SYNTAX = re.compile(r"syntax|does not exist|Unknown column", re.IGNORECASE)
LATE = re.compile(
    r"statement timeout|maximum statement execution time|max_statement_time|was interrupted"
    r"|did not answer in|Lock wait timeout exceeded",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ExplainOptions:
    """How often a statement is run: `runs` rounds at most, none begun after `for_s`; and how long
    one run may take.
    """

    runs: int = 30
    for_s: float = 10.0
    limit_s: float = 30.0
    writes: bool = False


@dataclass
class PathPlayer:
    """Plays rounds of one path; `finish` makes the record."""

    path: StatementPath
    ask: Ask
    sql: str
    options: ExplainOptions
    rounds: list[PathRound] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    connect_us: list[float] = field(default_factory=list)
    first_us: float = 0.0
    shape: str = ""
    unfinished: str = ""
    inner: tuple[InnerStatement, ...] = ()
    answer: WholeAnswer | None = None
    _missing: str = ""
    _waits: list[SessionState] = field(default_factory=list)
    _connection: PathConnection | None = None

    def __post_init__(self) -> None:
        self._sampler = StatementSampler(self.path)

    def begin(self) -> None:
        """Play the first run, and read the plan; that run is sampled while it lasts. `unfinished`
        says that a statement does not end.
        """
        try:
            with self._sampler.sample():
                if self.path.beside:
                    # a server is asked what the statement calls, which warms that session's
                    # caches: the first run has a session of its own
                    self._connect()
                    self._close_connection()
                talk = self._connect()
                self._sampler.samples.clear()
                began_s = time.monotonic()
                talk(self.path.bare, "counts")
            self.first_us = 1e6 * (time.monotonic() - began_s)
            self._keep_waits()
            self.shape = self.path.extract_shape(talk)
            self._choose_repeats(self.first_us)
        except TrialFailed as refused:
            self._judge(refused)

    def read_answer(self) -> None:
        """Return all that the statement is answered with, to be compared with another server's."""
        if not self.unfinished:
            try:
                bare = self.path.bare
                self.answer = self._connect().ask_whole(bare)[len(bare) // 2]
                # after a refusal or a long answer the driver has reset what the session began with
                self._close_connection()
            except TrialFailed as refused:
                self._judge(refused)

    def _choose_repeats(self, bare_us: float) -> None:
        self.path.repeats = REPEATS if bare_us < REPEATED_US else 1

    def _keep_waits(self) -> None:
        self._waits += [it.state for it in self._sampler.samples]
        self._sampler.samples.clear()

    def play_round(self) -> bool:
        """Play one round more; False if nothing more is to be learned."""
        if self.unfinished:
            return False
        if len(self.rounds) % PER_SESSION == 0 and self.rounds:
            self._close_connection()
        talk = self._connect()
        talk.spans.clear()
        is_long = max([self.first_us, *(it.bare_us for it in self.rounds)]) >= SAMPLED_US
        try:
            with self._sampler.sample() if is_long else nullcontext():
                told = self.path.play_round(talk)
        except TrialFailed as refused:
            self._judge(refused)
            return False
        self.rounds.append(self._split_waits(told, talk.spans) if is_long else told)
        self._choose_repeats(told.bare_us)
        self.sessions.append(len(self.connect_us))
        return True

    def look_inside(self) -> None:
        """Read the statements inside its functions, in a run of its own, so that an error there
        spoils no round.
        """
        if self.unfinished or not self.rounds or not isinstance(self.path, TellsInnerStatements):
            return
        try:
            self.inner = self.path.read_inner(self._connect())
        except TrialFailed as refused:
            self._close_connection()
            self._missing = f"statements inside functions are not shown: {refused.sentence}"

    def _judge(self, refused: TrialFailed) -> None:
        """Return why a run failed: it would write, it took too long, or as the server says."""
        self._close_connection()
        if REFUSED.search(refused.message) and not self.options.writes:
            raise UsageError(
                "the statement writes",
                cause=refused.message.partition("\n")[0],
                hint="with --rollback it is executed in transactions that are rolled back",
            ) from refused
        if not LATE.search(refused.message):
            if SYNTAX.search(refused.message):
                check_placeholders(self.sql, refused.message.partition("\n")[0])
            raise refused
        self.unfinished = f"ended after {self.options.limit_s:g} s (--timeout)"
        self._keep_waits()

    def _split_waits(self, told: PathRound, spans: Sequence[CallSpan]) -> PathRound:
        """Separate lock waits: the share of a run's samples that were in one, of its time."""
        stages = dict(told.stages)
        for name, call in told.calls.items():
            if name in stages and call < len(spans):
                stages[name] = max(0.0, stages[name] - self._measure_locks_us(spans[call]))
        if "bare" in told.calls and told.calls["bare"] < len(spans):
            stages["lock wait"] = self._measure_locks_us(spans[told.calls["bare"]])
        self._keep_waits()
        return structs.replace(told, stages=stages)

    def _measure_locks_us(self, span: CallSpan) -> float:
        states = span.list_within(self._sampler.samples)
        locked = sum(it.kind == "locks" for it in states)
        return 1e6 * (span.ended_s - span.began_s) * locked / len(states) if states else 0.0

    def _connect(self) -> PathConnection:
        if self._connection is None:
            made = PathConnection(self.path, self.ask, self.options.limit_s)
            try:
                self.path.begin(made)
            except BaseException:
                made.close()
                raise
            if made.opened_us is not None:
                self.connect_us.append(made.opened_us)
            self._connection = made
        return self._connection

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _check_remains(self, path: ChecksRemains) -> str:
        self._close_connection()
        try:
            return path.check_remains(self.ask)
        except TrialFailed as refused:
            return f"tables reached: not checked: {refused.sentence}"

    def close(self) -> None:
        self._close_connection()
        self._sampler.close()

    def finish(self) -> Explanation:
        remarks = list(self.path.remarks)
        if self._sampler.missing:
            remarks.append(f"what the statement waits for is not known: {self._sampler.missing}")
        remarks += [self._missing] if self._missing else []
        if isinstance(self.path, ChecksRemains) and (left := self._check_remains(self.path)):
            remarks.append(left)
        last = self.rounds[-1] if self.rounds else None
        return Explanation(
            self.path.engine,
            self.path.version,
            self.path.server,
            self.sql,
            datetime.now(UTC).isoformat(timespec="seconds"),
            stages=_collect_stages(self.path, self.rounds),
            nodes=_collect_nodes(self.rounds),
            repeats=self.path.repeats,
            bare_us=tuple(it.bare_us for it in self.rounds),
            instrumented_us=_gather(self.rounds, lambda it: it.instrumented_us),
            clock_us=_gather(self.rounds, lambda it: it.clock_us),
            connect_us=tuple(self.connect_us),
            end_us=_gather(self.rounds, lambda it: it.end_us),
            end_source=self.path.end_source,
            sessions=tuple(self.sessions),
            first_us=self.first_us,
            rows=last.rows if last else 0,
            changed=last.changed if last else 0,
            shape=self.shape,
            inner=self.inner,
            facts=last.facts.get("statement", ()) if last else (),
            waits=_count_states(self._waits),
            wait_samples=len(self._waits),
            remarks=tuple(dict.fromkeys(remarks)),
            switches=self.path.switches,
            unfinished=self.unfinished,
            rolled_back=self.options.writes,
            dyno=dyno.__version__,
        )


def explain_all(players: Sequence[PathPlayer], options: ExplainOptions) -> list[Explanation]:
    """Return each path's record; rounds of two paths alternate, so that what the host does
    meanwhile hits both.
    """
    try:
        for each in players:
            each.begin()
        for each in players if len(players) > 1 else ():
            each.read_answer()
        ends_s = time.monotonic() + options.for_s
        for number in range(options.runs):
            order = players if number % 2 == 0 else players[::-1]
            went_on = [each.play_round() for each in order]
            if not all(went_on):
                break
            if time.monotonic() > ends_s:
                break
        for each in players:
            each.look_inside()
        return [each.finish() for each in players]
    finally:
        for each in players:
            with suppress(TrialFailed):
                each.close()


def compare_paths(first: PathPlayer, second: PathPlayer) -> Sameness:
    if first.answer is None or second.answer is None:
        return Sameness("not compared", first.unfinished or second.unfinished)
    kind = str(first.path.session["kind"])
    same = first.path.engine == second.path.engine
    answers = first.answer, second.answer
    return compare_whole_answers(*answers, first.sql, kind=kind, same_engine=same)


def _gather(
    rounds: Sequence[PathRound], read: Callable[[PathRound], float | None]
) -> tuple[float, ...]:
    return tuple(us for it in rounds if (us := read(it)) is not None)


def _collect_stages(path: StatementPath, rounds: Sequence[PathRound]) -> tuple[PathStage, ...]:
    stages = []
    for name in ORDER:
        us = _gather(rounds, lambda it, name=name: it.stages.get(name))  # type: ignore[misc]
        facts = next((it.facts[name] for it in reversed(rounds) if name in it.facts), ())
        stages.append(
            PathStage(name, us, path.sources.get(name, ""), _collect_parts(name, rounds), facts)
        )
    rest = tuple(it.bare_us - sum(it.stages.values()) for it in rounds)
    return (*stages, PathStage(REST, rest, "bare, less all above"))


def _collect_parts(name: StageName, rounds: Sequence[PathRound]) -> tuple[StagePart, ...]:
    names = dict.fromkeys(part for it in rounds for part in it.parts.get(name, ()))
    return tuple(
        StagePart(part, tuple(it.parts.get(name, {}).get(part, 0.0) for it in rounds))
        for part in names
    )


def _collect_nodes(rounds: Sequence[PathRound]) -> tuple[PlanNode, ...]:
    """The nodes of the last round; times of rounds whose plan has the same nodes."""
    if not rounds:
        return ()
    last = rounds[-1].nodes
    alike = [it.nodes for it in rounds if [n.name for n in it.nodes] == [n.name for n in last]]
    return tuple(
        PlanNode(
            node.depth,
            node.name,
            tuple(us for nodes in alike if (us := nodes[at].us) is not None),
            node.rows,
            node.loops,
            node.pages,
            node.facts,
        )
        for at, node in enumerate(last)
    )


def _count_states(states: Sequence[SessionState]) -> tuple[SessionState, ...]:
    met: dict[SessionState, int] = {}
    for it in states:
        met[it] = met.get(it, 0) + it.sessions
    ordered = sorted(met.items(), key=lambda it: -it[1])
    return tuple(SessionState(state.kind, state.event, n) for state, n in ordered)
