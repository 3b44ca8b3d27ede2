"""Parameters of a statement are found where a server reads them."""

from __future__ import annotations

import pytest

from dyno.workloads.replay.parameters import count_parameters, insert_values, mark_parameters


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
    assert mark_parameters(sql) == (f"SELECT {other}, ? FROM t WHERE x = ? AND y = ?", (0, 2, 0))
    wanted = f"SELECT {other}, 'it''s' FROM t WHERE x = NULL AND y = 'it''s'"
    assert insert_values(sql, ["it's", "b", None]) == wanted
    assert count_parameters(sql) == 3 and count_parameters(f"SELECT {other}") == 0


@pytest.mark.parametrize("rest", ["'$2", '"$2', "$a$ $2 $b$", "/* /* */ $2", "E'\\' $2", "-- $2"])
def test_what_is_not_closed_holds_no_parameter(rest: str) -> None:
    assert count_parameters(f"SELECT $1, {rest}") == 1
