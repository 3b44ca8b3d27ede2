"""`dyno sysbench` on servers: what it says was sent is what sysbench's scripts send."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from private_servers import serving

from dyno import driver, workloads
from dyno.cli import exit_code
from dyno.engines import Server
from dyno.errors import TrialFailed
from dyno.sysbench.play import find_script

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
        assert exit_code(("sysbench", *words, "prepare")) == 0
        rows = driver.ask(server.session, ["SELECT COUNT(*) FROM sbtest2"])
        assert rows == [[["100"]]], "what prepare makes stays"
        # where sysbench is not installed the script is ours of that name, which says nothing
        is_sysbenchs = find_script(SCRIPT[0]).parent in workloads.SYSBENCH
        assert ("Creating table 'sbtest1'..." in capfd.readouterr().out) == is_sysbenchs
        assert exit_code(("sysbench", *words, "--events=30", "run")) == 0
        said = capfd.readouterr().out
        done = {it: int(n) for it, n in re.findall(r"^ +(read|write|other): +(\d+)$", said, re.M)}
        # 14 reads, 4 writes, BEGIN and COMMIT an event; one that begins anew sends some again
        assert done["read"] >= 30 * 14 and done["other"] >= 30 * 2
        assert re.search(r"^    transactions: +30 ", said, re.M)
        assert exit_code(("sysbench", *words, "cleanup")) == 0
        with pytest.raises(TrialFailed):
            driver.ask(server.session, ["SELECT COUNT(*) FROM sbtest2"])


def test_a_wrong_password_is_told_and_never_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "s.lua"
    script.write_text("function event() sysbench.sql.driver():connect() end")
    with serving("mysql-8.0") as server:
        at = server.session
        login = (f"--mysql-socket={at['host']}", f"--mysql-user={at['user']}")
        secret = "--mysql-password=geheim17"
        assert exit_code(("sysbench", *login, secret, str(script), "--events=1", "run")) == 1
    said = "".join(capfd.readouterr())
    assert "FATAL: " in said and "geheim17" not in said
