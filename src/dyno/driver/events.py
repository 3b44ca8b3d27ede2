"""The events of a trial as the driver writes them, one JSON line each.

The driver's error event, or its end without one, becomes the exception that it stands for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from dyno import answers
from dyno.answers import Answer
from dyno.errors import DynoError, HostError, InternalError, TrialFailed, UsageError
from dyno.record import PhaseRecord, decode
from dyno.record.schema import Record

_BLAME: dict[str, type[DynoError]] = {
    "user": UsageError,
    "host": HostError,
    "engine": TrialFailed,
    "driver": InternalError,
}


def convert_error(event: Mapping[str, Any]) -> DynoError:
    """The driver's error event as the exception for those who can fix it, with its place."""
    said = {name: text for name, text in event.items() if isinstance(text, str)}
    place, phase, stream = (said.get(name, "") for name in ("place", "phase", "stream"))
    connection = event.get("connection")
    places = [
        place,
        f"connection {connection}" if isinstance(connection, int) and (place or phase) else "",
        f"stream {stream}" if stream else "",
        f"phase {phase}" if phase else "",
    ]
    where, words = ", ".join(filter(None, places)), said.get("message", "it gives no reason")
    hint, blame = said.get("hint", ""), said.get("blame", "")
    if blame == "user" and place and not hint:
        hint = "dyno play null --workload SCRIPT tries a script without an engine"
    message = f"{words} ({where})" if where else words
    fault = _BLAME.get(blame, InternalError)(message, hint=hint)
    fault.place, fault.without_place = place, said.get("script_words") or words
    fault.function, fault.state = said.get("function", ""), said.get("state", "")
    return fault


def explain_silence(code: int, text: str) -> DynoError:
    """Why a driver that gave no reason is gone."""
    if code < 0:
        return TrialFailed(f"the driver was killed (signal {-code})")
    lines = text.strip().splitlines()
    return TrialFailed(f"the driver ended early (exit code {code})", cause="".join(lines[-1:]))


def extract_rows(said: Any, statements: int) -> list[list[list[str | None]]]:
    """The rows of the answers to so many statements; an error event is raised, and so is what is no
    such list.
    """
    if isinstance(said, dict) and said.get("event") == "error":
        raise convert_error(said)
    answers = said if isinstance(said, list) else []
    rows: list[Any] = [answer.get("rows") for answer in answers if isinstance(answer, dict)]
    if len(rows) != statements or not all(isinstance(each, list) for each in rows):
        raise InternalError("cannot parse the driver's answer", cause=f"{str(said)[:100]}")
    return rows


#: What is done with the statements that are asked: their rows are answered, or counted only, also
#: with the server's notices kept; or they are prepared and not executed, its notices kept, too; or
#: prepared, and their execution alone is timed. Or all that they are answered with is told.
AskMode = Literal["rows", "counts", "notices", "prepares", "executes", "contents"]


class ServerNotice(Record):
    """What a server says beside an answer, inside which functions (empty: in none), and what it
    adds.
    """

    message: str
    context: str
    detail: str = ""
    level: str = ""
    code: str = ""


class TimedAnswer(Record):
    """The answer to one statement, and the time from sending it to the answer's end.

    `found` rows came back, also where they were counted only; `opened_ns` is what opening the
    connection took, and `process` the server's that its login named, in the first answer over it;
    `counts` is what an embedded engine counted.
    `notices` are kept where they were asked for, `notices_dropped` is how many more there were.
    """

    rows: list[list[str | None]]
    elapsed_ns: int
    found: int = 0
    changed: int = 0
    columns: tuple[str, ...] = ()
    opened_ns: int | None = None
    process: int | None = None
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    notices: tuple[ServerNotice, ...] = ()
    notices_dropped: int = 0

    @property
    def elapsed_us(self) -> float:
        """The same in µs."""
        return self.elapsed_ns / 1000


