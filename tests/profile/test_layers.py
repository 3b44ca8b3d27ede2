"""Layers of engines: which part a function belongs to."""

from __future__ import annotations

import pytest

from dyno.profile.callgrind import UNKNOWN, CodeFunction
from dyno.profile.layers import TABLES, read_layers


@pytest.mark.parametrize(
    ("engine", "name", "file", "layer"),
    [
        ("sqlite", "sqlite3BtreeIndexMoveto", UNKNOWN, "b-tree"),
        ("sqlite", "sqlite3VdbeExec", UNKNOWN, "virtual machine"),
        ("sqlite", "sqlite3PagerSharedLock", UNKNOWN, "page cache and pager"),
        ("mysql", "row_search_mvcc", "/s/storage/innobase/row/row0sel.cc", "storage engine"),
        ("mysql", "row_search_mvcc", UNKNOWN, "storage engine"),
        ("mysql", "anything", "/s/sql/sql_yacc.cc", "parser"),
        ("mariadb", "anything", "/s/sql/net_serv.cc", "protocol and connections"),
        ("postgres", "slot_deform_heap_tuple", UNKNOWN, "executor"),
        ("postgres", "anything", "/s/src/backend/optimizer/path/x.c", "planner"),
        ("duckdb", "duckdb::Parser::ParseQuery(x)", UNKNOWN, "parser"),
        ("sqlite", "nothing_known", UNKNOWN, "other"),
        ("null", "nothing_known", UNKNOWN, "other"),
    ],
)
def test_a_functions_layer_is_told_by_its_source_else_by_its_name(
    engine: str, name: str, file: str, layer: str
) -> None:
    assert read_layers(engine).find_layer(CodeFunction(name, file, "engine")) == layer


@pytest.mark.parametrize(
    ("name", "library", "layer"),
    [
        ("_int_malloc", "libc.so.6", "allocation"),
        ("operator new", "libstdc++.so.6.0.30", "allocation"),
        ("__memcpy_avx_unaligned_erms", "libc.so.6", "C library"),
        ("_dl_runtime_resolve", "ld-linux-x86-64.so.2", "loader"),
    ],
)
def test_system_libraries_are_layers_of_their_own(name: str, library: str, layer: str) -> None:
    assert read_layers("mysql").find_layer(CodeFunction(name, UNKNOWN, library)) == layer


def test_every_table_can_be_read_and_names_each_layer_once() -> None:
    for file in TABLES.glob("*.toml"):
        names = [pattern.name for pattern in read_layers(file.stem).patterns]
        assert names
        assert len(names) == len(set(names)), file.name
