"""Archives and records of strangers: each is refused in a sentence with its file and field, none
ends in a fault of Dyno's own, and one odd run stops no other.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from mixed_runs import write_capacity, write_count, write_disks, write_profile
from mutated_records import mutate
from repository import ROOT

from dyno.cli.publish import require_no_fault
from dyno.errors import OWN_FAULT, DynoError, InternalError, UsageError
from dyno.pages.reports import read_report
from dyno.pages.site import SiteOptions, write_site
from dyno.record.disk import DiskPlay
from dyno.runs.pack.archive import unpack_run
from dyno.runs.run_folder import read_json
from dyno.runs.run_summary import RunPlace, list_run_places, summarize_run
from dyno.webserver.guard import read_token
from dyno.webserver.serve import ServeOptions, bind

EXAMPLE = ROOT / "docs" / "example-run"
#: How many of each kind: what takes a second of CPU.
MUTATIONS = {"comparison": 40, "count": 200, "capacity": 100, "disk": 150, "profile": 100}


def write_archive(file: Path, name: str = "x/run.json", content: bytes = b"{}") -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)


@pytest.mark.parametrize("kind", ["encrypted", "deflate", "method"])
def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "x.zip"
    write_archive(file, content=b"{}" * 50)
    with zipfile.ZipFile(file) as archive:
        at = archive.infolist()[0].header_offset
    held = bytearray(file.read_bytes())
    central = held.rindex(b"PK\x01\x02")
    if kind == "encrypted":
        held[at + 6] |= 1
        held[central + 8] |= 1
    elif kind == "method":
        held[at + 8] = held[central + 10] = 97
    else:
        held[at + 30 + len("x/run.json")] ^= 0xFF
    file.write_bytes(held)
    with pytest.raises(UsageError, match="is no packed run"):
        unpack_run(file, tmp_path / "runs")


@pytest.mark.parametrize("name", ["-rf/run.json", ".git/run.json", "x/.hidden/run.json"])
def test_a_name_that_means_more_to_programs_is_refused(tmp_path: Path, name: str) -> None:
    write_archive(tmp_path / "x.zip", name)
    with pytest.raises(UsageError, match="it has a member"):
        unpack_run(tmp_path / "x.zip", tmp_path / "runs")


def test_a_member_larger_than_any_record_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x/run.json", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(1 << 20))
    with pytest.raises(UsageError, match="unpacks to more than a run has"):
        unpack_run(tmp_path / "x.zip", tmp_path / "runs")


def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "disk.json").write_text("[" * 900 + "]" * 900)
    with pytest.raises(UsageError, match="nested too deeply"):
        read_json(DiskPlay, tmp_path / "disk.json")


def test_a_play_without_operations_is_refused_by_its_field(tmp_path: Path) -> None:
    latency = dict.fromkeys(("mean", "p50", "p99", "worst"), 1.0)
    play = {"block": 0, "side": "a", "job": "b", "at_s": 0, "duration_s": 1, "size_bytes": 1}
    file = tmp_path / "disk.json"
    file.write_text(json.dumps({**play, "operations": 0, "total": latency}))
    with pytest.raises(UsageError, match=r"disk\.json.*DiskPlay: operations must be 1 or more"):
        read_json(DiskPlay, file)


def test_an_endless_file_is_no_token_and_half_a_letter_no_host() -> None:
    with pytest.raises(UsageError, match="not a plain file"):
        read_token(Path("/dev/zero"))
    with pytest.raises(DynoError, match="cannot listen on"):
        bind(ServeOptions(host="\udc80", port=0))


@pytest.mark.parametrize("kind", ["comparison", "count", "capacity", "disk", "profile"])
def test_a_mutated_record_is_shown_or_refused_by_its_file(tmp_path: Path, kind: str) -> None:
    draw, home = random.Random(53), tmp_path / "runs"
    if kind == "comparison":
        shutil.copytree(EXAMPLE, home / "run")
    else:
        {
            "count": write_count,
            "capacity": write_capacity,
            "disk": write_disks,
            "profile": write_profile,
        }[kind](home)
    (place,) = list_run_places(home)
    files = sorted(home.rglob("*.json"))
    chosen = [file for file in files if file.stem in ("run", "0003")] or files
    refused = shown = 0
    for _ in range(MUTATIONS[kind]):
        file = draw.choice(chosen)
        sound = file.read_text()
        file.write_text(json.dumps(mutate(json.loads(sound), draw)))
        try:
            read_report(place)
            shown += 1
        except UsageError as error:
            assert re.search(rf"{file.name}.*(\b[A-Z]\w+|schema)", error.sentence), error.sentence
            refused += 1
        file.write_text(sound)
    assert refused > 3 and shown > 3


def replace_value(file: Path, place: Sequence[str | int], value: object) -> None:
    """Write the record with another value in that place."""
    record = json.loads(file.read_text())
    holder = record
    for each in place[:-1]:
        holder = holder[each]
    holder[place[-1]] = value
    file.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("write", "name", "change", "told"),
    [
        (write_disks, "disk.json", (["plays", 3, "block"], 0), "DiskRun: plays must be"),
        (write_disks, "disk.json", (["analyses"], []), "DiskRun: analyses must be"),
        (write_capacity, "0002.json", (["restarts", 0, "candidate"], "C"), "restarts must be"),
        (write_capacity, "0001.json", (["baselines", 0, "values"], []), "values must be"),
        (write_count, "count.json", (["counts", 0, "repeats"], [0.0, 0.0]), "repeats must be"),
        (write_count, "count.json", (["workload"], ""), "workload must be"),
        (write_count, "count.json", (["candidates", 0, "engine"], "../x"), "engine must be"),
        (
            write_profile,
            "20260112-000000.json",
            (["cpu", "slices", 0, "functions"], [[0]]),
            "pairs",
        ),
        (write_profile, "20260112-000000.json", (["waits", 0, "samples"], 0), "samples must be"),
    ],
)
def test_a_value_that_no_dyno_wrote_is_refused_by_its_field(
    tmp_path: Path,
    write: Callable[[Path], Path],
    name: str,
    change: tuple[Sequence[str | int], object],
    told: str,
) -> None:
    write(tmp_path)
    (file,) = tmp_path.rglob(name)
    replace_value(file, *change)
    (run,) = list_run_places(tmp_path)
    with pytest.raises(UsageError, match=rf"{re.escape(name)}.*{told}"):
        read_report(run)
    damage = summarize_run(run).damage
    assert name in damage and OWN_FAULT not in damage


def test_a_trial_has_its_turn_among_the_candidates(tmp_path: Path) -> None:
    run = shutil.copytree(EXAMPLE, tmp_path / "run")
    replace_value(run / "trials" / "0012.json", ["order"], 7)
    with pytest.raises(UsageError, match=r"0012\.json.*Trial\.order must be a place among 2"):
        read_report(RunPlace("comparison", run))


def test_a_fault_of_our_own_is_published_as_one_and_ends_with_70(
    tmp_path: Path,
) -> None:
    sound, odd = (shutil.copytree(EXAMPLE, tmp_path / "runs" / name) for name in ("a", "b"))

    def read_or_fail(place: RunPlace) -> str:
        if place.name == odd.name:
            raise KeyError("x")
        return read_report(place)

    site, places = tmp_path / "site", list_run_places(tmp_path / "runs")
    written = write_site(places, site, SiteOptions(None, read=read_or_fail))
    with pytest.raises(InternalError, match=r"1 run could not be shown.*KeyError") as told:
        require_no_fault(written)
    assert told.value.exit_code == 70
    assert "a fault of Dyno&#39;s own: KeyError" in (site / "runs" / "b.html").read_text()
    assert (site / "heat" / f"{sound.name}.html").is_file()


def test_one_odd_run_stops_no_other_from_being_published(tmp_path: Path) -> None:
    sound, odd = (shutil.copytree(EXAMPLE, tmp_path / "runs" / name) for name in ("a", "b"))
    record = json.loads((odd / "run.json").read_text())
    record["design"]["alpha"] = 7
    (odd / "run.json").write_text(json.dumps(record))
    places = [RunPlace("comparison", each) for each in (sound, odd)]
    write_site(places, tmp_path / "site", SiteOptions(None))
    told = (tmp_path / "site" / "index.html").read_text()
    assert "run.json is damaged: Run.design: alpha must be above 0 and below 1" in told
    assert "Run.design: alpha must be" in (tmp_path / "site" / "runs" / "b.html").read_text()
    assert (tmp_path / "site" / "heat" / "a.html").is_file()
