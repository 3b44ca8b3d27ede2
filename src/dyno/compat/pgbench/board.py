"""What the clients count while they play, read from the file that they count in.

A row of 64 KB of doubles for each client; its columns are those of `board.lua` of the driver's
pgbench package, and a test holds both against each other.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

ROW_CELLS = 8192
SCRIPTS, PER_SCRIPT, PER_COMMAND = 8, 16, 4


@dataclass
class BoardCounts:
    """Of a script, or of all, in the order of the columns. Times in microseconds, with the sums of
    their squares.
    """

    done: float = 0
    skipped: float = 0
    serialization: float = 0
    deadlock: float = 0
    other: float = 0
    retried: float = 0
    retries: float = 0
    late: float = 0
    latency_us: float = 0
    latency_us2: float = 0
    lag_us: float = 0
    lag_us_max: float = 0

    @property
    def failed(self) -> int:
        """Transactions that failed for good."""
        return int(self.serialization + self.deadlock + self.other)

    @property
    def all(self) -> int:
        """Transactions that ended, and those that were skipped."""
        return int(self.done + self.skipped) + self.failed

    def add(self, other: BoardCounts) -> None:
        """Joins another's counts."""
        for each in fields(BoardCounts):
            mine, its = getattr(self, each.name), getattr(other, each.name)
            most = each.name == "lag_us_max"
            setattr(self, each.name, max(mine, its) if most else mine + its)


class CommandCounts(NamedTuple):
    """Of a command, in the order of the columns: how often, how long in all, in microseconds."""

    played: float
    spent_us: float
    failures: float
    retries: float


@dataclass(frozen=True)
class BoardTally:
    """What all clients counted until now."""

    scripts: list[BoardCounts]
    connect_us: float
    connects: int
    aborted: int
    commands: list[CommandCounts] = field(default_factory=list)

    @property
    def total(self) -> BoardCounts:
        """Of all scripts together."""
        total = BoardCounts()
        for each in self.scripts:
            total.add(each)
        return total


class Board:
    """The file in which `clients` count transactions of `scripts` scripts."""

    def __init__(self, path: Path, clients: int, scripts: int) -> None:
        self.path, self._clients, self._scripts = path, clients, scripts
        with path.open("w+b") as file:
            os.truncate(file.fileno(), clients * ROW_CELLS * 8)
            self._cells = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")

    def read(self, commands: int = 0) -> BoardTally:
        """All rows added up."""
        scripts = [BoardCounts() for _ in range(self._scripts)]
        sums, per_command = [0.0] * 3, [[0.0] * PER_COMMAND for _ in range(commands)]
        width = len(fields(BoardCounts))
        for client in range(self._clients):
            row = self._cells[client * ROW_CELLS : (client + 1) * ROW_CELLS]
            sums = [mine + its for mine, its in zip(sums, row[:3], strict=True)]
            for script, counts in enumerate(scripts):
                at = SCRIPTS + script * PER_SCRIPT
                counts.add(BoardCounts(*row[at : at + width]))
            for command, cells in enumerate(per_command):
                at = SCRIPTS + self._scripts * PER_SCRIPT + command * PER_COMMAND
                for cell in range(PER_COMMAND):
                    cells[cell] += row[at + cell]
        told = [CommandCounts(*cells) for cells in per_command]
        return BoardTally(scripts, sums[0], int(sums[1]), int(sums[2]), told)

    def read_commands(self) -> list[list[str]]:
        """The first lines of each script's commands, where they were to be reported."""
        text = self.path.with_name(f"{self.path.name}.commands").read_text()
        return [script.split("\0") for script in text.split("\0\0")[:-1]]
