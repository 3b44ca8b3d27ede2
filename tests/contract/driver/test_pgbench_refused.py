"""What a script file of pgbench's gets wrong is said with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pgbench_files import EXPRESSIONS, NULL, play, sqlite_with_table

from dyno.errors import DynoError, UsageError
from dyno.plan import Session

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
        ("\n\\frobnicate 1", 2, r"no such command: \\frobnicate"),
        ("\\shell rm", 1, "starts programs"),
        ("\\if 1\nSELECT 1;", 1, r"\\if without \\endif"),
        ("SELECT 1;\n\\endif", 2, r"\\endif without \\if"),
        ("\\if 1\n\\else\n\\elif 1\n\\endif", 3, r"\\elif after \\else"),
        ("\\set 1x 2", 1, "needs the name of a variable"),
        ("\\set x", 1, "missing expression"),
        ("\\sleep much", 1, r"\\sleep needs"),
        ("\\gset", 1, "must follow an SQL command"),
        ("\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline", 2, "not allowed in a pipeline"),
        ("\\startpipeline\nSELECT 1;", 2, r"without \\endpipeline"),
        ("\\syncpipeline", 1, r"without \\startpipeline"),
        ("SELECT 1;\nSELECT 'open", 2, "unterminated quoted string"),
        ("SELECT /* open", 1, "unterminated"),
        ("SELECT a ? b;", 1, "protocol=simple"),
        ("\n\nSELECT 1 AS one WHERE 1 = 2 \\gset", 3, "expected one row, got 0"),
    ],
)
def test_what_cannot_be_played_is_told_with_file_and_line(
    sqlite: Session, tmp_path: Path, text: str, line: int, says: str
) -> None:
    with pytest.raises(DynoError, match=rf"(?s){says}.*file\.sql:{line}\b"):
        play(sqlite, text, tmp_path)


def test_the_engines_errors_have_the_files_line(sqlite: Session, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"(?s)no_such_table.*file\.sql:2"):
        play(sqlite, "SELECT 1;\nSELECT * FROM no_such_table;\n", tmp_path)
