"""Audit `page_cache`: how much of what was read came out of memory?

The kernel counts what it fetched from a device for us (`/proc/PID/io`), and says what of the file
is in the page cache (cachestat). Of a buffered job hits are what was asked for; they are told, for
its rate is that of a mixture.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun

#: Hits below this share of the bytes are read-ahead's rounding, in percent.
HITS_PERCENT = 5.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side and reading job with hits, else one for all."""
    reads = [job for job in run.jobs if not job.is_write]
    found = False
    seen = False
    for side in run.sides:
        if (side.blocks.absent_percent or 0.0) >= 1.0:
            continue
        for job in reads:
            plays = run.find_plays(side.name, job.name)
            known = [play for play in plays if play.fetched_bytes is not None]
            asked = sum(play.size_bytes for play in known)
            if not asked:
                continue
            seen = True
            hits = 100.0 * max(0.0, 1.0 - sum(play.fetched_bytes or 0 for play in known) / asked)
            warm = any((play.cached_before or 0) > 0.05 * side.size_bytes for play in plays)
            if hits < HITS_PERCENT and not warm:
                continue
            found = True
            sentence = f"{side.name}, '{job.name}': {hits:.0f} % of the bytes came from memory"
            sentence += ", and the file was in the page cache before." if warm else "."
            yield DiskFinding("page_cache", "doubtful", sentence, (side.name,), (job.name,))
    if not reads:
        yield DiskFinding("page_cache", "does not apply", "Nothing is read.")
    elif not seen:
        sentence = "What the kernel fetched for us is not visible (/proc/self/io)."
        yield DiskFinding("page_cache", "not checked", sentence)
    elif not found:
        sentence = "All that was read was fetched from a device."
        yield DiskFinding("page_cache", "sound", sentence)
