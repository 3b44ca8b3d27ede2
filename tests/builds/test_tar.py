"""Unpacking: what lands where, with which mode, what is refused; by Python's filter and by ours."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dyno.builds import tar

Packed = Callable[[tarfile.TarInfo], Path]


@pytest.fixture(params=["its own", "none"], autouse=True)
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python with its own filter, and one before 3.11.4."""
    if request.param == "none":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    """An archive of one member, behind a file `in/run`; the folder to unpack into is there."""
    (tmp_path / "to").mkdir()

    def pack(member: tarfile.TarInfo) -> Path:
        with tarfile.open(tmp_path / "it.tgz", "w:gz") as archive:
            first = tarfile.TarInfo("in/run")
            first.size, first.mode, first.uid = 4, 0o6777, 4711
            archive.addfile(first, io.BytesIO(b"word"))
            archive.addfile(member)
        return tmp_path / "it.tgz"

    return pack


def _link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


def test_files_are_ours_and_keep_that_they_can_be_run(packed: Packed, tmp_path: Path) -> None:
    link = _link("in/again", "run", tarfile.SYMTYPE)
    tar.unpack(packed(link), tmp_path / "to", lambda name: name.removeprefix("in/"))
    run = tmp_path / "to" / "run"
    assert run.read_text() == (tmp_path / "to" / "again").read_text() == "word"
    assert run.stat().st_mode & 0o6777 == 0o755 and run.stat().st_uid != 4711


def test_a_member_that_gets_no_name_is_left_out(packed: Packed, tmp_path: Path) -> None:
    other = packed(tarfile.TarInfo("out"))
    tar.unpack(other, tmp_path / "to", lambda name: name if "in" in name else "")
    assert [each.name for each in (tmp_path / "to").iterdir()] == ["in"]


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo("in/../../evil"),
        _link("in/evil", "../../secret", tarfile.SYMTYPE),
        _link("in/evil", "/etc/passwd", tarfile.SYMTYPE),
        _link("in/evil", "../secret", tarfile.LNKTYPE),
        _link("in/evil", "", tarfile.CHRTYPE),
    ],
    ids=["name", "link", "absolute link", "hard link", "device"],
)
def test_no_member_of_an_archive_reaches_out_of_its_folder(
    member: tarfile.TarInfo, packed: Packed, tmp_path: Path
) -> None:
    (tmp_path / "secret").touch()
    with pytest.raises(tarfile.TarError):
        tar.unpack(packed(member), tmp_path / "to", str)
    assert not list(tmp_path.rglob("evil"))
