"""A record read back: the server's tables as of a time or between two, and reports asked of them.

A report is a file of plain SQL in `sql/`, over the names that the server's own tables have. As of a
time such a table holds the counters as they stood; between two times, what they grew by, with all
other columns as they stood at the later one (so a MAX is the largest since the server began).

Plots show a source's changes over time. A change covers the time since its source was last asked:
ten samples if it is asked in every tenth, or a pause of the recorder's. Shown at its end alone it
would be ten times too high, with nothing before. So it is split into equal parts of time, one for
each sample meanwhile; a sample longer than a bucket's width (`width()`) gives each bucket its
part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from dyno.builds import Say
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.servers.watch.servers import list_sources
from dyno.servers.watch.source import CHANGE, GONE, WHOLE, WatchSource
from dyno.servers.watch.store import (
    TIME,
    Segment,
    find_unreadable,
    is_torn,
    list_lost_segments,
    list_segments,
    read_owner,
    set_aside,
    with_samples,
)

SQL = Path(__file__).parent / "sql"
TOP, PLOT = "top", "plot"
#: So many points has a plot at most.
BUCKETS = 300
#: What a source that is asked seldom tells of a time, it tells so much later at most.
LATER = timedelta(hours=1)
#: What every report may use. A name in a path is as the server writes it there.
MACROS = (
    "CREATE MACRO per(a, b) AS coalesce(a / nullif(b, 0), 0)",
    "CREATE MACRO whole_per(a, b) AS coalesce(a // nullif(b, 0), 0)",
    "CREATE MACRO starred(a, b) AS if(a > 0 OR b > 0, '*', '')",
    "CREATE MACRO ms(ps, n) AS round(coalesce(ps / nullif(n, 0), 0) / 1e9, 3)",
    "CREATE MACRO schema_of(path) AS regexp_extract(path, '([^/]*)/[^/]*$', 1)",
    "CREATE MACRO table_of(path) AS"
    " regexp_replace(regexp_extract(path, '([^/]*)$', 1), '(#[pP]#.*)?\\.[^.]*$', '')",
)


@dataclass(frozen=True)
class Span:
    """Report period: `until` a time, `since` another if it covers the time between.

    Both are times of samples; `restarts` are those of the server between them.
    """

    until: datetime
    since: datetime | None
    base: datetime
    samples: int = 0
    restarts: int = 0


@dataclass(frozen=True)
class Asked:
    """When what a report shows was asked for, if the server is asked for it seldom: `since` is None
    as of a time. `every` is in how many samples; equal times if that was not yet done twice.
    """

    since: datetime | None
    until: datetime
    every: int = 1

    @property
    def is_between(self) -> bool:
        """Return whether anything is known of the time between."""
        return self.since is None or self.since < self.until


@dataclass(frozen=True)
class Curve:
    """Values over time, in s since 1970."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class ReadRows:
    """A report's rows as text, None where there is nothing."""

    columns: tuple[str, ...]
    rows: list[list[str | None]]


def list_reports(kind: str, folder: str = "") -> dict[str, Path]:
    """Every report for a kind of server, by name."""
    return {path.stem: path for path in sorted((SQL / kind / folder).glob("*.sql"))}


def read_title(report: Path) -> str:
    """What a report shows: the comment that it begins with."""
    return report.read_text().partition("\n")[0].removeprefix("-- ")


P = ParamSpec("P")
T = TypeVar("T")


def _retry_without_damaged(
    read: Callable[Concatenate[WatchRecord, P], T],
) -> Callable[Concatenate[WatchRecord, P], T]:
    """Read again, without damaged segments, if one cannot be read."""

    @wraps(read)
    def retry(record: WatchRecord, /, *args: P.args, **named: P.kwargs) -> T:
        while True:
            try:
                return read(record, *args, **named)
            except TrialFailed:
                if not record.leave_out_unreadable():
                    raise

    return retry


