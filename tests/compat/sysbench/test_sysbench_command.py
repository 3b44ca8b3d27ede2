"""`dyno sysbench`: sysbench's command line, output and exit codes, without a server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from repository import ROOT

from dyno.cli import judged_run, run_words
from dyno.compat.sysbench.play import find_driver, format_cumulative
from dyno.compat.sysbench.words import SysbenchError, list_options, read_words
from dyno.driver.events import Bucket, Report
from dyno.errors import UsageError
from dyno.passwords import mask_password
from dyno.runs.experiment import Experiment

Plays = Callable[..., tuple[int, str]]
DRY = "--mysql-dry-run"

SCRIPT = """
sysbench.cmdline.options = { size = { "rows", 10 }, ["dash-opt"] = { "dashed", "a" } }
print("body")
function init() print("init") end
function thread_init() connection = sysbench.sql.driver():connect(); print("thread_init") end
function event() connection:query("SELECT 1"); print("event " .. sysbench.opt.size) end
function done() print("done") end
function prepare() print("prepare " .. #sysbench.cmdline.argv .. sysbench.cmdline.argv[1]) end
sysbench.cmdline.commands = { own = { function() print("own") end },
   bad = { function() return false end } }
"""

STATISTICS = r"""SQL statistics:
    queries performed:
        read:                            \d+
        write:                           \d+
        other:                           \d+
        total:                           2
    transactions:                        2      \(\d+\.\d\d per sec\.\)
    queries:                             2      \(\d+\.\d\d per sec\.\)
    ignored errors:                      0      \(0\.00 per sec\.\)
    reconnects:                          0      \(0\.00 per sec\.\)

General statistics:
    total time:                          \d+\.\d{4}s
    total number of events:              2

Latency \(ms\):
         min: +\d+\.\d\d
         avg: +\d+\.\d\d
         max: +\d+\.\d\d
         95th percentile: +\d+\.\d\d
         sum: +\d+\.\d\d

Threads fairness:
    events \(avg/stddev\):           2\.0000/0\.00
    execution time \(avg/stddev\):   \d+\.\d{4}/0\.00

"""


@pytest.fixture
def plays(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Plays:
    """Plays words of the command line: its exit code and all that it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.lua").write_text(SCRIPT)

    def play(*words: str) -> tuple[int, str]:
        code = run_words(("sysbench", *words))
        out, err = capfd.readouterr()
        return code, out + err

    return play


def test_a_run_is_told_in_sysbenchs_order_and_blocks(plays: Plays) -> None:
    code, said = plays("s.lua", DRY, "--events=2", "--size=7", "run")
    assert code == 0
    beginning, statistics = said.split("event 7\nevent 7\n")
    assert beginning.splitlines()[2:] == [
        *("body", "init", "Running the test with following options:", "Number of threads: 1"),
        *("Initializing random number generator from current time", "", ""),
        *("Initializing worker threads...", "", "body", "thread_init", "Threads started!", ""),
    ]
    assert re.fullmatch(STATISTICS + "done\n", statistics), statistics


def test_what_lua_plays_is_told_at_the_highest_verbosity(plays: Plays) -> None:
    told = "DEBUG: played in Lua, at more CPU for each event: event()\n"
    assert told in plays("s.lua", DRY, "--events=1", "--verbosity=5", "run")[1]
    assert told not in plays("s.lua", DRY, "--events=1", "--verbosity=4", "run")[1]


def test_a_script_that_asks_no_database_has_no_sql_statistics(plays: Plays) -> None:
    Path("n.lua").write_text("function event() end")
    code, said = plays("n.lua", "--events=3", "--histogram", "--percentile=0", "run")
    assert code == 0
    assert "SQL statistics" not in said
    assert "total number of events:              3\n" in said
    assert "         percentile stats:               disabled\n" in said
    bars = re.findall(r"^ +\d+\.\d{3} \|\*+ +(\d+)$", said, re.MULTILINE)
    assert sum(map(int, bars)) == 3


def test_several_percentiles_have_a_line_each_and_none_in_an_interval(plays: Plays) -> None:
    Path("n.lua").write_text("function event() end")
    code, said = plays("n.lua", "--events=1000", "--percentile=50,99", "run")
    assert code == 0
    shown = re.findall(r"^ +(\d+)th percentile: +(\d+\.\d\d)$", said, re.MULTILINE)
    assert [name for name, _ in shown] == ["50", "99"]
    code, said = plays("n.lua", "--events=9", "--percentile=50,99", "--report-interval=1", "run")
    assert code == 64 and "has one percentile" in said
    code, said = plays("n.lua", "--events=9", "--percentile=50,x", "run")
    assert code == 1 and "invalid value for --percentile: '50,x'" in said


def test_percentiles_of_buckets_are_the_first_that_hold_so_many() -> None:
    buckets = [Bucket(1.0, 50), Bucket(2.0, 48), Bucket(9.0, 2)]
    made = {it.name: it.type() for it in msgspec.structs.fields(Report) if it.type in (int, float)}
    report = Report(
        **made
        | {
            "is_cumulative": True,
            "is_sql": False,
            "latency_max": 0.008,
            "users": (),
            "histogram": tuple(buckets),
        }
    )
    lines = [it.split() for it in format_cumulative(report, (50, 98, 99)) if "percentile" in it]
    assert [(it[0], it[2]) for it in lines] == [
        ("50th", "1.00"),
        ("98th", "2.00"),
        ("99th", "8.00"),
    ]


def test_a_loop_of_the_scripts_own_has_sql_statistics_though_it_begins_no_event(
    plays: Plays,
) -> None:
    loop = "for i = 1, 3 do con:query('SELECT 1') end con:query('UPDATE t SET a = 1')"
    Path("o.lua").write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end function event() end "
        f"function thread_run() {loop} end"
    )
    code, said = plays("o.lua", DRY, "--threads=2", "--events=9", "run")
    assert code == 0, said
    counted = dict(re.findall(r"^ +(read|write|other|total|transactions): +(\d+)", said, re.M))
    assert counted.items() >= {"other": "8", "total": "8", "transactions": "0"}.items()


