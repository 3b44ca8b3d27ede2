"""`dyno pgbench` beside the real pgbench on one server: the same work, and reports read alike."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from private_servers import serving

from dyno import driver
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

OURS = [str(Path(sys.executable).with_name("dyno")), "pgbench"]
ENDED = "select xact_commit from pg_stat_database where datname = current_database()"
TOUCHED = (
    "select sum(seq_scan + coalesce(idx_scan, 0)), sum(n_tup_upd), sum(n_tup_ins) "
    "from pg_stat_user_tables where relname like 'pgbench%'"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    outside("pgbench")
    with serving("postgres-18") as server:
        assert said(server, OURS, "-i", "-q")[0] == 0
        yield server


def said(server: Server, program: list[str], *words: str, **more: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a program that the environment leads to the server."""
    socket = Path(str(server.session["host"]))
    environment = os.environ | {
        "PGHOST": str(socket.parent),
        "PGPORT": socket.name.rpartition(".")[2],
        "PGUSER": str(server.session["user"]),
        "PGDATABASE": str(server.session["database"]),
        **more,
    }
    done = subprocess.run(
        [*program, *words], env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def counted(server: Server) -> list[int]:
    """What the server counted of work on pgbench's tables, once all backends have reported."""
    (_, rows) = driver.ask(server.session, ["select pg_stat_clear_snapshot()", TOUCHED])
    return [int(str(cell)) for cell in rows[0]]


def report(text: str) -> list[str]:
    """The report with its numbers taken out, without the line that names the program, and those
    of each script of several, in which version 15 says less than 18.
    """
    lines = [line for line in text.splitlines()[1:] if not line.startswith(" - ")]
    return [re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?", "N", line)) for line in lines]


def test_percentiles_are_of_all_transactions_and_in_order(server: Server) -> None:
    code, out, _ = said(server, OURS, "-S", "-c", "2", "-t", "200", "--percentile=50,99.9")
    assert code == 0
    (low, high) = map(float, re.findall(r"^latency p(?:50|99\.9) = (\d+\.\d{3}) ms$", out, re.M))
    assert 0 < low <= high


@pytest.mark.parametrize(
    "words", ["-S", "-N -r", "-S -N", "-S -N -c 3 -j 2", "-r -M prepared", "-R 500 -L 60000"]
)
def test_the_server_counts_the_same_work_and_the_reports_have_the_same_lines(
    server: Server, words: str
) -> None:
    line = [*words.split(), "-n", "-t", "20", "--random-seed=7"]
    found = []
    for program in (["pgbench"], OURS):
        before = counted(server)
        code, out, err = said(server, program, *line)
        assert code == 0, err
        after = counted(server)
        found.append(([b - a for a, b in zip(before, after, strict=True)], report(out)))
    (theirs, their_lines), (ours, our_lines) = found
    if "-c 3" not in words:  # which of a thread's clients draws the next script is by chance
        assert ours == theirs
    assert our_lines == their_lines


def test_a_seed_draws_the_numbers_that_pgbench_draws(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "draws.sql"
    script.write_text(
        "\\set a random(1, 1000000)\n\\set b random_exponential(1, 1000, 2.5)\n"
        "\\set c random_gaussian(1, 1000, 4)\n\\set d random_zipfian(1, 1000, 1.5)\n"
        "\\set e random(-9000000000000000, 9000000000000000000)\n"
        "insert into drawn values (:client_id, :a, :b, :c, :d, :e, hash(5));\n".replace(
            "hash(5)", ":default_seed"
        )
    )
    rows = []
    for program in (["pgbench"], OURS):
        driver.ask(server.session, ["drop table if exists drawn", TABLE])
        words = ["-n", "-c", "2", "-t", "30", "--random-seed=11", "-f", str(script)]
        code, _, err = said(server, program, *words)
        assert code == 0, err
        rows.append(driver.ask(server.session, ["select * from drawn order by 1, 2, 3"])[0])
    assert len(rows[0]) == 60 and rows[0] == rows[1]


def test_a_transaction_that_is_tried_again_draws_the_same_numbers(
    server: Server, tmp_path: Path
) -> None:
    script = tmp_path / "again.sql"
    script.write_text(
        "begin isolation level repeatable read;\n\\set a random(1, 1000000)\n"
        "update again set a = a + 1;\ninsert into drawn (client, a) values (:client_id, :a);\n"
        "\\set b random(1, 1000000)\ncommit;\n"
    )
    found = []
    for program in (["pgbench"], OURS):
        again = ["drop table if exists again", "create table again as select 0 as a"]
        driver.ask(server.session, ["drop table if exists drawn", TABLE, *again])
        words = ["-n", "-c", "4", "-t", "40", "--random-seed=5", "--max-tries=1000"]
        words += ["-f", str(script)]
        code, out, err = said(server, program, *words)
        assert code == 0, err
        tried = re.search(r"total number of retries: (\d+)", out)
        assert tried and int(tried[1]) > 0, out
        query = "select client, a from drawn order by 1, 2"
        found.append(driver.ask(server.session, [query])[0])
    assert len(found[0]) == 160 and found[0] == found[1]


TABLE = "create table drawn (client int, a bigint, b int, c int, d int, e bigint, seed bigint)"


@pytest.mark.parametrize(
    ("text", "words", "ends"),
    [
        ("select 1/0;", "", (2, "ERROR:  division by zero")),
        ("begin;", "", (2, "end of script reached without completing the last transaction")),
        ("\\set x 1/0", "", (2, "division by zero")),
        ("\\nosuch", "", (1, "invalid command")),
        ("select 1/0;", "--continue-on-error", (0, "")),
        ("select 1;", "--exit-on-abort", (0, "")),
        ("select 1/0;", "--exit-on-abort", (2, "Run was aborted due to an error in thread")),
    ],
)
def test_a_client_that_aborts_ends_with_pgbenchs_exit_code(
    server: Server, tmp_path: Path, text: str, words: str, ends: tuple[int, str]
) -> None:
    script = tmp_path / "one.sql"
    script.write_text(text)
    ended, out, err = said(server, OURS, "-n", "-t", "2", "-f", str(script), *words.split())
    assert (ended, ends[1] in err) == (ends[0], True), err
    if words == "--continue-on-error":
        assert "number of failed transactions: 2 (100.000%)" in out


def test_what_cannot_be_prepared_is_told_and_executed_all_the_same(
    server: Server, tmp_path: Path
) -> None:
    script = tmp_path / "one.sql"
    script.write_text("select 1;\nselect 1 +;\n")
    (ended, _, err) = said(server, OURS, "-n", "-t", "2", "-M", "prepared", "-f", str(script))
    assert ended == 2
    assert "pgbench: error: ERROR:  syntax error" in err
    aborted = "pgbench: error: client 0 script 0 aborted in command 1 query 0: "
    assert f'{aborted}ERROR:  prepared statement "P_1" does not exist' in err


def test_no_password_is_seen(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "shell.sql"
    script.write_text("\\shell cat /proc/*/cmdline || true\nselect 1;")
    words = ["-n", "-t", "1", "-f", str(script), "--debug"]
    _, out, err = said(server, OURS, *words, PGPASSWORD="not-to-be-seen")
    assert "not-to-be-seen" not in out + err and "processed: 1/1" in out


PROGRAMS = r"""\setshell five echo 5
\shell echo hello
\setshell seven expr :five + 2
\SetShell minus echo " -7 "
\setshell nothing echo
\shell true && echo :five :seven ::x
INSERT INTO said VALUES (:five, :seven, :minus, :nothing);
"""


def test_programs_are_started_as_by_pgbench(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "programs.sql"
    script.write_text(PROGRAMS)
    columns = "five bigint, seven bigint, minus bigint, nothing bigint"
    found = []
    for program in (["pgbench"], OURS):
        driver.ask(server.session, ["DROP TABLE IF EXISTS said", f"CREATE TABLE said ({columns})"])
        words = ["-n", "-t", "3", "-c", "2", "-f", str(script)]
        code, out, err = said(server, program, *words)
        assert code == 0, err
        rows = driver.ask(server.session, ["SELECT * FROM said"])[0]
        assert rows == [["5", "7", "-7", "0"]] * 6
        lines = out.splitlines()
        found.append((lines.count("hello"), lines.count("5 7 :x"), "processed: 6/6" in out))
    assert found == [(6, 6, True)] * 2


@pytest.mark.parametrize(
    "command",
    [
        "\\shell exit 3",
        "\\setshell x echo one",
        "\\setshell x echo 5x",
        "\\setshell x echo 1.0",
        "\\setshell x true",
        "\\shell echo :nosuch",
        "\\shell",
    ],
)
def test_programs_that_fail_end_a_client_as_in_pgbench(
    server: Server, tmp_path: Path, command: str
) -> None:
    script = tmp_path / "programs.sql"
    script.write_text(f"{command}\nSELECT 1;")
    words = ["-n", "-t", "1", "-f", str(script)]
    real, ours = (said(server, program, *words) for program in (["pgbench"], OURS))
    assert real[0] == ours[0] != 0
    told = [re.findall(r"client 0 aborted in command 0 \(\w+\)", err) for _, _, err in (real, ours)]
    assert told[0] == told[1]
