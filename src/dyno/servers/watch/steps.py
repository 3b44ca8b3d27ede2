"""A source's changes over time, as plots show them: SQL over what is recorded.

A change is of all the time since its source was asked before: ten samples, where it is asked in
every tenth, or a pause of the watcher's. Told at its end alone it would be ten times too high, and
nothing between. So it is told in equal parts of time, one for each sample meanwhile; of a sample
that is of longer than a bucket's width (`width()`), a bucket's part.
"""

from __future__ import annotations

from dyno.servers.watch.source import CHANGE, WatchSource


def build_steps(source: WatchSource, recorded: str, samples: str) -> str:
    """The changes in `recorded`, by the times of `samples`; both are queries. Counters are numbers
    with a fraction, `told` is what is told of each row.
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
    """Of each time at which the source was asked: the samples since it was before, and the part of
    the change that is each one's.
    """
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