def test_a_line_of_progress_tells_the_interval(plays: Plays) -> None:
    text = "function event() c = c or sysbench.sql.driver():connect(); c:query('SELECT 1') end"
    Path("p.lua").write_text(text)
    line = r"\[ 1s \] thds: 1 tps: [1-9][\d.]* qps: [1-9][\d.]* \(r/w/o: .*\) lat \(ms,95%\): "
    _, said = plays("p.lua", DRY, "--time=1", "--report-interval=1", "--rate=50", "run")
    found = re.search(line + r"[\d.]+ err/s: 0\.00 reconn/s: 0\.00\n", said)
    # the last interval and the end of the run meet
    assert found or "Report intermediate results every 1 second(s)" in said
    assert "Target transaction rate: 50/sec\n" in said


def test_a_warm_up_is_told_of_and_counted_nowhere(plays: Plays) -> None:
    """As in sysbench 1.1: reports begin after it, and `--events` are those after it."""
    Path("w.lua").write_text("function event() sysbench.sql.driver():connect():query('x') end")
    words = ("w.lua", DRY, "--rate=100", "--warmup-time=1", "--report-interval=1")
    code, said = plays(*words, "--time=2", "run")
    assert code == 0, said
    assert "Number of threads: 1\nWarmup time: 1s\n" in said
    assert "Threads started!\n\nWarming up for 1 seconds...\n\n" in said
    events = re.search(r"total number of events: +(\d+)\n", said)
    queries = re.search(r"    total: +(\d+)\n", said)
    total_s = re.search(r"total time: +([\d.]+)s\n", said)
    assert events and queries and total_s
    # with the warm-up it would be the rest of three
    assert 1 < float(total_s[1]) < 2.9
    # one query an event: those of the warm-up would be half as many more
    assert int(queries[1]) == int(events[1]) > 0
    told = re.findall(r"^\[ (\d)s \] thds: 1 tps: ([\d.]+)", said, re.MULTILINE)
    assert [at for at, _ in told][:1] == ["1"]
    assert float(told[0][1]) <= int(events[1])


