"""SQLite that errs in one thing, compiled from its source: each fault is found by its audit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from injected_faults import findings
from planted_engines import (
    SCRIPT,
    SERVER_PLANTS,
    build_planted_sqlites,
    write_log,
)

from dyno.cli.workload_words import prepare_setup
from dyno.workloads.replay.layout import lay_out

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A build without a fault, and one of each fault."""
    return build_planted_sqlites(tmp_path_factory.mktemp("faulted"))


def blamed(
    folder: Path, libraries: dict[str, Path], workload: Path, options: Mapping[str, str]
) -> list[str]:
    """What is invalid of a workload on every fault; each is found by `contents`, by its statement,
    and a copy without a fault is not.
    """
    names = {name: f"p{at}" for at, name in enumerate(SERVER_PLANTS)}
    plain = [f"{name}=sqlite@{libraries['none']}" for name in ("base", "clean")]
    faulted = [f"{name}=sqlite@{libraries[fault]}" for fault, name in names.items()]
    found = findings(folder, (*plain, *faulted), str(workload), options)
    invalid = [it for it in found if it.soundness == "invalid"]
    for fault, name in names.items():
        where = f"{workload.stem} on {name} answers otherwise"
        (own,) = (it.sentence for it in invalid if it.sentence.startswith(where))
        assert SERVER_PLANTS[fault] in own, fault
    assert not [it for it in invalid if "clean" in it.sentence]
    return [it.sentence for it in invalid if it.audit == "results"]


def test_each_fault_in_sqlite_is_invalid_by_its_audit_and_the_clean_copy_is_not(
    libraries: dict[str, Path], tmp_path: Path
) -> None:
    script = tmp_path / "faulted.lua"
    script.write_text(SCRIPT)
    options = {"events": "30", "warmup_time": "0"}
    (counted,) = blamed(tmp_path, libraries, script, options)
    assert "plant_l" in counted and "read 270 rows in 30 executions, and 300" in counted


def test_each_fault_is_invalid_where_a_log_is_replayed(
    libraries: dict[str, Path], tmp_path: Path
) -> None:
    log, data = write_log(tmp_path)
    replay = lay_out(log, True, lambda _: None)
    made = prepare_setup(data, (f"sqlite@{libraries['none']}",))
    (counted,) = blamed(tmp_path, libraries, replay.script, made.list_options())
    assert "plant_l" in counted and "read 270 rows in 30 executions, and 300" in counted