class WatchRecord:
    """A folder that is read, perhaps while it is written to."""

    def __init__(self, folder: Path, ask: Ask, duckdb: Session, say: Say = lambda _: None) -> None:
        """Open it; `UsageError` if there is no record, or nothing in it yet; `say` gets what is
        damaged and belongs to a time that is read.
        """
        self.kind, self.server = read_owner(folder)
        self.sources = with_samples(list_sources(self.kind))
        self._ask, self._duckdb, self._say = ask, duckdb, say
        self._lost, self._told = list_lost_segments(folder), set[Segment]()
        self._sound: set[Segment] = set()
        self._segments = list_segments(folder)
        if not self._segments:
            raise UsageError(f"nothing is written in {folder} yet", hint="the first part takes 1 m")

    @property
    def begins(self) -> datetime:
        while self._segments and not self._is_sound(self._segments[0]):
            pass
        if not self._segments:
            raise UsageError("nothing of the record can be read")
        first = self._segments[0].folder / "samples.parquet"
        (((at,),),) = self._query([f"SELECT min(ts) FROM '{first}'"])
        return datetime.fromisoformat(str(at)).replace(tzinfo=UTC)

    @_retry_without_damaged
    def read_last(self) -> tuple[datetime, dict[str, list[list[str | None]]]]:
        """The last sample's time, and every source's rows as they stood then, by name."""
        span = self.find_span(datetime.now(UTC))
        texts = [
            f"SELECT {', '.join(map(quote, it.columns))} FROM ({self._build_table(it, span)})"
            for it in self.sources.values()
        ]
        return span.until, dict(zip(self.sources, self._query(texts), strict=True))

    def find_report(self, name: str) -> Path:
        """Return the report of that name; `UsageError` if there is none."""
        found = list_reports(self.kind)
        if name not in found:
            raise build_unknown_error("report", name, found)
        return found[name]

    @_retry_without_damaged
    def find_span(self, until: datetime, since: datetime | None = None) -> Span:
        """Return the samples at, or just before, these times; `UsageError` if there is none."""
        if since is not None and since >= until:
            raise UsageError("the first time must be before the second")
        end = self._sample(until)
        if since is None:
            base = self._find_base(end)
            self._tell_lost(base, end)
            return Span(end, None, base)
        begin = self._sample(since)
        if begin == end:
            raise UsageError("no sample was taken between these times")
        counted = (
            "SELECT count(*), coalesce(sum(restarted), 0) FROM samples"
            f" WHERE ts > {_format_time(begin)} AND ts <= {_format_time(end)}"
        )
        files = self._list_files("samples", begin, end)
        ((samples, restarts),) = self._query([f"CREATE VIEW samples AS {files}", counted])[-1]
        base = self._find_base(begin)
        self._tell_lost(base, end)
        return Span(end, begin, base, int(samples or 0), int(restarts or 0))

    def find_span_before(self, until: datetime, length_s: float) -> Span:
        """Return the span of this length before the last sample until then, or since the record's
        first one.
        """
        end = self._sample(until)
        return self.find_span(end, max(end - timedelta(seconds=length_s), self.begins))

    @_retry_without_damaged
    def ask(self, report: Path, span: Span, most: int = -1, where: str = "TRUE") -> ReadRows:
        """Return of a report's rows over this span those `where` it is true, `most` of them."""
        limit = f" WHERE {where}" + (f" LIMIT {most}" if most >= 0 else "")
        looked = self.find_asked(report, span)
        counted = span
        if looked.is_between:
            counted = replace(span, since=looked.since, until=looked.until)
        table = partial(self._build_table, span=span)
        return self._answer_report(report.read_text(), limit, counted, table)

    @_retry_without_damaged
    def read_curves(self, report: Path, span: Span) -> list[Curve]:
        """The curves of a report of `plot/`, whose rows are a time, a name and a value."""
        changes = partial(self._build_steps, span=span)
        answer = self._answer_report(report.read_text(), "", span, changes)
        later = replace(span, since=None, until=span.until + LATER)
        until = _format_time(min(span.until, self.find_asked(report, later).until))
        times = f"SELECT DISTINCT bucket(ts) FROM samples WHERE ts <= {until} ORDER BY 1"
        taken = self._answer_report(times, "", span, changes)
        at_s = [float(row[0] or 0) for row in taken.rows]
        found: dict[str, dict[float, float]] = {}
        for row in answer.rows:
            at, name, value = (it or "0" for it in row)
            found.setdefault(name, {})[float(at)] = float(value)
        # where a sample was taken and nothing recorded, nothing changed
        return [Curve(name, [(at, of.get(at, 0.0)) for at in at_s]) for name, of in found.items()]

    @_retry_without_damaged
    def find_asked(self, report: Path, span: Span) -> Asked:
        """Return when the sources of a report were asked at the ends of a span: those asked most
        seldom.
        """
        named = [
            it for it in self._find_sources(report.read_text()) if it.every > 1 and not it.sampled
        ]
        if not named:
            return Asked(span.since, span.until)
        source = max(named, key=lambda it: it.every)
        ends = [end for end in (span.since, span.until) if end]
        answers = self._query([self._find_last_asked(source, span, end) for end in ends])
        found = [datetime.fromisoformat(str(at)).replace(tzinfo=UTC) for ((at,),) in answers]
        return Asked(found[0] if span.since else None, found[-1], source.every)

    def _find_last_asked(self, source: WatchSource, span: Span, at: datetime) -> str:
        """Return when a source was last asked: at its last change, at most as many samples ago as
        one period of its own.
        """
        samples = self._list_files("samples", span.base, at)
        recorded = self._list_files(source.name, span.base, at)
        before = f"WHERE ts BETWEEN {_format_time(span.base)} AND {_format_time(at)}"
        earliest = f"SELECT ts FROM ({samples}) {before} ORDER BY ts DESC OFFSET {source.every - 1}"
        return (
            f"SELECT greatest((SELECT max(ts) FROM ({recorded}) {before}),"
            f" (SELECT max(ts) FROM ({earliest})), {_format_time(span.base)})"
        )

    def _find_sources(self, text: str) -> list[WatchSource]:
        return [it for it in self.sources.values() if re.search(rf"\b{it.name}\b", text)]

    def _answer_report(
        self, text: str, limit: str, span: Span, table: Callable[[WatchSource], str]
    ) -> ReadRows:
        length_s = (span.until - span.since).total_seconds() if span.since else 1.0
        width_s = max(math.ceil(length_s / BUCKETS), 1)
        tables = [
            f"CREATE MACRO seconds() AS {length_s:.6f}",
            f"CREATE MACRO width() AS {width_s}",
            f"CREATE MACRO bucket(moment) AS floor(epoch(moment) / {width_s}) * {width_s}",
            *(f"CREATE VIEW {it.name} AS {table(it)}" for it in self._find_sources(text)),
        ]
        asked = f"SELECT * FROM ({text}){limit}"
        *_, described, rows = self._query([*MACROS, *tables, f"DESCRIBE {asked}", asked])
        return ReadRows(tuple(str(row[0]) for row in described), rows)

    def _query(self, statements: Sequence[str]) -> list[list[list[str | None]]]:
        return self._ask(self._duckdb, statements)

    def _is_sound(self, segment: Segment) -> bool:
        """Return whether all its files have their ends. One that has not is left out from here
        on.
        """
        if segment in self._sound:
            return True
        if is_torn(segment):
            self._leave_out(segment)
            return False
        self._sound.add(segment)
        return True

    def _leave_out(self, segment: Segment) -> None:
        """Set a damaged segment aside, at least for us."""
        self._segments.remove(segment)
        self._lost.append(segment)
        with suppress(OSError):  # it is another user's, or on a read-only medium
            set_aside(segment)

    def leave_out_unreadable(self) -> bool:
        """Leave out all that cannot be read; return whether there was any."""
        bad = find_unreadable(self._segments, self._ask, self._duckdb)
        for segment in bad:
            self._leave_out(segment)
        return bool(bad)

    def _tell_lost(self, begin: datetime, end: datetime) -> None:
        for segment in self._lost:
            if segment not in self._told and segment.begins <= end and segment.ends > begin:
                self._told.add(segment)
                self._say(segment.sentence)

    def _sample(self, at: datetime) -> datetime:
        """The last sample until then."""
        return self._find_latest(at, "TRUE") or self._find_earliest()

    def _find_base(self, at: datetime) -> datetime:
        """Return the last sample until then that wrote everything anew."""
        return self._find_latest(at, "anew = 1") or self._find_earliest()

    def _find_earliest(self) -> datetime:
        raise UsageError(f"nothing is recorded before {self.begins:%Y-%m-%d %H:%M:%S} UTC")

    def _find_latest(self, at: datetime, which: str) -> datetime | None:
        """Look in the newest hours first."""
        earlier = [each for each in self._segments if each.begins <= at]
        for hour in sorted({each.hour for each in earlier}, reverse=True):
            files = self._list_files("samples", hour, at)
            (((found,),),) = self._query(
                [f"SELECT max(ts) FROM ({files}) WHERE {which} AND ts <= {_format_time(at)}"]
            )
            if found:
                return datetime.fromisoformat(found).replace(tzinfo=at.tzinfo)
        return None

    def _list_files(self, name: str, begin: datetime, end: datetime) -> str:
        """Return all recorded rows of a source from the hour of `begin` on; none if it has no
        file.
        """
        hour = begin.replace(minute=0, second=0, microsecond=0)
        meant = [it for it in self._segments if hour <= it.hour and it.begins <= end]
        folders = [it.folder for it in meant if self._is_sound(it)]
        paths = [path for it in folders if (path := it / f"{name}.parquet").exists()]
        if paths:
            listed = ", ".join(f"'{path}'" for path in paths)
            return f"SELECT * FROM read_parquet([{listed}], union_by_name = true)"
        columns = ", ".join(
            f"NULL::{kind} AS {column}" for column, kind in self.sources[name].list_types()
        )
        return f"SELECT {columns} WHERE FALSE"

    def _build_table(self, source: WatchSource, span: Span) -> str:
        until, base = _format_time(span.until), _format_time(span.base)
        recorded = f"({self._list_files(source.name, span.base, span.until)})"
        if source.sampled:
            after = f"ts > {_format_time(span.since)}" if span.since else f"ts = {until}"
            return f"SELECT * FROM {recorded} WHERE ts <= {until} AND {after}"
        rows = f"(SELECT * FROM {recorded} WHERE ts BETWEEN {base} AND {until})"
        return (
            _build_state(source, rows)
            if span.since is None
            else _build_differences(source, rows, span.since)
        )

    def _build_steps(self, source: WatchSource, span: Span) -> str:
        """Return a source's changes one by one, each with its row's `told` columns."""
        later = span.until + LATER
        recorded = self._list_files(source.name, span.base, later)
        within = (
            f"ts > {_format_time(span.since or span.base)} AND ts <= {_format_time(span.until)}"
        )
        if source.sampled:
            return f"SELECT * FROM ({recorded}) WHERE {within}"
        samples = self._list_files("samples", span.base, later)
        return f"SELECT * FROM ({build_steps(source, recorded, samples)}) WHERE {within}"