def test_commands_print_what_they_print_and_no_more(plays: Plays) -> None:
    assert plays("s.lua", "--verbosity=0", "prepare")[1] == "body\nprepare 3s.lua\n"
    assert plays("s.lua", "--verbosity=0", "own") == (0, "body\nown\n")
    assert plays("s.lua", "--verbosity=0") == (0, "body\n")


def test_a_command_for_all_threads_loads_the_script_once_more_in_each(plays: Plays) -> None:
    commands = "{ all = { function() print('all ' .. sysbench.tid) end, true } }"
    Path("p.lua").write_text(f"print('body') sysbench.cmdline.commands = {commands}")
    code, said = plays("p.lua", "--threads=2", "all")
    assert (code, said.count("body")) == (0, 3)
    assert "Initializing worker threads...\n" in said
    assert sorted(said.splitlines()[-2:]) == ["all 0", "all 1"]


def test_help_of_a_script_lists_its_options(plays: Plays) -> None:
    said = plays("s.lua", "--verbosity=0", "help")[1]
    assert "s.lua options:\n  --dash-opt=STRING dashed [a]\n  --size=N          rows [10]\n" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["s.lua", "cleanup"], "'s.lua' test does not implement the 'cleanup' command.\n"),
        (["s.lua", "nosuch"], "Unknown command: nosuch\n"),
        (["s.lua", "--size=1", "--nosuch=2", "run"], "invalid option: --nosuch=2\n"),
        (["nosuch", "run"], "FATAL: Cannot find benchmark 'nosuch': no such built-in test, file"),
        (["s.lua", "run", "more"], "Unrecognized command line argument: more\n"),
        (["s.lua", "--db-driver=x", "run"], "FATAL: invalid database driver name: 'x'\n"),
        (["s.lua", "bad"], "FATAL: "),
        (["--threads=0", "s.lua", "run"], "FATAL: Invalid value for --threads: 0"),
        (["--warmup-time=-1", "s.lua", "run"], "FATAL: Invalid value for --warmup-time: -1.\n"),
    ],
)
def test_what_sysbench_refuses_ends_with_one(plays: Plays, words: list[str], sentence: str) -> None:
    code, said = plays("--verbosity=0", DRY, *words)
    assert code == 1
    assert sentence in said


def test_a_script_that_fails_is_told_with_its_place(plays: Plays) -> None:
    Path("e.lua").write_text("print('seen')\nfoo\n")
    code, said = plays("e.lua", "--verbosity=0", "run")
    assert (code, said.strip()) == (1, "FATAL: e.lua:3: '=' expected near '<eof>'") or (
        code == 1 and re.search(r"^FATAL: \S*e\.lua:\d: '=' expected near '<eof>'", said, re.M)
    )
    Path("e.lua").write_text("print('seen')\nerror('broken')\n")
    code, said = plays("e.lua", "--verbosity=0", "run")
    assert code == 1
    assert re.fullmatch(r"seen\nFATAL: \S*e\.lua:2: broken\n", said), said


@pytest.mark.parametrize(
    ("function", "command", "called"),
    [
        ("event", "run", "thread_run"),
        ("thread_run", "run", "thread_run"),
        ("thread_init", "run", "thread_init"),
        ("init", "run", "init"),
        ("prepare", "prepare", "prepare"),
        ("sysbench.cmdline.commands.own[1]", "own", "sysbench.cmdline.call_command"),
    ],
)
def test_a_function_that_fails_is_called_as_sysbench_calls_it(
    plays: Plays, function: str, command: str, called: str
) -> None:
    named = "sysbench.cmdline.commands = { own = {} }\nfunction event() end\n"
    Path("f.lua").write_text(f"{named}{function} = function() error('broken') end")
    code, said = plays("f.lua", DRY, "--verbosity=0", command)
    also = "FATAL: Thread initialization failed!\n" if called == "thread_init" else ""
    assert (code, said) == (1, f"FATAL: `{called}' function failed: f.lua:3: broken\n{also}")