def extract_answers(said: Any, statements: int) -> list[TimedAnswer]:
    """The answers to so many statements; what is an error or no such list is raised."""
    extract_rows(said, statements)
    names = ("elapsed_ns", "found", "changed", "opened_ns", "process", "counts", "notices_dropped")
    return [
        TimedAnswer(
            answer["rows"],
            columns=tuple(answer["columns"]),
            notices=tuple(ServerNotice(**each) for each in answer.get("notices", ())),
            **{name: answer[name] for name in names if name in answer},
        )
        for answer in said
    ]


class WholeAnswer(Record):
    """All that one statement was answered with. `digests` are of its rows in their order and in
    any, also where the rows are too many to be told (`answer.cut`); `found` is their number.
    """

    answer: Answer
    digests: tuple[str, str]
    found: int
    elapsed_ns: int


def compare_whole_answers(
    base: WholeAnswer,
    other: WholeAnswer,
    sql: str,
    *,
    kind: str,
    same_engine: bool,
    orders_are_total: bool = False,
) -> answers.Sameness:
    """Return whether two answers to `sql` are the same; those too long to be told by digests."""
    if base.answer.cut or other.answer.cut:
        return _compare_digests(base, other)
    return answers.compare_answers(
        base.answer,
        other.answer,
        sql,
        kind=kind,
        same_engine=same_engine,
        orders_are_total=orders_are_total,
    )


def _compare_digests(base: WholeAnswer, other: WholeAnswer) -> answers.Sameness:
    if not (all(base.digests) and all(other.digests)):
        return answers.Sameness("not compared", base.answer.cut or other.answer.cut)
    if base.found != other.found:
        return answers.Sameness("differs", f"{base.found} and {other.found} rows", "rows")
    if base.digests == other.digests:
        return answers.Sameness("same")
    why = "the rows are too many to be distinguished from values spelled differently"
    if base.digests[1] == other.digests[1]:
        why = "the same rows come in another order, too many to be held against ORDER BY"
    return answers.Sameness("not compared", why)


def extract_whole_answers(said: Any, statements: int) -> list[WholeAnswer]:
    """What so many statements were answered with, refusals among it; what ended the connection is
    raised.
    """
    extract_rows(said, statements)
    return [read_whole_answer(each) for each in said]


def read_whole_answer(said: Mapping[str, Any]) -> WholeAnswer:
    """All that one statement was answered with."""
    names, types = said["columns"], said.get("types", [])
    refusal = said.get("refusal")
    notices = (
        answers.Notice(each.get("level", ""), each.get("code", ""), each["message"])
        for each in said.get("notices", ())
    )
    answer = answers.Answer(
        columns=tuple(
            answers.Column(name, kind) for name, kind in zip_longest(names, types, fillvalue="")
        ),
        rows=tuple(map(tuple, said["rows"])),
        rows_changed=said["changed"],
        insert_id=said.get("insert_id"),
        notices=tuple(notices),
        refusal=answers.Refusal(refusal["code"], refusal["text"]) if refusal else None,
        cut=said.get("cut", ""),
    )
    first, second = said.get("digests", ("", ""))
    return WholeAnswer(answer, (first, second), said["found"], said["elapsed_ns"])


class Settle(Record):
    """The engine should settle before a phase: no client is connected. Waits for `go`."""

    phase: str


class Loads(Record):
    """A phase is about to load its users, where reports were asked for. Waits for `go`."""

    phase: str
    users: int


class Ready(Record):
    """A phase stands ready, its connections open, and waits for `go`: with the time of its start,
    where it is interleaved.
    """

    phase: str
    monotonic_ns: int
    is_interleaved: bool = False


class Failing(Record):
    """An error has ended an interleaved phase before its time; it follows what was measured."""

    phase: str


class Answered(Record):
    """A server gave its last answer of a phase; its connections are still open. Waits for `go`."""

    phase: str


class StreamProgress(Record):
    """How a stream is going: totals since the phase began, rate and maximum of late."""

    name: str
    done: int
    failed: int
    rate_per_s: float
    latency_ns_max: int


