"""A log takes memory that is bounded, and time that grows with it, whatever stands in it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small_logs import GENERAL, STDERR

from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.sessions import select_statements
from dyno.workloads.replay.spool import Chain, Spool, SpoolRecord

STAMP = "2026-01-01 10:00:00.010 UTC"


def general(sql: str) -> str:
    return f"2026-01-01T10:00:00.001000Z\t    8 Query\t{sql}\n"


def slow(sql: str) -> str:
    head = "# Time: 2026-01-01T10:00:00.500000Z\n# User@Host: a[a] @ localhost []  Id:     8\n"
    return f"{head}# Query_time: 0.250000  Lock_time: 0\nSET timestamp=1767261600;\n{sql};\n"


def stderr(sql: str) -> str:
    more = sql.replace("\n", "\n\t")
    return f"{STAMP} [71] app@shop LOG:  statement: {more}\n"


def csv(sql: str) -> str:
    said = sql.replace('"', '""')
    return (
        f'{STAMP},"app","shop",71,"[local]",695500.71,1,"SELECT",{STAMP},3/2,0,LOG,00000,'
        f'"statement: {said}",,,,,,,,,"psql","client",,0\n'
    )


def jsonlog(sql: str) -> str:
    said = {"timestamp": STAMP, "dbname": "shop", "session_id": "695500.71"}
    return json.dumps({**said, "error_severity": "LOG", "message": f"statement: {sql}"}) + "\n"


FORMS: dict[str, Callable[[str], str]] = {
    it.__name__: it for it in (general, slow, stderr, csv, jsonlog)
}

LAID_OUT = """
import resource, sys
from pathlib import Path
from dyno.plugins import load_things
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.sessions import Bounds
load_things("dyno.engines", "LOG_READERS")
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
replay = lay_out(Path(sys.argv[1]), True, lambda _: None, Bounds(limit=int(sys.argv[2])))
print("\\n".join(replay.describe()))
"""


def laid_out(path: Path, limit: int) -> str:
    """What is said of a log that is laid out within 400 MB of address space."""
    command = [sys.executable, "-c", LAID_OUT, str(path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", FORMS)
def test_long_and_many_statements_take_memory_that_is_bounded(form: str, tmp_path: Path) -> None:
    """A literal of 20 MB on one line, one of as many lines, and 20,000 statements that differ."""
    log = FORMS[form]
    long = f"INSERT INTO t VALUES ('{'x' * 20_000_000}')"
    lines = "INSERT INTO t VALUES\n" + "(1, 'it''s'),\n" * 250_000 + "(2, 'x')"
    many = (log(f"SELECT '{n}' FROM t{n} WHERE {'x' * 200} = 'y'") for n in range(20_000))
    path = tmp_path / "it.log"
    path.write_text("".join([log("SELECT 1"), log(long), log(lines), *many, log("SELECT 2")]))
    said = laid_out(path, 1 << 24)
    assert "20,003 of 20,004 statements are played" in said
    assert "left out: 1 too long (line " in said
    assert ": 20,000," in said and "characters, INSERT INTO t VALUES ('xxxx" in said
    path.write_text("".join([log("SELECT 1"), log(long)]))
    assert "2 of 2 statements are played" in laid_out(path, 1 << 25)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_statement_of_twice_as_many_lines_takes_about_twice_as_long(
    form: str, tmp_path: Path
) -> None:
    path = tmp_path / "it.log"

    def spent_s(lines: int) -> float:
        path.write_text(FORMS[form]("SELECT 1,\n" + "2,\n" * lines + "3"))
        begin = time.process_time()
        (entry,) = read_log(LogFile(path)).entries
        assert entry.sql.count("\n") == lines + 1
        return time.process_time() - begin

    once, twice = (min(spent_s(lines) for _ in range(2)) for lines in (100_000, 200_000))
    assert twice < 3.2 * once + 0.05, f"{once:.3f} s, {twice:.3f} s"


@pytest.mark.parametrize("form", FORMS)
def test_what_follows_a_statement_that_is_too_long_is_read(form: str, tmp_path: Path) -> None:
    log, path = FORMS[form], tmp_path / "it.log"
    long = ["SELECT '" + "x\n" * 600 + "'", "SELECT '" + "\"'" * 600 + "\"'"]
    path.write_text("".join(map(log, ["SELECT 1", long[0], "SELECT 2", long[1], "SELECT 3"])))
    entries = list(read_log(LogFile(path), 1000).entries)
    assert [entry.letters > 1000 for entry in entries] == [False, True, False, True, False]
    assert all(len(entry.sql) <= 200 and entry.sql.startswith("SELECT") for entry in entries)


def test_a_transaction_with_a_statement_that_is_too_long_may_have_written(tmp_path: Path) -> None:
    said = [
        "SELECT 1",
        "BEGIN",
        "SELECT 2",
        f"UPDATE t SET a = '{'x' * 999}'",
        "SELECT 3",
        "COMMIT",
    ]
    path = tmp_path / "it.log"
    path.write_text("".join(map(general, said)))
    with Spool(tmp_path) as spool:
        found = select_statements(read_log(LogFile(path), 100), False, spool)
        assert [it.sql for it in found.find_played(found.sessions[0])] == ["SELECT 1"]
        assert {why: it.count for why, it in found.left_out.items()} == {
            "too long": 1,
            "in transactions that write": 4,
        }


def test_bytes_that_are_no_text_are_sent_as_logged_and_said(tmp_path: Path) -> None:
    path = tmp_path / "it.log"
    odd = b"SELECT 'caf\xe9', _binary '\xff\x81' FROM \xe4"
    path.write_bytes(general("SELECT ?").encode().replace(b"SELECT ?", odd))
    path.write_bytes(path.read_bytes() + general("SELECT 'café'").encode())
    replay = lay_out(path, False, lambda _: None)
    first, second = replay.describe()
    assert first.startswith("note: 1 statements with bytes that are not UTF-8: they are sent as")
    assert "2 of 2 statements" in second
    assert odd in next(replay.script.parent.glob("*.lane")).read_bytes()


@pytest.mark.parametrize("text", [GENERAL, STDERR], ids=["general", "stderr"])
def test_what_does_not_fit_into_memory_is_the_same_from_disk(text: str, tmp_path: Path) -> None:
    path = tmp_path / "it.log"
    path.write_text(text)
    for writes in (False, True):
        with Spool(tmp_path) as spool, Spool(tmp_path, 1) as tiny:
            wanted, found = (
                select_statements(read_log(LogFile(path)), writes, it) for it in (spool, tiny)
            )
            for one, other in zip(wanted.sessions, found.sessions, strict=True):
                assert list(wanted.find_played(one)) == list(found.find_played(other))
                assert one.span_s == other.span_s
            assert (wanted.left_out, wanted.count_tables()) == (
                found.left_out,
                found.count_tables(),
            )


def test_records_are_taken_back_from_disk_and_memory_alike(tmp_path: Path) -> None:
    rng = random.Random(1)
    with Spool(tmp_path, 2_500) as spool:
        chains = [Chain(spool) for _ in range(3)]
        wanted: list[list[SpoolRecord]] = [[] for _ in chains]
        for step in range(2_000):
            at = rng.randrange(3)
            if rng.random() < 0.1:
                place = rng.randint(max(0, len(wanted[at]) - 12), len(wanted[at]))
                assert list(chains[at].take_back(place)) == wanted[at][place:]
                del wanted[at][place:]
            else:
                record = SpoolRecord(float(step), step, step, f"SELECT {step}", (), "", 0.5)
                chains[at].append(record)
                wanted[at].append(record)
            if wanted[at]:
                assert chains[at].last_s == wanted[at][-1].span_s
        assert [list(chain) for chain in chains] == wanted
        assert [len(chain) for chain in chains] == [len(each) for each in wanted]


def test_a_killed_layout_leaves_nothing_behind(tmp_path: Path) -> None:
    path, stale = tmp_path / "it.log", tmp_path / "cache" / "replay" / ".making-work-killed"
    path.write_text(GENERAL)
    stale.mkdir(parents=True)
    (stale / "00000.lane").write_text("half")
    lay_out(path, False, lambda _: None)
    assert not list(stale.parent.glob(".*"))


PLAYED = """
import resource, subprocess, sys
from pathlib import Path
dyno = Path(sys.executable).parent / "dyno"
subprocess.run([dyno, "play", "null", "--log", sys.argv[1]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_a_log_is_played_in_memory_that_is_bounded(tmp_path: Path) -> None:
    """Neither Dyno nor its driver holds the 60 MB that it plays."""
    path = tmp_path / "it.log"
    with path.open("w") as file:
        for n in range(15_000):
            file.write(general(f"SELECT '{n:04000d}'"))
    command = [sys.executable, "-c", PLAYED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout.split()[-1]) < 150, done.stdout