def test_a_file_of_the_folder_goes_before_a_test_of_its_name_as_in_sysbench(
    plays: Plays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oltp_read_only").write_text("sysbench 1.0.20 results\n")
    code, said = plays("oltp_read_only", "--table-size=100", "run")
    assert code == 1 and "FATAL: oltp_read_only:1: malformed number near '1.0.20'" in said
    code, said = plays("oltp_read_only", "--compare", "null", "null@1ms", "run")
    assert code == 64 and "'oltp_read_only' is a file of this folder" in said
    (tmp_path / "oltp_read_only").write_text("function event() print('mine') end\n")
    code, said = plays("oltp_read_only", "--events=1", "run")
    assert code == 0 and "mine" in said
    (tmp_path / "oltp_insert.lua").write_text("function event() print('mine, too') end\n")
    code, said = plays("oltp_insert", "--events=1", "run")
    assert code == 0 and "mine, too" in said


def test_a_script_without_event_cannot_run(plays: Plays) -> None:
    Path("n.lua").write_text("function prepare() end")
    assert plays("n.lua", "--verbosity=0", "run") == (
        1,
        "FATAL: cannot find the event() function in n.lua\n",
    )


@pytest.mark.parametrize(
    "words",
    [
        ["cpu", "run"],
        ["s.lua", "--report-checkpoints=1", "run"],
        ["s.lua", "--mysql-compression=on", "run"],
        ["s.lua", "--mysql-compression-algorithms=zstd", "run"],
        ["s.lua", "--mysql-ssl=sometimes", "run"],
        ["s.lua", "--mysql-ssl-key=it.pem", "run"],
        ["s.lua", "--db-driver=pgsql", "--pgsql-sslmode=sometimes", "run"],
        ["s.lua", "--luajit-cmd=off", "run"],
        ["s.lua", "--mysql-host=a,b", "run"],
        ["s.lua", "run", "--compare", "null"],
        ["s.lua", "prepare", "--compare", "null", "null@1ms"],
    ],
)
def test_what_has_no_counterpart_is_said_by_name(plays: Plays, words: list[str]) -> None:
    code, said = plays("--verbosity=0", *words)
    assert code == 64
    assert "hint: " in said


@pytest.mark.parametrize(
    ("words", "tls"),
    [
        ("--mysql-ssl", "require"),
        ("--mysql-ssl=1", "require"),
        ("--mysql-ssl=REQUIRED", "require"),
        ("--mysql-ssl=VERIFY_IDENTITY --mysql-ssl-ca=it.pem", "verify-full"),
        ("--mysql-ssl=preferred", "disable"),
        ("--mysql-ssl=off", "disable"),
        ("--db-driver=pgsql --pgsql-sslmode=verify-ca", "verify-ca"),
        ("--db-driver=pgsql --pgsql-sslmode=prefer", "disable"),
        ("--db-driver=pgsql", "disable"),
    ],
)
def test_a_line_that_asks_for_encryption_gets_it(words: str, tls: str) -> None:
    """Of 1.0 a switch, of 1.1 a mode."""
    read = read_words(["x", *words.split(), "run"])
    session = find_driver(read).session(read.options)
    ca = "it.pem" if "it.pem" in words else None
    assert session["tls"] == {"mode": tls, "ca": ca}


def test_a_switch_has_sysbenchs_own_values_and_no_others() -> None:
    for value, is_on in {"on": True, "true": True, "1": True, "false": False, "0": False}.items():
        assert read_words(["x", f"--histogram={value}", "run"]).is_on("histogram") == is_on
    for value in ("yes", "ON", ""):
        with pytest.raises(SysbenchError, match="invalid option"):
            read_words(["x", f"--mysql-dry-run={value}", "run"])


def test_a_text_from_stdin_is_loaded_and_may_ask(
    plays: Plays, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text(
        "local c = sysbench.sql.driver():connect()\nc:query('SELECT 1')\nprint('asked')"
    )
    with text.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert plays(DRY, "--verbosity=0") == (0, "asked\n")


def test_old_names_and_a_file_of_options_are_read(tmp_path: Path) -> None:
    file = tmp_path / "options"
    file.write_text("# mine\nthreads = 3\ntime=4\n--rate=5\nown-one=6\n".replace(" = ", "="))
    words = read_words([f"--config-file={file}", "--max-requests=9", "--time=7", "--test=x", "run"])
    assert (words.script, words.command) == ("x", "run")
    read = {name: words.options[name] for name in ("threads", "time", "rate", "events")}
    assert read == {"threads": "3", "time": "7", "rate": "5", "events": "9"}
    assert (words.others, words.old_names) == (("--own-one=6",), ("max-requests",))
    with pytest.raises(SysbenchError):
        read_words(["--config-file=/nosuch", "x"])


def test_a_line_with_compare_becomes_a_comparison(
    plays: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Experiment] = []

    def judged(experiment: Experiment, _: judged_run.RunOptions) -> object:
        asked.append(experiment)
        raise UsageError("seen")

    monkeypatch.setattr(judged_run, "play_and_judge", judged)
    line = ("s.lua", "--threads=4", "--size=5", "--mysql-db=shop", "run")
    code, said = plays(*line, "--compare", "null", "null@1ms")
    (experiment,) = asked
    (workload,) = experiment.workloads
    assert Path(workload.name).name == "s.lua"
    assert dict(workload.options) == {"threads": "4", "size": "5"}
    assert len(experiment.candidates) == 2
    assert (code, "--mysql-db is ignored" in said) == (64, True)


def test_no_password_is_shown_or_handed_to_a_script() -> None:
    assert mask_password("--mysql-password=geheim=1") == "--mysql-password=***"
    words = read_words(["x", "--pgsql-password=geheim", "run"])
    assert words.options["pgsql-password"] == "geheim"
    assert "geheim" not in "".join(words.argv)


def test_every_option_stands_in_the_docs() -> None:
    pages = ROOT.glob("docs/guides/sysbench/*.md")
    told = "".join(page.read_text() for page in pages)
    missing = [name for name in list_options() if f"`{name.replace('-', '_')}`" not in told]
    assert not missing


def test_shims_play_by_dyno_and_overwrite_nobodys_program(tmp_path: Path) -> None:
    assert run_words(("shim", str(tmp_path / "bin"))) == 0
    for name in ("sysbench", "pgbench"):
        text = (tmp_path / "bin" / name).read_text()
        assert f"-m dyno.cli {name} " in text
    assert run_words(("shim", str(tmp_path / "bin"))) == 0
    (tmp_path / "bin" / "sysbench").write_text("somebody's")
    assert run_words(("shim", str(tmp_path / "bin"))) == 64
    assert (tmp_path / "bin" / "sysbench").read_text() == "somebody's"


def test_a_shim_runs_no_module_of_the_folder_where_it_is_called(tmp_path: Path) -> None:
    assert run_words(("shim", str(tmp_path / "bin"))) == 0
    for name in ("dyno", "click", "json", "signal"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    command = [str(tmp_path / "bin" / "sysbench"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("sysbench 1.0.20") and not (tmp_path / "ran").exists()


def test_shims_that_cannot_be_written_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(("shim", "/proc/nowhere")) == 64
    assert "cannot write launchers into /proc/nowhere" in capsys.readouterr().err
