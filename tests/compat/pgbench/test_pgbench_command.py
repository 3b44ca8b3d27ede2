"""`dyno pgbench`: what it refuses as pgbench does, its report and logs, the same line as a
comparison, and the environment that names the server."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

from dyno.cli import judged_run, run_words
from dyno.compat.pgbench import play, report, server
from dyno.compat.pgbench.play import (
    Board,
    BoardCounts,
    BoardTally,
    CommandCounts,
    Moment,
    PgbenchRun,
    PlayedRun,
)
from dyno.compat.pgbench.report import write_logs
from dyno.compat.pgbench.server import ServerFacts, make_session
from dyno.compat.pgbench.words import OPTIONS, read_words
from dyno.driver.plan import Session
from dyno.errors import UsageError

FACTS = ServerFacts("18.1", 3)


def counts(**more: float) -> BoardCounts:
    return BoardCounts(done=4, latency_us=4000, latency_us2=4.5e6, **more)


def lines_of(words: str, **of: Any) -> list[str]:
    tally = BoardTally(
        [counts(), counts()][: len(read_words(words.split(), {}).scripts)], 9000, 2, 0
    )
    played = PlayedRun(replace(tally, **of), 2.0, [["\\set x 1", "SELECT 1"]])
    return list(report.format_report(read_words(words.split(), {}), FACTS, played))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("-c three", 'invalid value "three" for option -c/--clients'),
        ("-t 1 -T 1", "specify either a number of transactions (-t) or a duration (-T), not both"),
        ("-F 1", "-F/--fillfactor must be in range 10..100"),
        ("-i -S", "cannot be used in initialization (-i) mode"),
        ("-S -F 90", "cannot be used in benchmarking mode"),
        ("-i -I dta", 'unrecognized initialization step "a"'),
        ("-i --partition-method=hash", "--partition-method requires greater than zero"),
        ("--max-tries 0", "an unlimited number of transaction tries"),
        ("--sampling-rate=0.01", "is allowed only when logging transactions (-l)"),
        ("-l -T 5 --aggregate-interval=3", "must be a multiple of aggregation interval (3)"),
        ("--random-seed=one", 'unrecognized random seed option "one"'),
        ("-b se@0 -b si@0", "total script weight must not be zero"),
        ("-b s", "ambiguous builtin name"),
        ("-f no-such-file", 'could not open file "no-such-file"'),
        ("-p five", 'invalid port number: "five"'),
        ("one two", 'too many command-line arguments (first is "two")'),
        ("--percentile=50,100", 'invalid percentile: "100"'),
        ("-C --percentile=99", "would count connecting (-C) as latency"),
        ("-R 9 -L 9 --percentile=99", "would count transactions that are skipped"),
        ("--bad", 'Try "pgbench --help" for more information.'),
    ],
)
def test_what_pgbench_refuses_is_refused_with_1_and_its_words(
    capsys: pytest.CaptureFixture[str], words: str, says: str
) -> None:
    assert run_words(["pgbench", *words.split()]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("pgbench: error: ") and says in err


def test_a_script_is_read_before_anybody_connects(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "bad.sql"
    script.write_text("\\set i 1 +\n")
    assert run_words(["pgbench", "-h", str(tmp_path), "-f", str(script)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and 'syntax error in command "set"' in err and "^ error found here" in err


def test_help_and_version_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["pgbench", "--help"]) == run_words(["pgbench", "-V"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith("pgbench (PostgreSQL) 18 (dyno ")
    for name in OPTIONS:
        assert f"--{name.rstrip('=')}" in said, name


def test_the_report_has_pgbenchs_lines() -> None:
    said = lines_of("-S -c 2 -t 2")
    assert said[:5] == [
        "transaction type: <builtin: select only>",
        "scaling factor: 3",
        "query mode: simple",
        "number of clients: 2",
        "number of threads: 1",
    ]
    assert "number of transactions actually processed: 4/4" in said
    assert "number of failed transactions: 0 (0.000%)" in said
    assert said[-3:] == [
        "latency average = 1000.000 ms",
        "initial connection time = 9.000 ms",
        "tps = 2.000000 (without initial connection time)",
    ]


def test_several_scripts_retries_and_commands_have_their_lines() -> None:
    commands = [CommandCounts(4, 6000, 1, 2), CommandCounts(4, 2000, 0, 0)]
    said = lines_of("-S -N -T 2 --max-tries=3 -L 5 -R 9 -C --failures-detailed")
    assert "transaction type: multiple scripts" in said and "duration: 2 s" in said
    assert " - weight: 1 (targets 50.0% of total)" in said
    assert "number of transactions skipped: 0 (0.000%)" in said
    assert "number of transactions above the 5.0 ms latency limit: 0/8 (0.000%)" in said
    assert "latency stddev = 0.354 ms" in said
    assert "average connection time = 1.125 ms" in said
    assert "tps = 4.000000 (including reconnection times)" in said
    said = lines_of("-S -r", commands=commands)
    assert said[-3:] == [
        "statement latencies in milliseconds and failures:",
        "         1.500           1 \\set x 1",
        "         0.500           0 SELECT 1",
    ]


def test_a_run_in_which_nothing_ended_has_no_numbers() -> None:
    said = lines_of("-S", scripts=[BoardCounts()])
    assert said[-1] == "number of transactions actually processed: 0/10"


def test_a_progress_line_tells_what_came_since_the_last() -> None:
    lines = report.ProgressLines(read_words(["-P", "1", "-S"], {}))
    first = lines.format_progress(Moment(1.0, BoardTally([counts()], 0, 0, 0)))
    assert first == "progress: 1.0 s, 4.0 tps, lat 1.000 ms stddev 0.354, 0 failed"
    assert lines.format_progress(Moment(2.0, BoardTally([counts()], 0, 0, 0))).startswith(
        "progress: 2.0 s, 0.0 tps, lat 0.000 ms"
    )


@pytest.mark.parametrize(
    ("words", "in_lua"),
    [
        ("-S -r -M prepared --max-tries=3 -P 1", ()),
        ("-S -C -l --debug", ("--connect", "--log", "--debug")),
        ("-S -R 5 -L 7", ("--rate with --latency-limit",)),
        ("-S -f it.sql", ("\\shell in line 2 of it.sql",)),
    ],
)
def test_it_is_known_why_a_line_is_played_in_lua(
    words: str, in_lua: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.sql").write_text("select 1;\n\\shell true\n")
    settings = read_words(words.split(), {})
    run = PgbenchRun(make_session(settings, {}), settings, tmp_path / "board", 7)
    assert run.check() == in_lua


@pytest.mark.parametrize("clients", [1, 3])
def test_progress_tells_what_clients_have_played(clients: int, tmp_path: Path) -> None:
    words = ["-f", str(tmp_path / "it.sql"), "-T", "2", "-P", "1", "-c", str(clients)]
    (tmp_path / "it.sql").write_text("select 1;\n")
    session: Session = {"kind": "null", "delay_ns": 10_000_000}
    run = PgbenchRun(session, read_words(words, {}), tmp_path / "board", 7)
    moments: list[Moment] = []
    played = run.play(FACTS, lambda: None, moments.append)
    assert 0 < moments[0].tally.total.done < played.tally.total.done


def test_the_boards_columns_are_those_of_the_driver(tmp_path: Path) -> None:
    driver = ROOT / "crates" / "driver" / "src"
    found: dict[str, int] = {}
    rust = (driver / "script" / "pgbench" / "client.rs").read_text()
    for name, value in re.findall(r"^const (\w+): \w+ = (\d+);", rust, re.M):
        found[name] = int(value)
    lua = (driver / "lua" / "pgbench" / "client.lua").read_text()
    for names, values in re.findall(r"^local ([A-Z][\w, ]+) = ([\d, ]+)", lua, re.M):
        found |= zip(names.split(", "), map(int, values.split(",")), strict=True)
    columns = [name.upper() for name in BoardCounts.__dataclass_fields__]
    assert [found[name] for name in columns] == list(range(len(columns)))
    assert found["SCRIPTS"] == play.SCRIPTS and found["PER_SCRIPT"] == play.PER_SCRIPT
    assert found["PER_COMMAND"] == play.PER_COMMAND and found["CELLS"] == play.ROW_CELLS
    assert found["ROW_BYTES"] == play.ROW_CELLS * 8
    cells = [found[name] for name in ("PLAYED", "SPENT_US", "FAILURES", "REPEATS")]
    assert cells == list(range(len(CommandCounts._fields)))
    assert Board(tmp_path / "board", 3, 2).read(4).total == BoardCounts()


def test_the_clients_logs_become_one_file_of_a_thread_in_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("part.0").write_text("0 1 500 0 100 000007\n0 2 skipped 0 103 000000\n")
    Path("part.1").write_text("1 1 700 0 100 000002\n1 2 900 0 102 500000\n")
    write_logs(read_words(["-l", "-c2", "-S"], {}), tmp_path / "part")
    log = Path(f"pgbench_log.{os.getpid()}").read_text()
    assert log == "1 1 700 0 100 2\n0 1 500 0 100 7\n1 2 900 0 102 500000\n0 2 skipped 0 103 0\n"
    write_logs(read_words(["-l", "-c2", "-S", "--aggregate-interval=2"], {}), tmp_path / "part")
    log = Path(f"pgbench_log.{os.getpid()}").read_text()
    assert log == "100 2 1200 740000 500 700 0 0 0 0 0 0 0 0 0 0\n"


def test_the_tables_are_made_as_they_are_asked_for() -> None:
    asked = "-i -I dtGpf -s 2 -F 90 --partitions=2 --unlogged-tables --tablespace=fast"
    made = server.Tables(read_words(asked.split(), {}))
    parts = [each for each in made.create() if "partition of" in each]
    assert [re.search(r"from .*? with", each)[0] for each in parts] == [  # type: ignore[index]
        "from (minvalue) to (100001) with",
        "from (100001) to (maxvalue) with",
    ]
    assert all('tablespace "fast"' in each for each in made.create())
    assert ["unlogged" in each for each in made.create()] == [False] * 4 + [True] * 2
    assert "generate_series(1, 200000)" in made.fill()[-2]
    assert len(made.add_foreign_keys()) == 5


def test_the_environment_names_the_server_and_the_command_line_goes_first(tmp_path: Path) -> None:
    told = {"PGHOST": str(tmp_path), "PGPORT": "6000", "PGUSER": "joe", "PGPASSWORD": "hidden"}
    found = make_session(read_words(["-S"], {}), told | {"PGOPTIONS": "-c work_mem=1MB"})
    assert found["host"] == f"{tmp_path}/.s.PGSQL.6000"
    assert (found["user"], found["database"]) == ("joe", "joe")
    assert ("options", "-c work_mem=1MB") in found["settings"]
    words = ["-S", "-h", "localhost", "-p", "5433", "-U", "ann", "shop"]
    found = make_session(read_words(words, {}), told)
    places = [found[name] for name in ("host", "port", "user", "database")]
    assert places == ["localhost", 5433, "ann", "shop"]
    found = make_session(read_words(["-S", "host=db port=7 dbname=a sslmode=disable"], {}), told)
    assert (found["host"], found["port"], found["user"]) == ("db", 7, "joe")
    assert found["tls"]["mode"] == "disable"
    found = make_session(read_words(["-S", "postgres://ann@db:8/shop?sslmode=disable"], {}), told)
    places = [found[name] for name in ("host", "port", "user", "database")]
    assert places == ["db", 8, "ann", "shop"]
    with pytest.raises(UsageError, match=r"\$PGSSLCERT is set"):
        make_session(read_words(["-S"], {}), {"PGSSLCERT": "x"})


def test_with_two_builds_the_same_line_is_a_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []

    def judged(experiment: Any, *_: object) -> Any:
        seen.append(experiment)
        raise UsageError("played")

    monkeypatch.setattr(judged_run, "play_and_judge", judged)
    words = ["-S", "-c", "4", "-j", "2", "-T", "5", "-M", "prepared", "-D", "a=1"]
    assert run_words(["pgbench", *words, "--compare", "null@1us", "null@2us"]) == 64
    (workload,) = seen[0].workloads
    assert workload.options["threads"] == "4" and workload.options["protocol"] == "prepared"
    assert workload.options["time"] == "5" and workload.options[":a"] == "1"
    assert "left out" in capsys.readouterr().err
    assert run_words(["pgbench", "-S", "-C", "--compare", "null@1us", "null@2us"]) == 64
    assert "connections are kept" in capsys.readouterr().err
    assert run_words(["pgbench", "-S", "--compare", "null@1us"]) == 64
