"""Where a log is only read: what is played is known to change nothing, all else is left out."""

from __future__ import annotations

import json
import random
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repository import ROOT

from dyno.engines.mysql import in_place as of_mysql
from dyno.engines.mysql.session_words import judge_session_words as words_of_mysql
from dyno.engines.postgres import in_place as of_postgres
from dyno.engines.postgres.session_words import judge_session_words as words_of_postgres
from dyno.sql.lexing import UnreadableError, read_tokens
from dyno.sql.tokens import Quoting
from dyno.workloads.replay.in_place import (
    Allowed,
    RefusedStatement,
    ServerRules,
    empty_literals,
    taint_definitions,
)
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.sessions import Bounds

NASTY = tomllib.loads((ROOT / "tests" / "golden/nasty_statements.toml").read_text())
DOLLARS, BACKTICKS = Quoting(True, False, True), Quoting(False, True, False)
OWN = frozenset({"w", "wr"})
VIEWS = [
    ("view", "over_writing", "SELECT * FROM writing"),
    ("view", "writing", "SELECT w(id) FROM item"),
    ("view", "reading", "SELECT lower(name) FROM item"),
    ("table with a policy", "guarded", "SELECT (w(1) > 0)"),
]
SERVERS = {
    "postgres": ServerRules(
        of_postgres.HARMLESS,
        words_of_postgres,
        frozenset({DOLLARS}),
        shadowed=OWN,
        dotted=OWN | {"pg_terminate_backend", "pg_advisory_lock"},
    ),
    "mysql": ServerRules(of_mysql.HARMLESS, words_of_mysql, frozenset({BACKTICKS}), shadowed=OWN),
}
SERVERS = {name: taint_definitions(rules, VIEWS) for name, rules in SERVERS.items()}


def cases(word: str) -> list[tuple[str, str]]:
    return [(family, text) for family, lists in NASTY.items() for text in lists[word]]


@pytest.mark.parametrize(("family", "text"), cases("refused"))
def test_what_is_not_known_to_read_only_is_left_out(family: str, text: str) -> None:
    judged = SERVERS[family].judge(text)
    assert isinstance(judged, RefusedStatement), judged


@pytest.mark.parametrize(("family", "text"), cases("allowed"))
def test_what_reads_is_played(family: str, text: str) -> None:
    judged = SERVERS[family].judge(text)
    assert isinstance(judged, Allowed), judged


@pytest.mark.parametrize(
    ("family", "text", "played", "asks"),
    [
        ("postgres", "BEGIN READ WRITE", "BEGIN READ ONLY", False),
        ("postgres", "start transaction", "BEGIN READ ONLY", False),
        ("postgres", "RESET ALL", "RESET ALL", True),
        ("postgres", "discard all", "DISCARD ALL", True),
        ("postgres", "END", "COMMIT", False),
        ("mysql", "begin", "START TRANSACTION READ ONLY", False),
        (
            "mysql",
            "start transaction with consistent snapshot, read write",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            False,
        ),
        (
            "mysql",
            "SET @@session.sql_mode='', time_zone := '+00:00'",
            "SET SESSION sql_mode = '', SESSION time_zone = '+00:00'",
            False,
        ),
    ],
)
def test_what_sets_a_session_is_written_anew(
    family: str, text: str, played: str, asks: bool
) -> None:
    judged = SERVERS[family].judge(text)
    assert isinstance(judged, Allowed) and (judged.text, judged.asks) == (played, asks)


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        ("SET sql_mode = 'NO_BACKSLASH_ESCAPES'", r"SELECT '\', w(1) -- '"),
        ("SET sql_mode = 'ANSI_QUOTES'", r'SELECT "a\" , w(1) -- "'),
    ],
)
def test_a_text_is_left_out_where_a_session_may_read_it_in_two_ways(sets: str, text: str) -> None:
    rules = SERVERS["mysql"]
    other = replace(rules, readings=frozenset({Quoting(False, False, True)}))
    assert isinstance(other.judge(text), RefusedStatement)
    assert isinstance(rules.with_readings([sets]).judge(text), RefusedStatement)
    both = rules.with_readings([sets, "SET NAMES utf8"])
    assert len(both.readings) == 2
    assert isinstance(both.judge("SELECT 'plain', \"too\" FROM item"), Allowed)


def ship(line: str) -> str:
    """The line as Docker writes it, in two pieces that cut a word."""
    first, second = line[: line.find("sql_mo") + 6], line[line.find("sql_mo") + 6 :]
    pieces = (line,) if "sql_mo" not in line else (first, second)
    written = (json.dumps({"log": it, "stream": "stdout", "time": "2026"}) for it in pieces)
    return "".join(f"{it}\n" for it in written)


