"""`dyno sysbench` on servers: what it says was sent is what sysbench's scripts send."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import outside
from private_servers import serving

from dyno import driver, workloads
from dyno.cli import run_words
from dyno.compat.sysbench.play import find_script
from dyno.engines import Server
from dyno.errors import TrialFailed

SCRIPT = ("oltp_read_write", "--tables=2", "--table-size=100", "--threads=2", "--verbosity=3")


def options_of(server: Server) -> tuple[str, ...]:
    at = server.session
    if at["kind"] == "mysql":
        reached = {"socket": at["host"], "user": at["user"], "password": at["password"]}
        return tuple(
            f"--mysql-{name}={value}" for name, value in {**reached, "db": at["database"]}.items()
        )
    folder, _, name = str(at["host"]).rpartition("/")
    reached = {"host": folder, "port": name.rpartition(".")[2], "user": at["user"]}
    given = [f"--pgsql-{name}={value}" for name, value in {**reached, "db": at["database"]}.items()]
    return ("--db-driver=pgsql", *given)


@pytest.mark.parametrize("name", ["mysql-8.0", "postgres-18"])
def test_prepare_run_and_cleanup_do_what_sysbenchs_do(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(name) as server:
        words = (*options_of(server), *SCRIPT)
        assert run_words(("sysbench", *words, "prepare")) == 0
        rows = driver.ask(server.session, ["SELECT COUNT(*) FROM sbtest2"])
        assert rows == [[["100"]]], "what prepare makes stays"
        # where sysbench is not installed the script is ours of that name, which says nothing
        is_sysbenchs = find_script(SCRIPT[0]).parent in workloads.SYSBENCH
        assert ("Creating table 'sbtest1'..." in capfd.readouterr().out) == is_sysbenchs
        assert run_words(("sysbench", *words, "--events=30", "run")) == 0
        said = capfd.readouterr().out
        done = {it: int(n) for it, n in re.findall(r"^ +(read|write|other): +(\d+)$", said, re.M)}
        # 14 reads, 4 writes, BEGIN and COMMIT an event; one that begins anew sends some again
        assert done["read"] >= 30 * 14 and done["other"] >= 30 * 2
        assert re.search(r"^    transactions: +30 ", said, re.M)
        assert run_words(("sysbench", *words, "cleanup")) == 0
        with pytest.raises(TrialFailed):
            driver.ask(server.session, ["SELECT COUNT(*) FROM sbtest2"])


HOOKS = """
function thread_init() con = sysbench.sql.driver():connect() con:query("SELECT 1") end
function event() con:query("SELECT 1") end
local function ask(what, stat)
  local own = sysbench.sql.driver():connect()
  print(what .. " " .. own:query_row("SELECT 7") .. ";" .. own:query("SELECT 1").nrows)
