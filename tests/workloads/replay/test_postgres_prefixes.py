"""PostgreSQL's `log_line_prefix`: read where it is named, else guessed rightly or asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dyno.engines.postgres.logs import FETCHED
from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log

#: Of manuals, packages, hosted servers, log readers and forums; True: one reading of it fits.
PREFIXES = {
    "%m [%p] ": True,
    "%m [%p] %q%u@%d ": True,
    "%t [%p] ": True,
    "%t [%p]: ": True,
    "%t [%p]: [%l-1] ": True,
    "%t [%p]: [%l-1] user=%u,db=%d ": True,
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ": True,
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ": True,
    "%t [%p-%l] %q%u@%d ": True,
    "%m [%p-%l] %q%u@%d ": True,
    "%t:%r:%u@%d:[%p]:": True,
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:": True,
    "%m: %u@%d/%h:[%p]: ": True,
    "%m [%p]: [%l-1] db=%d,user=%u ": True,
    "%t-%c-": True,
    "%m %c ": True,
    "%c %m ": True,
    "%n pid=%p,db=%d ": True,
    "%n [%p] %q%u@%d ": True,
    "%m [pid=%p] %q[user=%u,db=%d,app=%a] ": True,
    "< %m %p %u@%d >": True,
    "<%m>:%r:[%p]:%u@%d:": True,
    "%m %u@%d %p %r ": True,
    "%p %m %u@%d ": True,
    "%m|%p|%u@%d|": True,
    "%m:%p:%u@%d:": True,
    "%t %d %p ": False,
    "%m [%l] [%p] db=%d ": True,
    "%m|%u|%d|%r|%p|%l|%e|%s|%v|%x|%c|%i||%a|": False,
    "%m [%p] %d %u %a ": False,
    "%m [%p] %q%a ": False,
    "%m %Q [%p] %q%u@%d ": True,
    "%m %b[%p] %v %x %q%u@%d ": True,
    "%-10u %-20d %m %5p ": False,
}


@dataclass(frozen=True)
class Line:
    """What a server knows of a line, as far as a prefix says it."""

    second: int
    session: int
    number: int
    database: str
    application: str
    begun_s: int = 1767261000

    def write(self, setting: str) -> str:
        said = {
            "m": f"2026-01-01 10:00:{self.second:02d}.000 UTC",
            "t": f"2026-01-01 10:00:{self.second:02d} UTC",
            "n": f"{1767261600 + self.second}.000",
            "s": "2026-01-01 09:50:00 UTC",
            "p": str(self.session),
            "c": f"{self.begun_s + self.session:x}.{self.session:x}",
            "l": str(self.number),
            "u": "app",
            "d": self.database,
            "a": self.application,
            "r": f"10.0.0.{self.session % 9}({5000 + self.session})",
            "h": f"10.0.0.{self.session % 9}",
            "e": "00000",
            "v": f"3/{self.second}",
            "x": "0",
            "i": "SELECT",
            "b": "client backend",
            "Q": str(-7812345678901234567 + self.second),
            "q": "",
        }
        return re.sub(
            r"%(-?\d*)(\w)",
            lambda it: f"{said[it[2]]:{'<' if it[1][:1] == '-' else '>'}{it[1].strip('-') or 0}}",
            setting,
        )


def make_log(setting: str) -> tuple[str, list[tuple[str, str]]]:
    """A log of three sessions in two databases, and whose each statement is, and where."""
    text, wanted, numbers = "", list[tuple[str, str]](), dict[int, int]()
    background = setting.partition("%q")[0] if "%q" in setting else setting
    idle = Line(0, 70, 1, "", "", 1767250000).write(background)
    text += f"{idle}LOG:  database system is ready to accept connections\n"
    for second in range(12):
        session = (4712, 4714, 31)[second % 3]
        database = "shop-b" if session == 31 else "shop_a"
        for severity in ("LOG:  execute <unnamed>: SELECT $1", "DETAIL:  parameters: $1 = '1'"):
            numbers[session] = numbers.get(session, 0) + 1
            line = Line(second, session, numbers[session], database, f"worker {session}.2")
            text += f"{line.write(setting)}{severity}\n"
        is_id = not re.search(r"%\d*p", setting) or "%c" in setting
        name = f"{line.begun_s + session:x}.{session:x}" if is_id else str(session)
        wanted.append((name, database if re.search(r"%-?\d*d", setting) else ""))
    return text, wanted


@pytest.mark.parametrize("setting", PREFIXES)
def test_a_prefix_that_is_named_is_read(setting: str, tmp_path: Path) -> None:
    text, wanted = make_log(setting)
    (tmp_path / "it.log").write_text(text)
    entries = list(read_log(LogFile(tmp_path / "it.log", setting)).entries)
    assert [(it.session, it.database) for it in sorted(entries, key=lambda it: it.at_s)] == wanted
    assert all(it.values == ("1",) and not it.lost for it in entries)


@pytest.mark.parametrize("setting", PREFIXES)
def test_a_prefix_that_is_not_named_is_guessed_rightly_or_asked_for(
    setting: str, tmp_path: Path
) -> None:
    text, wanted = make_log(setting)
    (tmp_path / "it.log").write_text(text)

    def read() -> Iterator[tuple[str, str]]:
        entries = read_log(LogFile(tmp_path / "it.log")).entries
        for entry in sorted(entries, key=lambda it: it.at_s):
            yield entry.session, entry.database

    if PREFIXES[setting]:
        assert list(read()) == wanted
    else:
        with pytest.raises(UsageError, match="more than one way") as refused:
            list(read())
        assert "--log-prefix" in refused.value.hint


#: Lines that are read as they say, by sessions and databases; None: two readings remain.
NAMED = {
    "a database's name that may have a space": (
        ["[7] app@my shop", "[8] app@my store"],
        None,
    ),
    "one database's name with a space": (["[7] app@my shop", "[8] app@my shop"], ["my", "my"]),
    "a label's name that may have a space": (["[7] db=my shop", "[8] db=my store"], None),
    "two databases with labels behind": (
        ["[7] db=my user=a", "[8] db=your user=b"],
        ["my", "your"],
    ),
    "an application with an @": (["[7] a@1 app@shop", "[8] a@2 app@shop"], None),
    "an application with an @ now and then": (["[7] job app@shop", "[8] a@b app@shop"], None),
    "applications alone, one with an @": (["[7] psql", "[8] nightly@2"], None),
    "one user with an @": (["[7] joe@corp@shop", "[8] joe@corp@till"], ["shop", "till"]),
    "users with an @": (["[7] joe@corp@shop", "[8] ann@home@shop"], None),
    "users' hosts": (["[7] app@shop@10.0.0.1", "[8] app@till@10.0.0.2"], ["shop", "till"]),
    "the session's start first": (
        ["09:00:00 UTC 10:00:01 UTC [7]", "10:00:01 UTC 10:00:02 UTC [8]"],
        ["", ""],
    ),
    "pgBadger's": (["[7]: [2-1] "], [""]),
}


@pytest.mark.parametrize("case", NAMED)
def test_names_of_a_prefix_are_read_where_one_reading_fits(case: str, tmp_path: Path) -> None:
    lines, databases = NAMED[case]
    text = "".join(
        f"{'' if 'UTC' in it else '10:00:00 UTC '}{it} LOG:  statement: SELECT 1\n" for it in lines
    )
    text = re.sub(r"(?=\d\d:\d\d:\d\d)", "2026-01-01 ", text)
    (tmp_path / "it.log").write_text(text)
    log = read_log(LogFile(tmp_path / "it.log"))
    if databases is None:
        with pytest.raises(UsageError, match="more than one way"):
            list(log.entries)
        return
    entries = list(log.entries)
    assert [it.database for it in entries] == databases
    assert [it.session for it in entries] == ["7", "8"][: len(lines)]
    assert all(0 <= it.at_s - 1767261600 < 5 for it in entries), "the session's start is no time"


def test_a_damaged_prefix_costs_its_own_line(tmp_path: Path) -> None:
    form = "{} UTC [7] app@shop LOG:  statement: SELECT 1\n"
    times = ["2026-01-01 10:00:00", "2026-01-01 10:00:01", "2026-0x-01 10:00:02"]
    (tmp_path / "it.log").write_text("".join(map(form.format, [*times, times[0]])))
    log = read_log(LogFile(tmp_path / "it.log"))
    assert len(list(log.entries)) == 3
    (left,) = log.unread.values()
    assert left.lines == [3] and "2026-0x-01" in left.remarks[0]


def test_two_numbers_of_which_each_may_be_the_process_are_asked_for(tmp_path: Path) -> None:
    form = "2026-01-01 10:00:0{}.000 UTC [{}] [{}] shop LOG:  statement: SELECT 1\n"
    rows = ((0, 1, 77), (1, 1, 78), (2, 2, 77))
    (tmp_path / "it.log").write_text("".join(form.format(*row) for row in rows))
    with pytest.raises(UsageError, match="1 or 77 may be its process"):
        list(read_log(LogFile(tmp_path / "it.log")).entries)
    named = read_log(LogFile(tmp_path / "it.log", "%m [%l] [%p] %d ")).entries
    assert [it.session for it in named] == ["77", "78", "77"]


def test_the_prefix_of_a_server_ends_the_guess_only_where_it_fits_every_line(
    tmp_path: Path,
) -> None:
    form = "2026-01-01 10:00:0{}.000 UTC [{}] [{}] shop LOG:  statement: SELECT 1\n"
    rows = ((0, 1, 77), (1, 1, 78), (2, 2, 77))
    (tmp_path / "it.log").write_text("".join(form.format(*row) for row in rows))
    fits = LogFile(tmp_path / "it.log", likely_prefix="%m [%l] [%p] %d ")
    assert [it.session for it in read_log(fits).entries] == ["77", "78", "77"]
    for other in ("%m [%p] ", "%t ", "[%p] "):
        with pytest.raises(UsageError, match="may be its process"):
            list(read_log(LogFile(tmp_path / "it.log", likely_prefix=other)).entries)


def test_words_that_first_differ_far_down_are_asked_for_there(tmp_path: Path) -> None:
    form = "2026-01-01 10:00:00.000 UTC [7] {} LOG:  statement: SELECT 1\n"
    path = tmp_path / "it.log"
    path.write_text(form.format("shop") * 1500 + form.format("other"))
    with pytest.raises(UsageError, match="'shop' or 'other' may name a database"):
        list(read_log(LogFile(path)).entries)
    path.write_text(form.format("shop") * 1500)
    assert len(list(read_log(LogFile(path)).entries)) == 1500, "one word makes no difference"


@pytest.mark.parametrize(
    "setting,sentence",
    [
        ("%m %u", "has no session"),
        ("[%p] ", "has no time"),
        ("%t: [%p] ", "does not fit the log: its lines begin with '2026-01-01"),
    ],
)
def test_a_prefix_that_cannot_be_the_logs_is_refused(
    setting: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "it.log").write_text(make_log("%m [%p] %q%u@%d ")[0])
    with pytest.raises(UsageError, match=sentence):
        list(read_log(LogFile(tmp_path / "it.log", setting)).entries)


@pytest.mark.parametrize("name", ["a:b", "S_1/C_2", "<unnamed>", "x: y"])
def test_a_prepared_statements_name_may_have_colons(name: str, tmp_path: Path) -> None:
    start = "2026-01-01 10:00:00.000 UTC [7] app@shop LOG:"
    text = f"{start}  execute {name}: SELECT 1\n{start}  execute fetch from {name}: SELECT 1\n"
    (tmp_path / "it.log").write_text(text)
    log = read_log(LogFile(tmp_path / "it.log"))
    assert [it.sql for it in log.entries] == ["SELECT 1"]
    assert log.unread[FETCHED].count == 1
    (tmp_path / "it.log").write_text(text.splitlines(keepends=True)[1])
    (alone,) = read_log(LogFile(tmp_path / "it.log")).entries
    assert alone.sql == "SELECT 1", "only the fetch took long enough to be logged"


def test_a_value_that_may_have_been_cut_is_left_out_by_name(tmp_path: Path) -> None:
    start = "2026-01-01 10:00:00.000 UTC [7] app@shop "
    values = ["'customer n...'", "'a longer one that is whole'", "'customer n...'", "NULL", ""]
    text = "".join(
        f"{start}LOG:  execute <unnamed>: SELECT $1\n"
        + (f"{start}DETAIL:  parameters: $1 = {value}\n" if value else "")
        for value in values
    )
    (tmp_path / "it.log").write_text(text)
    lost = [it.lost for it in read_log(LogFile(tmp_path / "it.log")).entries]
    assert ["'...'" in lost[0], lost[1], lost[2], lost[3]] == [True, "", "", ""]
    assert "without the values" in lost[4]


def test_a_line_of_another_program_within_a_statement_makes_it_doubtful(tmp_path: Path) -> None:
    start = "2026-01-01 10:00:00.000 UTC [7] app@shop LOG:  statement:"
    text = f"{start} SELECT 1\nhello\n\tFROM t\n{start} SELECT\n\n\t2\n"
    (tmp_path / "it.log").write_text(text)
    log = read_log(LogFile(tmp_path / "it.log"))
    assert [bool(it.lost) for it in log.entries] == [True, False]
    assert "goes on with none" in "".join(log.unread)


@pytest.mark.parametrize("message", ["00000: statement: SELECT 1", "statement: SELECT 1"])
def test_verbose_messages_are_read(message: str, tmp_path: Path) -> None:
    start = "2026-01-01 10:00:00.000 UTC [7] app@shop "
    text = f"{start}LOG:  {message}\n{start}LOCATION:  exec_simple_query, postgres.c:1012\n"
    (tmp_path / "it.log").write_text(text)
    assert [it.sql for it in read_log(LogFile(tmp_path / "it.log")).entries] == ["SELECT 1"]


@pytest.mark.parametrize(
    "message,word",
    [
        ("Anweisung: SELECT 1", "lc_messages='C'"),
        ("durée : 1.000 ms, instruction : SELECT 1", "lc_messages='C'"),
        ("AUDIT: SESSION,1,1,READ,SELECT,,,SELECT 1,<none>,1", "log_rows=off"),
    ],
)
def test_statements_in_another_form_are_refused_by_name(
    message: str, word: str, tmp_path: Path
) -> None:
    (tmp_path / "it.log").write_text(f"2026-01-01 10:00:00.000 UTC [7] LOG:  {message}\n")
    with pytest.raises(UsageError, match=word):
        list(read_log(LogFile(tmp_path / "it.log")).entries)
