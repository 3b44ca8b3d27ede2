"""What `dyno program` leaves behind (`program.json`): programs that print a number, played in
blocks, each start a restart.
"""

from __future__ import annotations

from msgspec.structs import replace

from dyno.record.run import BLOCKS_MOST
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Better, Metric

#: The record of such a run in its folder.
PROGRAM_RECORD = "program.json"
#: How units of rates end, and units of times.
RATES, TIMES = ("/s", "/min"), ("ns", "us", "ms", "s")


class ProgramFile(Record):
    """The keys of such a file (`docs/guides/programs.md`)."""

    command: tuple[str, ...]
    rate: str
    unit: str = "/s"
    better: Better | None = None
    last: bool = False
    workload: str = ""
    setup: tuple[str, ...] = ()
    before_each: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    timeout_s: float = 600.0
    environment: dict[str, str] = {}
    variables: dict[str, str] = {}


class ProgramSide(Record):
    """One of the programs, as its file has it with the user's values put in; `{folder}`,
    `{run_folder}` and `{seed}` are filled in for each start.

    `rate` is the regular expression whose only group is the number, `last` takes the last of
    several. `setup` is run once, `before_each` before each start. `programs` are the checksums of
    the files that are started: the program's own, and those beside the side's file; `chosen` the
    variables that were set beside the file.
    """

    name: str
    spec: str
    file: str
    command: tuple[str, ...]
    rate: str
    last: bool = False
    setup: tuple[str, ...] = ()
    before_each: tuple[str, ...] = ()
    timeout_s: Finite = 600.0
    environment: dict[str, str] = {}
    version: str = ""
    programs: dict[str, str] = {}
    chosen: dict[str, str] = {}

    def is_like(self, other: ProgramSide) -> bool:
        """Return whether both start the same program in the same way."""
        plain, others = (replace(it, name="", spec="", chosen={}) for it in (self, other))
        return plain == others


class ProgramPlay(Record):
    """One start of a program: the number that it printed, and how long it ran."""

    number: Int64
    block: Int64
    side: str
    seed: Int64
    value: Finite
    duration_s: Finite

    def __post_init__(self) -> None:
        require(self.value > 0, "value", "above 0")


class ProgramRun(Record):
    """A run of `dyno program`; the first side is the base. `analyses` are the numbers of blocks at
    which it is judged.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    workload: str
    unit: str
    better: Better
    sides: tuple[ProgramSide, ...]
    plays: tuple[ProgramPlay, ...]
    analyses: tuple[Int64, ...]
    margin_percent: Finite
    host: dict[str, str] = {}
    is_aa: bool = False
    dyno: str = ""
    series: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        names = [side.name for side in self.sides]
        require(names and len(names) == len({*names}), "sides", "of different names")
        rising = sorted({each for each in self.analyses if 0 < each < BLOCKS_MOST})
        require(rising and (*rising,) == self.analyses, "analyses", "rising numbers of blocks")
        require(self.margin_percent > 0, "margin_percent", "above 0")
        played = [(play.block, play.side) for play in self.plays]
        whole = {(block, name) for block in range(self.blocks) for name in names}
        require(len(played) == len(whole) and {*played} == whole, "plays", "of whole blocks")

    @property
    def blocks(self) -> int:
        """How many blocks are whole: each side was started once in each."""
        return len({play.block for play in self.plays})

    @property
    def metric(self) -> Metric:
        """What the programs print."""
        name = "latency" if self.unit in TIMES else "printed"
        if self.better == "higher":
            name = "rate_per_min" if self.unit.endswith("/min") else "rate_per_s"
        return Metric(self.workload, "", "", name, self.unit, self.better)

    def find_values(self, side: str) -> list[float]:
        """The numbers of a side, block by block."""
        found = sorted((play for play in self.plays if play.side == side), key=lambda it: it.block)
        return [play.value for play in found]
