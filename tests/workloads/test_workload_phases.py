"""What our workloads declare: phases, primaries, paces; which options and names they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_workloads import OLTP, described

from dyno import workloads
from dyno.errors import UsageError
from dyno.record import Pace


def test_the_insert_benchmark_has_the_originals_phases_and_three_primaries() -> None:
    phases = described("insert").phases
    names = "l.i0 l.x l.i1 l.i2 qr100 qp100 qr500 qp500 qr1000 qp1000"
    assert [phase.name for phase in phases] == names.split()
    assert [phase.name for phase in phases if phase.settle] == ["qr100"]
    primaries = [(p.name, m.stream, m.metric, m.margin_percent) for p in phases for m in p.primary]
    assert primaries == [
        ("l.i0", "insert", "rate_per_s", 5),
        ("l.i1", "insert", "rate_per_s", 5),
        ("qr100", "query", "rate_per_s", 5),
    ]


@pytest.mark.parametrize(
    ("workload", "option"),
    [("insert", "clients"), ("insert", "load_batch"), ("oltp_read_only", "tables")],
)
def test_a_workload_without_work_is_refused_before_it_is_played(workload: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"refuses this value of option {option}(.|\n)*default"):
        described(workload, **{option: 0})


@pytest.mark.parametrize("option", [{"query_rates": "100,abc"}, {"queries": "range,all"}])
def test_a_list_of_query_phases_is_refused_by_its_option_s_name(option: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"refuses this value of option {next(iter(option))}"):
        described("insert", **option)


def test_query_phases_can_be_chosen_and_their_writers_are_paced_in_rows() -> None:
    phases = described("insert", query_rates="250", queries="point", clients=2).phases
    assert [phase.name for phase in phases[4:]] == ["qp250"]
    queries, inserts = phases[4].streams
    assert queries.pace == Pace("closed")
    assert inserts.units_per_event * (inserts.pace.rate_per_s or 0) == 2 * 250
    assert (queries.role, inserts.role) == ("reader", "writer")


def test_an_open_loop_is_judged_by_latency_and_a_closed_one_by_rate() -> None:
    closed = described("oltp_point_select").phases[0]
    paced = described("oltp_point_select", rate=100).phases[0]
    assert closed.streams[0].pace == Pace("closed")
    assert paced.streams[0].pace == Pace("uniform", 100)
    metrics = [phase.primary[0].metric for phase in (closed, paced)]
    assert metrics == ["rate_per_s", "latency_ns_p99"]


def test_only_workloads_that_keep_their_tables_size_are_stationary() -> None:
    drifting = {name for name in OLTP if not described(name).phases[0].stationary}
    assert drifting == {"oltp_insert", "oltp_delete"}


@pytest.mark.parametrize("workload", OLTP)
def test_the_distribution_of_keys_is_said_and_uniform_by_default(workload: str) -> None:
    options = {option.name: option for option in described(workload).options}
    assert (options["rand_type"].value, options["rand_type"].owner) == ("uniform", "script")


def test_a_workload_is_found_by_name_or_path(tmp_path: Path) -> None:
    script = tmp_path / "mine.lua"
    script.write_text('local c = require("shared")\n')
    assert workloads.find_workload(str(script)) == script.resolve()
    before = workloads.compute_checksum(script)
    (tmp_path / "shared.lua").write_text("return {}\n")
    assert workloads.compute_checksum(script) != before
    with pytest.raises(UsageError, match="no script at"):
        workloads.find_workload(str(tmp_path / "other.lua"))
    with pytest.raises(UsageError, match="unknown workload"):
        workloads.find_workload("oltp_pont_select")


def test_modules_are_sought_as_sysbench_does_and_ones_own_beside_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, beside = tmp_path / "here", tmp_path / "beside"
    for folder in (here, beside):
        folder.mkdir()
        for module in ("shared", "_own"):
            (folder / f"{module}.lua").write_text(f"return '{folder.name}'\n")
    script = beside / "mine.lua"
    names = "require('shared') .. '_' .. require('_own')"
    script.write_text(f"sysbench.cmdline.options = {{ [{names}] = {{ 'text', 1 }} }}\n")
    monkeypatch.chdir(here)
    assert "here_beside" in {option.name for option in described(str(script)).options}
    before = workloads.compute_checksum(script)
    (here / "_own.lua").write_text("return 'other'\n")
    (beside / "shared.lua").write_text("return 'other'\n")
    assert workloads.compute_checksum(script) == before
    (beside / "_own.lua").write_text("return 'other'\n")
    assert workloads.compute_checksum(script) != before
