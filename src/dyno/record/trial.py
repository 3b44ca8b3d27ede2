"""One trial: what the driver counted, and what the probes, controls and the ledger left of it."""

from __future__ import annotations

from typing import Literal

from dyno.record.clients import ClientLoad, ClientPart
from dyno.record.conditions import Conditions
from dyno.record.contents import Contents
from dyno.record.integrity import IntegrityCheck
from dyno.record.profile import CpuProfile
from dyno.record.rehearsal import FolderUpgrade
from dyno.record.schema import SCHEMA, Finite, Int64, Record
from dyno.record.waits import WaitProfile

Better = Literal["lower", "higher"]


class Metric(Record, order=True):
    """A number's identity. A number without one cannot be stored.

    `transaction` names the stream, or `stream/type` where a script names transaction types, or
    is empty for what belongs to a whole phase (server cost, database size). Of a capacity it is
    the limit that is held.
    """

    workload: str
    phase: str
    transaction: str
    name: str
    unit: str
    better: Better


class Latency(Record):
    """A distribution of durations in ns, from the intended time to the answer."""

    count: Int64
    mean_ns: Finite
    max_ns: Int64
    percentiles_ns: dict[str, Int64]
    hdr: str


class Series(Record):
    """Per-second columns of a stream, all of one length."""

    done: tuple[Int64, ...]
    failed: tuple[Int64, ...]
    latency_ns_max: tuple[Int64, ...]


StatementKind = Literal[
    "insert",
    "update",
    "delete",
    "write",
    "read",
    "begin",
    "commit",
    "rollback",
    "ddl",
    "several",
    "batch",
    "other",
]


class StatementTally(Record):
    """What became of all statements of one text, its literals aside.

    `text` has `?` in the place of literals, and is cut where it is long; `digest` is that of the
    whole, empty for all texts beyond those kept apart. `failed` of those `sent` were refused by the
    engine, caught anywhere. `rows_changed` is what the engine reported, `rows_expected`
    what the script says that it must be (None: it says nothing). Of each user's executions between
    two ramp-ins of a slice the first 1,024 were looked at, `sketched` of them in as many
    `sketches`: their values fall into 64 classes by chance, of which they met `value_classes`,
    added up. That are as many as sketches where a user always sends the same; 0 in old records.
    """

    text: str
    digest: str
    kind: StatementKind
    sent: Int64
    failed: Int64
    rows_read: Int64
    rows_changed: Int64
    rows_expected: Int64 | None = None
    sketches: Int64 = 0
    sketched: Int64 = 0
    value_classes: Int64 = 0


