"""What two sides answered to a log: whose fault a difference is, and what rests on one before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audit_records import faults
from fakes import make_candidate, make_run, make_trial

from dyno.driver.events import read_whole_answer
from dyno.driver.lockstep import LogPlayed, read_log_answers
from dyno.instruments.time.contents import AskedStatement, Replies, Reply
from dyno.instruments.time.log_contents import LogReplies
from dyno.instruments.time.log_times import build_phase
from dyno.record import ComparedStatement
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.order import OrderedLog, read_order
from dyno.workloads.replay.sessions import Bounds

READ, WRITE = "SELECT name FROM item", "UPDATE item SET stock = 2"
OTHER = "SELECT a FROM elsewhere"
AT_ONCE = {"elapsed_ns": 0, "digests": ["a", "a"]}


def rows(*names: str, changed: int = 0, **more: Any) -> dict[str, Any]:
    told = {"columns": ["name"], "types": ["text"], "rows": [[it] for it in names]}
    return {**told, "changed": changed, "found": len(names), **AT_ONCE, **more}


def refused(code: str) -> dict[str, Any]:
    error = {"code": code, "text": f"the error {code}"}
    return {"columns": [], "rows": [], "changed": 0, "found": 0, **AT_ONCE, "refusal": error}


class Case:
    """A log of these statements, one session each unless they say it, and sides that answer."""

    def __init__(self, folder: Path, *statements: str | tuple[int, str]) -> None:
        self.folder, self.count = folder, len(statements)
        numbered = [it if isinstance(it, tuple) else (1, it) for it in statements]
        line = "2026-01-01 10:00:00.{:03} UTC [{}] app@shop LOG:  statement: {}\n"
        text = "".join(line.format(at, *each) for at, each in enumerate(numbered))
        (folder / "it.log").write_text(text)
        laid = lay_out(folder / "it.log", True, lambda _: None, Bounds(asks=False))
        log = read_order(laid.script)
        assert log is not None
        self.log: OrderedLog = log
        self.sides = 0

    def side(self, *answers: dict[str, Any]) -> LogReplies:
        assert len(answers) == self.count
        self.sides += 1
        file = self.folder / f"{self.sides}.answers"
        lines = (
            f"{at}\t1\t{json.dumps(it, separators=(',', ':'))}\n" for at, it in enumerate(answers)
        )
        file.write_text("".join(lines))
        return LogReplies(self.log, file, session_kind="postgres")

    def compare(self, *sides: LogReplies) -> dict[str, ComparedStatement]:
        base, own, *again = sides
        found = base.compare(own, again[0] if again else None, same_engine=True)
        return {it.text: it for it in found}


def counts(found: ComparedStatement) -> tuple[int, int, int, int]:
    return found.same, found.differs, found.undecidable, found.not_compared


def test_a_refusal_of_one_side_is_a_failure_of_that_side(tmp_path: Path) -> None:
    case = Case(tmp_path, READ, OTHER)
    found = case.compare(case.side(rows("x"), rows("y")), case.side(refused("42601"), rows("y")))
    assert found[READ].failed == 1 and found[READ].what == "error" and found[READ].example == READ
    assert found[READ].own == ("42601 the error 42601",) and counts(found[OTHER]) == (1, 0, 0, 0)


def test_what_both_refuse_is_the_same_and_told(tmp_path: Path) -> None:
    case = Case(tmp_path, READ)
    found = case.compare(case.side(refused("42P01")), case.side(refused("42P01")))[READ]
    assert counts(found) == (1, 0, 0, 0) and found.failed_both == 1
    assert "42P01 the error" in found.why


def test_what_the_base_answers_otherwise_to_itself_is_unsteady(tmp_path: Path) -> None:
    case = Case(tmp_path, READ)
    sides = [case.side(rows(it)) for it in "xyz"]
    found = case.compare(*sides)[READ]
    assert counts(found) == (0, 0, 1, 0) and found.unsteady == 1
    steady = case.compare(sides[0], sides[1], sides[0])[READ]
    assert counts(steady) == (0, 1, 0, 0) and not steady.unsteady


@pytest.mark.parametrize(
    ("before", "after", "rests"),
    [
        (rows(changed=2), rows(changed=1), True),
        (rows(changed=2), refused("23505"), True),
        (rows(changed=2), rows(changed=2), False),
    ],
)
def test_other_rows_after_another_write_rest_on_it(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], rests: bool
) -> None:
    case = Case(tmp_path, WRITE, READ, OTHER)
    base = case.side(before, rows("x"), rows("a"))
    found = case.compare(base, case.side(after, rows("y"), rows("b")))
    assert found[READ].downstream == rests and found[READ].differs == (not rests)
    assert found[OTHER].differs == 1 and not found[OTHER].downstream


def test_a_statement_that_means_nothing_on_one_side_rests_on_no_rows(tmp_path: Path) -> None:
    case = Case(tmp_path, WRITE, READ, READ)
    base = case.side(rows(changed=2), rows("x"), rows("x"))
    own = case.side(rows(changed=1), refused("42883"), refused("23503"))
    found = case.compare(base, own)[READ]
    assert (found.failed, found.downstream) == (1, 1)


def test_a_failed_transaction_takes_what_it_wrote_before_with_it(tmp_path: Path) -> None:
    session = [(1, "BEGIN"), (1, WRITE), (1, OTHER), (1, READ), (1, "ROLLBACK"), (2, READ)]
    case = Case(tmp_path, *session)
    good = [rows(), rows(changed=1), rows("a"), rows("x"), rows(), rows("x")]
    bad = [rows(), rows(changed=1), refused("42703"), refused("25P02"), rows(), rows("z")]
    own = case.compare(case.side(*good), case.side(*bad))
    assert own[OTHER].failed == 1
    # the failed transaction's own statements, and what others read of it, are no faults of theirs
    assert own[READ].downstream == 2 and own[READ].failed == 0


def test_rows_of_a_table_rest_on_what_wrote_it(tmp_path: Path) -> None:
    case = Case(tmp_path, WRITE)
    base, own = case.side(rows(changed=2)), case.side(rows(changed=1))
    for side, name in ((base, "x"), (own, "y")):
        whole = read_whole_answer(rows(name))
        questions = [AskedStatement(f"rows of public.{it}", "table", "SELECT") for it in TABLES]
        side.tables = Replies([Reply(it, whole) for it in questions], "postgres")
    found = case.compare(base, own)
    assert [found[f"rows of public.{it}"].downstream for it in TABLES] == [1, 0]
    assert found["rows of public.elsewhere"].differs == 1


TABLES = ("item", "elsewhere")


def test_answers_that_waited_for_a_lock_come_in_their_place(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text("0\t1\ta\n2\t1\tc\n3\t1\td\n1\t9\tb\n4\t1\te\n")
    assert [it.line for it in read_log_answers(file)] == [b"a", b"b", b"c", b"d", b"e"]


def test_a_class_that_is_the_same_has_its_first_execution_as_an_example(tmp_path: Path) -> None:
    case = Case(tmp_path, READ)
    assert case.compare(case.side(rows()), case.side(rows()))[READ].example == READ


def test_what_was_not_answered_is_not_compared(tmp_path: Path) -> None:
    case = Case(tmp_path, READ)
    cut = {**rows(), "cut": "it was not answered", "digests": ["", ""]}
    assert counts(case.compare(case.side(cut), case.side(cut))[READ]) == (0, 0, 0, 1)


def test_a_class_s_time_is_that_of_its_statements_but_for_those_that_waited_or_were_refused(
    tmp_path: Path,
) -> None:
    case = Case(tmp_path, READ, READ, OTHER, WRITE)
    side = case.side(rows("x"), rows("x"), refused("42P01"), rows())
    side.answers.write_text('0\t100\t{}\n1\t300\t{}\n2\t50\t{"refusal":{}}\n3\t0\t{}\n')
    side.played, side.span_ns = LogPlayed(4, 1, 1, 0, 0), (1_000, 2_000)
    phase = build_phase(side)
    (tally,) = phase.streams
    assert {it: one.mean_ns for it, one in tally.transactions.items()} == {READ: 200.0}
    assert (tally.done, tally.failed, tally.intended) == (2, 1, 3)
    assert tally.latency.count == tally.done and phase.duration_s == pytest.approx(1e-6)
    trial = make_trial(1, "new", 0, 1, phases=(phase,))
    assert not faults("counters", make_run([make_candidate("new")]), trial)
