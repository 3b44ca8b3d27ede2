"""A host's id is the same whatever is measured, tells nothing of the host, and may have a group."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.host.checks import CPU_FEATURES, Machine, read_host_facts
from dyno.host.checks._machine import APPLICATION, read_host_group, read_host_id

OWN = "0123456789abcdef0123456789abcdef"
BOARD = "4c4c4544-0042-3510-8052-b4c04f4e3232"


def read_id(root: Path, files: dict[str, str], name: str = "") -> str:
    for path, text in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return read_host_id(Machine(root=root), lambda: name)


def test_the_id_is_the_machines_own_hashed_for_dyno_alone(tmp_path: Path) -> None:
    found = read_id(tmp_path, {"/etc/machine-id": f"{OWN}\n"}, "wonder")
    assert found == hmac.new(bytes.fromhex(OWN), APPLICATION, hashlib.sha256).hexdigest()[:16]
    assert found not in OWN and hashlib.sha256(OWN.encode()).hexdigest()[:16] != found


@pytest.mark.parametrize("text", ["", "uninitialized", "0" * 32, f"{OWN}0", "../../etc/passwd"])
def test_what_is_no_machine_id_is_passed_over_for_the_next_source(
    tmp_path: Path, text: str
) -> None:
    dbus = {"/etc/machine-id": text, "/var/lib/dbus/machine-id": OWN}
    assert read_id(tmp_path, dbus) == read_id(tmp_path / "b", {"/etc/machine-id": OWN})


def test_a_board_and_then_the_name_stand_for_a_missing_id(tmp_path: Path) -> None:
    board = read_id(tmp_path, {"/sys/class/dmi/id/product_uuid": BOARD}, "wonder")
    named = read_id(tmp_path / "b", {}, "wonder")
    assert board and named and board != named
    assert named == read_id(tmp_path / "c", {}, "Wonder\n")
    maker = {"/sys/class/dmi/id/product_uuid": "03000200-0400-0500-0006-000700080009"}
    assert read_id(tmp_path / "d", maker, "wonder") == named


@pytest.mark.parametrize("name", ["", "localhost", "3f2a9c0d1e4b"])
def test_a_name_that_is_another_one_each_time_gives_no_id(tmp_path: Path, name: str) -> None:
    assert read_id(tmp_path, {}, name) == ""


def test_a_record_names_the_host_and_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DYNO_HOST_GROUP", raising=False)
    facts = read_host_facts(tmp_path)
    assert facts.get("id", "") == read_host_id(Machine()) and "group" not in facts
    monkeypatch.setenv("DYNO_HOST_GROUP", "ci")
    assert read_host_facts(tmp_path)["group"] == "ci"


def test_a_record_names_what_counts_depend_on(tmp_path: Path) -> None:
    facts = read_host_facts(tmp_path)
    assert re.fullmatch(r"[a-z]+ [\d.]+", facts["libc"])
    assert set(facts["cpu_features"].split()) <= CPU_FEATURES


BAD = [" ", "a\nb", "a\x1b[31m", " ci", "x" * 65, "\u202eci"]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_is_none_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_HOST_GROUP", name)
    with pytest.raises(UsageError, match=r"(?i)host.group"):
        read_host_group()


def test_a_command_refuses_a_bad_group_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_HOST_GROUP", "a\x1bb")
    assert run_words(["compare", "null", "null@1us", "-w", "insert"]) == 64
    said = capsys.readouterr().err
    assert r"'a\x1bb' is no name of a host group" in said and "\x1b" not in said
