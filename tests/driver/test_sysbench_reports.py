"""What the driver reports in sysbench's way: to hooks, and to whoever asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from played_scripts import NULL
from repository import ROOT

from dyno import driver
from dyno.driver.plan import Plan, Script

EVENT = """
ffi.cdef[[int usleep(unsigned);]]
function thread_init() c = sysbench.sql.driver():connect() end
function event() c:query("SELECT 1"); c:query("SELECT 2"); ffi.C.usleep(2000) end
"""


def reports(folder: Path, text: str, **options: object) -> Iterator[driver.Report]:
    """The reports of a script that plays for 0.3 s, told every 0.1 s."""
    script = folder / "s.lua"
    script.write_text(text)
    words = {name: str(value) for name, value in options.items()}
    asked = Script(str(script), {"time": "0.3"} | words, ("s.lua", "run"))
    plan = Plan(NULL, asked, 7, ("run",), progress_s=0.1, reports=True)
    with driver.DriverProcess(plan, driver.DriverLaunch(folder / "log")) as process:
        while not isinstance(event := process.read_event(driver.Limit("it", 20)), driver.End):
            if isinstance(event, driver.Report):
                yield event
            elif not isinstance(event, driver.Progress):
                process.go()


def test_each_interval_has_its_statements_and_latencies(tmp_path: Path) -> None:
    *intervals, whole = reports(tmp_path, EVENT, threads=2)
    assert intervals
    assert whole.is_cumulative and not any(it.is_cumulative for it in intervals)
    for report in (*intervals, whole):
        assert report.events > 0
        assert report.is_sql
        assert report.latency_max >= report.latency_pct * 0.98 > 0
    for report in intervals:
        assert abs(report.reads + report.writes + report.other - 2 * report.events) <= 4
    assert sum(it.events for it in intervals) <= whole.events


def test_the_whole_has_every_users_share_and_all_latencies(tmp_path: Path) -> None:
    *_, whole = reports(tmp_path, EVENT, threads=3, events=30)
    assert (whole.events, whole.reads + whole.writes + whole.other) == (30, 60)
    assert [len(whole.users), sum(it.events for it in whole.users)] == [3, 30]
    assert sum(it.count for it in whole.histogram) == 30
    assert whole.latency_min <= whole.latency_avg <= whole.latency_max
    assert sum(it.busy_s for it in whole.users) == pytest.approx(whole.latency_sum, rel=0.01)


def test_a_queue_is_told_at_a_rate(tmp_path: Path) -> None:
    *intervals, _ = reports(tmp_path, EVENT, rate=5000)
    assert any(it.queue_length > 0 for it in intervals)
    assert all(it.concurrency <= 1 for it in intervals)


def test_a_hook_takes_the_place_of_the_report(tmp_path: Path) -> None:
    hook = "function sysbench.hooks.report_cumulative(s) print(s.reads + s.other, s.events) end"
    said = list(reports(tmp_path, EVENT + hook, events=4))
    assert not any(report.is_cumulative for report in said)
    assert (tmp_path / "log").read_text() == "8\t4\n"


def test_both_a_time_and_a_count_end_a_run(tmp_path: Path) -> None:
    script = tmp_path / "s.lua"
    script.write_text("function event() end")

    def stop(**options: str) -> tuple[int | None, float | None]:
        said = driver.describe(Plan(NULL, Script(str(script), options), 7))
        return said.phases[0].stop.events, said.phases[0].stop.within_s

    assert stop(events="5") == (5, 0.0)
    assert stop(events="5", time="3") == (5, 3.0)


def test_the_stand_in_for_oltp_common_plays_what_scripts_call(tmp_path: Path) -> None:
    root = ROOT
    ours = root / "crates" / "driver" / "src" / "lua" / "oltp_common.lua"
    (tmp_path / "oltp_common.lua").write_text(ours.read_text())
    text = """require("oltp_common")
    local kinds = { "point_selects", "simple_ranges", "sum_ranges", "order_ranges",
      "distinct_ranges", "index_updates", "non_index_updates", "delete_inserts" }
    function prepare_statements()
      prepare_begin() prepare_commit()
      for _, kind in ipairs(kinds) do _G["prepare_" .. kind]() end
    end
    function event()
      begin()
      for _, kind in ipairs(kinds) do _G["execute_" .. kind]() end
      commit()
    end"""
    *_, whole = reports(tmp_path, text, events=3, tables=2, db_driver="mysql")
    # BEGIN, 10 points, 4 ranges, 2 updates, DELETE, INSERT, COMMIT: as sysbench's own sends
    assert whole.reads + whole.writes + whole.other == 3 * 20


def test_sql_is_bytes_and_need_not_be_utf8(tmp_path: Path) -> None:
    text = EVENT.replace("SELECT 2", "SELECT '\\255'")
    *_, whole = reports(tmp_path, text, events=2)
    assert whole.events == 2


def test_what_threads_send_at_their_begin_and_end_is_reported(tmp_path: Path) -> None:
    text = EVENT.replace("connect() end", "connect() c:query('SELECT 0') end")
    done = "function thread_done() c:query('SELECT 3'); c:query('SELECT 4') end"
    *_, whole = reports(tmp_path, text + done, events=5, threads=1)
    assert whole.reads + whole.writes + whole.other == 1 + 5 * 2 + 2


def test_a_given_option_is_a_global_of_a_text_that_is_not_seen(tmp_path: Path) -> None:
    (tmp_path / "far.lua").write_text("function event() assert(far_one == 'off') end")
    folder = str(tmp_path)
    *_, whole = reports(tmp_path, f"dofile('{folder}/far.lua')", events=2, far_one="off")
    assert whole.events == 2
