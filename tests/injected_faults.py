"""Scripts that do other work on one side than they say, and comparisons that play them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import Finding, Run, Trial
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}

#: What is told by the client's time, which is judged of three restarts.
TIMED = ("none", "sleeps", "rests", "rarely sleeps", "works", "runs a program")

#: Two builds that a script can tell apart, by engine.
SIDES = {
    "sqlite": ("old=sqlite@system", "new=sqlite@system?page_size=8192"),
    "duckdb": ("old=duckdb@1.5.6", "new=duckdb@1.5.6?preserve_insertion_order=false"),
    "postgres": ("old=postgres@12", "new=postgres@18"),
    "mysql": ("old=mysql@5.6.14", "new=mysql@8.0.33"),
}

SCRIPT = """
-- Updates of a row by its key; `fault` is what the second side does otherwise.
sysbench.cmdline.options = {
  fault = {"What is done otherwise", "none"},
  everywhere = {"By both sides", "no"},
}
local con, fault

local PROBES = {
  sqlite = {"PRAGMA page_size", "^8192"},
  duckdb = {"SELECT current_setting('preserve_insertion_order')", "^f"},
  postgres = {"SELECT version()", "PostgreSQL 18"}, mysql = {"SELECT version()", "^8"},
}

local function connect()
  con = sysbench.sql.driver():connect()
  local probe = PROBES[dyno.engine]
  local is_second = tostring((con:query_row(probe[1]))):find(probe[2])
  local is_faulty = is_second or sysbench.opt.everywhere == "yes"
  fault = is_faulty and sysbench.opt.fault or "none"
end

function prepare()
  connect()
  for _, name in ipairs({"t", "other"}) do
    con:query("CREATE TABLE " .. name .. " (id INTEGER PRIMARY KEY, v INTEGER)")
    con:bulk_insert_init("INSERT INTO " .. name .. " VALUES")
    for id = 1, fault == "other rows loaded" and 500 or 1000 do
      con:bulk_insert_next("(" .. id .. ", 0)")
    end
    con:bulk_insert_done()
  end
end

thread_init = connect

function init()
  connect()
  if fault == "another set-up" then con:query("SELECT 2 + 2") end
  con:disconnect()
end

local function update(id, name)
  con:query("UPDATE " .. (name or "t") .. " SET v = v + 1 WHERE id = " .. id)
end

local IGNORES = {mysql = "INSERT IGNORE INTO t VALUES (%d, 0)"}
local IGNORED = IGNORES[dyno.engine] or "INSERT INTO t VALUES (%d, 0) ON CONFLICT DO NOTHING"

local events, is_open = 0, false
local FAULTS = {
  ["none"] = update,
  ["another table"] = function(id) update(id, "other") end,
  ["always the same row"] = function() update(1) end,
  ["other rows loaded"] = update,
  ["another set-up"] = update,
  ["one statement more"] = function(id) update(id) con:query("SELECT 1") end,
  ["a tenth left out"] = function(id)
    events = events + 1
    if events % 10 ~= 0 then update(id) end
  end,
  ["ignored inserts"] = function(id) con:query(IGNORED:format(id)) end,
  ["updates of nothing"] = function(id) con:query("UPDATE t SET v = 1 WHERE id < 0") end,
  ["deletes of nothing"] = function(id) con:query("DELETE FROM t WHERE id < 0") end,
  ["caught errors"] = function(id) pcall(con.query, con, "UPDATE missing SET v = 1") end,
  ["never commits"] = function(id)
    if not is_open then con:query("BEGIN") end
    is_open = true
    update(id)
  end,
  ["rolls back"] = function(id) con:query("BEGIN") update(id) con:query("ROLLBACK") end,
  ["reads in one transaction"] = function(id)
    if not is_open then con:query("BEGIN") end
    is_open = true
    con:query("SELECT v FROM t WHERE id = " .. id)
  end,
  ["sleeps"] = function(id) update(id) dyno.sleep(0.002) end,
  ["rests"] = function(id) update(id) dyno.rest(0.002) end,
  ["rarely sleeps"] = function(id)
    events = events + 1
    update(id)
    if events % 100 == 0 then dyno.sleep(0.2) end
  end,
  ["works"] = function(id)
    update(id)
    local until_s = os.clock() + 0.002
    while os.clock() < until_s do end
  end,
  ["runs a program"] = function(id) update(id) os.execute("exec sleep 0.002") end,
}

