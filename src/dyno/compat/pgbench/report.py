"""What pgbench prints of a run: progress lines, and the report at its end; and the log files of
`-l`, one per thread, in order of time, line by line or aggregated (`--aggregate-interval`).

The lines are those that programs read (PostgreSQL's manual, pgbench, "Notes" and examples), so
their words and numbers stand where pgbench has them.
"""

from __future__ import annotations

import heapq
import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dyno
from dyno.compat.pgbench.play import BoardCounts, CommandCounts, Moment, PlayedRun
from dyno.compat.pgbench.server import ServerFacts
from dyno.compat.pgbench.words import PgbenchSettings


def format_head(facts: ServerFacts) -> str:
    return f"pgbench (dyno {dyno.__version__}, server {facts.version})"


class ProgressLines:
    def __init__(self, settings: PgbenchSettings) -> None:
        self._settings = settings
        self._last, self._last_s = BoardCounts(), 0.0

    def format_progress(self, moment: Moment) -> str:
        now, last, settings = moment.tally.total, self._last, self._settings
        stretch_s = max(moment.elapsed_s - self._last_s, 1e-9)
        done = now.done - last.done
        mean, deviation = _compute_mean_and_sd(
            now.latency_us - last.latency_us, now.latency_us2 - last.latency_us2, done
        )
        at = f"{time.time():.3f}" if settings.has("progress-timestamp") else ""
        text = f"progress: {at or f'{moment.elapsed_s:.1f}'} s, {done / stretch_s:.1f} tps, "
        text += f"lat {mean:.3f} ms stddev {deviation:.3f}, {now.failed - last.failed} failed"
        if settings.rate_per_s:
            lag = (now.lag_us - last.lag_us) / done / 1000 if done else 0.0
            text += f", lag {lag:.3f} ms"
            if settings.latency_limit_us:
                text += f", {now.skipped - last.skipped:.0f} skipped"
        if settings.max_tries != 1:
            text += f", {now.retried - last.retried:.0f} retried"
            text += f", {now.retries - last.retries:.0f} retries"
        self._last, self._last_s = now, moment.elapsed_s
        return text


def _compute_mean_and_sd(total_us: float, squares_us2: float, count: float) -> tuple[float, float]:
    """Mean and standard deviation in ms."""
    if not count:
        return 0.0, 0.0
    mean = total_us / count
    return mean / 1000, math.sqrt(max(squares_us2 / count - mean * mean, 0.0)) / 1000


def format_report(
    settings: PgbenchSettings, facts: ServerFacts, played: PlayedRun
) -> Iterator[str]:
    total = played.tally.total
    yield from _format_settings(settings, facts, total)
    if total.all <= 0:
        return
    yield from _format_failures(settings, total, total.all, "")
    if settings.latency_limit_us:
        limit_ms = settings.latency_limit_us / 1000
        share = 100 * total.late / total.done if total.done else 0.0
        yield (
            f"number of transactions above the {limit_ms:.1f} ms latency limit: "
            f"{total.late:.0f}/{total.done:.0f} ({share:.3f}%)"
        )
    yield from _format_latency(settings, total, played.duration_s)
    yield from _format_percentiles(settings, played)
    tps = total.done / played.duration_s
    connect_ms = played.tally.connect_us / 1000
    if settings.has("connect"):
        ended = total.done + total.failed
        yield f"average connection time = {connect_ms / ended if ended else 0.0:.3f} ms"
        yield f"tps = {tps:f} (including reconnection times)"
    else:
        yield f"initial connection time = {connect_ms / settings.threads:.3f} ms"
        yield f"tps = {tps:f} (without initial connection time)"
    yield from _format_scripts(settings, played, total.all)


