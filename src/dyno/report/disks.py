"""A run of disks as a document: each job's rate and latencies, where the time of a request goes,
and what the audits found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from dyno import numbers
from dyno.numbers import format_count
from dyno.record.disk import (
    DiskJob,
    DiskPlay,
    DiskRun,
    DiskSide,
    DiskTrace,
    DiskVerdict,
    PublishedFigure,
    RunCommits,
)
from dyno.report import document as doc
from dyno.report.headline import build_headline, describe_largest, list_reasons
from dyno.report.names import NamedRow
from dyno.report.result import Result
from dyno.report.sections.verdict import choose_tone

#: What each part of a request's time is called.
PARTS = ("submit", "queue", "device", "rest", "completion")
#: A run that did so many times as much was not held by one flush at a time.
EXCEEDED = 1.5


@dataclass(frozen=True)
class RequestTime:
    """Where the mean time of an operation goes, in ns: handed to the kernel, queued in it (0 where
    it was not traced: then part of `rest`), in the device, and all else: file system, interrupt,
    wake-up. `device` is None where neither block events nor counters tell: all behind the submit
    is then one part, fio's completion latency.
    """

    submit: float
    queue: float
    device: float | None
    total: float

    @property
    def rest(self) -> float:
        return max(0.0, self.total - self.submit - self.queue - (self.device or 0.0))

    @property
    def parts(self) -> tuple[float, ...]:
        """In the order of `PARTS`."""
        if self.device is None:
            return self.submit, 0.0, 0.0, 0.0, self.rest
        return self.submit, self.queue, self.device, self.rest, 0.0


@dataclass(frozen=True)
class JobSummary:
    """A job on a side over its blocks: means of rates, medians of latencies in ns."""

    side: str
    job: str
    rate: float
    block_bytes: int
    p50: float
    p99: float
    sync_p50: float
    sync_p99: float
    spread_percent: float
    time: RequestTime


def summarize_jobs(run: DiskRun) -> list[JobSummary]:
    traces = {(each.side, each.job): each for each in run.traces}
    return [
        _summarize(run, job, side, traces.get((side.name, job.name)))
        for jobs in zip(*map(run.list_jobs, run.sides), strict=True)
        for side, job in zip(run.sides, jobs, strict=True)
        if run.find_plays(side.name, job.name)
    ]


def _summarize(run: DiskRun, job: DiskJob, side: DiskSide, trace: DiskTrace | None) -> JobSummary:
    plays = run.find_plays(side.name, job.name)
    rates = run.compute_rates(side.name, job.name)
    mean = fmean(rates)
    return JobSummary(
        side=side.name,
        job=job.name,
        rate=mean,
        block_bytes=job.block_bytes,
        p50=median(play.total.p50 for play in plays),
        p99=median(play.total.p99 for play in plays),
        sync_p50=median(play.sync.p50 for play in plays),
        sync_p99=median(play.sync.p99 for play in plays),
        spread_percent=100.0 * (max(rates) - min(rates)) / mean,
        time=measure_request_time(job, plays, trace),
    )


def measure_request_time(
    job: DiskJob, plays: Sequence[DiskPlay], trace: DiskTrace | None = None
) -> RequestTime:
    """The means over some plays, or those of the trace; a write's wait (fsync) is part of its time.

    The device's counters have everybody's requests.
    """
    if trace:
        values = (trace.submit_ns, trace.queue_ns, trace.device_ns, trace.total_ns)
        return RequestTime(*values)
    operations = sum(play.operations for play in plays)
    total = sum((play.total.mean * play.operations) for play in plays)
    total += sum(play.sync.mean * play.syncs for play in plays)
    submit = sum(play.submit.mean * play.operations for play in plays)
    device = _measure_device_ns(job, plays)
    if device is not None:
        device = max(0.0, min(device, (total - submit) / operations))
    return RequestTime(submit / operations, 0.0, device, total / operations)


def _measure_device_ns(job: DiskJob, plays: Sequence[DiskPlay]) -> float | None:
    """The device's time for an operation, by its counters; None where it shows none."""
    counters = [play.device for play in plays if play.device]
    operations = sum(play.operations for play in plays if play.device)
    if job.is_write:
        ms = sum(each.write_ms + each.flush_ms for each in counters)
    else:
        ms = sum(each.read_ms for each in counters)
    return 1e6 * ms / operations if operations else None


def format_rate(each: JobSummary) -> str:
    """`12,345/s`, and of large blocks the bytes: `1.2 GB/s`."""
    if each.block_bytes >= 1 << 16:
        return f"{numbers.format_quantity(each.rate * each.block_bytes, 'B')}/s"
    return f"{each.rate:,.0f}/s"


def describe_device(side: DiskSide) -> str:
    facts = side.device
    told = [side.file_system, "/".join(facts.stack) or "no device is visible below it"]
    told += [f"scheduler {facts.scheduler}" if facts.scheduler else ""]
    told += [f"cache {facts.write_cache}" if facts.write_cache else ""]
    if facts.rotational is not None:
        told.append("says that it rotates" if facts.rotational else "does not rotate")
    known = ", ".join(filter(None, told))
    return f"{side.name}: {known}; {numbers.format_quantity(side.size_bytes, 'B', 2)}."


