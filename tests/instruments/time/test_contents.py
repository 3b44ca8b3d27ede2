"""What each side is asked, and when its answers are held against the base's."""

from __future__ import annotations

from msgspec.structs import replace

from dyno.answers import Answer, Column, Refusal
from dyno.driver import Execution, WholeAnswer
from dyno.instruments.time.contents import (
    AskedStatement,
    Replies,
    Reply,
    compare_replies,
    list_questions,
)
from dyno.instruments.time.known_statements import KnownText
from dyno.record import ComparedStatement, StatementKind

READ = "SELECT c FROM t WHERE id=?"


def text(words: str, kind: StatementKind, *runs: tuple[int, str]) -> KnownText:
    executions = tuple(Execution(0, place, sql) for place, sql in runs)
    return KnownText(words, kind, executions)


def whole(*rows: str, digests: tuple[str, str] = ("a", "a"), cut: str = "") -> WholeAnswer:
    answer = Answer((Column("c", "text"),), tuple((row,) for row in rows), 0, cut=cut)
    return WholeAnswer(answer, digests, len(rows), 1)


def side(*answers: WholeAnswer | None, kind: str = "read", writes: int = 0) -> Replies:
    question = AskedStatement(READ, kind, "SELECT c FROM t WHERE id=1")
    replies = [Reply(question, each, "" if each else "it took too long") for each in answers]
    return Replies(replies, "postgres", writes)


def compare(base: Replies, own: Replies, again: Replies | None = None) -> ComparedStatement:
    (found,) = compare_replies(base, own, again, same_engine=True)
    return found


def counts(found: ComparedStatement) -> tuple[int, int, int, int]:
    return found.same, found.differs, found.undecidable, found.not_compared


def test_reads_come_in_rounds_with_values_at_the_edges_and_writes_as_they_were_sent() -> None:
    asked = (
        text(READ, "read", (0, "SELECT c FROM t WHERE id=1"), (4, "SELECT c FROM t WHERE id=2")),
        text("SELECT ?", "read", (2, "SELECT '9' || \"a1\"")),
        text("UPDATE t SET c=?", "update", (1, "UPDATE t SET c=1"), (5, "UPDATE t SET c=2")),
        text("DELETE FROM t", "delete", (3, "DELETE FROM t")),
        text("BEGIN", "begin", (6, "BEGIN")),
        text("INSERT INTO t VALUES (?)", "insert"),
    )
    reads, writes, unknown = list_questions(asked)
    assert [it.sql for it in reads] == [
        "SELECT c FROM t WHERE id=1",
        "SELECT '9' || \"a1\"",
        "SELECT c FROM t WHERE id=0",
        "SELECT c FROM t WHERE id=-1",
        "SELECT c FROM t WHERE id=2147483647",
        "SELECT c FROM t WHERE id=2",
    ]
    assert [it.sql for it in writes] == ["UPDATE t SET c=1", "DELETE FROM t", "UPDATE t SET c=2"]
    assert [it.text for it in unknown] == ["INSERT INTO t VALUES (?)"]


def test_an_answer_that_differs_is_counted_with_its_execution() -> None:
    found = compare(side(whole("x"), whole("y")), side(whole("x"), whole("z")))
    assert counts(found) == (1, 1, 0, 0) and found.example == "SELECT c FROM t WHERE id=1"
    assert found.base != found.own


def test_what_the_base_answers_otherwise_when_asked_again_is_undecidable() -> None:
    base, own = side(whole("x")), side(whole("y"))
    assert counts(compare(base, own, side(whole("x")))) == (0, 1, 0, 0)
    found = compare(base, own, side(whole("w")))
    assert counts(found) == (0, 0, 1, 0) and "asked again" in found.why


def test_the_engine_s_own_figures_are_undecidable() -> None:
    own = AskedStatement("SELECT x FROM information_schema.tables", "read", "SELECT 1")
    base, other = (Replies([Reply(own, whole(each))], "postgres") for each in "xy")
    assert counts(compare(base, other)) == (0, 0, 1, 0)


def test_what_was_not_answered_is_not_compared() -> None:
    assert counts(compare(side(None), side(whole("x")))) == (0, 0, 0, 1)
    assert counts(compare(side(whole("x")), side(None))) == (0, 0, 0, 1)
    assert counts(compare(side(whole("x")), side())) == (0, 0, 0, 1)


def test_a_table_that_neither_side_shows_is_not_the_same() -> None:
    refused = replace(whole(), answer=Answer(refusal=Refusal("42P01", "no such table")))
    found = compare(side(refused, kind="table"), side(refused, kind="table"))
    assert counts(found) == (0, 0, 0, 1) and found.why == "no such table"
    assert counts(compare(side(refused), side(refused))) == (1, 0, 0, 0)


def test_tables_are_not_compared_where_a_write_did_not_come_to_its_end() -> None:
    base, own = side(whole("x"), kind="table", writes=3), side(whole("y"), kind="table", writes=2)
    assert counts(compare(base, own)) == (0, 0, 0, 1)


def test_long_answers_are_compared_by_number_and_digest() -> None:
    long = whole("x", digests=("a", "b"), cut="long")
    assert counts(compare(side(long), side(long))) == (1, 0, 0, 0)
    turned = replace(long, digests=("c", "b"))
    assert counts(compare(side(long), side(turned))) == (0, 0, 0, 1)
    assert counts(compare(side(long), side(replace(long, found=7)))) == (0, 1, 0, 0)
    unknown = replace(long, digests=("", ""), found=0)
    assert counts(compare(side(unknown), side(unknown))) == (0, 0, 0, 1)
