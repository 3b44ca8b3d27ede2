"""Archives and records of strangers: each is refused in a sentence with its file and field, none
ends in a fault of Dyno's own, and one odd run stops no other.
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

from dyno.compare.pack.archive import unpack_run
from dyno.compare.run_folder import read_json
from dyno.compare.run_summary import RunPlace
from dyno.errors import DynoError, UsageError
from dyno.pages.reports import read_report
from dyno.pages.site import SiteOptions, write_site
from dyno.record.disk import DiskPlay
from dyno.webserver.guard import read_token
from dyno.webserver.serve import ServeOptions, bind

EXAMPLE = ROOT / "docs" / "example-run"
ODD: list[Any] = [None, 0, -1, 10**400, 1e308, float("nan"), "", "é", "a" * 5000, [], {}, [0], True]
#: CPU seconds of mutations.
FUZZED_S = 4.0


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


def list_places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of each value of a record, of lists the first three."""
    found = [before] if before else []
    inner = list(value.items()) if isinstance(value, dict) else []
    inner = list(enumerate(value))[:3] if isinstance(value, list) else inner
    return found + [place for key, it in inner for place in list_places(it, (*before, key))]


def mutate(record: Any, draw: random.Random) -> Any:
    """The record with one value replaced, removed, emptied or made large."""
    made = copy.deepcopy(record)
    *above, key = draw.choice(list_places(made))
    holder = made
    for each in above:
        holder = holder[each]
    value = holder[key]
    way = draw.choice(["replace", "remove", "empty", "scale"])
    if way == "remove":
        del holder[key]
    elif way == "scale" and isinstance(value, int | float):
        holder[key] = type(value)(value * draw.choice([0, -1, 1000, 1e12]))
    elif way == "empty" and isinstance(value, list | dict | str):
        holder[key] = type(value)()
    else:
        holder[key] = draw.choice(ODD)
    return made


def test_a_mutated_record_is_shown_or_refused_by_its_file(tmp_path: Path) -> None:
    draw, run = random.Random(53), tmp_path / "run"
    records = {file: json.loads(file.read_text()) for file in EXAMPLE.rglob("*.json")}
    chosen = [EXAMPLE / "run.json", EXAMPLE / "trials" / "0003.json"]
    shutil.copytree(EXAMPLE, run)
    refused = shown = 0
    end = time.thread_time() + FUZZED_S
    while time.thread_time() < end:
        file = draw.choice(chosen)
        target = run / file.relative_to(EXAMPLE)
        target.write_text(json.dumps(mutate(records[file], draw)))
        try:
            read_report(RunPlace("comparison", run))
            shown += 1
        except UsageError as error:
            assert target.name in error.sentence, error.sentence
            refused += 1
        shutil.copy(file, target)
    assert refused > 3 and shown > 3


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