class Progress(Record):
    """How a phase is going, once a second."""

    phase: str
    elapsed_s: float
    streams: tuple[StreamProgress, ...]


class Report(Record):
    """What sysbench calls `stat`, under its names: seconds, and counts of `time_interval`.

    `users` are each user's events and the seconds that they took, `histogram` upper bounds in ms
    with their counts; both, and minimum, mean and sum of latencies, of a whole phase only.
    """

    is_cumulative: bool
    threads_running: int
    time_interval: float
    time_total: float
    latency_pct: float
    latency_max: float
    latency_min: float
    latency_avg: float
    latency_sum: float
    events: int
    reads: int
    writes: int
    other: int
    errors: int
    reconnects: int
    queue_length: int
    concurrency: int
    is_sql: bool
    users: tuple[UserShare, ...]
    histogram: tuple[Bucket, ...]


class UserShare(Record):
    """A user's part of a phase."""

    events: int
    busy_s: float


class Bucket(Record):
    """How many latencies lie about a value."""

    value_ms: float
    count: int


class End(Record):
    """The trial is over, and well; `counters` are the script's own, `written` what its users wrote
    last, `examples` an execution of each text that they sent.
    """

    counters: dict[str, int]
    written: tuple[WrittenKeys, ...] = ()
    examples: tuple[StatementExample, ...] = ()


class StatementExample(Record):
    """One execution of a text, its values in it, by the digest of the text (`StatementTally`);
    `prepared` is what was prepared for it (PostgreSQL's parameters `$1`, …), empty where nothing
    was. `executions` are this and further ones.
    """

    digest: str
    sql: str
    prepared: str = ""
    executions: tuple[Execution, ...] = ()


class Execution(Record):
    """What a user sent, its values in it; `place` is how many of its texts were kept before."""

    user: int
    place: int
    sql: str


class WrittenKeys(Record):
    """What was written last under sampled keys, by the name that a ledger's entry has for it."""

    name: str
    keys: tuple[WrittenKey, ...]


class WrittenKey(Record):
    """A key, and digests of the values of which one must be there; none if unknown."""

    key: int
    digests: tuple[str, ...]


class ClientPhase(Record):
    """What one of several drivers and its host did in a phase, before its record: as the driver's
    own `ClientPhase` has it, by its clock; None: not known there.
    """

    phase: str
    users: int
    threads: int
    first_began_ns: int
    last_began_ns: int
    busiest_ns: int
    waited_ns_max: int
    cores: int | None = None
    host_busy_ns: int | None = None
    host_stolen_ns: int | None = None


class Pong(Record):
    """The answer to a ping, and what the driver's clock showed then."""

    number: int
    monotonic_ns: int


class Hello(Record):
    """The first line: which driver speaks, and which version of the plan."""

    version: int
    driver: str


Event = Settle | Loads | Ready | Failing | Answered | Progress | Report | PhaseRecord | End
#: What several drivers that play together say beside.
ClientEvent = ClientPhase | Pong

_EVENTS: dict[str, type[Any]] = {
    "hello": Hello,
    "settle": Settle,
    "loads": Loads,
    "report": Report,
    "ready": Ready,
    "failing": Failing,
    "answered": Answered,
    "progress": Progress,
    "client": ClientPhase,
    "pong": Pong,
    "done": PhaseRecord,
    "end": End,
}


class UnreadableEvent(InternalError):
    """A line that is no event of a driver of ours: our own fault, unless the driver is a host's."""


def parse_event(line: bytes) -> Hello | Event | ClientEvent:
    """The event of a line; the driver's own error is raised as the exception it stands for.

    `UnreadableEvent` for any other line.
    """
    try:
        said = json.loads(line)
        kind = said.pop("event")
        if kind == "error":
            raise convert_error(said)
        event: Hello | Event | ClientEvent = decode.decode(_EVENTS[kind], said)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableEvent("cannot parse the driver's event", cause=error) from error
    return event
