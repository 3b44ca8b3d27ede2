"""Which statements took the time: by the server's own counts, read now and then and subtracted,
else by how often its sessions were seen executing each. The largest are explained.

What the profile will cost a busy engine is said before it begins
(docs/evidence/server-profile.md), without the context switches of a server that sleeps after each
short request.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dyno.engines import Ask
from dyno.errors import DynoError
from dyno.record.server_profile import StatementSource, StatementTime
from dyno.servers.profile.source import (
    MetSession,
    NotPlanned,
    StatementCount,
    StatementServer,
    StatementText,
)

#: Statements that are told, and those of them whose plans are asked for.
STATEMENTS_TOLD, PLANS_ASKED = 20, 10
#: More are read, since ours are left out.
STATEMENTS_READ = 30
#: How much of a statement is kept.
TEXT_KEPT = 2_000
#: How much of a plan is.
LINES_KEPT, LINE_KEPT = 100, 200
#: Statements with their values that sessions were met with, kept for a server that keeps none.
EXAMPLES_KEPT = 500
#: Counts are read no more often than this.
LEAST_EVERY_S = 1.0


@dataclass
class StatementTimes:
    """The statements of one server. `begin` reads first; `add` gets each look at the sessions, and
    reads again when that is due; `list_times` returns the largest.
    """

    ask: Ask
    server: StatementServer
    missing: list[str] = field(default_factory=list)
    #: What was found missing while texts and plans were read.
    found_missing: list[str] = field(default_factory=list)
    failed: bool = False
    every_s: float = LEAST_EVERY_S
    #: Of one core, what reading takes of the server.
    share: float = 0.0
    _last: Mapping[str, StatementCount] = field(default_factory=dict)
    _read_s: float = 0.0
    _slices: list[Mapping[str, StatementCount]] = field(default_factory=list)
    _elapsed_ns: list[int] = field(default_factory=list)
    _totals: dict[str, StatementCount] = field(default_factory=dict)
    _met: Counter[str] = field(default_factory=Counter)
    _met_now: Counter[str] = field(default_factory=Counter)
    _looks: int = 0
    _texts: dict[str, StatementText] = field(default_factory=dict)
    _examples: dict[str, str] = field(default_factory=dict)
    _is_counted: bool = False

    @property
    def source(self) -> StatementSource:
        return self.server.statement_source

    @property
    def slices_ns(self) -> tuple[int, ...]:
        return tuple(self._elapsed_ns)

    def begin(self) -> None:
        """Connect, and read the counts as they stand; how long that takes says how often it may be
        done.
        """
        self._is_counted = bool(self.server.counts_sql)
        self.ask(self.server.session, [self.server.sessions_sql])
        if self._is_counted:
            took_s = min(self._measure_counts_s() for _ in range(2))  # the first one fills caches
            self.every_s = max(LEAST_EVERY_S, took_s / COUNTS_SHARE)
            self.share = took_s / self.every_s
        self._read_s = time.monotonic()

    def _measure_counts_s(self) -> float:
        begun_s = time.monotonic()
        self._read_counts()
        return time.monotonic() - begun_s

    def _read_counts(self) -> Mapping[str, StatementCount]:
        (rows,) = self.ask(self.server.session, [self.server.counts_sql])
        return self.server.extract_counts(rows)

    def restart(self) -> None:
        """Begin the profile now: earlier counts are no part of it."""
        if self._is_counted:
            self._last = self._read_counts()
        self._read_s = time.monotonic()

    def add(self, met: list[MetSession]) -> None:
        """Add a look at all sessions; `DynoError` if the counts are due and not available."""
        self._looks += 1
        for each in met:
            if each.text:
                self._add_session(each)
        if time.monotonic() - self._read_s >= self.every_s:
            self.end_slice()

    def _add_session(self, met: MetSession) -> None:
        short = self.server.shorten(met.text)
        if self._is_counted:
            if len(self._examples) < EXAMPLES_KEPT:
                self._examples.setdefault(_strip_blanks(short), met.text)
            return
        digest = hashlib.md5(short.encode(), usedforsecurity=False).hexdigest()
        key = f"{met.database}/{digest}"
        self._texts.setdefault(key, StatementText(met.database, short, met.text))
        self._met_now[key] += met.state.sessions

    def end_slice(self) -> None:
        now_s = time.monotonic()
        elapsed_ns = round((now_s - self._read_s) * 1e9)
        if self._is_counted:
            counts = self._read_counts()
            added = {key: count - self._last.get(key) for key, count in counts.items()}
            self._last = counts
            taken = {key: it for key, it in added.items() if it.calls or it.time_ns}
            for key, it in taken.items():
                so_far = self._totals.get(key, StatementCount(0, 0, 0))
                self._totals[key] = StatementCount(
                    so_far.calls + it.calls, so_far.time_ns + it.time_ns, so_far.rows + it.rows
                )
            self._slices.append(taken)
        elif self._looks:
            each_ns = elapsed_ns / self._looks
            self._slices.append(
                {key: StatementCount(0, round(n * each_ns), 0) for key, n in self._met_now.items()}
            )
            for key, count in self._met_now.items():
                before = self._totals.get(key, StatementCount(0, 0, 0))
                time_ns = before.time_ns + round(count * each_ns)
                self._totals[key] = StatementCount(0, time_ns, 0)
        else:
            return
        self._elapsed_ns.append(elapsed_ns)
        self._met_now, self._looks, self._read_s = Counter(), 0, now_s

    def list_times(self, *, is_over: bool) -> tuple[StatementTime, ...]:
        """Return the statements that took most; once it `is_over` with their plans."""
        if is_over and not self.failed:
            try:
                self.end_slice()
            except DynoError as refused:
                self.failed = True
                self.found_missing.append(
                    f"statements were not read at the end: {refused.sentence}"
                )
        largest = sorted(self._totals, key=lambda key: -self._totals[key].time_ns)[:STATEMENTS_READ]
        texts = self._read_texts(largest)
        told = [key for key in largest if key in texts or self.failed][:STATEMENTS_TOLD]
        plans: dict[str, tuple[str, str]] = defaultdict(lambda: ("", ""))
        if is_over:
            plans.update({key: self.explain(texts.get(key)) for key in told[:PLANS_ASKED]})
        return tuple(self._make_row(key, texts.get(key), plans[key]) for key in told)

    def _make_row(
        self, key: str, text: StatementText | None, plan: tuple[str, str]
    ) -> StatementTime:
        total, nothing = self._totals[key], StatementCount(0, 0, 0)
        slices = [each.get(key, nothing) for each in self._slices]
        database, _, name = key.rpartition("/")
        return StatementTime(
            key,
            text.database if text else database,
            text.text[:TEXT_KEPT] if text else f"(its text is not available: {name})",
            total.time_ns,
            tuple(each.time_ns for each in slices),
            total.calls if self._is_counted else None,
            total.rows if self._is_counted else None,
            tuple(each.calls for each in slices) if self._is_counted else (),
            *plan,
        )

    def _read_texts(self, keys: list[str]) -> Mapping[str, StatementText]:
        if not self._is_counted:
            return self._texts
        unknown = [key for key in keys if key not in self._texts]
        if unknown and not self.failed:
            try:
                told = self.server.read_texts(self.ask, unknown)
                self._texts.update({key: self._add_example(it) for key, it in told.items()})
            except DynoError as refused:
                self.failed = True
                self.found_missing.append(f"texts are not available: {refused.sentence}")
        return self._texts

    def _add_example(self, told: StatementText) -> StatementText:
        """Return the statement as a session was seen executing it, if the server keeps none."""
        met = self._examples.get(_strip_blanks(told.text), "")
        return replace(told, example=met) if met and not told.example else told

    def explain(self, text: StatementText | None) -> tuple[str, str]:
        if text is None or self.failed:
            return "", "the server did not answer"
        try:
            lines = self.server.explain(self.ask, text).splitlines()
            kept = [line[:LINE_KEPT] for line in lines[:LINES_KEPT]]
            if len(lines) > LINES_KEPT:
                kept.append(f"… and {len(lines) - LINES_KEPT} lines more")
            return "\n".join(kept), ""
        except NotPlanned as why:
            return "", why.message
        except DynoError as refused:
            return "", refused.sentence


def _strip_blanks(text: str) -> str:
    """Return a statement without blanks and quotes of names: servers and we write these
    differently.
    """
    return re.sub(r"[\s`\"]", "", text).rstrip(";").upper()


#: CPU time between two samples, the root of 5 in ms: it follows the rhythm of no timer.
PERIOD_NS = 2_236_068
#: What a sample costs, without its callers and with them.
SAMPLE_NS, STACK_NS = 9_500, 14_000
#: What a look at all sessions takes of both sides together.
LOOK_NS = 1_000_000
#: Between two looks at the sessions, on average.
LOOK_EVERY_S = 0.25
#: Of one core, that reading the statements' counts may take.
COUNTS_SHARE = 0.002


@dataclass(frozen=True)
class ProfileCost:
    """Shares: of the CPU time that is busy, for samples, and of one core, for questions."""

    samples: float
    questions: float

    def compute_percent(self, cores: int) -> float:
        """Return the share of all cores together, if all of them are busy."""
        return 100.0 * (self.samples + self.questions / cores)


def estimate_cost(
    *, period_ns: int | None, stacks: bool, asks: bool, counts_share: float
) -> ProfileCost:
    """Estimate by the rate of samples (`period_ns` None: none is taken), and whether sessions are
    asked.
    """
    each_ns = STACK_NS if stacks else SAMPLE_NS
    samples = each_ns / period_ns if period_ns else 0.0
    looks = LOOK_NS / (LOOK_EVERY_S * 1e9) if asks else 0.0
    return ProfileCost(samples, looks + counts_share)
