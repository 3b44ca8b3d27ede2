"""Audit `buffered`: did direct I/O pass the page cache by?

Some file systems take O_DIRECT and buffer all the same (compression, checksums, encryption,
`data=journal`), and memory file systems have nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskPlay, DiskRun

#: A play that leaves this share of its bytes in the page cache went through it; and so did one for
#: which the kernel fetched less than this share.
CACHED_SHARE, FETCHED_SHARE = 0.5, 0.5
MEMORY = ("tmpfs", "ramfs", "hugetlbfs")


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side, of its direct reads."""
    for side in run.sides:
        jobs = tuple(
            job.name for job in run.list_jobs(side) if job.access == "direct" and not job.is_write
        )
        if side.file_system in MEMORY:
            sentence = f"{side.name} lies on {side.file_system}: memory, and no disk is below it."
            yield DiskFinding("buffered", "invalid", sentence, sides=(side.name,))
            continue
        if not jobs:
            yield DiskFinding("buffered", "does not apply", f"{side.name}: no direct reads.")
            continue
        plays = [play for job in jobs for play in run.find_plays(side.name, job)]
        wrong = [play for play in plays if _is_buffered(play)]
        if wrong and (side.blocks.absent_percent or 0.0) < 1.0:
            sentence = (
                f"{side.name}: '{wrong[0].job}' asks for O_DIRECT and went through the page cache, "
                f"in {len(wrong)} of {len(plays)} plays."
            )
            yield DiskFinding("buffered", "invalid", sentence, sides=(side.name,), jobs=jobs)
        elif all(play.fetched_bytes is None for play in plays):
            sentence = f"{side.name}: what the kernel fetched is not visible (/proc/self/io)."
            yield DiskFinding("buffered", "not checked", sentence, sides=(side.name,), jobs=jobs)
        else:
            sentence = f"{side.name}: direct reads passed the page cache by."
            yield DiskFinding("buffered", "sound", sentence, sides=(side.name,), jobs=jobs)


def _is_buffered(play: DiskPlay) -> bool:
    before, after = play.cached_before, play.cached_after
    if before is not None and after is not None:
        # a block that is read again from memory is not fetched again
        read = min(play.size_bytes, play.fetched_bytes or play.size_bytes)
        return after - before >= CACHED_SHARE * read
    return play.fetched_bytes is not None and play.fetched_bytes < FETCHED_SHARE * play.size_bytes
