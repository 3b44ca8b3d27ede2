"""What a script file of pgbench's gets wrong is said with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pgbench_files import EXPRESSIONS, NULL, play, sqlite_with_table

from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError

REFUSED = [expression for expression, value in EXPRESSIONS.items() if value == "refused"]


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    return sqlite_with_table(tmp_path)


@pytest.mark.parametrize("expression", REFUSED)
def test_expressions_that_pgbench_refuses_are_refused_with_their_place(
    expression: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"file\.sql:2"):
        play(NULL, f"-- first line\n\\set x {expression}\n", tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\n\\frobnicate 1", 2, r"invalid command \\frobnicate"),
        ("\\shell rm", 1, "would start a program: rm; the option allow_shell"),
        ("\\setshell x rm", 1, "would start a program: rm; the option allow_shell"),
        ("\\shell", 1, "missing command"),
        ("\\setshell x", 1, "missing argument"),
        ("\\if 1\nSELECT 1;", 1, r"\\if without matching \\endif"),
        ("SELECT 1;\n\\endif", 2, r"\\endif without matching \\if"),
        ("\\else", 1, r"\\else without matching \\if"),
        ("\\if 1\n\\else\n\\elif 1\n\\endif", 3, r"\\elif after \\else"),
        ("\\if 1\n\\else\n\\else\n\\endif", 3, r"\\else after \\else"),
        ("\\if 1\n" * 200_000, 1001, r"\\if is nested deeper than 1000 times"),
        ("\\set x " + "(" * 101 + "1" + ")" * 101, 1, "nested deeper than 100 times"),
        ("\\set x " + "case when true then " * 101, 1, "nested deeper than 100 times"),
        ("\\set x 1" + " + 1" * 200_000, 1, "an expression has more than 4000 words"),
        ("\\set x " + "not " * 200_000 + "true", 1, "an expression has more than 4000 words"),
        ("\\if 1\n\\else BAD\n\\endif", 2, "unexpected argument"),
        ("\\if 1\n\\endif BAD", 2, "unexpected argument"),
        ("\\startpipeline BAD", 1, "unexpected argument"),
        ("\\if\n\\endif", 1, "syntax error"),
        ("\\set 1x 2", 1, 'invalid variable name: "1x"'),
        ("\\set . 2", 1, 'invalid variable name: "."'),
        ("\\set", 1, "missing argument"),
        ("\\set x", 1, 'syntax error in command "set": an expression is missing'),
        ("\\set x 1 ; 2", 1, r"unexpected character \(;\)"),
        ("\\set x least()", 1, r"at least one argument expected \(least\)"),
        ("\\set x hash(1,2,3)", 1, r"unexpected number of arguments \(hash\)"),
        ("\\set x permute(1)", 1, r"unexpected number of arguments \(permute\)"),
        ("\\set x least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", 1, "maximum is 16"),
        ("\\set x -9223372036854775808 / -1", 1, "bigint div out of range"),
        ("\\set x :nosuch", 1, 'undefined variable "nosuch"'),
        (
            "SELECT 'bla' AS foo \\gset\n\\set x :foo + 1",
            2,
            'malformed variable "foo" value: "bla"',
        ),
        ("\\sleep", 1, "missing argument"),
        ("\\sleep much", 1, r"invalid sleep time, must be an integer \(much\)"),
        ("\\sleep 1.5", 1, r"unrecognized time unit, must be us, ms or s \(.5\)"),
        ("\\sleep 1.5 ms", 1, "invalid sleep time, must be an integer"),
        ("\\sleep 1 week", 1, r"unrecognized time unit, must be us, ms or s \(week\)"),
        ("\\sleep too many args", 1, "too many arguments"),
        ("\\sleep :nosuch", 1, 'undefined variable "nosuch"'),
        ("\\gset", 1, "must follow an SQL command"),
        ("SELECT 1 AS i \\gset\n\\gset", 2, "must follow an SQL command"),
        ("SELECT 1 AS i \\gset a b", 1, "too many arguments"),
        ("SELECT 1 \\gset", 1, "error storing into variable 1: invalid variable name"),
        ('SELECT 1 AS "bad name!" \\gset', 1, "error storing into variable bad name!"),
        ('SELECT 1 AS "bad name!" \\aset', 1, "error storing into variable bad name!"),
        ("INSERT INTO r VALUES ('a', 'b') \\gset", 1, "expected one row, got 0"),
        ("\n\nSELECT 1 AS one WHERE 1 = 2 \\gset", 3, "expected one row, got 0"),
        ("\\startpipeline", 1, "cannot use pipeline mode with the simple query protocol"),
        ("SELECT 1;\nSELECT 'open", 2, "unterminated quoted string"),
        ("SELECT /* open", 1, "unterminated"),
    ],
)
def test_what_cannot_be_played_is_told_with_file_and_line(
    sqlite: Session, tmp_path: Path, text: str, line: int, says: str
) -> None:
    with pytest.raises(DynoError, match=rf"(?s){says}.*file\.sql:{line}\b"):
        play(sqlite, text, tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline", 2, "not allowed in pipeline"),
        ("\\startpipeline\nSELECT 1;", 2, "end of script reached with pipeline open"),
        ("\\startpipeline\n\\startpipeline", 2, "already in pipeline mode"),
        ("\\syncpipeline", 1, "not in pipeline mode"),
        ("\\endpipeline", 1, "not in pipeline mode"),
        ("SELECT a ? b;", 1, "protocol=simple"),
        (f"SELECT {', '.join([':a'] * 256)};", 1, "too many arguments, maximum is 255"),
    ],
)
def test_what_cannot_be_prepared_is_told_with_file_and_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    with pytest.raises(DynoError, match=rf"(?s){says}.*file\.sql:{line}\b"):
        play(NULL, text, tmp_path, protocol="prepared")


@pytest.mark.parametrize("text", ["", "-- nothing but this\n", " \n"])
def test_an_empty_script_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DynoError, match="empty command list for script"):
        play(NULL, text, tmp_path)


@pytest.mark.parametrize(
    "text", ["BEGIN;\nSELECT 1;", "SELECT 1; START TRANSACTION;", "begin \\; select 1 \\aset"]
)
def test_a_transaction_that_a_script_does_not_end_is_refused(tmp_path: Path, text: str) -> None:
    session = sqlite_with_table(tmp_path)
    text = text.replace("START TRANSACTION", "BEGIN")
    text = text.replace("select 1 \\aset", "select 1 as one \\aset")
    says = r"file\.sql: end of script reached without completing the last transaction"
    with pytest.raises(DynoError, match=says):
        play(session, text, tmp_path)


def test_the_engines_errors_have_the_files_line(sqlite: Session, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"(?s)no_such_table.*file\.sql:2"):
        play(sqlite, "SELECT 1;\nSELECT * FROM no_such_table;\n", tmp_path)
