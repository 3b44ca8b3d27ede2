"""Each way in which a disk's numbers can be wrong, injected into a record, is named."""

from __future__ import annotations

from dataclasses import replace

from disk_runs import LOG, MB, READ, make_run, make_side

from dyno.disk.audits import judge_run
from dyno.record.disk import DiskFinding, DiskRun, FileBlocks


def find(run: DiskRun, audit: str) -> list[DiskFinding]:
    return [finding for finding in judge_run(run) if finding.audit == audit]


def test_an_honest_run_has_no_doubt() -> None:
    wrong = [
        it
        for it in judge_run(make_run(jobs=(READ, LOG)))
        if it.soundness in ("invalid", "doubtful", "not checked")
    ]
    assert not wrong


def test_reads_of_holes_and_of_unwritten_extents_are_invalid() -> None:
    for blocks in (FileBlocks(0, 0, 64 * MB, 0, 100.0), FileBlocks(32 * MB, 32 * MB, 0, 2, 50.0)):
        (finding,) = find(make_run([make_side(blocks=blocks)]), "unwritten")
        assert finding.soundness == "invalid" and "never written" in finding.sentence


def test_zeros_on_a_raw_device_are_told_as_trimmed_blocks() -> None:
    side = make_side("/dev/sdx", kind="device", blocks=FileBlocks(zero_percent=98.0))
    (finding,) = find(make_run([side]), "unwritten")
    assert finding.soundness == "invalid" and "trimmed" in finding.sentence
    few = replace(side, blocks=FileBlocks(zero_percent=20.0))
    assert find(make_run([few]), "unwritten")[0].soundness == "doubtful"
    unknown = replace(side, blocks=FileBlocks())
    assert find(make_run([unknown]), "unwritten")[0].soundness == "not checked"


def test_direct_reads_that_fill_the_page_cache_are_invalid() -> None:
    run = make_run(change=lambda play: replace(play, cached_after=play.size_bytes))
    (finding,) = find(run, "buffered")
    assert finding.soundness == "invalid" and "'read 4K' asks for O_DIRECT" in finding.sentence


def test_direct_reads_for_which_nothing_was_fetched_are_invalid() -> None:
    run = make_run(change=lambda play: replace(play, fetched_bytes=0, cached_after=None))
    assert find(run, "buffered")[0].soundness == "invalid"


def test_memory_is_no_disk() -> None:
    (finding,) = find(make_run([make_side(file_system="tmpfs")]), "buffered")
    assert finding.soundness == "invalid" and "memory" in finding.sentence


def test_hits_in_the_page_cache_are_told_with_their_share() -> None:
    job = replace(READ, access="buffered")
    half = make_run(
        jobs=[job], change=lambda play: replace(play, fetched_bytes=play.size_bytes // 2)
    )
    (finding,) = find(half, "page_cache")
    assert finding.soundness == "doubtful" and "50 % of the bytes" in finding.sentence
    warm = make_run(jobs=[job], change=lambda play: replace(play, cached_before=32 * MB))
    assert "in the page cache before" in find(warm, "page_cache")[0].sentence
