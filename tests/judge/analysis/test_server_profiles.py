"""Two profiles of a server beside each other: what differs, and what is said of few slices."""

from __future__ import annotations

import math

from made_profiles import LAYERS, SECOND_NS, make_profile
from msgspec.structs import replace

from dyno.judge.analysis.server_profiles import (
    WHOLE,
    compare_functions_of_profiles,
    compare_rows,
    compare_statements,
    list_cpu_series,
    list_unlike,
    list_wait_events,
    list_wait_series,
    sum_by_layer,
    tell_rows,
)
from dyno.record.profile import CpuSlice
from dyno.record.server_profile import ServerProfile
from dyno.report.html.page import render_result
from dyno.report.server_profile import build_profile_result


def compare_layers_of(base: ServerProfile, other: ServerProfile) -> dict[str, str | None]:
    before, now = (sum_by_layer(list_cpu_series(each)) for each in (base, other))
    rows = compare_rows(before, now)
    return {row.name: row.word for row in rows}


def test_a_layer_that_takes_more_differs_and_those_that_do_not_are_said_not_to() -> None:
    words = compare_layers_of(make_profile(1), make_profile(2, scan=60))
    assert words == {
        WHOLE: "differs",
        "storage engine": "differs",
        "parser": "not shown to differ",
        "kernel: other": "not shown to differ",
    }


def test_shares_of_a_core_are_those_of_the_time_that_was_charged() -> None:
    profile = make_profile(1)
    whole = tell_rows(sum_by_layer(list_cpu_series(profile)))[0]
    assert math.isclose(whole.value, 120 * 0.002, rel_tol=0.05)
    assert whole.low < whole.value < whole.high
    assert profile.cpu
    charged = replace(profile.cpu, charged_ns=2 * profile.cpu.profile.cpu_ns)
    doubled = tell_rows(sum_by_layer(list_cpu_series(replace(profile, cpu=charged))))[0]
    assert math.isclose(doubled.value, 2 * whole.value)


def test_a_layer_that_holds_next_to_nothing_is_not_tested_and_so_not_told_as_equal() -> None:
    small = dict.fromkeys(LAYERS, 2000) | {"parse": 2}
    words = compare_layers_of(make_profile(1, **small), make_profile(2, **small))
    assert words["parser"] == "not tested"
    assert words["storage engine"] == "not shown to differ"


def test_few_slices_are_said_to_be_too_few() -> None:
    words = compare_layers_of(make_profile(1, slices=5), make_profile(2, slices=5, scan=200))
    assert set(words.values()) == {"too few slices"}


def test_a_last_slice_that_was_cut_short_is_in_no_mean() -> None:
    profile = make_profile(1)
    assert profile.cpu
    short = CpuSlice(SECOND_NS // 100, ((0, 40),))
    cut = replace(profile, cpu=replace(profile.cpu, slices=(*profile.cpu.slices, short)))
    assert list_cpu_series(cut) == list_cpu_series(profile)


def test_a_function_of_one_side_only_is_compared_with_nothing() -> None:
    base, other = make_profile(1), make_profile(2)
    assert base.cpu
    gone = tuple(
        replace(it, name="old_scan") if it.name == "scan" else it
        for it in base.cpu.profile.functions
    )
    base = replace(base, cpu=replace(base.cpu, profile=replace(base.cpu.profile, functions=gone)))
    rows = compare_functions_of_profiles(list_cpu_series(base), list_cpu_series(other))
    found = {row.name: row for row in rows}
    assert found["old_scan"].other == 0.0 and found["scan"].value == 0.0
    assert found["scan"].word == found["old_scan"].word == "differs"


def test_waits_are_sessions_on_average() -> None:
    profile = make_profile(1)
    (row,) = tell_rows(list_wait_series(profile))
    assert row.name == "running" and 1.8 < row.value < 2.2
    assert list_wait_events(profile)["running"].total() > 200


def test_statements_are_compared_by_their_time_a_call() -> None:
    base, busier = make_profile(1), make_profile(2)
    (statement,) = busier.statements
    twice = tuple(2 * n for n in statement.slices_calls)
    times = tuple(2 * ns for ns in statement.slices_ns)
    # twice the calls and twice the time: each call takes what it took
    more = replace(statement, calls=sum(twice), slices_calls=twice, slices_ns=times)
    (row,) = compare_statements(base, replace(busier, statements=(more,)))
    assert row.word == "not shown to differ" and 900 < row.value < 1100
    slow = replace(statement, slices_ns=times, time_ns=sum(times))
    (row,) = compare_statements(base, replace(busier, statements=(slow,)))
    assert row.word == "differs" and 1.8 < (row.other or 0) / row.value < 2.2


def test_a_statement_of_one_side_is_said_to_be_and_other_sources_are_not_compared() -> None:
    base, other = make_profile(1), make_profile(2)
    (row,) = compare_statements(base, replace(other, statements=()))
    assert row.word == "on one side only"
    assert not compare_statements(base, replace(other, statement_source="sampled sessions"))


def test_a_page_is_small_asks_nobody_and_shows_a_statement_as_it_is_written() -> None:
    base, other = make_profile(1), make_profile(2, scan=60)
    for page in (
        render_result(build_profile_result(other)),
        render_result(build_profile_result(other, base)),
    ):
        assert len(page) < 500_000 and "<b>bold" not in page and "&lt;b&gt;bold" in page
        assert "default-src 'none'" in page and "http:" not in page and "https:" not in page
    shown = page[page.index("<main>") :]
    assert "differs" in shown and "slower" not in shown and "faster" not in shown


def test_two_profiles_that_were_taken_otherwise_are_said_to_be() -> None:
    base, other = make_profile(1), make_profile(2)
    assert list_unlike(base, other) == []
    assert base.cpu
    blind = replace(base.cpu, profile=replace(base.cpu.profile, kernel=False), charged_ns=1)
    unlike = replace(base, cpu=blind, version="17", statement_source="sampled sessions")
    said = " ".join(list_unlike(unlike, other))
    assert all(word in said for word in ("kernel was seen", "charged", "17, then 18", "sampled s"))
    assert "inside the kernel was seen in one" in render_result(build_profile_result(other, unlike))
    assert "CPU time was sampled in one" in " ".join(list_unlike(replace(base, cpu=None), other))
