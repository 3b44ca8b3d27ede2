"""Parameters of a statement are found where a server reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pgbench_files import kept, play_plan, sqlite_with_table

from dyno.driver.plan import Plan, Script
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.logs import count_parameters, insert_values


@pytest.mark.parametrize(
    "other",
    [
        "/* was $2 */",
        "/* a /* $2 */ $3 */",
        "-- $2\n",
        "'it''s $2'",
        r"E'\' $2'",
        '"$2"',
        '"a ""$2"""',
        "$$ $2 $$",
        "$tag$ $2 $x$ $tag$",
        "a$2",
        "é$2",
    ],
)
def test_a_parameter_is_none_within_text_names_and_comments(other: str) -> None:
    sql = f"SELECT {other}, $1 FROM t WHERE x = $3 AND y = $1"
    wanted = f"SELECT {other}, 'it''s' FROM t WHERE x = NULL AND y = 'it''s'"
    assert insert_values(sql, ["it's", "b", None]) == wanted
    assert count_parameters(sql) == 3 and count_parameters(f"SELECT {other}") == 0


@pytest.mark.parametrize("rest", ["'$2", '"$2', "$a$ $2 $b$", "/* /* */ $2", "E'\\' $2", "-- $2"])
def test_what_is_not_closed_holds_no_parameter(rest: str) -> None:
    assert count_parameters(f"SELECT $1, {rest}") == 1


def test_an_engine_that_reads_no_numbers_gets_each_value_where_its_number_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    session = sqlite_with_table(tmp_path)
    start = "2026-01-01 10:00:00.000 UTC [7] app@shop "
    (tmp_path / "it.log").write_text(
        f"{start}LOG:  execute a: INSERT INTO r VALUES ($2, $1 || $2 || '$1')\n"
        f"{start}DETAIL:  parameters: $1 = 'x', $2 = 'name'\n"
    )
    replay = lay_out(tmp_path / "it.log", True, lambda _: None)
    play_plan(Plan(session, Script(str(replay.script), {}), 7, ("run",), progress_s=0), tmp_path)
    assert kept(session) == {"name": "xname$1"}
