"""What `dyno disk` leaves behind (`disk.json`): plays of fio on paths, files or devices.

Times are in ns, sizes in bytes, rates per second. What could not be seen is None or empty.
"""

from __future__ import annotations

import math
from typing import Literal

from dyno.record.run import BLOCKS_MOST
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric
from dyno.record.verdict import Finding, Verdict

#: The record of a run of disks in its folder.
DISK_RECORD = "disk.json"
#: How data reach the disk: past the page cache, through it, or on the device without file system.
DiskAccess = Literal["direct", "buffered"]
#: What a write waits for: nothing, fsync(2), fdatasync(2), or O_DSYNC.
DiskSync = Literal["", "fsync", "fdatasync", "dsync"]
#: What a path is: a folder, in which we make a file; somebody's file; a device; a loop device that
#: we make over a file of ours.
DiskKind = Literal["directory", "file", "device", "loop"]
#: Of what the file of ours is made: random bytes, or blocks that were never written.
DiskContent = Literal["filled", "unwritten"]


class DiskJob(Record):
    """One kind of I/O: `pattern` is fio's word (`randread`, `write`), `depth` requests in flight of
    each of `users`. `writes_per_sync` writes come before each wait.
    """

    name: str
    pattern: str
    block_bytes: Int64 = 4096
    access: DiskAccess = "direct"
    engine: str = "psync"
    depth: Int64 = 1
    users: Int64 = 1
    sync: DiskSync = ""
    writes_per_sync: Int64 = 1

    @property
    def is_write(self) -> bool:
        """Does it write?"""
        return "write" in self.pattern or self.pattern in ("randrw", "rw")

    @property
    def is_random(self) -> bool:
        """Are its blocks drawn?"""
        return self.pattern.startswith("rand")

    @property
    def in_flight(self) -> int:
        """Requests in flight at most."""
        return self.depth * self.users


class DeviceFacts(Record):
    """What the kernel says of the device under a file system; `name` is empty without one.

    `stack` are the devices from the file system's own to the lowest. `discard_bytes` is the largest
    discard, 0 where it knows none; `requests` how many its queue holds. `thin` says why blocks may
    be allocated only when they are written, empty where nothing tells so. `loop_file` is what a
    loop device lies in, and `loop_direct` whether it passes the page cache by.
    """

    name: str = ""
    number: str = ""
    stack: tuple[str, ...] = ()
    rotational: bool | None = None
    scheduler: str = ""
    write_cache: str = ""
    discard_bytes: Int64 | None = None
    requests: Int64 | None = None
    size_bytes: Int64 | None = None
    link: str = ""
    link_most: str = ""
    thin: str = ""
    loop_file: str = ""
    loop_direct: bool | None = None
    limit: str = ""


class FileBlocks(Record):
    """How the blocks of a file that is read are there: bytes that were written, that are allocated
    and unwritten, and that are holes; `zero_percent` of a sample of blocks hold zeros only.
    """

    written_bytes: Int64 | None = None
    unwritten_bytes: Int64 | None = None
    hole_bytes: Int64 | None = None
    extents: Int64 | None = None
    zero_percent: Finite | None = None

    @property
    def absent_percent(self) -> float | None:
        """The share that was never written, in percent; None where it is not known."""
        parts = (self.written_bytes, self.unwritten_bytes, self.hole_bytes)
        if None in parts or not sum(filter(None, parts)):
            return None
        written, unwritten, hole = (part or 0 for part in parts)
        return 100.0 * (unwritten + hole) / (written + unwritten + hole)


class DiskSide(Record):
    """One of those that are compared: a path, and what is played on it, by a name of its own.

    `changes` are what its jobs have otherwise (`engine=libaio`), `jobs` the jobs with these, empty
    where they are the run's; `scheduler` is what is held.
    """

    name: str
    path: str
    kind: DiskKind
    size_bytes: Int64
    content: DiskContent = "filled"
    file_system: str = ""
    mount_options: tuple[str, ...] = ()
    device: DeviceFacts = DeviceFacts()
    blocks: FileBlocks = FileBlocks()
    changes: dict[str, str] = {}
    jobs: tuple[DiskJob, ...] = ()
    scheduler: str = ""


class DeviceCounters(Record):
    """What the device did meanwhile, everybody's I/O included (`/sys/block/*/stat`): requests,
    bytes, and ms that requests were in it, summed.
    """

    reads: Int64 = 0
    read_bytes: Int64 = 0
    read_ms: Int64 = 0
    writes: Int64 = 0
    written_bytes: Int64 = 0
    write_ms: Int64 = 0
    flushes: Int64 = 0
    flush_ms: Int64 = 0


class DiskLatency(Record):
    """Of a latency, in ns."""

    mean: Finite = 0.0
    p50: Finite = 0.0
    p99: Finite = 0.0
    worst: Finite = 0.0


class DiskPlay(Record):
    """One start of fio: a job on a side, in a slice of a block. `at_s` counts from the run's begin,
    or from where it went on.

    `operations` are reads or writes, all users' together; `total` is from the request to its end,
    `submit` what it took to hand it to the kernel, `sync` what each wait took. `fetched_bytes` and
    `owed_bytes` are those that the kernel fetched for our processes, or owes to a device for them
    (`/proc/PID/io`). `cached_before` and `cached_after` are bytes of the file in the page cache.
    `rates` are operations a second in equal parts of the play, in order; empty where fio logged
    none.
    """

    block: Int64
    side: str
    job: str
    at_s: Finite
    duration_s: Finite
    operations: Int64
    size_bytes: Int64
    total: DiskLatency
    submit: DiskLatency = DiskLatency()
    sync: DiskLatency = DiskLatency()
    syncs: Int64 = 0
    fetched_bytes: Int64 | None = None
    owed_bytes: Int64 | None = None
    device: DeviceCounters | None = None
    cached_before: Int64 | None = None
    cached_after: Int64 | None = None
    slice: Int64 = 0
    rates: tuple[Finite, ...] = ()

    def __post_init__(self) -> None:
        require(self.operations > 0, "operations", "1 or more")
        require(0 < self.duration_s < math.inf, "duration_s", "above 0")

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.duration_s