def _build_state(source: WatchSource, rows: str) -> str:
    """Each row's last whole value, and its changes since."""
    partition = f"PARTITION BY {', '.join(map(quote, source.keys))}" if source.keys else ""
    anew = f"max(ts) FILTER (kind <> {CHANGE}) OVER ({partition}) AS since_ts"
    counted = f"SELECT *, {anew} FROM {rows}"
    return (
        f"SELECT {_list_columns(source, 'TRUE')} FROM ({counted})"
        f" WHERE since_ts IS NULL OR ts > since_ts OR (ts = since_ts AND kind = {WHOLE})"
        " GROUP BY ALL"
    )


def _build_differences(source: WatchSource, rows: str, since: datetime) -> str:
    within = f"kind = {CHANGE} AND ts > {_format_time(since)}"
    gone = f"arg_max(kind, ts) = {GONE} AND max(ts) <= {_format_time(since)}"
    kept = "TRUE" if source.standing else f"bool_or({within})"
    columns = _list_columns(source, within)
    return f"SELECT {columns} FROM {rows} GROUP BY ALL HAVING {kept} AND NOT ({gone})"


def _list_columns(source: WatchSource, counted: str) -> str:
    """Return keys, sums of the counters of rows that are `counted`, and the last of the rest."""
    columns = [quote(name) for name in source.keys]
    columns += [f"any_value({it}) AS {it}" for it in map(quote, source.told)]
    for name in map(quote, source.counters):
        total = f"sum({name}) FILTER ({counted})"
        # a column that the server lacks stays without a value
        columns.append(f"CASE WHEN count({name}) > 0 THEN coalesce({total}, 0) END AS {name}")
    last = map(quote, (*source.values, *source.words))
    return ", ".join([*columns, *(f"arg_max({it}, ts) AS {it}" for it in last)])


