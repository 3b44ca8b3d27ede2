"""Layers of engines: which part a function belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.profile.callgrind import UNKNOWN, CodeFunction
from dyno.profile.layers import (
    EXTENSIONS,
    TABLES,
    find_sampled_layer,
    label_profile,
    list_sampled_layers,
    read_layers,
    tidy_function,
)
from dyno.record.profile import CpuProfile, ProfiledFunction

ENGINE = "/cache/engine/libengine.so"
CONTAINERS = "values, strings and containers"


@pytest.mark.parametrize(
    ("engine", "name", "file", "layer"),
    [
        ("sqlite", "sqlite3BtreeIndexMoveto", UNKNOWN, "b-tree"),
        ("sqlite", "sqlite3VdbeExec", UNKNOWN, "virtual machine"),
        ("sqlite", "sqlite3PagerSharedLock", UNKNOWN, "page cache and pager"),
        ("mysql", "row_search_mvcc", "/s/storage/innobase/row/row0sel.cc", "storage engine"),
        ("mysql", "row_search_mvcc", UNKNOWN, "storage engine"),
        ("mysql", "ut_delay", "/s/storage/innobase/ut/ut0ut.cc", "locks and spinning"),
        ("mysql", "anything", "/s/sql/sql_yacc.cc", "parser"),
        ("mariadb", "anything", "/s/sql/net_serv.cc", "protocol and connections"),
        ("postgres", "slot_deform_heap_tuple", UNKNOWN, "executor"),
        ("postgres", "anything", "/s/src/backend/optimizer/path/x.c", "planner"),
        ("duckdb", "duckdb::Parser::ParseQuery(x)", UNKNOWN, "parser"),
        ("duckdb", "void std::vector<int>::emplace_back<int>", UNKNOWN, CONTAINERS),
        ("duckdb", "bool duckdb::TryCast::Operation<int>(x)", UNKNOWN, "execution"),
        ("duckdb", "duckdb::MoveConstantsRule::MoveConstantsRule", UNKNOWN, "optimizer"),
        ("duckdb", "void duckdb::BitpackingFetchRow<int>", UNKNOWN, "storage and transactions"),
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


@pytest.mark.parametrize(
    ("engine", "name", "module", "layer"),
    [
        ("postgres", "pgss_planner", "/lib/postgresql/18/pg_stat_statements.so", EXTENSIONS),
        ("postgres", "", "/lib/x86_64-linux-gnu/libcrypto.so.3", EXTENSIONS),
        ("postgres", "recv", "/tmp/libslow.so", EXTENSIONS),
        ("mariadb", "anything", "/lib/mysql/plugin/ha_rocksdb.so", "storage engine"),
        ("mysql", "arena_run", "/lib/libjemalloc.so.2", "allocation"),
        ("sqlite", "", "/cache/libsqlite3-1f.so", "unknown"),
        ("duckdb", "duckdb::Parser::ParseQuery", "/cache/libduckdb.so", "parser"),
        ("mysql", "anything", "/usr/sbin/mysqld", "other"),
    ],
)
def test_what_is_loaded_into_an_engine_is_no_unknown_part_of_the_engine(
    engine: str, name: str, module: str, layer: str
) -> None:
    assert find_sampled_layer(engine, ProfiledFunction(name, module, 0, "", 1)) == layer
    assert layer in (*list_sampled_layers(engine), "unknown")


@pytest.mark.parametrize(
    ("name", "module", "layer"),
    [
        ("tcp_sendmsg_locked", "[kernel]", "kernel: network"),
        ("unix_stream_read_generic", "[kernel]", "kernel: network"),
        ("ext4_file_write_iter", "[kernel]", "kernel: file system and block"),
        ("__x64_sys_pread64", "[kernel]", "kernel: file system and block"),
        ("_raw_spin_unlock_irqrestore", "[kernel]", "kernel: scheduler and locks"),
        ("try_to_wake_up", "[kernel]", "kernel: scheduler and locks"),
        ("futex_wait", "[kernel]", "kernel: scheduler and locks"),
        ("clear_page_erms", "[kernel]", "kernel: memory"),
        ("do_syscall_64", "[kernel]", "kernel: system calls"),
        ("finish_task_switch.isra.0", "[kernel]", "kernel: scheduler and locks"),
        ("free", "[kernel]", "kernel: other"),
        ("asm_sysvec_apic_timer_interrupt", "[kernel]", "kernel: interrupts"),
        ("", "[kernel]", "kernel: other"),
        ("clock_gettime", "[vdso]", "vDSO"),
        ("", "", "code made at run time"),
        ("", "[heap]", "code made at run time"),
        ("play", "/x/dyno-driver", "driver"),
        ("", "/x/libsqlite3.so.0", "unknown"),
        ("", "/lib/libc.so.6", "C library"),
        ("_int_malloc", "/lib/libc.so.6", "allocation"),
        ("sqlite3VdbeExec.isra.0", "/x/libsqlite3.so.0", "virtual machine"),
        ("nothing_known", "/x/libsqlite3.so.0", "other"),
    ],
)
def test_a_sample_of_kernel_driver_or_nameless_code_has_a_layer(
    name: str, module: str, layer: str
) -> None:
    assert find_sampled_layer("sqlite", ProfiledFunction(name, module, 0, "", 1)) == layer


def test_a_sampled_functions_layer_is_told_by_its_source_where_it_has_no_known_name() -> None:
    function = ProfiledFunction("f(int)", "/x/mysqld", 0, "/s/sql/sql_yacc.cc", 1)
    assert find_sampled_layer("mysql", function) == "parser"


def test_a_profile_is_labelled_and_keeps_its_samples_and_order() -> None:
    functions = (
        ProfiledFunction("sqlite3VdbeExec.isra.0", "/x/libsqlite3.so.0", 0, "", 3),
        ProfiledFunction("tcp_sendmsg", "[kernel]", 8, "", 4),
    )
    found = label_profile("sqlite", CpuProfile(7, 0, 1_000, functions)).functions
    assert [(each.name, each.layer, each.samples) for each in found] == [
        ("sqlite3VdbeExec", "virtual machine", 3),
        ("tcp_sendmsg", "kernel: network", 4),
    ]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres", "mysql", "mariadb", "null"])
def test_every_layer_that_a_sample_may_have_is_listed_before_a_run(engine: str) -> None:
    listed = list_sampled_layers(engine)
    assert len(set(listed)) == len(listed)
    modules = ("[kernel]", "[vdso]", "", "/x/engine.so", "/lib/libc.so.6", "/lib/ld-linux.so")
    names = ("", "nothing_known", "malloc", "tcp_sendmsg", "buf_page_get", "sqlite3VdbeExec")
    met = {
        find_sampled_layer(engine, ProfiledFunction(name, module, 0, "", 1))
        for module in modules
        for name in names
    }
    assert met <= set(listed)


def test_every_table_can_be_read_and_names_each_layer_once() -> None:
    for file in TABLES.glob("*.toml"):
        names = [pattern.name for pattern in read_layers(file.stem).patterns]
        assert names
        assert len(names) == len(set(names)), file.name


def test_code_that_lua_makes_in_an_embedded_engine_s_process_is_the_driver_s() -> None:
    made = ProfiledFunction("", "", 0x2AB7C, "", 3)
    driver = ProfiledFunction("play", "/x/dyno-driver", 0, "", 4)
    (found,) = label_profile("postgres", CpuProfile(3, 0, 1_000, (made,))).functions
    assert found.layer == "code made at run time"
    found, _ = label_profile("sqlite", CpuProfile(7, 0, 1_000, (made, driver))).functions
    assert found.layer == "driver"


@pytest.mark.parametrize(
    ("name", "tidy"),
    [
        ("balance.isra.0", "balance"),
        ("memcpy@@GLIBC_2.14", "memcpy"),
        ("walk.part.0.constprop.1", "walk"),
        ("descend'2", "descend"),
        ("0x00000000000f1a20", "(no symbol)"),
        ("std::vector<int, a::b>::at(unsigned long) const", "std::vector<int, a::b>::at"),
        ("std::less::operator()(int, int)", "std::less::operator()"),
        ("l_find(int, char const*) [clone .constprop.1]", "l_find"),
        ("walk(Tree*, void (*)(Node*))", "walk"),
    ],
)
def test_a_function_has_one_name_in_all_builds(name: str, tidy: str) -> None:
    found = tidy_function(CodeFunction(name, "???", ENGINE), Path(ENGINE), "sqlite")
    assert found[:3] == (tidy, "???", "sqlite")
    malloc = CodeFunction("malloc@@GLIBC_2.2.5", UNKNOWN, "/usr/lib/libc.so.6")
    assert tidy_function(malloc, Path(ENGINE), "sqlite").object == "libc.so.6"
