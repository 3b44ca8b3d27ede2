"""Audit `page_cache`: how much of what was read came out of memory?

The kernel counts what it fetched from a device for us (`/proc/PID/io`), and says what of the file
is in the page cache (cachestat). Of a buffered job some hits are what was asked for; where they are
many, its rate is memory's and not the disk's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.record.disk import DiskFinding, DiskPlay, DiskRun, DiskSide

#: Hits below this share of the bytes leave a rate the disk's, in percent.
HITS_PERCENT = 25.0
#: So much of a file in the page cache before a play is no read-ahead of ours, in percent.
WARM_PERCENT = 5.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side; reads of blocks that are not there are `unwritten`'s."""
    reads = [job.name for job in run.jobs if not job.is_write]
    if not reads:
        yield DiskFinding("page_cache", "does not apply", "Nothing is read.")
        return
    for side in run.sides:
        if (side.blocks.absent_percent or 0.0) < 1.0:
            yield _judge_side(run, side, reads)


def _judge_side(run: DiskRun, side: DiskSide, reads: Sequence[str]) -> DiskFinding:
    plays = {job: run.find_plays(side.name, job) for job in reads}
    shares = {job: _measure_hits(found) for job, found in plays.items()}
    known = {job: share for job, share in shares.items() if share is not None}
    warm = [job for job, found in plays.items() if any(_is_warm(it, side) for it in found)]
    if warm:
        sentence = f"{side.name}: the file was in the page cache before '{warm[0]}' was played."
        return DiskFinding("page_cache", "doubtful", sentence, sides=(side.name,), jobs=tuple(warm))
    if not known:
        sentence = f"{side.name}: what the kernel fetched for us is not visible (/proc/self/io)."
        return DiskFinding("page_cache", "not checked", sentence, sides=(side.name,))
    most = max(known, key=lambda job: known[job])
    told = f"{side.name}: {known[most]:.0f} % of the bytes of '{most}' came from memory"
    many = tuple(job for job, share in known.items() if share >= HITS_PERCENT)
    if many:
        more = f", and {len(many) - 1} more jobs have many hits" if len(many) > 1 else ""
        return DiskFinding(
            "page_cache", "doubtful", f"{told}{more}.", sides=(side.name,), jobs=many
        )
    return DiskFinding("page_cache", "sound", f"{told}, of other jobs less.", sides=(side.name,))


def _measure_hits(plays: Sequence[DiskPlay]) -> float | None:
    """The share of the bytes that were not fetched, in percent; None where it is not known."""
    known = [play for play in plays if play.fetched_bytes is not None]
    asked = sum(play.size_bytes for play in known)
    if not asked:
        return None
    return 100.0 * max(0.0, 1.0 - sum(play.fetched_bytes or 0 for play in known) / asked)


def _is_warm(play: DiskPlay, side: DiskSide) -> bool:
    return 100.0 * (play.cached_before or 0) > WARM_PERCENT * side.size_bytes