def _format_time(at: datetime) -> str:
    return f"TIMESTAMP '{at.strftime(TIME)}'"


def build_steps(source: WatchSource, recorded: str, samples: str) -> str:
    """Return the changes in `recorded`, by the times of `samples`; both are queries. Counters are
    numbers with a fraction, `told` is recorded once for each row.
    """
    keys = ", ".join(map(quote, source.keys))
    over = f"(PARTITION BY {keys})" if keys else "()"
    names = [quote(it) for it in source.columns if it not in source.told]
    names += [f"max({it}) OVER {over} AS {it}" for it in map(quote, source.told)]
    shared = [
        f"{quote(it)} * share AS {quote(it)}" if it in source.counters else quote(it)
        for it in source.columns
    ]
    return (
        f"WITH recorded AS ({recorded}),"
        f" changes AS (SELECT ts AS asked_ts, kind, {', '.join(names)} FROM recorded),"
        f" times AS ({_build_times(source, samples)}), shares AS ({_build_shares()})"
        f" SELECT shares.ts, kind, {', '.join(shared)} FROM changes JOIN shares USING (asked_ts)"
        f" WHERE kind = {CHANGE}"
    )


def _build_times(source: WatchSource, samples: str) -> str:
    """Each sample, the one before, and the earliest after which the source was asked again."""
    earlier = f"lag(ts) OVER (ORDER BY ts) AS before, lag(ts, {source.every}) OVER (ORDER BY ts)"
    return f"SELECT ts, {earlier} AS earliest FROM ({samples})"


def _build_shares() -> str:
    asked = "SELECT DISTINCT ts FROM recorded"
    since = "greatest(lag(asked.ts) OVER (ORDER BY asked.ts), times.earliest) AS since"
    spans = f"SELECT asked.ts AS asked_ts, {since} FROM ({asked}) asked JOIN times USING (ts)"
    part_s = "least(epoch(times.ts) - epoch(times.before), width())"
    share = f"{part_s} / (epoch(asked_ts) - epoch(since))"
    within = "times.ts > since AND times.ts <= asked_ts"
    return f"SELECT asked_ts, times.ts, {share} AS share FROM ({spans}) JOIN times ON {within}"


def quote(name: str) -> str:
    """A column's name as a record has it."""
    return f'"{name.lower()}"'
