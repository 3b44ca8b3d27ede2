"""What goes through a channel: cut anywhere, whole files or none, and no way out of a folder."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from dyno.compare.fleet import ConnectionLost
from dyno.compare.fleet.messages import (
    PIECE_BYTES,
    FilePiece,
    FileReceiver,
    FleetMessage,
    MessageReader,
    make_message,
    send_file,
)
from dyno.errors import HostError, UsageError


def test_messages_are_the_same_wherever_they_are_cut(rng: random.Random) -> None:
    sent = [FleetMessage("a", {"n": n}, os.urandom(rng.randrange(300))) for n in range(40)]
    stream = b"".join(message.encode() for message in sent)
    reader, found, at = MessageReader(), list[FleetMessage](), 0
    while at < len(stream):
        step = rng.randrange(1, 200)
        found += reader.cut(stream[at : at + step])
        at += step
    assert found == sent


@pytest.mark.parametrize(
    "line",
    [
        b"Welcome to db1\n",
        b'{"kind":"a"}\n',
        b'{"kind":"a","data":{},"bytes":-1}\n',
        b'{"kind":"a","data":{},"bytes":99999999}\n',
        b"x" * (2 << 20),
    ],
)
def test_what_is_no_message_ends_the_conversation(line: bytes) -> None:
    with pytest.raises(ConnectionLost, match="speaks another language"):
        list(MessageReader().cut(line))


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 5])
def test_a_file_comes_as_it_was(tmp_path: Path, size: int) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size))
    receiver = FileReceiver(tmp_path / "there")
    assert send_file(source, "trials/0001.json", receiver.take_piece) == size
    there = tmp_path / "there" / "trials" / "0001.json"
    assert there.read_bytes() == source.read_bytes()
    assert there.stat().st_mode & 0o777 == 0o600
    assert [it.name for it in there.parent.iterdir()] == ["0001.json"]


def test_a_file_whose_end_never_came_is_not_there(tmp_path: Path) -> None:
    receiver = FileReceiver(tmp_path)
    receiver.take_piece(make_message("piece", FilePiece("a.json", last=False), b"half"))
    assert not (tmp_path / "a.json").exists()
    again = FileReceiver(tmp_path)
    again.take_piece(make_message("piece", FilePiece("a.json", last=True), b"whole"))
    assert (tmp_path / "a.json").read_bytes() == b"whole"


@pytest.mark.parametrize(
    "path", ["../a", "/etc/passwd", "a/../../b", ".ssh/keys", "a//b", "", "a\n"]
)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    receiver = FileReceiver(tmp_path / "in")
    with pytest.raises(UsageError, match="is no file of a fleet's"):
        receiver.take_piece(make_message("piece", FilePiece(path, last=True), b"x"))
    assert not (tmp_path / "a").exists()


def test_a_link_that_lies_there_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / ".a.part").symlink_to(tmp_path / "stolen")
    FileReceiver(tmp_path / "in").take_piece(make_message("piece", FilePiece("a", last=True), b"x"))
    assert not (tmp_path / "stolen").exists()
    assert (tmp_path / "in" / "a").read_bytes() == b"x"


@pytest.mark.parametrize("size", [PIECE_BYTES, 0])
def test_a_share_that_has_no_end_is_refused_before_the_disk_is_full(
    tmp_path: Path, size: int
) -> None:
    """Of whole pieces, and of files without content."""
    receiver = FileReceiver(tmp_path, 3 * PIECE_BYTES, 3)
    for number in range(4):
        piece = make_message("piece", FilePiece(f"a{number}", False), bytes(size))
        if number == 3:
            with pytest.raises(HostError, match="what it sends of a share has no end: more than"):
                receiver.take_piece(piece)
        else:
            receiver.take_piece(piece)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 3 * PIECE_BYTES
    assert len(list(tmp_path.iterdir())) == 3