def describe_basis(run: DiskRun) -> str:
    blocks = format_count(run.blocks, "block")
    slices = f" in {run.slices} slices" if run.slices > 1 else ""
    return (
        f"{run.fio}, {blocks}, each job {run.play_s:g} s a block{slices}, seed {run.seed}; in a "
        "folder each block has a new file. Rates are means, latencies medians over the blocks."
    )


def describe_error_rates(verdict: DiskVerdict) -> str:
    """What an A/A run says of the verdict's errors; empty for another run."""
    rates = verdict.error_rates
    if rates is None:
        return ""
    words = ", ".join(f"{count} {word}" for word, count in rates.words.items())
    parts = format_count(rates.comparisons, "comparison")
    return (
        f"A/A: {parts} of the path with itself, {rates.wrong} of them wrong in some job (95 %: "
        f"{rates.low_percent:.0f} to {rates.high_percent:.0f} %); words of all jobs: {words}."
    )


@dataclass(frozen=True)
class PublishedBeside:
    """A published figure, and what was measured here: `factor`, by medians of a job."""

    figure: PublishedFigure
    base: str
    candidate: str
    job: str
    factor: float


def list_published(run: DiskRun) -> list[PublishedBeside]:
    jobs = [job for job in run.jobs if job.access == "direct" and job.in_flight == 1]
    found = []
    for each in run.published:
        pairs = [
            (base, side)
            for base in run.sides
            for side in run.sides
            if base.name.endswith(each.base) and side.name.endswith(each.candidate)
        ]
        for job, (base, side) in ((job, pair) for job in jobs for pair in pairs):
            ours, theirs = (run.find_plays(it.name, job.name) for it in (base, side))
            if ours and theirs:
                factor = median(p.total.p50 for p in theirs) / median(p.total.p50 for p in ours)
                found.append(PublishedBeside(each, base.name, side.name, job.name, factor))
    return found


def format_factor(factor: float) -> str:
    """`4.0`, and what is smaller than one by two figures."""
    return f"{factor:.1f}" if factor >= 1 else f"{factor:.2g}"


@dataclass(frozen=True)
class CommitForecast:
    """What a phase of a comparison could do on a side, in operations a second, with one flush at a
    time, each as long as this job's.
    """

    commits: RunCommits
    side: str
    job: str
    most: float

    @property
    def is_exceeded(self) -> bool:
        """Did the run do clearly more, so that another disk, or something else, explains it?"""
        return self.commits.rate > EXCEEDED * self.most


def forecast_commits(run: DiskRun) -> list[CommitForecast]:
    found = []
    for each in run.commits:
        for side in run.sides:
            for job in (it for it in run.list_jobs(side) if it.sync and it.users == 1):
                if rates := run.compute_rates(side.name, job.name):
                    rate = fmean(rates)
                    found.append(CommitForecast(each, side.name, job.name, rate / each.fsyncs))
    return found


def make_commit_cells(each: CommitForecast) -> tuple[str, ...]:
    did = each.commits
    log = "" if did.log_bytes is None else f", {did.log_bytes:,.0f} B"
    users = format_count(did.users, "user")
    return (
        f"{did.candidate}, {did.workload} {did.phase}",
        f"{each.job}, {each.side}",
        f"{did.fsyncs:.3g}{log}",
        f"{each.most:,.0f}/s",
        f"{did.rate:,.0f}/s, {users}",
    )


def describe_commits(run: DiskRun) -> list[str]:
    """What the table of forecasts means; nothing where there is none."""
    forecasts = forecast_commits(run)
    if not forecasts:
        return []
    told = ["At most: operations a second with one flush at a time, each as long as the job's."]
    if any(each.is_exceeded for each in forecasts):
        told.append(
            "Where the run did more, its disk is faster, its flushes overlapped, or they did not "
            "wait."
        )
    return told


def build_disk_result(run: DiskRun, verdict: DiskVerdict) -> Result:
    """Return what a run of disks came to."""
    return Result(
        noun="a run of disks",
        name=run.name,
        headline=f"{build_headline((), verdict)}.",
        created_utc=run.created_utc,
        question=run.question or "What does this disk do under a database?",
        command=run.command,
        verdict=verdict,
        workloads=[run.matrix],
        rows=name_rows(verdict),
        values={
            (side.name, run.find_metric(job.name)): run.compute_rates(side.name, job.name)
            for side in run.sides
            for job in run.jobs
        },
        basis=[*map(describe_device, run.sides), *run.notes, describe_basis(run)],
        document=build_disks(run, verdict),
    )


def name_rows(verdict: DiskVerdict) -> list[NamedRow]:
    return [NamedRow(row.metric.phase, "", row) for row in verdict.comparisons]


