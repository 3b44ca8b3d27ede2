"""Several script files of pgbench in one workload, variables from outside, programs, fall-backs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pgbench_files import NULL, ONCE, kept, play, play_plan, sqlite_with_table
from processes import wait_for

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.errors import DynoError

COUNTED = "select name, count(*) from r group by 1 order by 1"


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    return sqlite_with_table(tmp_path)


def test_scripts_are_drawn_by_weight_for_each_transaction(sqlite: Session, tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_text("\\set x 2\nINSERT INTO r VALUES ('b', :x);")
    (tmp_path / "c.sql").write_text("INSERT INTO r VALUES ('c', 0);")
    text = "INSERT INTO r VALUES ('a', 1);"
    said = play(sqlite, text, tmp_path, events="2000", weight="3", also="b.sql, c.sql@0")
    found = {str(name): int(str(n)) for name, n in driver.ask(sqlite, [COUNTED])[0]}
    # 1500 and 500 of 2000: six standard deviations are 116
    assert set(found) == {"a", "b"} and abs(found["a"] - 1500) < 116
    by_script = {name: it.count for name, it in said.streams[0].transactions.items()}
    assert by_script == {"file": found["a"], "b": found["b"]}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"also": "b.sql@one"}, "invalid weight specification: @one"),
        ({"also": "b.sql@-1"}, r"weight specification out of range .*: -1"),
        ({"also": "b.sql@0", "weight": "0"}, "total script weight must not be zero"),
        ({"also": "nosuch.sql"}, "cannot read the script"),
        ({"also": ",".join(["b.sql"] * 128)}, "at most 128 SQL scripts"),
        ({"also": "bad.sql"}, r"(?s)invalid command \\bad.*bad\.sql:2"),
    ],
)
def test_a_mix_that_pgbench_refuses_is_refused(
    tmp_path: Path, options: dict[str, str], says: str
) -> None:
    (tmp_path / "b.sql").write_text("SELECT 2;")
    (tmp_path / "bad.sql").write_text("SELECT 2;\n\\bad")
    with pytest.raises(DynoError, match=says):
        play(NULL, "SELECT 1;", tmp_path, **options)


def test_a_failure_is_told_with_the_file_of_its_script(sqlite: Session, tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_text("SELECT 1;\nSELECT * FROM nosuch;")
    with pytest.raises(DynoError, match=r"(?s)nosuch.*b\.sql:2"):
        play(sqlite, "SELECT 1;", tmp_path, weight="0", also="b.sql")


def test_a_variable_is_defined_whether_a_file_speaks_of_it_or_not(
    sqlite: Session, tmp_path: Path
) -> None:
    script = tmp_path / "file.sql"
    script.write_text("\\set n :n + 1\nINSERT INTO r VALUES ('n', :n), ('threads', ':threads');")
    defined = {":n": "4", ":threads": "many", ":unused": "1"}
    play_plan(Plan(sqlite, Script(str(script), ONCE | defined), 7, ("run",)), tmp_path)
    assert kept(sqlite) == {"n": "5", "threads": "many"}
    plan = Plan(NULL, Script(str(script), {":a!": "1"}), 7, ("run",))
    with pytest.raises(DynoError, match="invalid variable name"):
        driver.describe(plan)


def test_programs_are_started_where_that_is_allowed(sqlite: Session, tmp_path: Path) -> None:
    text = r"""
\set one 1.0
\setshell two \
  echo \
    :one | cut -c1
\setshell three echo 3
\shell echo printed ::three >&2; echo into our words
INSERT INTO r VALUES ('two', :two + 1), ('three', :three);
"""
    play(sqlite, text, tmp_path, allow_shell="on")
    assert kept(sqlite) == {"two": "2", "three": "3"}
    log = (tmp_path / "driver.log").read_text()
    assert "printed :three" in log and "into our words" in log


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\\shell exit 3", "execution of meta-command failed"),
        ("\\setshell x echo one", 'must return an integer .not "one"'),
        ("\\setshell x no-such-command-at-all", "could not read result"),
        ("\\shell echo :nosuch", 'undefined variable ":nosuch"'),
        (f"\\shell echo {' '.join(['a'] * 255)}", "too many arguments"),
    ],
)
def test_programs_that_fail_end_the_trial(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DynoError, match=says):
        play(NULL, text, tmp_path, allow_shell="on")


def test_commands_are_read_in_capitals_and_sleep_takes_its_unit_at_once(
    sqlite: Session, tmp_path: Path
) -> None:
    text = (
        "\\SET ms 1.9\n\\Sleep 2ms\n\\sleep :ms MS\n\\sleep 5us\nINSERT INTO r VALUES ('ms', :ms);"
    )
    said = play(sqlite, text, tmp_path)
    assert kept(sqlite) == {"ms": "1.9"}
    assert said.streams[0].latency.percentiles_ns["50"] > 3_000_000


def test_gset_takes_the_last_result_and_aset_every_results_last_row(
    sqlite: Session, tmp_path: Path
) -> None:
    text = r"""
\; SELECT 0 AS i5 \; SELECT 5 AS i5 \; \gset
SELECT 6 AS i6 \; SELECT 7 AS i7 \; SELECT 1 AS gone WHERE 1 = 2 \aset
SELECT 8 AS i6 UNION SELECT 9 ORDER BY 1 DESC \aset
INSERT INTO r VALUES ('i5', :i5), ('i6', :i6), ('i7', :i7), ('gone', ':gone');
"""
    play(sqlite, text, tmp_path)
    assert kept(sqlite) == {"i5": "5", "i6": "8", "i7": "7", "gone": ":gone"}


def test_several_statements_in_one_fall_back_to_text(sqlite: Session, tmp_path: Path) -> None:
    text = "\\set a 1\nINSERT INTO r VALUES ('a', :a) \\; INSERT INTO r VALUES ('b', :a);"
    play(sqlite, text, tmp_path, protocol="prepared", events="3")
    assert driver.ask(sqlite, [COUNTED])[0] == [["a", "3"], ["b", "3"]]


def test_a_failed_transaction_ends_the_trial_where_that_is_asked(
    sqlite: Session, tmp_path: Path
) -> None:
    driver.ask(sqlite, ["create table k (x integer primary key)", "insert into k values (1)"])
    text = "INSERT INTO k VALUES (1);"
    assert play(sqlite, text, tmp_path, events="3").streams[0].failed == 3
    with pytest.raises(DynoError, match="a transaction failed"):
        play(sqlite, text, tmp_path, events="3", exit_on_abort="on")


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", ["\\shell {}", "\\setshell x {}; echo 1"])
def test_the_first_sigint_ends_a_program_that_a_script_waits_for(
    tmp_path: Path, command: str
) -> None:
    script, started = tmp_path / "file.sql", tmp_path / "started"
    script.write_text(command.format(f"touch {started}; sleep 300"))
    words = ["play", "null", "-w", str(script), "--set", "allow_shell=on"]
    with subprocess.Popen(
        [sys.executable, "-m", "dyno.cli", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as playing:
        wait_for(started.exists)
        playing.send_signal(signal.SIGINT)
        assert playing.wait(20) == 130
    assert str(started) not in "".join(commands_of_all())


def commands_of_all() -> Iterator[str]:
    """The command line of every process."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