def _format_settings(
    settings: PgbenchSettings, facts: ServerFacts, total: BoardCounts
) -> Iterator[str]:
    several = len(settings.scripts) > 1
    yield f"transaction type: {'multiple scripts' if several else settings.scripts[0].shown}"
    yield f"scaling factor: {facts.scale}"
    if facts.method:
        yield f"partition method: {facts.method}"
        yield f"partitions: {facts.partitions}"
    yield f"query mode: {settings.protocol}"
    yield f"number of clients: {settings.clients}"
    yield f"number of threads: {settings.threads}"
    if settings.max_tries:
        yield f"maximum number of tries: {settings.max_tries}"
    processed = f"number of transactions actually processed: {total.done:.0f}"
    if settings.has("time"):
        yield f"duration: {settings.number['time']} s"
        yield processed
    else:
        yield f"number of transactions per client: {settings.transactions}"
        yield f"{processed}/{settings.transactions * settings.clients}"


def _format_failures(
    settings: PgbenchSettings, counts: BoardCounts, of: int, mark: str
) -> Iterator[str]:
    def format_share(what: str, number: float) -> str:
        return f"{mark}number of {what}: {number:.0f} ({100 * number / of:.3f}%)"

    yield format_share("failed transactions", counts.failed)
    if settings.has("failures-detailed"):
        yield format_share("serialization failures", counts.serialization)
        yield format_share("deadlock failures", counts.deadlock)
        yield format_share("other failures", counts.other)
    if settings.max_tries != 1:
        yield format_share("transactions retried", counts.retried)
        yield f"{mark}total number of retries: {counts.retries:.0f}"
    if settings.rate_per_s and settings.latency_limit_us:
        yield format_share("transactions skipped", counts.skipped)


def _format_latency(
    settings: PgbenchSettings, total: BoardCounts, duration_s: float
) -> Iterator[str]:
    if settings.rate_per_s or settings.latency_limit_us or settings.has("progress"):
        yield from _format_spread("latency", total)
    else:
        each_ms = 1000 * duration_s * settings.clients / total.all
        including = " (including failures)" if total.failed else ""
        yield f"latency average = {each_ms:.3f} ms{including}"
    if settings.rate_per_s and total.done:
        mean, most = total.lag_us / total.done / 1000, total.lag_us_max / 1000
        yield f"rate limit schedule lag: avg {mean:.3f} (max {most:.3f}) ms"


def _format_percentiles(settings: PgbenchSettings, played: PlayedRun) -> Iterator[str]:
    """Yield a line of Dyno's own for each; none of a run that ended early."""
    if not (settings.percentiles and played.hdr):
        return
    from dyno.judge.stats.histogram import decode_histogram  # loads numpy

    values_ns, counts = decode_histogram(played.hdr).list_values()
    reached = counts.cumsum()
    for each in settings.percentiles:
        place = reached.searchsorted(each / 100 * counts.sum())
        yield f"latency p{each:g} = {values_ns[place] / 1e6:.3f} ms"


def _format_spread(what: str, counts: BoardCounts) -> Iterator[str]:
    if counts.done:
        mean, deviation = _compute_mean_and_sd(counts.latency_us, counts.latency_us2, counts.done)
        yield f"{what} average = {mean:.3f} ms"
        yield f"{what} stddev = {deviation:.3f} ms"


def _format_scripts(settings: PgbenchSettings, played: PlayedRun, of: int) -> Iterator[str]:
    several, by_command = len(settings.scripts) > 1, settings.has("report-per-command")
    weights = sum(script.weight for script in settings.scripts)
    commands = iter(played.tally.commands)
    for at, (script, counts) in enumerate(zip(settings.scripts, played.tally.scripts, strict=True)):
        if several:
            yield f"SQL script {at + 1}: {script.shown}"
            target = 100 * script.weight / weights
            yield f" - weight: {script.weight} (targets {target:.1f}% of total)"
            yield f" - {counts.all} transactions ({100 * counts.all / of:.1f}% of total)"
            if counts.all:
                tps = counts.done / played.duration_s
                processed = f"number of transactions actually processed: {counts.done:.0f}"
                yield f" - {processed} (tps = {tps:f})"
                yield from _format_failures(settings, counts, counts.all, " - ")
            yield from _format_spread(" - latency", counts)
        if by_command:
            yield from _format_commands(settings, played.commands[at], commands)


