"""What texts of MySQL's family name and do, where it would be easy to miss it."""

from __future__ import annotations

import pytest

from dyno.engines.mysql.explain_nodes import Remains
from dyno.engines.mysql.reach import Reach, Table, may_see_triggers
from dyno.engines.mysql.texts import (
    find_body_problem,
    find_heads,
    find_names,
    find_table_places,
    is_write,
)
from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)


def read(sql: str) -> list[Token]:
    return read_tokens(sql, QUOTING)


@pytest.mark.parametrize(
    "body",
    [
        "BEGIN IF a THEN SET GLOBAL x = 1; END IF; END",
        "BEGIN x: LOOP SET GLOBAL x = 1; END LOOP; END",
        "BEGIN CASE WHEN CASE a WHEN 1 THEN 2 END THEN SET @@x = 1; END CASE; END",
        "BEGIN DECLARE CONTINUE HANDLER FOR 1062, SQLSTATE VALUE '02000' SET GLOBAL x = 1; END",
        "BEGIN DECLARE EXIT HANDLER FOR NOT FOUND BEGIN SET GLOBAL x = 1; END; END",
        "BEGIN WHILE a DO SET x = 1; END WHILE; END",
        "BEGIN SET @a = 1, x = 2; END",
        "BEGIN SET a = (SELECT 1), @@SESSION.x = 2; END",
        "SET PASSWORD = 'x'",
        "BEGIN IF a THEN (SELECT 1); COMMIT; END IF; END",
        "BEGIN PREPARE s FROM 'x'; END",
        "EXECUTE IMMEDIATE 'x'",
        "CREATE TEMPORARY TABLE a (b INT)",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN REPEAT KILL 1; UNTIL 1 END REPEAT; END",
    ],
)
def test_a_statement_of_an_unknown_kind_is_found_wherever_it_stands(body: str) -> None:
    assert find_body_problem(read(body), frozenset({"x"}))


@pytest.mark.parametrize(
    "body",
    [
        "BEGIN DECLARE x INT; SET x = CASE WHEN a THEN 1 ELSE 2 END; RETURN x; END",
        "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; CLOSE c; END",
        "SET NEW.x = 1, @x = 2",
        "RETURN IF(a, REPEAT('x', 3), REPLACE(a, 'b', 'c'))",
        "BEGIN GET DIAGNOSTICS CONDITION 1 a = MESSAGE_TEXT; SIGNAL SQLSTATE '45000' "
        "SET MESSAGE_TEXT = a; END",
        "BEGIN l: WHILE a DO IF b THEN LEAVE l; ELSEIF c THEN ITERATE l; END IF; END WHILE l; END",
    ],
)
def test_a_body_that_changes_tables_at_most_has_no_problem(body: str) -> None:
    tokens = read(body)
    assert not find_body_problem(tokens, frozenset({"x"}))
    assert not any(is_write(tokens, head) for head in find_heads(tokens))


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a.b FROM x a, y.z JOIN (w, v) ON f(a, b), u", {"x", "y.z", "w", "v", "u"}),
        ("SELECT EXTRACT(YEAR FROM a), TRIM(b FROM c) FROM x WHERE d IN (SELECT 1)", {"x"}),
        ("WITH c (a) AS (SELECT * FROM x), d AS (TABLE y) SELECT * FROM c, d", {"x"}),
        (
            "INSERT INTO x (a, b) SELECT a, b FROM y ON DUPLICATE KEY UPDATE a = 1, b = 2",
            {"x", "y"},
        ),
        ("SELECT a, b INTO c, d FROM x FOR UPDATE", {"x"}),
        ("UPDATE LOW_PRIORITY x, y SET a = 1, b = 2", {"x", "y"}),
    ],
)
def test_a_table_is_found_where_one_stands_for_certain(sql: str, tables: set[str]) -> None:
    assert {".".join(it.parts) for it in find_table_places(read(sql))} == tables


def test_every_name_that_may_be_a_table_counts_as_one() -> None:
    names = [it for it in find_names(read("DELETE `a b`, c FROM d.e USING f")) if it.may_be_table]
    assert {"a b", "c", "d", "f"} <= {it.parts[0] for it in names}
    assert ("d", "e") in {key for it in names for key in it.list_keys("x")}
    (target,) = [it for it in find_names(read("INSERT x.t (a) VALUES (1)")) if it.parts[-1] == "t"]
    assert target.may_be_table and not target.is_call
    dotted = find_names(read("DELETE FROM .t"))
    assert [it.parts for it in dotted if it.may_be_table][-1] == ("t",)
    for sql in ("SELECT * FROM a.1e5", "SELECT * FROM a.0x1f"):
        with pytest.raises(UnreadableError, match="looks like a number"):
            list(find_names(read(sql)))


def test_tables_too_large_for_their_checksums_are_named_as_not_checked() -> None:
    large = Table("shop", "orders", "BASE TABLE", "InnoDB", 3 << 30, "the statement")
    reach = Reach({("shop", "orders"): large}, writes=True)

    def ask(session: object, statements: object) -> list[list[list[str | None]]]:
        raise AssertionError(f"asked {statements}")

    told = Remains(ask, {"kind": "mysql"}, reach).describe(ask)
    assert told.startswith("tables reached: not checked: ") and "3,072 MiB" in told


@pytest.mark.parametrize(
    ("grants", "sees"),
    [
        (["GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"], True),
        (["GRANT SELECT, TRIGGER ON `shop`.* TO `a`@`%`"], True),
        (["GRANT TRIGGER ON `shop`.`orders` TO `a`@`%`"], True),
        (["GRANT TRIGGER ON `sh%`.* TO `a`@`%`"], True),
        ([r"GRANT TRIGGER ON `sh\_p`.* TO `a`@`%`"], False),
        (["GRANT TRIGGER ON `sh_p`.* TO `a`@`%`"], True),
        (["GRANT TRIGGER ON `shop`.`items` TO `a`@`%`"], False),
        (["GRANT SELECT ON *.* TO `a`@`%`", "GRANT `trigger`@`%` TO `a`@`%`"], False),
        (["GRANT TRIGGER ON *.* TO `a`@`%`", "REVOKE TRIGGER ON `shop`.* FROM `a`@`%`"], False),
    ],
)
def test_the_right_to_see_a_tables_triggers_is_read_from_grants(
    grants: list[str], sees: bool
) -> None:
    assert may_see_triggers(grants, "shop", "orders") == sees
