"""The loop that looks at a server again and again, and writes down what changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dyno.builds import Say
from dyno.engines import Ask
from dyno.errors import DynoError, HostError, TrialFailed, find_fullest
from dyno.servers.watch.reading import WatchRecord
from dyno.servers.watch.servers import WatchedServer, list_sources
from dyno.servers.watch.source import WHOLE, Row, WatchSource
from dyno.servers.watch.store import (
    SAMPLES,
    TIME,
    Changes,
    Recorded,
    SampleTime,
    WatchStore,
    with_samples,
)

#: A server that does not answer is asked again ever later, up to so much.
RETRY_MAX_S = 30.0
#: How much less than awaited a server may say that it is up, both rounded to s.
ROUNDING_S = 1.5
#: Rows that are kept in memory where the disk is full.
KEPT_ROWS = 500_000
#: How a write fails where the disk is full: ours, the library's that writes Parquet, or its
#: driver's, which may be killed.
REFUSED = (OSError, HostError, TrialFailed)


@dataclass(frozen=True)
class RecorderOptions:
    """How often to sample, how often to write, how much to keep, for how long to go on, and how
    soon to ask a server again that does not answer.
    """

    every_s: float = 1.0
    flush_s: float = 60.0
    keep_bytes: int = 500_000_000
    keep_s: float = 14 * 86400.0
    for_s: float = float("inf")
    retry_s: float = 1.0


@dataclass
class _Uptime:
    """How long the server had been up, and when (monotonic) it said so."""

    up_s: float
    at_s: float

    def is_before(self, later: _Uptime) -> bool:
        """Return whether the server has not restarted between the two."""
        return later.up_s >= self.up_s + (later.at_s - self.at_s) - ROUNDING_S


@dataclass(frozen=True)
class _Answers:
    """What the server said at once: of each source its rows, and whether these are all."""

    uptime: _Uptime
    rows: Sequence[tuple[WatchSource, Sequence[Row], bool]]


@dataclass
class Recorder:
    """Samples of a server, until `stop` is set. `ask` keeps one connection (`Conversation`)."""

    ask: Ask
    watched: WatchedServer
    store: WatchStore
    options: RecorderOptions
    say: Say
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._changes = {it.source.name: Changes(it.source) for it in self.watched.questions}
        self._sources = with_samples(list_sources(self.watched.kind))
        self._pending: dict[WatchSource, list[Recorded]] = {}
        self._begins: datetime | None = None
        self._uptime: _Uptime | None = None
        self._since = ""
        self._taken = 0
        self._anew = self._connect = True
        self._write_again_s = 0.0

    def go_on(self, record: WatchRecord) -> None:
        """Continue from where a record ends: what happened since is a change, too."""
        at, rows = record.read_last()
        for name, changes in self._changes.items():
            changes.go_on(rows[name])
        ((*_, up_s, _, _),) = rows[SAMPLES.name]
        ago_s = (datetime.now(UTC) - at).total_seconds()
        self._uptime = _Uptime(float(up_s or 0), time.monotonic() - ago_s)

    def run(self) -> int:
        """Record until stopped; return how many samples were taken. The last one is of all sources,
        so that what a short watch saw is whole.

        The first sample's failure is raised; later ones are said, and tried again.
        """
        self._tidy(datetime.now(UTC))
        began_s = due_s = time.monotonic()
        wait_s = self.options.retry_s
        try:
            while not self.stop.is_set() and time.monotonic() - began_s < self.options.for_s:
                self._flush_if_due()
                try:
                    self.sample()
                    wait_s = self.options.retry_s
                except TrialFailed as failed:
                    if self.stop.is_set():
                        # it did not answer before the end, and is asked no more
                        self._connect = True
                        break
                    if not self._taken:
                        raise
                    self.say(f"the server does not answer, trying on: {failed.sentence}")
                    self._connect = True
                    self.stop.wait(wait_s)
                    wait_s = min(2 * wait_s, RETRY_MAX_S)
                # a sample that is late is left out, not made up for
                due_s = max(due_s + self.options.every_s, time.monotonic())
                self.stop.wait(due_s - time.monotonic())
            if not self._connect:
                with suppress(TrialFailed):  # a last sample more; the series ends one earlier
                    self.sample(last=True)
        finally:
            self.flush(last=True)
        return self._taken

    def sample(self, *, last: bool = False) -> None:
        """Look at the server once, the `last` time at all of it; `TrialFailed` if it does not
        answer.
        """
        now, anew = datetime.now(UTC), self._anew
        answers = self._ask_all(anew or last)
        restarted = self._uptime is not None and not self._uptime.is_before(answers.uptime)
        if restarted and not anew:
            anew, answers = True, self._ask_all(True)
        self._uptime = answers.uptime
        at = now.strftime(TIME)
        for source, rows, all_rows in answers.rows:
            look = SampleTime(at, all_rows, anew, restarted)
            self._pending.setdefault(source, []).extend(
                self._changes[source.name].record_changes(rows, look)
            )
        took_us = round((time.monotonic() - answers.uptime.at_s) * 1e6)
        told = (int(anew), int(restarted), round(answers.uptime.up_s), took_us)
        sample: Recorded = [at, WHOLE, *told, self.watched.version]
        self._pending.setdefault(SAMPLES, []).append(sample)
        self._begins = self._begins or now
        self._anew = False
        self._taken += 1

    def _ask_all(self, everything: bool) -> _Answers:
        """Ask for every source that is due, or for `everything`."""
        due = [it for it in self.watched.questions if everything or self._is_due(it.source.every)]
        whole = [
            everything or not it.recent or self._is_due(it.source.all_rows_every) for it in due
        ]
        texts = [
            it.whole if all_rows else it.recent.replace("{since}", self._since)
            for it, all_rows in zip(due, whole, strict=True)
        ]
        begin = self.watched.begin if self._connect else ()
        at_s = time.monotonic()
        answers = self.ask(self.watched.session, [*begin, self.watched.clock, *texts])
        self._connect = False
        (clock,), *rows = answers[len(begin) :]
        self._since = str(clock[0])
        told = list(zip([it.source for it in due], rows, whole, strict=True))
        up_s = self.watched.compute_up_s(clock, {source.name: found for source, found, _ in told})
        return _Answers(_Uptime(up_s, at_s), told)

    def _is_due(self, every: int) -> bool:
        return not self._taken % every

    def _flush_if_due(self) -> None:
        now, begins = datetime.now(UTC), self._begins
        if begins is None:
            return
        if time.monotonic() < self._write_again_s:
            return
        age_s = (now - begins).total_seconds()
        if age_s >= self.options.flush_s or _truncate_hour(now) != _truncate_hour(begins):
            self.flush()

    def flush(self, *, last: bool = False) -> None:
        """Write the samples since the last time, merge hours that are over, keep the bounds.

        An hour begins with whole values; so does what follows, if the newest hour's were cut. What
        cannot be written (the disk is full) is kept and written with the next; `HostError` if it is
        the `last`, or more than is kept.
        """
        if self._begins is None:
            return
        begins, now = self._begins, datetime.now(UTC)
        try:
            self.store.write(self._pending, begins)
        except REFUSED as refused:
            self._keep(refused, last)
            return
        self._pending, self._begins = {}, None
        self._anew = self._tidy(now) or _truncate_hour(now) != _truncate_hour(begins)

    def _keep(self, refused: OSError | DynoError, last: bool) -> None:
        """Say why nothing could be written, and go on."""
        place = getattr(self.store, "folder", Path())
        why = refused.sentence if isinstance(refused, DynoError) else str(refused.strerror)
        why += find_fullest(refused, place) if isinstance(refused, OSError) else ""
        rows = sum(map(len, self._pending.values()))
        if last or rows > KEPT_ROWS:
            hint = "what was written before is kept; free some room (--keep bounds the record)"
            raise HostError(
                f"{rows:,} rows of the record are not written", cause=why, hint=hint
            ) from refused
        self._write_again_s = time.monotonic() + self.options.flush_s
        self.say(f"the record cannot be written, still trying with {rows:,} rows in memory: {why}")

    def _tidy(self, now: datetime) -> bool:
        """Merge hours that are over, and keep the bounds; return whether the newest hour was cut.
        What cannot be done is said, and done the next time.
        """
        cut = False
        try:
            cut = self.store.forget(self.options.keep_bytes, self.options.keep_s, now)
            self.store.merge(_truncate_hour(now), self._sources)
        except REFUSED as refused:
            self.say(f"the record's hours are not merged yet: {refused}")
        return cut


def _truncate_hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