def _format_commands(
    settings: PgbenchSettings, lines: list[str], counts: Iterator[CommandCounts]
) -> Iterator[str]:
    mark = " - " if len(settings.scripts) > 1 else ""
    once = settings.max_tries == 1
    what = " and failures" if once else ", failures and retries"
    yield f"{mark}statement latencies in milliseconds{what}:"
    for line, each in zip(lines, counts, strict=False):
        mean_ms = each.spent_us / each.played / 1000 if each.played else 0.0
        retries = "" if once else f"{each.retries:10.0f} "
        yield f"   {mean_ms:11.3f}  {each.failures:10.0f} {retries}{line}"


#: Columns of a line: client, number, latency or why there is none, script, seconds, microseconds,
#: then the lag of a rate and the retries of `--max-tries`.
SHOWN, SECONDS, MICROSECONDS, MORE = 2, 4, 5, 6
FAILURES = ("serialization", "deadlock", "other")


def write_logs(settings: PgbenchSettings, parts: Path) -> None:
    """Write the files of all threads, from what the clients logged to `parts` and their number."""
    prefix = settings.text.get("log-prefix", "pgbench_log")
    interval_s = settings.number.get("aggregate-interval", 0)
    for thread in range(settings.threads):
        tail = f".{thread}" if thread else ""
        clients = range(thread, settings.clients, settings.threads)
        files = [Path(f"{parts}.{client}") for client in clients]
        lines = heapq.merge(*map(_read_lines, (f for f in files if f.exists())), key=_parse_time_us)
        with Path(f"{prefix}.{os.getpid()}{tail}").open("w") as log:
            if interval_s:
                log.writelines(_aggregate(settings, lines, interval_s))
            else:
                log.writelines(" ".join(_format_lines(settings, line)) + "\n" for line in lines)


def _read_lines(file: Path) -> Iterator[list[str]]:
    with file.open() as log:
        for line in log:
            yield line.split()


def _parse_time_us(line: list[str]) -> int:
    return int(line[SECONDS]) * 1_000_000 + int(line[MICROSECONDS])


def _format_lines(settings: PgbenchSettings, line: list[str]) -> Iterable[str]:
    """Write as pgbench does: microseconds without leading zeros."""
    return (*line[:MICROSECONDS], str(int(line[MICROSECONDS])), *line[MORE:])


@dataclass
class _Sums:
    values: list[float] = field(default_factory=list)

    def format_sums(self) -> str:
        least, most = (min(self.values), max(self.values)) if self.values else (0.0, 0.0)
        squares = sum(value * value for value in self.values)
        return f"{sum(self.values):.0f} {squares:.0f} {least:.0f} {most:.0f}"


def _aggregate(
    settings: PgbenchSettings, lines: Iterable[list[str]], interval_s: int
) -> Iterator[str]:
    """A line for each stretch that is over, empty ones too."""
    start_us, stretch = 0, list[list[str]]()
    for line in lines:
        at_us = _parse_time_us(line)
        start_us = start_us or at_us
        while at_us >= start_us + interval_s * 1_000_000:
            yield _format_stretch(settings, start_us, stretch)
            start_us, stretch = start_us + interval_s * 1_000_000, []
        stretch.append(line)


def _format_stretch(settings: PgbenchSettings, start_us: int, lines: list[list[str]]) -> str:
    done = [line for line in lines if line[SHOWN].isdigit()]
    paced, retrying = bool(settings.rate_per_s), settings.max_tries != 1
    latency = _Sums([float(line[SHOWN]) for line in done])
    lag = _Sums([float(line[MORE]) for line in done] if paced else [])
    tries = [int(line[-1]) for line in lines] if retrying else []
    skipped = sum(line[SHOWN] == "skipped" for line in lines)
    failed = " ".join(str(sum(line[SHOWN] == kind for line in lines)) for kind in FAILURES)
    retried = sum(each > 0 for each in tries)
    return (
        f"{start_us // 1_000_000} {len(done)} "
        f"{latency.format_sums()} {lag.format_sums()} {skipped} "
        f"{retried} {sum(tries)} {failed}\n"
    )