function event()
  local id = sysbench.rand.uniform(1, 500)
  FAULTS[fault](id)
end
"""


def played(
    folder: Path,
    sides: tuple[str, ...],
    workload: str,
    options: Mapping[str, str],
    blocks: int = 1,
) -> tuple[Run, list[Trial]]:
    """A run of so many blocks, fewer than a user may ask for."""
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, seed=3, loads=0)
    draft = draft_run(compare_candidates(sides, workload, dict(options), measuring), lambda _: None)
    draft.change(design=replace(draft.design, analyses=(blocks,)))
    kept = create_run(draft.run, folder)
    play_run(draft, kept, lambda _: None)
    return draft.run, kept.read_trials()


def findings(
    folder: Path,
    sides: tuple[str, ...],
    workload: str,
    options: Mapping[str, str],
    blocks: int = 1,
) -> list[Finding]:
    """What the audits say of it."""
    run, trials = played(folder, sides, workload, options, blocks)
    return list(judge(run, trials).findings)


def injected(
    folder: Path,
    fault: str,
    engine: str = "sqlite",
    *,
    everywhere: bool = False,
    sides: tuple[str, ...] | None = None,
) -> list[Finding]:
    """What they say where the second side of an engine, or both, has the fault."""
    file = folder / "injected_faults.lua"
    file.write_text(SCRIPT)
    options = {"fault": fault, "everywhere": "yes" if everywhere else "no"}
    options |= {"events": "300", "warmup_time": "0"}
    blocks = 3 if fault in TIMED else 1
    return findings(folder, sides or SIDES[engine], str(file), options, blocks)


#: Passes every statement on to a real library, but one of every ten UPDATEs, each time at another
#: place among the ten: of a script's two kinds of UPDATE in turn, every tenth would be of one kind
#: alone. Where it LIES, it says that it has changed a row.
SKIPPING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <strings.h>
typedef struct sqlite3_stmt Statement;
static int skipped;
#ifdef LIES
int sqlite3_total_changes(void *connection) {
    static int (*changes)(void *);
    if (!changes)
        changes = (int (*)(void *))dlsym(
            dlopen("libsqlite3.so.0", RTLD_NOW), "sqlite3_total_changes");
    return changes(connection) + skipped;
}
#endif
int sqlite3_step(Statement *statement) {
    static int (*step)(Statement *);
    static const char *(*text)(Statement *);
    static unsigned long updates;
    if (!step) {
        void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
        step = (int (*)(Statement *))dlsym(library, "sqlite3_step");
        text = (const char *(*)(Statement *))dlsym(library, "sqlite3_sql");
    }
    const char *sql = text(statement);
    if (sql && !strncasecmp(sql, "UPDATE", 6)) {
        unsigned long at = updates++;
        if (at % 10 == (at / 10 + 9) % 10) { /* never the first */
            skipped++;
            return 101; /* SQLITE_DONE */
        }
    }
    return step(statement);
}
"""


def skipping_library(folder: Path, *, lies: bool = False) -> Path | None:
    """An SQLite that skips every tenth UPDATE, and may say that it has not; None where nothing
    compiles it.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "skipping.c", folder / "libskipping.so"
    source.write_text(SKIPPING)
    linked = ("-Wl,--no-as-needed", "-l:libsqlite3.so.0", "-ldl")
    fault = ("-DLIES",) if lies else ()
    words = (compiler, *fault, "-shared", "-fPIC", "-o", str(library), str(source), *linked)
    subprocess.run(words, check=True, timeout=60)
    return library