end
function sysbench.hooks.report_intermediate(stat) ask("each", stat) end
function sysbench.hooks.report_cumulative(stat) ask("last", stat) end
"""


@pytest.mark.parametrize("name", ["mysql-8.0", "postgres-18"])
def test_a_report_hook_may_ask_the_server_while_the_threads_play_on(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hooks.lua").write_text(HOOKS)
    with serving(name) as server:
        words = (str(tmp_path / "hooks.lua"), *options_of(server), "--threads=2")
        assert run_words(("sysbench", *words, "--time=2", "--report-interval=1", "run")) == 0
        said = capfd.readouterr().out
    assert "each 7;1" in said and said.count("last 7;1") == 1 and "FATAL" not in said


CONNECT = "local con = sysbench.sql.driver():connect() "
TABLE = CONNECT + "con:query('DROP TABLE IF EXISTS d') con:query('CREATE TABLE d (a INT {})') "
EXECUTE = (
    "local s = con:prepare('{}') local a = s:bind_create(sysbench.sql.type.INT)"
    " s:bind_param(a) a:set(0) s:execute() s:execute()"
)
#: Events whose last statement fails; `caught` goes on.
FAILING = {
    "query": CONNECT + "con:query('SELECT * FROM nope')",
    "caught": CONNECT + "print(select(2, pcall(con.query, con, 'SELECT * FROM nope')))",
    "detail": TABLE.format("NOT NULL") + "con:query('INSERT INTO d VALUES (NULL)')",
}
#: Those of one server alone: sysbench lets an event of PostgreSQL's begin anew for a duplicate key.
OWN_FAILING = {
    "mysql-8.0": {
        "twice": TABLE.format("PRIMARY KEY") + "con:query('INSERT INTO d VALUES (1), (1)')",
        "execute": TABLE.format("PRIMARY KEY") + EXECUTE.format("INSERT INTO d VALUES (?)"),
        "prepare": CONNECT + "con:prepare('SELECT * FROM nope')",
    },
    "postgres-12": {"execute": CONNECT + EXECUTE.format("SELECT 1 / ?")},
}


@pytest.mark.parametrize("name", ["mysql-8.0", "postgres-12"])
def test_an_error_ends_a_line_as_it_ends_sysbench(
    name: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sysbench = outside("sysbench")
    monkeypatch.chdir(tmp_path)  # a long path it would cut
    with serving(name) as server:
        for case, text in (FAILING | OWN_FAILING[name]).items():
            Path(f"{case}.lua").write_text(f"function event() {text} end")
            line = (f"{case}.lua", *options_of(server), "--events=1", "--verbosity=0", "run")
            theirs = subprocess.run((sysbench, *line), capture_output=True, text=True, timeout=60)
            code = run_words(("sysbench", *line))
            assert (code, capfd.readouterr().out) == (theirs.returncode, theirs.stdout)
            assert code == (0 if case == "caught" else 1)
            assert theirs.stdout.startswith("FATAL: ")


#: Loops of a script's own: without any event, with some, and with statements beside these.
LOOPS = {
    "none": "for i = 1, 3 do con:query('SELECT 1') end",
    "some": "for i = 1, 3 do ffi.C.sb_event_start(tid) con:query('SELECT 1') "
    "ffi.C.sb_event_stop(tid) end",
    "beside": "con:query('DO 0') while ffi.C.sb_more_events(tid) do ffi.C.sb_event_start(tid) "
    "con:query('SELECT 1') ffi.C.sb_event_stop(tid) con:query('DELETE FROM d') end",
}
COUNTED = re.compile(
    r"^ +(read|write|other|total|transactions|total number of events): +(\d+)", re.M
)


def test_a_loop_of_the_scripts_own_is_counted_as_sysbench_counts_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench = outside("sysbench")
    monkeypatch.chdir(tmp_path)
    head = 'ffi = require("ffi") function event() end '
    head += "function thread_init() con = sysbench.sql.driver():connect() end "
    with serving("mysql-8.0") as server:
        driver.ask(server.session, ["CREATE TABLE d (a INT)"])
        for case, loop in LOOPS.items():
            Path(f"{case}.lua").write_text(f"{head} function thread_run(tid) {loop} end")
            line = (f"{case}.lua", *options_of(server), "--threads=2", "--events=10", "run")
            theirs = subprocess.run((sysbench, *line), capture_output=True, text=True, timeout=60)
            assert run_words(("sysbench", *line)) == theirs.returncode == 0, theirs.stdout
            ours = COUNTED.findall(capfd.readouterr().out)
            assert (case, ours) == (case, COUNTED.findall(theirs.stdout))
            assert dict(ours)["total"] != "0"


def test_a_wrong_password_is_told_and_never_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "s.lua"
    script.write_text("function event() sysbench.sql.driver():connect() end")
    with serving("mysql-8.0") as server:
        at = server.session
        login = (f"--mysql-socket={at['host']}", f"--mysql-user={at['user']}")
        secret = "--mysql-password=geheim17"
        assert run_words(("sysbench", *login, secret, str(script), "--events=1", "run")) == 1
    said = "".join(capfd.readouterr())
    assert "FATAL: " in said and "geheim17" not in said
