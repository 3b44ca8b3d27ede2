"""Each way in which a disk's numbers can be wrong, injected into a record, is named."""

from __future__ import annotations

from typing import Any

import pytest
from disk_runs import DEVICE, LOG, MB, READ, make_run, make_side
from msgspec.structs import replace

from dyno.instruments.disk.audits import judge_run
from dyno.record.disk import (
    DiskFinding,
    DiskJob,
    DiskLatency,
    DiskPlay,
    DiskRun,
    DiskSide,
    FileBlocks,
)
from dyno.report.disks import format_rate, summarize_jobs


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


def test_direct_reads_that_fill_the_page_cache_once_and_hit_it_then_are_invalid() -> None:
    def hit(play: DiskPlay) -> DiskPlay:
        return replace(play, cached_after=4 * MB, fetched_bytes=4 * MB, size_bytes=40 * MB)

    assert find(make_run(change=hit), "buffered")[0].soundness == "invalid"


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
    few = make_run(jobs=[job], change=lambda it: replace(it, fetched_bytes=it.size_bytes * 9 // 10))
    assert find(few, "page_cache")[0].soundness == "sound"
    warm = make_run(jobs=[job], change=lambda play: replace(play, cached_before=32 * MB))
    assert "in the page cache before" in find(warm, "page_cache")[0].sentence


def with_device(**facts: Any) -> DiskSide:
    return make_side(device=replace(DEVICE, **facts))


def judge(audit: str, run: DiskRun) -> tuple[str, str]:
    (finding,) = find(run, audit)
    return finding.soundness, finding.sentence


@pytest.mark.parametrize(
    ("audit", "facts", "soundness", "words"),
    [
        ("loop_cache", {"loop_direct": False, "loop_file": "/img"}, "invalid", "second page cache"),
        ("loop_cache", {"loop_direct": True}, "sound", "direct I/O"),
        ("thin_provisioning", {"thin": "dm-3 lies in the pool dm-1"}, "doubtful", "the pool dm-1"),
        ("thin_provisioning", {"name": ""}, "not checked", "no device is visible"),
        ("trim", {"discard_bytes": 0}, "doubtful", "takes no discard (TRIM)"),
        ("trim", {"discard_bytes": 0, "rotational": True}, "sound", "needs no discard"),
        ("trim", {"discard_bytes": None}, "not checked", "not visible"),
        ("queue_limit", {"limit": "read_iops=500"}, "doubtful", "allows read_iops=500"),
        ("queue_limit", {"requests": None}, "not checked", "not visible"),
        ("pcie_link", {"link": "8 GT/s x2", "link_most": "16 GT/s x4"}, "doubtful", "16 GT/s x4"),
        ("pcie_link", {"link": "16 GT/s x4", "link_most": "16 GT/s x4"}, "sound", "all that"),
    ],
)
def test_a_fact_of_the_device_is_told_by_its_audit(
    audit: str, facts: dict[str, Any], soundness: str, words: str
) -> None:
    found, sentence = judge(audit, make_run([with_device(**facts)]))
    assert found == soundness and words in sentence


def test_more_requests_than_the_queue_holds_are_told() -> None:
    deep = replace(READ, name="deep", engine="io_uring", depth=64)
    found, sentence = judge("queue_limit", make_run([with_device(requests=32)], [READ, deep]))
    assert found == "doubtful" and "holds 32 requests, and 'deep'" in sentence


def test_a_flush_faster_than_any_medium_is_answered_by_a_cache() -> None:
    def quicken(play: DiskPlay) -> DiskPlay:
        return replace(play, sync=DiskLatency(9_000.0, 8_000.0, 20_000.0, 1e6))

    side = with_device(write_cache="write back")
    found, sentence = judge("write_cache", make_run([side], [LOG], change=quicken))
    assert found == "doubtful" and "flushes take 8 µs" in sentence
    assert judge("write_cache", make_run([side], [LOG]))[0] == "sound"
    turning = with_device(write_cache="write back", rotational=True)
    assert "says that it rotates" in judge("write_cache", make_run([turning], [LOG]))[1]
    safe = make_run([with_device(write_cache="write through")], [LOG], change=quicken)
    assert judge("write_cache", safe)[0] == "sound"
    hidden = with_device(write_cache="")
    assert judge("write_cache", make_run([hidden], [LOG]))[0] == "not checked"


def test_a_file_system_that_sends_no_flush_makes_commits_invalid() -> None:
    def forget(play: DiskPlay) -> DiskPlay:
        assert play.device
        return replace(play, device=replace(play.device, flushes=3))

    side = with_device(write_cache="write back")
    found, sentence = judge("write_cache", make_run([side], [LOG], change=forget))
    assert found == "invalid" and "60,150 waits it was sent 18 flushes" in sentence


WRITE = DiskJob("write 4K", "randwrite")


@pytest.mark.parametrize(
    ("rates", "soundness"),
    [
        ((1e4, 1.01e4, 0.99e4, 1e4, 1e4), "sound"),
        ((3e4, 2e4, 1.5e4, 1.2e4, 1e4), "doubtful"),
        ((1.1e4, 1.07e4, 1.03e4, 1e4, 0.97e4), "doubtful"),
        ((5e4, 4e4, 1e4, 1e4, 1e4, 1e4, 1e4), "sound"),
        ((1e4, 1e4, 1e4, 1e4), "not checked"),
    ],
)
def test_a_drive_that_was_not_preconditioned_is_not_steady_by_snias_five_rounds(
    rates: tuple[float, ...], soundness: str
) -> None:
    run = make_run(jobs=[WRITE], blocks=len(rates), rate=lambda _, block: rates[block])
    assert judge("steady_state", run)[0] == soundness


def test_rates_that_fall_and_stay_low_are_throttled() -> None:
    def fall(_: str, block: int) -> float:
        return 10_000.0 if block < 6 else 3_000.0

    found, sentence = judge("throttling", make_run(blocks=10, rate=fall))
    assert found == "doubtful" and "fell by 70 % after 1.0 minutes" in sentence
    once = make_run(blocks=10, rate=lambda _, block: 3_000.0 if block == 4 else 10_000.0)
    assert judge("throttling", once)[0] == "sound"


FALLEN = (100.0,) * 9 + (40.0,) * 11


@pytest.mark.parametrize(
    ("rates", "falls"),
    [
        (FALLEN, True),
        ((*FALLEN[:3], 45.0, *FALLEN[4:12], 95.0, *FALLEN[13:]), True),
        ((100.0,) * 20, False),
        (FALLEN[::-1], False),
        ((100.0,) * 18 + (40.0,) * 2, False),
        ((100.0, 60.0) * 10, False),
        ((), False),
    ],
    ids=["falls", "one outlier each", "level", "rises", "late", "noise", "unknown"],
)
def test_a_rate_that_falls_within_a_play_and_stays_low_is_throttled(
    rates: tuple[float, ...], falls: bool
) -> None:
    run = make_run(blocks=1, change=lambda play: replace(play, rates=rates))
    found, sentence = judge("throttling", run)
    assert found == ("doubtful" if falls else "not checked")
    if rates == FALLEN:
        assert "within 'read 4K' the rate fell by 60 % after 0.5 s" in sentence


def test_one_fall_of_many_plays_is_somebody_elses_and_two_are_not() -> None:
    def fall_once(play: DiskPlay) -> DiskPlay:
        return replace(play, rates=FALLEN if play.block == 0 else ())

    def fall_twice(play: DiskPlay) -> DiskPlay:
        return replace(play, rates=FALLEN if play.block < 2 else ())

    assert judge("throttling", make_run(change=fall_once))[0] == "sound"
    assert judge("throttling", make_run(change=fall_twice))[0] == "doubtful"


def test_others_on_the_disk_are_told() -> None:
    def disturb(play: DiskPlay) -> DiskPlay:
        assert play.device
        return replace(play, device=replace(play.device, read_bytes=5 * play.size_bytes))

    found, sentence = judge("foreign_io", make_run(change=disturb))
    assert found == "doubtful" and "others used nvme0n1 in 6 of 6 plays" in sentence
    hidden = make_run(change=lambda play: replace(play, device=None))
    assert judge("foreign_io", hidden)[0] == "not checked"


def test_a_job_is_judged_as_its_side_plays_it() -> None:
    sides = [
        with_device(write_cache="write back"),
        replace(with_device(write_cache="write back"), name="/x", jobs=(replace(LOG, sync=""),)),
    ]

    def quicken(play: DiskPlay) -> DiskPlay:
        return replace(play, sync=DiskLatency(9_000.0, 8_000.0, 20_000.0, 1e6))

    words = {
        it.sides: it.soundness for it in find(make_run(sides, [LOG], change=quicken), "write_cache")
    }
    assert words == {("/data",): "doubtful", ("/x",): "does not apply"}
    cached = replace(make_side(), jobs=(replace(READ, access="buffered"),))
    assert find(make_run([cached]), "buffered")[0].soundness == "does not apply"
    unsynced = replace(make_side(), jobs=(replace(LOG, sync=""),))
    assert find(make_run([unsynced], [LOG]), "steady_state")[0].soundness == "sound"


def test_a_rate_in_bytes_has_the_blocks_of_its_side() -> None:
    scan = DiskJob("scan", "read", block_bytes=MB)
    small = replace(make_side("/small"), jobs=(replace(scan, block_bytes=MB // 8),))
    run = make_run([make_side(), small], [scan], rate=lambda *_: 1_000.0)
    rates = [format_rate(each) for each in summarize_jobs(run)]
    assert rates == ["1.05 GB/s", "131 MB/s"]
