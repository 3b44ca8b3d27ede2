"""Flushes of a log that a preloaded library makes slow: the end of a transaction shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from explaining import QUICK, ask, explain, times_of, url_of
from private_servers import made_home

from dyno import driver
from dyno.builds.compiler import Recipe, compile_library
from dyno.cli.terminal.explanation import print_explanation
from dyno.engines import StartConditions, find_engine

#: While the file is there, each flush takes so much longer.
SLOWER_US = 30_000
SLOW_FLUSH = f"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void rest(void)
{{
    const char *file = getenv("SLOW_FLUSH");
    struct timespec pause = {{0, {SLOWER_US * 1000}}};
    if (file && access(file, F_OK) == 0)
        nanosleep(&pause, NULL);
}}
int fsync(int file) {{ rest(); return (int)syscall(SYS_fsync, file); }}
int fdatasync(int file) {{ rest(); return (int)syscall(SYS_fdatasync, file); }}
"""
ENGINES = {
    "postgres": ("18", {"synchronous_commit": "on", "fsync": "on"}),
    "mysql": ("8.0.33", {"innodb_flush_log_at_trx_commit": "1"}),
}


@pytest.mark.parametrize("name", ENGINES)
def test_slow_flushes_are_told_by_the_transaction_s_end_and_by_no_stage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "slow_flush.c"
    source.write_text(SLOW_FLUSH)
    library = compile_library(Recipe("slow-flush", source, "-O2", ""), lambda _: None).program
    sql = "UPDATE orders SET note = 'y' WHERE id = 7"
    writing = replace(QUICK, writes=True, runs=4)
    version, settings = ENGINES[name]
    with made_home() as home:
        flag = home.parent / "slow"
        preload = {"LD_PRELOAD": str(library), "SLOW_FLUSH": str(flag)}
        engine = find_engine(name, driver.ask)
        build = engine.program(version, {}, lambda _: None)
        server = engine.start(build, home, settings, StartConditions(environment=preload))
        try:
            table = "CREATE TABLE orders (id int PRIMARY KEY, note varchar(60))"
            ask(server.session, table, "INSERT INTO orders VALUES (7, 'x')")
            before = explain(url_of(server), sql, writing)
            flag.touch()
            after = explain(url_of(server), sql, writing)
        finally:
            flag.unlink(missing_ok=True)
            engine.stop(server)
    assert min(after.end_us) > SLOWER_US > min(before.end_us)
    old, new = times_of(before, min), times_of(after, min)
    assert all(us - old.get(stage, 0.0) < SLOWER_US for stage, us in new.items())
    print_explanation(after)
    assert "transaction's end" in capsys.readouterr().out