class DiskTrace(Record):
    """A job played once more while the kernel's block events were read: means over `requests`, in
    ns, from queued to dispatched and on to completed, beside fio's own of the same play.
    """

    side: str
    job: str
    requests: Int64
    submit_ns: Finite
    queue_ns: Finite
    device_ns: Finite
    total_ns: Finite


class PublishedFigure(Record):
    """What somebody published of this matrix, with its source: `factor` is the time of a request
    on the side `candidate` beside that on `base`, of direct requests of one user.
    """

    what: str
    factor: Finite
    source: str
    base: str
    candidate: str


class RunCommits(Record):
    """What a candidate of a comparison asked of its disk in a phase, for an operation: fsyncs and
    bytes of log (None: not counted), by the engine's own count; and what it did, in operations a
    second of so many `users`.
    """

    candidate: str
    workload: str
    phase: str
    users: Int64
    rate: Finite
    fsyncs: Finite
    log_bytes: Finite | None = None


class DiskRun(Record):
    """A run of `dyno disk`; the first side is the base. `analyses` are the numbers of blocks at
    which it is judged, `slices` how many plays a side has of a job in a block. `writable` are the
    devices that it writes to. `is_traced` once the blocks are over and jobs were traced, or could
    not be.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    matrix: str
    question: str
    jobs: tuple[DiskJob, ...]
    sides: tuple[DiskSide, ...]
    plays: tuple[DiskPlay, ...]
    analyses: tuple[Int64, ...]
    margin_percent: Finite
    play_s: Finite
    fio: str
    host: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    published: tuple[PublishedFigure, ...] = ()
    commits: tuple[RunCommits, ...] = ()
    traces: tuple[DiskTrace, ...] = ()
    writable: tuple[str, ...] = ()
    slices: Int64 = 1
    is_aa: bool = False
    is_traced: bool = False
    dyno: str = ""
    series: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        names, jobs = ([each.name for each in them] for them in (self.sides, self.jobs))
        require(names and len(names) == len({*names}), "sides", "of different names")
        require(jobs and len(jobs) == len({*jobs}), "jobs", "of different names")
        own = all([each.name for each in side.jobs] in ([], jobs) for side in self.sides)
        require(own, "sides.jobs", "of the same names as jobs")
        rising = sorted({each for each in self.analyses if 0 < each < BLOCKS_MOST})
        require(rising and (*rising,) == self.analyses, "analyses", "rising numbers of blocks")
        require(self.margin_percent > 0, "margin_percent", "above 0")
        played: dict[tuple[str, str], set[int]] = {(it, job): set() for it in names for job in jobs}
        for play in self.plays:
            require((play.side, play.job) in played, "plays", "of jobs on sides of the run")
            played[play.side, play.job].add(play.block)
        alike = len({frozenset(blocks) for blocks in played.values()}) == 1
        require(alike, "plays", "of the same blocks for each job on each side")

    @property
    def blocks(self) -> int:
        """How many blocks are whole: each side played each of its jobs."""
        return len({play.block for play in self.plays})

    def find_metric(self, job: str) -> Metric:
        """The rate of a job."""
        return Metric(self.matrix, job, "", "rate_per_s", "/s", "higher")

    def list_jobs(self, side: DiskSide) -> tuple[DiskJob, ...]:
        """The jobs as a side plays them."""
        return side.jobs or self.jobs

    def find_plays(self, side: str, job: str) -> list[DiskPlay]:
        """Those of a side in a job, as they were played."""
        found = [each for each in self.plays if (each.side, each.job) == (side, job)]
        return sorted(found, key=lambda each: (each.block, each.slice))

    def compute_rates(self, side: str, job: str) -> list[float]:
        """Operations a second of a side in a job, by block: all slices of a block together."""
        blocks: dict[int, list[DiskPlay]] = {}
        for play in self.find_plays(side, job):
            blocks.setdefault(play.block, []).append(play)
        return [
            sum(play.operations for play in plays) / sum(play.duration_s for play in plays)
            for plays in blocks.values()
        ]


class DiskFinding(Finding):
    """An audit's judgement of some sides in some jobs; empty means all of them."""

    sides: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()

    def covers(self, side: str, job: str) -> bool:
        """Is it about this side in this job?"""
        return (not self.sides or side in self.sides) and (not self.jobs or job in self.jobs)


class DiskErrorRates(Record):
    """What comparisons of a path with itself said: an A/A run in `comparisons` parts, each judged
    as a comparison is. `words` counts those of all jobs; `wrong` are parts in which a job was
    *slower* or *faster*, with the bounds of their share in percent (Clopper and Pearson, 95 %).
    """

    comparisons: Int64
    wrong: Int64
    low_percent: Finite
    high_percent: Finite
    words: dict[str, Int64]


class DiskVerdict(Verdict):
    """A verdict on paths; `error_rates` are those of an A/A run that is long enough."""

    error_rates: DiskErrorRates | None = None