class Tally(Record):
    """What a stream did in a phase. Always: intended = done + failed + skipped.

    `claimed` is what a server must have counted of it, too, in its own way (statements, or ended
    transactions), from the start to the close of the connections, warm-up, failures and restarts
    included; None where nobody counts along. `claimed_further` is what the server may have counted
    beyond that: results that followed the first of a request, which are a text's next statements or
    a procedure's own, and a transaction for each table that maintenance (`ANALYZE`) went to.
    `claimed_before` is both of `thread_init`.
    `slices` are the events done in each of its slices, where turns were taken; `overrun` of
    them ended after the turn that they began in, and `renewed` connections were made anew between
    epochs.
    `cut` of the failed events had no answer long after the phase's end, when their connections were
    cut. What they had waited (`cut_ns_max` at most) is in `latency`, and less than theirs would be.
    `under_way` events, of the warm-up or not, ended or were cut after the phase's time was up, and
    took or had waited `under_way_ns_min` at least; 0 in old records.
    `round_trips` are answers that were waited for (a batch has one), `sent_bytes` and
    `received_bytes` what went to a server and came from it, warm-up left out; 0 in old records.
    `rested_ns` is what all its users together rested between events, as their script said
    (`dyno.rest`): it is in no latency, and in time that counts.
    `statements` are those sent after the warm-up, text by text, and `statements_before` those of
    `init` and `thread_init`; none in old records. From the start to the close, warm-up included,
    the rows that statements changed were committed, rolled back, or lost: neither when their
    connection was closed. `commits` are transactions that committed some, at least, since the phase
    stood ready: what a server must have counted as commits, too. `ends_open` of the `ends` of
    events that were looked at left a transaction open. `client_ns` is what `client_events` of its
    events spent in the script and the driver, and not in the engine; `slept_ns` what its users
    slept inside events because their script told them to.
    """

    name: str
    unit: str
    units_per_event: Int64
    connections: Int64
    target_per_s: Finite | None
    intended: Int64
    done: Int64
    failed: Int64
    skipped: Int64
    warmup: Int64
    restarted: Int64
    queries: Int64
    rows_read: Int64
    rows_changed: Int64
    busy: Int64
    errors: dict[str, Int64]
    service_ns: Int64 | None
    latency: Latency
    lateness: Latency
    transactions: dict[str, Latency]
    series: Series
    reconnected: Int64 = 0
    claimed: Int64 | None = None
    claimed_before: Int64 = 0
    claimed_further: Int64 = 0
    cut: Int64 = 0
    cut_ns_max: Int64 = 0
    under_way: Int64 = 0
    under_way_ns_min: Int64 = 0
    slices: tuple[Int64, ...] = ()
    overrun: Int64 = 0
    renewed: Int64 = 0
    round_trips: Int64 = 0
    sent_bytes: Int64 = 0
    received_bytes: Int64 = 0
    rested_ns: Int64 = 0
    statements: tuple[StatementTally, ...] = ()
    statements_before: tuple[StatementTally, ...] = ()
    rows_committed: Int64 = 0
    rows_rolled_back: Int64 = 0
    rows_lost: Int64 = 0
    commits: Int64 = 0
    ends: Int64 = 0
    ends_open: Int64 = 0
    client_ns: Int64 = 0
    client_events: Int64 = 0
    slept_ns: Int64 = 0

    def __post_init__(self) -> None:
        if self.intended != self.done + self.failed + self.skipped:
            raise ValueError(
                f"stream {self.name}: {self.intended} intended, but {self.done} done + "
                f"{self.failed} failed + {self.skipped} skipped"
            )

    @property
    def paced(self) -> bool:
        """Was its rate set, and not measured?"""
        return self.target_per_s is not None

    @property
    def is_outlasted(self) -> bool:
        """No event was done, since one of each user took longer than the phase."""
        ended = self.done + self.failed - self.cut
        return not ended and 0 < self.connections <= self.under_way

    @property
    def rests_on_purpose(self) -> bool:
        """Have its users nothing to do at times, because that was asked for?"""
        return self.paced or self.rested_ns > 0


class Usage(Record):
    """What the driver's process spent in a phase (with the engine in it, where embedded)."""

    user_ns: Int64
    system_ns: Int64
    voluntary_switches: Int64
    involuntary_switches: Int64
    resident_bytes: Int64


class Reading(Record):
    """A probe's number over one phase, with its identity.

    `value` is what the phase added to a counter, or a gauge's value at its end. `per_operation`
    says that the number is a cost to be divided by the phase's operations; `condition`, that it
    describes what else the host did, or a phase's whole work, and compares nothing.
    """

    probe: str
    name: str
    unit: str
    better: Better
    value: Finite
    per_operation: bool
    condition: bool = False


class Suspended(Record):
    """What an engine's processes did while others had their turn: how many times they were to stand
    still, for how long in all, and the CPU time that they used meanwhile.
    """

    times: Int64 = 0
    time_ns: Int64 = 0
    cpu_ns: Int64 = 0

    def __add__(self, more: Suspended) -> Suspended:
        return Suspended(
            self.times + more.times, self.time_ns + more.time_ns, self.cpu_ns + more.cpu_ns
        )

    def __sub__(self, before: Suspended) -> Suspended:
        return self + Suspended(-before.times, -before.time_ns, -before.cpu_ns)


