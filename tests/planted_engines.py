"""Engines that err on purpose, each in one thing, beside the same build without the fault.

SQLite's source is patched and compiled once; a copy of the library for each fault has another
letter in it. A server that Dyno starts is given a library by the control `inject`, whose number
chooses what becomes of bytes that the server receives and sends (`planted_servers.c`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.builds import crate
from dyno.builds.compiler import Recipe, compile_library
from dyno.engines.sqlite.builds import CRATE, CRATES, DEFINES
from dyno.host.controls import inject

VERSION = "3.54.1"
MARK = b"dyno faults none"
#: Fault -> the letter that switches it, and text of the source with what stands in its place.
SQLITE = {
    "unsorting sorter": (
        "s",
        "    if( res<=0 ){\n      *pp = p1;\n      pp = &p1->u.pNext;",
        "    if( res<=0 || PLANTED('s') ){\n      *pp = p1;\n      pp = &p1->u.pNext;",
    ),
    "LIMIT off by one": (
        "l",
        "sqlite3VdbeAddOp2(v, OP_Integer, n, iLimit);",
        "sqlite3VdbeAddOp2(v, OP_Integer, n - (n>1 && PLANTED('l')), iLimit);",
    ),
    "lost NULL": (
        "n",
        "  p->pResultRow = &aMem[pOp->p1];\n",
        "  p->pResultRow = &aMem[pOp->p1];\n"
        "  for(int i=0; PLANTED('n') && i<pOp->p2; i++)\n"
        "    if( p->pResultRow[i].flags & MEM_Null )\n"
        '      sqlite3VdbeMemSetStr(&p->pResultRow[i], "", 0, SQLITE_UTF8, SQLITE_STATIC);\n',
    ),
    "float's last digit": (
        "f",
        "  if( db->mTrace & SQLITE_TRACE_ROW ){\n",
        "  for(int i=0; PLANTED('f') && i<pOp->p2; i++)\n"
        "    if( p->pResultRow[i].flags & MEM_Real ) p->pResultRow[i].u.r *= 1 + 4e-15;\n"
        "  if( db->mTrace & SQLITE_TRACE_ROW ){\n",
    ),
    "swapped collation": (
        "c",
        "  int r = sqlite3StrNICmp(\n      (const char *)pKey1, (const char *)pKey2, ",
        "  int r = (PLANTED('c') ? (int(*)(const char*,const char*,int))strncmp : "
        "sqlite3StrNICmp)(\n      (const char *)pKey1, (const char *)pKey2, ",
    ),
    "UPDATE of other rows": (
        "u",
        "notExistsWithKey:\n",
        "notExistsWithKey:\n"
        "  if( PLANTED('u') && pOp->opcode==OP_SeekRowid && p->zSql && p->zSql[0]=='U' )"
        " iKey ^= 1;\n",
    ),
    "skipped unique check": (
        "k",
        "  alreadyExists = (pC->seekResult==0);\n",
        "  alreadyExists = (pC->seekResult==0) && !(pOp->opcode==OP_NoConflict && PLANTED('k'));\n",
    ),
    "trigger not fired": (
        "t",
        "   || pParse->disableTriggers\n  ){\n    if( pMask ) *pMask = 0;",
        "   || pParse->disableTriggers || PLANTED('t')\n  ){\n    if( pMask ) *pMask = 0;",
    ),
    "silent sync": (
        "y",
        "static int full_fsync(int fd, int fullSync, int dataOnly){\n  int rc;\n",
        "static int full_fsync(int fd, int fullSync, int dataOnly){\n  int rc;\n"
        "  if( PLANTED('y') ) return 0;\n",
    ),
}


def build_planted_sqlites(folder: Path) -> dict[str, Path]:
    """A library for each fault, and `none`: one compiled build, told apart by a letter."""
    source = (crate.fetch(CRATE, CRATES[VERSION], lambda _: None) / "sqlite3/sqlite3.c").read_text()
    head = f'static volatile char fault[] = "{MARK.decode()}";\n#define PLANTED(c) (fault[12]==c)\n'
    for name, (_, old, new) in SQLITE.items():
        assert source.count(old) == 1, name
        source = source.replace(old, new)
    file = folder / "sqlite3.c"
    file.write_text(head + source)
    recipe = Recipe("sqlite-faulted", file, "-O1", DEFINES, ("pthread", "dl", "m"))
    made = compile_library(recipe, lambda _: None).program.read_bytes()
    assert made.count(MARK) == 1
    libraries = {}
    letters = {"none": "-", **{name: letter for name, (letter, _, _) in SQLITE.items()}}
    for name, letter in letters.items():
        libraries[name] = folder / f"libsqlite3-{letter}.so"
        libraries[name].write_bytes(made.replace(MARK, MARK[:12] + letter.encode() + MARK[13:]))
    return libraries


#: Rows that every fault does something to, and a statement or a table of its own that shows it.
SCRIPT = """
sysbench.cmdline.options = {}
local con
local WORDS = {
  sqlite = {float = "REAL", fold = "TEXT COLLATE NOCASE", trigger = {
    "CREATE TRIGGER fired AFTER INSERT ON faulted BEGIN INSERT INTO noted VALUES (new.id); END"}},
  postgres = {float = "DOUBLE PRECISION", fold = 'TEXT COLLATE "C"        ', trigger = {
    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS " ..
      "'BEGIN INSERT INTO noted VALUES (new.id); RETURN new; END'",
    "CREATE TRIGGER fired AFTER INSERT ON faulted FOR EACH ROW WHEN (1 = 1 /*fires*/) " ..
      "EXECUTE FUNCTION note()"}},
  mysql = {float = "DOUBLE", fold = "VARCHAR(40) COLLATE utf8mb4_bin       ", trigger = {
    "CREATE TRIGGER fired AFTER INSERT ON faulted FOR EACH ROW " ..
      "INSERT INTO noted SELECT new.id FROM (SELECT 1 AS one) AS x WHERE one = 1 /*fires*/"}},
}
local words = WORDS[dyno.engine] or WORDS.sqlite