def build_disks(run: DiskRun, verdict: DiskVerdict) -> doc.Document:
    """All of a run: the verdict, each job, where the time goes, what the audits found."""
    commits = [make_commit_cells(it) for it in forecast_commits(run)]
    heads = ("by", "fsyncs, log an op.", "at most", "the run did")
    what_commits: list[doc.Block] = [
        doc.Heading("What a database pays", "commits"),
        doc.RowTable(
            doc.make_columns("phase", *heads), commits, "Commits of a comparison on this disk"
        ),
        *doc.list_prose(describe_commits(run)),
    ]
    columns = doc.make_columns("audit", after=("", "finding"))
    passed, others = (
        [
            (it.audit, doc.TextSpan(it.soundness, FINDINGS.get(it.soundness, "quiet")), it.sentence)
            for it in verdict.findings
            if (it.soundness in ("sound", "does not apply")) is is_passed
        ]
        for is_passed in (True, False)
    )
    folded = doc.Details("what was found sound, or does not apply", [doc.RowTable(columns, passed)])
    told = [*map(describe_device, run.sides), *run.notes, describe_basis(run)]
    return [
        *_list_verdict(run, verdict),
        doc.Heading("Jobs", "jobs"),
        _make_jobs(run),
        *doc.list_prose(list_slow_flushes(run), "doubt"),
        doc.Heading("Where the time of a request goes", "time"),
        doc.Prose(PARTS_MEAN),
        _make_bars(run),
        *(what_commits if commits else []),
        doc.Heading("Audits", "audits"),
        doc.RowTable(columns, others),
        *([folded] if passed else []),
        doc.Heading("How it was measured", "basis"),
        *doc.list_prose(told),
        doc.Listing(run.command, "to repeat"),
    ]


#: How an audit's word is to be taken.
FINDINGS: dict[str, doc.Tone] = {"invalid": "bad", "doubtful": "doubt", "sound": "good"}
PARTS_MEAN = (
    "Submit: handed to the kernel. Queue: until the kernel sends it on, and device: until it "
    "is completed, by the kernel's block events; without these the device's counters tell its "
    "time, everybody's requests included, and the queue is part of the rest: file system, "
    "interrupt and wake-up. Where no device is visible, completion is all behind the submit, "
    "by fio alone."
)


def _list_verdict(run: DiskRun, verdict: DiskVerdict) -> list[doc.Block]:
    tone = choose_tone(verdict)
    named = name_rows(verdict)
    published = [
        (
            f"{it.candidate} ÷ {it.base}",
            f"{it.figure.factor:.1f}",
            format_factor(it.factor),
            f"{it.figure.what} ({it.figure.source}); here by medians of {it.job}",
        )
        for it in list_published(run)
    ]
    heads = doc.make_columns("time of a request", "published", "here", after=("what",))
    largest = describe_largest(verdict, named)
    return [
        doc.Heading("Verdict", "verdict"),
        doc.Prose(f"{build_headline((), verdict)}.", tone, boxed=True),
        *doc.list_prose(
            [largest and f"{largest[0].upper()}{largest[1:]}.", describe_error_rates(verdict)]
        ),
        *(doc.Prose(f"Published: {it.what} ({it.source}).") for it in run.published),
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, named)),
        doc.RowTable(heads, published, "Published, and here"),
        *([doc.Forest((), named, "95 %")] if named else []),
    ]


def _make_jobs(run: DiskRun) -> doc.RowTable:
    rows = []
    for each in summarize_jobs(run):
        times = (each.p50, each.p99, each.sync_p50, each.sync_p99)
        cells = (numbers.format_quantity(ns, "ns") if ns else "" for ns in times)
        apart = numbers.format_percent(each.spread_percent)
        rows.append((each.job, each.side, format_rate(each), *cells, apart))
    heads = ("rate", "p50", "p99", "sync p50", "sync p99", "blocks apart")
    return doc.RowTable(doc.make_columns(("job", "path"), *heads), rows)


#: `wal_fsync_duration_seconds`, "p99 duration should be less than 10ms" (etcd's FAQ).
ETCD_FLUSH_NS = 10e6


def list_slow_flushes(run: DiskRun) -> list[str]:
    """Which path flushes too slowly for whom: a sentence for each, of its slowest job."""
    slowest: dict[str, JobSummary] = {}
    for each in summarize_jobs(run):
        if each.sync_p99 >= ETCD_FLUSH_NS:
            slowest[each.side] = max(slowest.get(each.side, each), each, key=lambda it: it.sync_p99)
    return [
        f"{each.side}: the p99 of a flush in {each.job} is "
        f"{numbers.format_quantity(each.sync_p99, 'ns')}; etcd asks for less than 10 ms for its log"
        for each in slowest.values()
    ]


def _make_bars(run: DiskRun) -> doc.Bars:
    rows = []
    for each in summarize_jobs(run):
        side = f", {each.side}" if len(run.sides) > 1 else ""
        parts = [
            (name, ns, numbers.format_quantity(ns, "ns"))
            for name, ns in zip(PARTS, each.time.parts, strict=True)
        ]
        rows.append((f"{each.job}{side}", parts))
    return doc.Bars(PARTS, rows)
