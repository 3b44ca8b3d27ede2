"""`-l`: writes pgbench's log files from what each client logged: one per thread, in order of time,
line by line or aggregated (`--aggregate-interval`).
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dyno.compat.pgbench.words import PgbenchSettings

#: Columns of a line: client, number, latency or why there is none, script, seconds, microseconds,
#: then the lag of a rate and the retries of `--max-tries`.
SHOWN, SECONDS, MICROSECONDS, MORE = 2, 4, 5, 6
FAILURES = ("serialization", "deadlock", "other")


def write_logs(settings: PgbenchSettings, parts: Path) -> None:
    """The files of all threads, of what the clients logged to `parts` and their number."""
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
    """As pgbench writes it: microseconds without leading zeros."""
    return (*line[:MICROSECONDS], str(int(line[MICROSECONDS])), *line[MORE:])


@dataclass
class _Sums:
    """A number's sum, sum of squares, least and most."""

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