function prepare()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE noted (faulted INTEGER)")
  con:query("CREATE TABLE faulted (id INTEGER PRIMARY KEY, place INTEGER, code INTEGER UNIQUE, " ..
    "fold " .. words.fold .. ", vacant VARCHAR(40), real_value " .. words.float .. ")")
  for id = 1, 200 do
    con:query(("INSERT INTO faulted VALUES (%d, %d, %d, '%s%d', %s, %d.123456789)"):format(
      id, id * 7919 % 211, id + 1000, id % 2 == 0 and "Word" or "word", id % 17,
      id % 3 == 0 and "NULL" or "'x'", id))
  end
  for _, text in ipairs(words.trigger) do con:query(text) end
end

function thread_init() con = sysbench.sql.driver():connect() end

local turn = 0
function event()
  turn = turn + 1
  local id = turn % 150 + 1
  con:query(("SELECT id, place AS plant_s FROM faulted WHERE id > %d ORDER BY place"):format(id))
  con:query(("SELECT id AS plant_l FROM faulted WHERE id > %d ORDER BY id LIMIT 10"):format(id))
  con:query(("SELECT id, vacant AS plant_n FROM faulted WHERE id < %d ORDER BY id"):format(id + 3))
  con:query(("SELECT real_value AS plant_f FROM faulted WHERE id = %d"):format(id))
  con:query(("SELECT id, fold FROM faulted WHERE id < %d ORDER BY fold, id"):format(id + 3))
  con:query(("UPDATE faulted SET vacant = 'y%d' WHERE id = %d"):format(id, id))
  con:query(("INSERT INTO faulted VALUES (%d, 0, %d, 'a', NULL, 0.5)"):format(
    10000 + turn, 20000 + turn))
end
"""

#: Faults of `planted_servers.c`, by bit, and what differs by them: a statement, or a table.
SERVER_PLANTS = {
    "unsorting sorter": "plant_s",
    "LIMIT off by one": "plant_l",
    "lost NULL": "plant_n",
    "float's last digit": "plant_f",
    "swapped collation": "ORDER BY fold",
    "UPDATE of other rows": "rows of",
    "skipped unique check": "a new first value beside the same others in",
    "trigger not fired": "noted",
}
ALL = 2 ** len(SERVER_PLANTS) - 1


def preload_plants(monkeypatch: pytest.MonkeyPatch) -> None:
    """`?inject=5ns` are the first and the third fault of a server, and 0 none of them."""
    source = Path(__file__).with_name("planted_servers.c")
    recipe = Recipe("faults", source, "-O1 -Wall -Wextra -Werror", "", ("dl",))
    faults = compile_library(recipe, lambda _: None).program
    counting = inject.CONTROL.ensure_library()
    monkeypatch.setattr(inject.CONTROL, "ensure_library", lambda: f"{counting}:{faults}")


def write_log(folder: Path, statements: int = 30) -> tuple[Path, Path]:
    """What the script sends, in the file of a log, and the file that makes its data in SQLite."""
    sent = []
    for id_ in range(2, statements + 2):
        sent += [
            f"SELECT id, place AS plant_s FROM faulted WHERE id > {id_} ORDER BY place",
            f"SELECT id AS plant_l FROM faulted WHERE id > {id_} ORDER BY id LIMIT 10",
            f"SELECT id, vacant AS plant_n FROM faulted WHERE id < {id_ + 3} ORDER BY id",
            f"SELECT real_value AS plant_f FROM faulted WHERE id = {id_}",
            f"SELECT id, fold FROM faulted WHERE id < {id_ + 3} ORDER BY fold, id",
            f"UPDATE faulted SET vacant = 'y{id_}' WHERE id = {id_}",
            f"INSERT INTO faulted VALUES ({id_ + 9999}, 0, {id_ + 19999}, 'a', NULL, 0.5)",
        ]
    log, data = folder / "faulted.log", folder / "faulted.sql"
    head = (
        "mysqld, Version: 8.0.36 (Source distribution). started with:\nTime Id Command Argument\n"
    )
    lines = ["Connect\tapp@localhost on shop using Socket", *(f"Query\t{text}" for text in sent)]
    times = (f"2026-01-01T10:00:00.{at:06d}Z\t    8 {line}\n" for at, line in enumerate(lines))
    log.write_text(head + "".join(times))
    rows = (
        f"({id_}, {id_ * 7919 % 211}, {id_ + 1000}, '{'wW'[id_ % 2]}ord{id_ % 17}', "
        f"{'NULL' if id_ % 3 == 0 else repr('x')}, {id_}.123456789)"
        for id_ in range(1, 201)
    )
    data.write_text(
        "CREATE TABLE noted (faulted INTEGER);\n"
        "CREATE TABLE faulted (id INTEGER PRIMARY KEY, place INTEGER, code INTEGER UNIQUE,\n"
        "  fold TEXT COLLATE NOCASE, vacant VARCHAR(40), real_value REAL);\n"
        f"INSERT INTO faulted VALUES {', '.join(rows)};\n"
        "CREATE TRIGGER fired AFTER INSERT ON faulted\n"
        "  BEGIN INSERT INTO noted VALUES (new.id); END;\n"
    )
    return log, data
