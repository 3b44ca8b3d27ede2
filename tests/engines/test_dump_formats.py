"""What a dump is by its first bytes or files, and the plain file that is made of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dyno.engines import find_plain_dump
from dyno.errors import UsageError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SQL = b"CREATE TABLE item (id INTEGER);\nINSERT INTO item VALUES (1);\n"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress,
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))


def plain(path: Path) -> bytes:
    return find_plain_dump(path, lambda _: None).read_bytes()


def test_a_plain_file_is_played_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "it.sql").write_bytes(SQL)
    assert find_plain_dump(tmp_path / "it.sql", lambda _: None) == tmp_path / "it.sql"


@pytest.mark.parametrize("ending", PACKED)
def test_a_packed_file_is_unpacked_once_and_anew_when_it_changes(
    ending: str, tmp_path: Path
) -> None:
    file, said = tmp_path / f"it.sql.{ending}", list[str]()
    file.write_bytes(PACKED[ending](SQL))
    first = find_plain_dump(file, said.append)
    assert first.read_bytes() == SQL and find_plain_dump(file, said.append) == first
    file.write_bytes(PACKED[ending](SQL * 2))
    assert plain(file) == SQL * 2, "another content under the same name"
    many = PACKED[ending](SQL * 90_000)
    file.write_bytes(many[: len(many) // 2])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        plain(file)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (b"SQLite format 3\0rest", "SQLite's database itself"),
        (b"XBSTCK01", "a backup of a server's files"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"it.sql" + bytes(251) + b"ustar\0" + bytes(300), "a TAR archive"),
        ("CREATE TABLE t".encode("utf-16"), "in UTF-16"),
        (b"PGDMP\x01\x0e\0rest", "pg_dump's archive"),
        (b"toc.dat\0" + bytes(249) + b"ustar\0" + bytes(300), "pg_dump's archive"),
    ],
)
def test_what_is_no_dump_is_refused_by_name(begin: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(begin)
    with pytest.raises(UsageError, match=said):
        plain(tmp_path / "it")
    with pytest.raises(UsageError, match="cannot read the data"):
        plain(tmp_path / "nowhere.sql")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("@.json", "MySQL Shell's dump"),
        ("PG_VERSION", "a server's data"),
        ("xtrabackup_checkpoints", "a backup of a server's files"),
        ("load.sql", "DuckDB's EXPORT DATABASE"),
        ("any.txt", "and no dump"),
        ("metadata.partial", "is not whole"),
    ],
)
def test_a_folder_is_known_by_its_files(file: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / file).touch()
    with pytest.raises(UsageError, match=said):
        plain(folder)


def test_files_of_mydumper_are_joined_in_the_order_in_which_they_can_be_played(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    files = {
        "metadata": "# Finished dump at: 2026-01-01 10:00:00\n",
        "shop-schema-create.sql": "CREATE DATABASE shop;\n",
        "shop.item-schema.sql": "CREATE TABLE item;\n",
        "shop.item.00001.sql": "INSERT 1;\n",
        "shop.item.00000.sql": "INSERT 0;\n",
        "shop.seen-schema.sql": "CREATE TABLE seen;\n",
        "shop.seen-schema-view.sql": "CREATE VIEW seen;\n",
        "shop-schema-post.sql": "CREATE PROCEDURE p BEGIN SELECT 1; \nEND;\n",
        "shop.item-schema-triggers.sql": "CREATE TRIGGER t;\n",
        "mydumper_0-schema-create.sql": "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `o.ther`;\n",
        "mydumper_0.item-schema.sql": "CREATE TABLE item;\n",
        "all-schema-create-tablespace.sql": "CREATE TABLESPACE `far`;\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    said = plain(folder).decode()
    order = ["USE `o.ther`", "USE `shop`", "TABLE item", "TABLE seen", "INSERT 0", "INSERT 1"]
    order += ["VIEW seen", "DELIMITER ;;", "SELECT 1; \nEND\n;;", "TRIGGER t\n;;"]
    at = 0
    for word in order:
        assert word in said[at:], (word, said)
        at = said.index(word, at)
    assert "CREATE DATABASE shop" not in said and "TABLESPACE" not in said
    (folder / "shop.item.00000.dat").touch()
    with pytest.raises(UsageError, match="rows for LOAD DATA"):
        plain(folder)
