"""fio's words, and what is read of its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from disk_runs import LOG, READ, write_fio

from dyno.errors import HostError, TrialFailed
from dyno.instruments.disk.fio import (
    PARTS,
    Fio,
    FioCall,
    build_command,
    find_fio,
    read_rates,
    read_result,
)
from dyno.record.disk import DiskJob

FIO = Fio(Path("/usr/bin/fio"), "fio-3.33")


def call(job: DiskJob) -> FioCall:
    return FioCall(job, "/proc/1/fd/3", 1 << 26, 1.0, 7)


def test_json_is_read_from_the_first_brace() -> None:
    text = "note: both iodepth >= 1 and synchronous I/O engine are selected\n" + write_fio()
    result = read_result(READ, text)
    assert (result.operations, result.duration_s, result.total.p50) == (1000, 1.0, 80_000)


@pytest.mark.parametrize("end", [10, 200, -1])
def test_json_that_is_cut_off_is_no_result(end: int) -> None:
    with pytest.raises(TrialFailed, match="cut off"):
        read_result(READ, write_fio()[:end])


def test_no_json_is_no_result_and_fios_words_are_told() -> None:
    with pytest.raises(TrialFailed, match="fio wrote no JSON: cannot open"):
        read_result(READ, "cannot open")


def test_an_error_of_fios_is_a_failure_whatever_it_measured() -> None:
    with pytest.raises(TrialFailed, match="error 28 in 'read 4K': no space left"):
        read_result(READ, write_fio(error=28))


def test_several_jobs_are_not_taken_for_one() -> None:
    data = json.loads(write_fio())
    data["jobs"] *= 2
    with pytest.raises(TrialFailed, match="2 jobs of 'read 4K', where 1 was played"):
        read_result(READ, json.dumps(data))


def test_several_clients_are_not_added_to_their_own_sum() -> None:
    one = json.loads(write_fio())["jobs"][0]
    both = json.loads(write_fio(jobname="All clients"))["jobs"][0]
    both["read"]["total_ios"] = 2000
    data = {"fio version": "fio-3.33", "client_stats": [one, one, both]}
    assert read_result(READ, json.dumps(data)).operations == 2000


def test_a_job_that_did_nothing_is_a_failure() -> None:
    data = json.loads(write_fio())
    data["jobs"][0]["read"]["total_ios"] = 0
    with pytest.raises(TrialFailed, match="did nothing"):
        read_result(READ, json.dumps(data))


def test_a_report_without_a_field_is_told() -> None:
    data = json.loads(write_fio())
    del data["jobs"][0]["read"]["lat_ns"]
    with pytest.raises(TrialFailed, match="cannot be read: it has no 'lat_ns'"):
        read_result(READ, json.dumps(data))


def test_a_job_that_reads_may_neither_write_nor_trim() -> None:
    words = build_command(FIO, call(READ))
    assert "--readonly" in words and not any("trim" in word for word in words)
    assert "--direct=1" in words and "--thread" in words and "--group_reporting" in words


def test_users_that_write_a_log_have_a_part_of_the_file_each() -> None:
    job = DiskJob("log", "write", access="buffered", users=4, sync="fdatasync")
    words = build_command(FIO, call(job))
    assert {"--size=16777216", "--offset_increment=16777216", "--fdatasync=1"} <= set(words)
    assert "--readonly" not in words
    assert "--sync=dsync" in build_command(FIO, call(DiskJob("log", "write", sync="dsync")))
    assert LOG.is_write


def test_a_system_without_fio_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="there is no fio") as refused:
        find_fio(lambda _: None, path=str(tmp_path), fetch=False)
    assert "install fio" in refused.value.hint


def test_the_rate_of_a_play_is_that_of_all_users_part_by_part(tmp_path: Path) -> None:
    log = tmp_path / "rate_iops.log"
    half = PARTS // 2
    users = [
        "".join(f"{50 * at}, {100 if at <= half else 10}, 0, 0, 0\n" for at in range(1, PARTS + 1)),
        "".join(f"{100 * at}, 50, 0, 0, 0\n" for at in range(1, half + 1)),
    ]
    log.write_text("".join(users))
    assert read_rates(log, PARTS * 0.05) == (150.0,) * half + (60.0,) * half


def test_a_log_that_is_not_there_or_cut_off_tells_no_rates(tmp_path: Path) -> None:
    assert read_rates(tmp_path / "none", 1.0) == ()
    (tmp_path / "empty").touch()
    assert read_rates(tmp_path / "empty", 1.0) == ()
    (tmp_path / "cut").write_text("50, 100, 0, 0, 0\n10")
    assert read_rates(tmp_path / "cut", 1.0) == ()


def test_a_play_is_logged_only_where_it_is_long_enough(tmp_path: Path) -> None:
    words = build_command(FIO, call(READ), tmp_path)
    assert f"--write_iops_log={tmp_path}/rate" in words and "--log_avg_msec=25" in words
    short = FioCall(READ, "/proc/1/fd/3", 1 << 26, 0.5, 7)
    assert not any("log" in word for word in build_command(FIO, short, tmp_path))
