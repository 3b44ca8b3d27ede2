"""pgbench's script files on PostgreSQL: the real pgbench says what they mean and what they send."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from pgbench_files import EXPRESSIONS, make_plan, play, play_plan
from private_servers import arrived, serving

from dyno import driver, workloads
from dyno.driver.plan import Plan
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

TIMES = 20
PROTOCOLS = ["simple", "extended", "prepared"]
OWN = [name for name in workloads.list_workloads() if name.startswith("pgbench_")]
TABLES = "drop table if exists r; create table r (name text, value text)"


@pytest.fixture(scope="module", params=["postgres-12", "postgres-18"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    outside("pgbench")
    with serving(request.param, log_statement="all") as server:
        yield server


@pytest.fixture(scope="module")
def accounts(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """The server with pgbench's tables, as Dyno's own scripts make them."""
    home = tmp_path_factory.mktemp("prepare")
    text = workloads.find_workload("pgbench_tpcb_like").read_text()
    plan = make_plan(server.session, text, home)
    play_plan(Plan(plan.session, plan.script, 7, ("prepare",)), home)
    return server


def pgbench(server: Server, text: str, home: Path, *options: str) -> str:
    """What pgbench says on stderr of `text` played once, or as `options` say."""
    script = home / "theirs.sql"
    script.write_text(text)
    socket = Path(str(server.session["host"]))
    login = ("-h", str(socket.parent), "-p", socket.name.rpartition(".")[2])
    user = ("-U", str(server.session["user"]), str(server.session["database"]))
    done = subprocess.run(
        ["pgbench", "-n", "-s", "1", *login, *(options or ("-t", "1")), "-f", str(script), *user],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stderr


def test_the_values_of_expressions_are_still_what_pgbench_says(
    server: Server, tmp_path: Path
) -> None:
    insert = "\\set x {}\nINSERT INTO r VALUES ('{}', ':x');\n"
    known = {e: value for e, value in EXPRESSIONS.items() if value != "refused"}
    driver.ask(server.session, TABLES.split("; "))
    text = "".join(insert.format(e, e.replace(":", "@")) for e in known)
    said = pgbench(server, text, tmp_path)
    (rows,) = driver.ask(server.session, ["select name, value from r"])
    assert {str(name).replace("@", ":"): value for name, value in rows} == known, said


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", OWN)
def test_pgbenchs_own_scripts_send_what_pgbench_sends(
    accounts: Server, tmp_path: Path, name: str, protocol: str
) -> None:
    text = workloads.find_workload(name).read_text()
    start = arrived(accounts)
    pgbench(accounts, text, tmp_path, "-t", str(TIMES), "-M", protocol)
    between = arrived(accounts)
    options = {"events": str(TIMES), "protocol": protocol}
    (tally,) = play(accounts.session, text, tmp_path, **options).streams
    assert (tally.done, tally.failed) == (TIMES, 0)
    assert arrived(accounts) - between == between - start != {}


SCRIPT = r"""
\set n random(1, 10)
SELECT :n + 1 AS more, 'text' AS words \gset my_
\if :my_more > 0 and :n is not null
\startpipeline
INSERT INTO r VALUES ('more', :my_more::int - :n::int);
INSERT INTO r VALUES ('words', :my_words);
\endpipeline
\endif
SELECT 7 AS seven WHERE :n < 0 \aset
SELECT ('{1,2,3}'::int[])[1:2]::text AS slice;
INSERT INTO r VALUES ('at', '12:34' || :my_words);
"""


@pytest.mark.parametrize("protocol", PROTOCOLS[1:])
def test_a_script_with_rows_branches_and_a_pipeline_means_what_it_means_to_pgbench(
    server: Server, tmp_path: Path, protocol: str
) -> None:
    sums = (
        "select name, count(*), count(value), min(value), max(value) from r group by 1 order by 1"
    )
    found = []
    for is_theirs in (True, False):
        driver.ask(server.session, TABLES.split("; "))
        start = arrived(server)
        if is_theirs:
            said = pgbench(server, SCRIPT, tmp_path, "-t", str(TIMES), "-M", protocol)
            assert "error" not in said, said
        else:
            options = {"events": str(TIMES), "protocol": protocol}
            (tally,) = play(server.session, SCRIPT, tmp_path, **options).streams
            assert (tally.done, tally.failed) == (TIMES, 0)
        sent = arrived(server) - start
        found.append((driver.ask(server.session, [sums]), sent.total()))
    assert found[0] == found[1]
    assert found[0][0][0][1] == ["more", str(TIMES), str(TIMES), "1", "1"]