class Switches(Record):
    """How the turns of a phase were switched, where engines were suspended: how many turns began,
    by how much the latest did, and how much of its own time the candidate lost by late ones, in
    which its engine stood still and another's went on. `refused` is how many of its processes could
    not be suspended (0 in older records, which did not look); `suspended` what the others did all
    the same, None where that was not seen, as in older records.
    """

    count: Int64
    late_ns_max: Int64
    lost_ns: Int64
    refused: Int64 = 0
    suspended: Suspended | None = None


class PhaseRecord(Record):
    """What one phase of one trial measured; times are CLOCK_MONOTONIC.

    Where turns were taken, `own_ns` is how much of the time from `started_ns` to `ended_ns` was its
    own, and `counted_ns` what counts of that after the warm-up: its slices without their ramp-ins.
    `together` are the latencies of all streams that count in a unit, where two or more answered in
    it. `stood_still_ns` is how much of its own time the whole driver stood still, and
    `stood_still_ns_max` the longest of these standstills, others' time included. `held_up_ns` is
    how much of its own time a thread of the driver connected anew, or prepared a statement, for one
    user while its others waited, and `held_up_ns_max` the longest of these times. `waited_ns` is
    how long the thread of the driver that waited most stood ready and had no core. Records of older
    drivers have none of these. `switches` are Dyno's own, interleaved. `unread` says why a probe's
    numbers are missing that a server was asked for and did not tell, by the probe's name.
    `profile` is where the CPU time of the engine's processes went, without stacks; None where it
    was not sampled, as in older records.
    `engine_counts` is what an engine that lives in the driver counted of its own work, and its
    readings are those of probe `work`. `waits` is what the server's sessions were at; None where
    that was not sampled. `clients` are the hosts that played it together, whose counts these are;
    empty: one driver on Dyno's own host played it.
    """

    phase: str
    started_ns: Int64
    measured_ns: Int64
    ended_ns: Int64
    interrupted: bool
    usage: Usage
    streams: tuple[Tally, ...]
    readings: tuple[Reading, ...] = ()
    together: dict[str, Latency] = {}
    own_ns: Int64 | None = None
    counted_ns: Int64 | None = None
    stood_still_ns: Int64 = 0
    stood_still_ns_max: Int64 = 0
    held_up_ns: Int64 = 0
    held_up_ns_max: Int64 = 0
    waited_ns: Int64 = 0
    switches: Switches | None = None
    unread: dict[str, str] = {}
    profile: CpuProfile | None = None
    engine_counts: dict[str, Int64] = {}
    waits: WaitProfile | None = None
    clients: tuple[ClientPart, ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds measured: from the end of the warm-up to the last answer; 0 where the phase was
        interrupted before that end.
        """
        if self.counted_ns is not None:
            return self.counted_ns / 1e9
        return max(self.ended_ns - self.measured_ns, 0) / 1e9

    @property
    def sample_ns(self) -> float:
        """CPU time that a sample of its profile stands for: what the kernel charged the engine's
        processes with, shared out among the samples, else the time between two of them; 0 without
        samples. A virtual machine's timer is late, and misses a part of short runs.
        """
        if self.profile is None or not self.profile.samples:
            return 0.0
        name = "server_cpu_us" if self.profile.kernel else "server_user_us"
        charged = (each.value for each in self.readings if each.name == name and each.value > 0)
        charged_us = next(charged, None)
        if charged_us is None:
            return float(self.profile.period_ns)
        return 1e3 * charged_us / self.profile.samples

    @property
    def own_time_ns(self) -> int:
        """How long it was played, warm-up included: without the time in which others had turns."""
        return self.ended_ns - self.started_ns if self.own_ns is None else self.own_ns

    @property
    def own_share(self) -> float:
        """The part of the time from its start to its end in which it had its turn."""
        whole_ns = self.ended_ns - self.started_ns
        return self.own_time_ns / whole_ns if whole_ns > 0 else 1.0

    def list_client_loads(self) -> list[ClientLoad]:
        """What each client host sent, and how busy its driver was; none where one driver played."""
        return [
            ClientLoad(
                part.host,
                sum(part.done.values()) / self.duration_s if self.duration_s else 0.0,
                min(100.0, part.busiest_percent / self.own_share),
            )
            for part in self.clients
        ]


class Evidence(Record):
    """What the ledger saw: a statement's number beside the driver's own; without a statement, a sum
    of the script's counters.

    Where nothing is foretold, nothing is `expected`: the rows are `found` as their number, and held
    against those of other candidates. All of them are `rows` where they are few. `digest` is 16
    digits of the rows as they came and 16 of them in any order; older records have 16 in all, of
    values in one spelling. `session` is the kind of the driver's session, which quotes `sql`.
    """

    name: str
    sql: str
    expected: Int64
    found: str
    digest: str = ""
    rows: tuple[tuple[str | None, ...], ...] = ()
    session: str = ""


class Failure(Record):
    """Why a trial failed, as its error said it: one clause, its cause, what to do."""

    message: str
    cause: str = ""
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.message}: {self.cause}" if self.cause else self.message

    @property
    def sentence(self) -> str:
        """The failure in one line; the lines below hold the end of a server's log."""
        return str(self).partition("\n")[0]


Status = Literal["ok", "failed", "interrupted"]
#: The candidate name of the trials that play the script on `null`, as records have it.
CLIENT_BASELINE = "(floor)"


_CONTENTS = "(contents) "


def name_contents(candidate: str) -> str:
    """The candidate name of the trials in which its answers are compared."""
    return f"{_CONTENTS}{candidate}"


def name_echo(candidate: str) -> str:
    """The candidate name of the trials that play an echo in the place of a server."""
    return f"(echo) {candidate}"


class Trial(Record):
    """One restart of one candidate under one workload.

    `number` names its file; `attempt` counts the times that its block was begun; `conditions` is
    what it stood under; `settings` are the engine's, as read back; `failure` is why a failed one
    did; `options` are the workload's that belong to its cell alone; `plans` are those of the
    statements that the script names or, where it names none, of each text that was sent, as the
    engine told them after the last phase; `plans_before` those before the first (not in a run's
    first block), `unexplained` says why others have none. `generic_plans` are those that PostgreSQL
    has for prepared statements whatever their values. `integrity` is what the engine was asked of
    its structures and keys (in a run's first block).
    `began_ns` and `over_ns` are when it was begun and when nothing of it was left (CLOCK_MONOTONIC;
    0 in older records). `contents` are a candidate's answers beside the base's, in a trial of their
    own; `upgrade` is told by the trial for which the base's data folder was upgraded. `left_behind`
    says, a sentence each, what could not be cleared away. In a run that was gathered, `share` is
    the index of the share that played it and `host` its host.
    """

    number: Int64
    workload: str
    block: Int64
    candidate: str
    attempt: Int64
    order: Int64
    started_utc: str
    status: Status
    phases: tuple[PhaseRecord, ...] = ()
    counters: dict[str, Int64] = {}
    settings: dict[str, str] = {}
    conditions: Conditions = Conditions()
    evidence: tuple[Evidence, ...] = ()
    plans: dict[str, str] = {}
    plans_before: dict[str, str] = {}
    unexplained: dict[str, str] = {}
    generic_plans: dict[str, str] = {}
    integrity: tuple[IntegrityCheck, ...] = ()
    size_bytes: Int64 = 0
    failure: Failure | None = None
    log: str = ""
    options: dict[str, str] = {}
    began_ns: Int64 = 0
    over_ns: Int64 = 0
    left_behind: tuple[str, ...] = ()
    contents: Contents | None = None
    upgrade: FolderUpgrade | None = None
    share: Int64 = 0
    host: str = ""
    schema: Int64 = SCHEMA

    @property
    def why_failed(self) -> str:
        """The first line of its failure; empty without one."""
        return self.failure.sentence if self.failure else ""

    @property
    def is_contents(self) -> bool:
        """It played no phase, but asked for answers that are compared."""
        return self.candidate.startswith(_CONTENTS)

    @property
    def is_client_baseline(self) -> bool:
        """It belongs to no block: `null` or an echo was played, or answers were asked for."""
        return self.block < 0
