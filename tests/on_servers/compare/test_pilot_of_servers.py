"""The pilot beside real servers: connections and pinning are found, and fixed in the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.compare.pilot.connections import CONNECTIONS, choose_fewest_connections
from dyno.compare.pilot.prepare import choose_pinning, prepare
from dyno.record import IDLE_PERCENT, Run
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))


def _piloted(server: str, workload: str, **options: str) -> Run:
    experiment = compare_candidates(
        (f"a={server}", f"b={server}"), workload, options, Measuring(aa=True)
    )
    return prepare(draft_run(experiment, lambda _: None), lambda _: None).run


@pytest.mark.parametrize("server", ["postgres@18", "mysql@8.0.33"])
def test_a_server_is_played_at_saturation_where_nobody_says_how_many(
    server: str, home: Path
) -> None:
    run = _piloted(server, "oltp_point_select", table_size="1000")
    assert run.pilot is not None
    (found,) = run.pilot.saturation
    assert (found.workload, found.base, found.why) == ("oltp_point_select", "a", "")
    assert tuple(each.connections for each in found.tried) == CONNECTIONS[: len(found.tried)]
    assert all(each.idle_percent > IDLE_PERCENT for each in found.tried[:-1]), "no more than needed"
    assert found.connections == choose_fewest_connections(found.tried)
    assert run.workloads[0].options["threads"] == str(found.connections)
    (stream,) = run.workloads[0].phases[0].streams
    assert stream.connections == found.connections
    assert not any(home.iterdir()), "nothing is left"


def test_one_client_has_its_place_chosen_by_empty_answers(home: Path) -> None:
    run = _piloted("postgres@18", "oltp_point_select", threads="1", table_size="1000")
    assert run.pilot is not None and run.pilot.saturation == ()
    assert run.pilot.empty_ns.keys() == {"apart", "together"}
    assert run.pilot.pinning == choose_pinning(run.pilot.empty_ns)
    assert run.design.controls["pinning"] == run.pilot.pinning


def test_a_script_without_threads_and_a_given_rate_stay_as_they_are(home: Path) -> None:
    found = _piloted("postgres@18", "insert").pilot
    assert found is not None and (found.saturation, found.pinning) == ((), "")
    run = _piloted("postgres@18", "oltp_point_select", rate="100")
    assert run.pilot is not None
    assert [(each.connections, each.why) for each in run.pilot.saturation] == [
        (0, "the rate is given, not found")
    ]
    assert "threads" not in run.workloads[0].options


LONG = """
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
dyno.phases = function() return {{name = "long", stop = {kind = "time", duration_s = 60},
  streams = {{name = "s", run = "event", connections = sysbench.opt.threads}}}} end
"""


def test_a_script_that_cannot_be_shortened_is_not_tried(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "long.lua"
    script.write_text(LONG)
    pilot = _piloted("postgres@18", str(script)).pilot
    assert pilot is not None
    assert [each.why for each in pilot.saturation] == ["its phases cannot be shortened"]