@pytest.mark.parametrize("write", [str, ship])
def test_a_log_is_judged_by_what_a_session_is_set_to_later(
    write: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    counts = []
    for number, sets in enumerate(("SET Sql_Mode = 'ANSI'", "SET sql_mode = 'ANSI_QUOTES'")):
        texts = (r'SELECT "a\" , w(1) -- "', "SELECT 1", sets)
        lines = [f"2026-01-01T00:00:01.000000Z\t    7 Query\t{text}\n" for text in texts]
        log = tmp_path / f"{number}.log"
        log.write_text("".join(map(write, lines)))
        bounds = Bounds(rules=(SERVERS["mysql"],))
        selection = lay_out(log, False, lambda _: None, bounds).selection
        counts.append({why: it.count for why, it in selection.left_out.items()})
    assert counts == [
        {"with SET that is not known to be harmless": 1},
        {"that call a function not known to read only": 1},
    ]


def test_standard_conforming_strings_are_followed() -> None:
    rules = SERVERS["postgres"]
    hidden = r"SELECT 'a\' || pg_terminate_backend(1) || '\b'"
    assert isinstance(rules.judge(hidden), RefusedStatement)
    escaping = replace(rules, readings=frozenset({Quoting(True, True, True)}))
    assert isinstance(escaping.judge(r"SELECT 'a\'b'"), Allowed)
    assert isinstance(escaping.judge(r"SELECT 'a\', w(1), '"), Allowed), "it is a text there"
    both = rules.with_readings(["SET standard_conforming_strings = off"])
    assert isinstance(both.judge(r"SELECT 'a\', w(1), '"), RefusedStatement)


@pytest.mark.parametrize("quoting", [DOLLARS, BACKTICKS])
@pytest.mark.parametrize(
    "text", ["'", '"', "/*", "'a\\", "\0", "SELECT \\", "SELECT {d '2020-01-01'}", "SELECT \x01"]
)
def test_what_a_server_may_read_in_another_way_is_not_read(text: str, quoting: Quoting) -> None:
    with pytest.raises(UnreadableError):
        read_tokens(text, quoting)


def test_a_statement_is_read_in_time_that_grows_with_it() -> None:
    for part in ("'a''b\\n',", "1" * 40 + "a,", "/* x */ ", "((((", '"q",', "-- x\n", "$a$ $a$"):
        for quoting in (DOLLARS, BACKTICKS):
            text = "SELECT " + part * (1 << 13) + "'"
            began_s = time.monotonic()
            with pytest.raises(UnreadableError):
                read_tokens(text, quoting)
            assert time.monotonic() - began_s < 5, part


def test_a_function_of_a_user_is_not_called_by_the_name_of_a_harmless_one() -> None:
    for family in SERVERS:
        for kelvin in ("SELECT ran\u212a(1)", "SELECT li\u212ae(1)"):
            assert isinstance(SERVERS[family].judge(kelvin), RefusedStatement)
        rules = replace(SERVERS[family], shadowed=frozenset({"lower", "filter"}))
        for text in ("SELECT lower('X')", "SELECT filter(1)"):
            assert isinstance(rules.judge(text), RefusedStatement), (family, text)


def test_values_are_sent_only_where_their_places_are_certain() -> None:
    assert isinstance(SERVERS["postgres"].judge("SELECT $1", ("1",)), Allowed)
    assert isinstance(SERVERS["postgres"].judge("SELECT a?$b$, $1, $b$", ("1",)), RefusedStatement)
    assert isinstance(SERVERS["mysql"].judge("SELECT ?", ("1",)), RefusedStatement)


#: Every way in which a session of either family may read quotes.
QUOTINGS = [
    *(Quoting(True, backslashes, True) for backslashes in (True, False)),
    *(Quoting(False, escapes, names) for escapes in (True, False) for names in (True, False)),
]
ALPHABET = (
    *("'", "''", "'a'", "x'", "E'", "_utf8'", '"', "`", "$", "$a$", "#", "-- ", "--", "/*", "*/"),
    *("/*!", "\\", "\0", "\n", " ", "(", ")", ",", ";", ".", ":", "@", "?", "a", "select", "w"),
    *("0", "17", "1.5", "1e3", "0x1f", "t0", "é", "u&", "b"),
)


def tokens_of(text: str, quoting: Quoting) -> list[tuple[str, str]] | None:
    """The tokens, literals without what they hold; none of a text that is not read."""
    try:
        found = read_tokens(text, quoting)
    except UnreadableError:
        return None
    literals = ("string", "number")
    return [(it.kind, "" if it.kind in literals else it.text) for it in found]


def test_the_shape_of_a_text_has_the_tokens_of_the_text_however_it_is_read() -> None:
    """A judgement of a shape holds for every text that has it."""
    rng, told = random.Random(7), 0
    for _ in range(40_000):
        text = "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 12)))
        if shape := empty_literals(text):
            told += 1
            for quoting in QUOTINGS:
                of_shape = tokens_of(shape, quoting)
                assert of_shape is None or of_shape == tokens_of(text, quoting), (text, shape)
    assert told > 2_000


def test_texts_that_differ_in_literals_have_one_shape_and_are_played_as_they_are() -> None:
    texts = [
        "SELECT c FROM t0 WHERE id = 17 AND p < 1.5 AND s = 'it''s -- ; /*';",
        "SELECT c FROM t0 WHERE id = 4 AND p < 22.25 AND s = 'x''';",
    ]
    assert empty_literals(texts[0]) == "SELECT c FROM t0 WHERE id = 0 AND p < 0 AND s = '''';"
    assert len(set(map(empty_literals, texts))) == 1
    for rules in SERVERS.values():
        assert [rules.judge(it) for it in texts] == [Allowed(it[:-1], reads=True) for it in texts]
