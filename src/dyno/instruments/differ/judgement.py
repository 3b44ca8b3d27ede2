"""Both sides' answers to a script held against each other, statement by statement, by the rules of
`dyno.answers`: what differs, of which class, and what only rests on an earlier difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dyno.answers import Sameness
from dyno.driver import WholeAnswer, compare_whole_answers
from dyno.instruments.differ.grammar import KnownChange
from dyno.instruments.differ.sides import Pair, PlayedScript
from dyno.instruments.differ.tree import MadeStatement
from dyno.record.differ import DifferenceClass

#: Classes by the kind of what differs (`Sameness.kind`).
CLASSES: dict[str, DifferenceClass] = {
    "order": "order differs",
    "types": "type or precision differs",
    "digits": "type or precision differs",
    "columns": "type or precision differs",
    "rows changed": "effect differs",
    "insert id": "effect differs",
    "warnings": "warnings differ",
}
#: After these both sides hold the same rows.
HARMLESS: tuple[DifferenceClass, ...] = (
    "other error",
    "warnings differ",
    "type or precision differs",
)
#: Why a side has no answer, by how it ended.
ENDINGS = {
    "crash": "one side crashes",
    "hang": "one side does not answer",
    "connection closed": "one side closes the connection",
}
#: What takes one side longer than that is slow, and on the other side no hang.
SLOW_S = 0.5
#: What stands between quotes, and numbers: they differ between finds of one cause.
_OWN_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b[a-z]\d+(?:\.\w+)?\b|\d+")


@dataclass(frozen=True)
class AnswerDifference:
    """A statement that is answered otherwise: its place in the script, class, and how the answers
    begin; `error` has the words of a side that alone refuses or ends, `types` the first
    two that differ.
    """

    place: int
    kind: DifferenceClass
    why: str
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    error: str = ""
    types: str = ""

    @property
    def signature(self) -> str:
        """What a smaller script must still show to be of the same difference."""
        return f"{self.kind}: {self.side} {_OWN_WORDS.sub('?', self.error)}{self.types}"

    @property
    def tells_enough(self) -> bool:
        """Return whether the signature names the cause as well as a script would: an error's words,
        or two types. What a crash says last is none.
        """
        return bool(self.types or self.error) and self.kind not in ENDINGS

    @property
    def side(self) -> str:
        """Who refuses, where one side alone does."""
        if not self.error:
            return ""
        return "other" if self.ours == ("(no error)",) else "base"


@dataclass
class Judged:
    """What came of a script: how many statements of each word, and what differs."""

    words: Counter[str] = field(default_factory=Counter)
    differences: list[AnswerDifference] = field(default_factory=list)


def judge_script(statements: Sequence[MadeStatement], pair: Pair) -> Judged:
    """Play a script on both sides and judge their answers. Behind a write, or within a transaction,
    that differs nothing is judged: its rows are others.
    """
    ours, theirs = pair.play([it.sql for it in statements])
    judged = Judged()
    judged.words["unrepeated"] = sum(bool(it.words) and not it.ending for it in (ours, theirs))
    is_open = False
    for place, statement in enumerate(statements):
        if end := _judge_end(place, ours, theirs):
            judged.differences.append(end)
            judged.words["differs"] += 1
            judged.words["not compared"] += len(statements) - place - 1
            break
        if place >= min(len(ours.answers), len(theirs.answers)):
            # both end here in the same way, or one is slow
            judged.words["not compared"] += len(statements) - place
            break
        one, two = ours.answers[place], theirs.answers[place]
        found = compare_whole_answers(
            one,
            two,
            statement.sql,
            kind=pair.base.kind,
            same_engine=pair.same_engine,
            orders_are_total=True,
        )
        judged.words[found.word] += 1
        judged.words["refused"] += bool(one.answer.refusal and two.answer.refusal)
        is_open = _is_open(is_open, statement.sql)
        if found.word == "differs":
            judged.differences.append(_make_difference(place, found, one, two))
            kind = judged.differences[-1].kind
            if kind not in HARMLESS and (
                not statement.reads or (is_open and kind == "error on one side")
            ):
                judged.words["not compared"] += len(statements) - place - 1
                break
        elif found.word != "same" and not statement.reads:
            judged.words["not compared"] += len(statements) - place - 1
            break
    return judged


def _is_open(before: bool, sql: str) -> bool:
    if sql in ("COMMIT", "ROLLBACK"):
        return False
    return before or sql == "BEGIN"


def _judge_end(place: int, ours: PlayedScript, theirs: PlayedScript) -> AnswerDifference | None:
    """How one side ended at this place, where the other did not."""
    for side, beside in ((ours, theirs), (theirs, ours)):
        if side.ending and len(side.answers) == place:
            if beside.ending == side.ending and len(beside.answers) == place:
                return None
            taken_s = sum(it.elapsed_ns for it in beside.answers[place : place + 1]) / 1e9
            if side.ending == "hang" and taken_s > SLOW_S:
                return None
            shown = [(it.words,) if it is side else ("(no error)",) for it in (ours, theirs)]
            why = ENDINGS[side.ending]
            return AnswerDifference(place, side.ending, why, shown[0], shown[1], side.words)
    return None


def _make_difference(
    place: int, found: Sameness, one: WholeAnswer, two: WholeAnswer
) -> AnswerDifference:
    refusals = [it.answer.refusal for it in (one, two)]
    if any(refusals):
        alone = [it for it in refusals if it]
        kind: DifferenceClass = "error on one side" if len(alone) == 1 else "other error"
        words = "; ".join(f"{it.code} {it.text}" for it in alone)
        return AnswerDifference(place, kind, found.why, found.ours, found.theirs, words)
    kind = CLASSES.get(found.kind, "rows differ")
    if found.kind == "rows" and one.found == two.found:
        kind = "values differ"
    if found.kind == "columns" and one.found != two.found:
        kind = "rows differ"
    types = ""
    if found.kind == "types":
        pairs = zip(one.answer.columns, two.answer.columns, strict=False)
        types = next((f"{a.type} and {b.type}" for a, b in pairs if a.type != b.type), "")
    return AnswerDifference(place, kind, found.why, found.ours, found.theirs, types=types)


def explain(
    changes: Iterable[KnownChange],
    found: AnswerDifference,
    statements: Sequence[str],
    *,
    reduced: bool,
) -> KnownChange | None:
    """Return the change that a difference of the last of `statements` is. Before it is `reduced` a
    statement holds much that has no part in it: only words of an error, or answers, tell then.
    """
    answers = " ".join((*found.ours, "/", *found.theirs))
    for change in changes:
        is_told = bool(change.error or change.answer)
        if (change.classes and found.kind not in change.classes) or not (is_told or reduced):
            continue
        sql = "\n".join(statements) if reduced else statements[-1]
        held = ((change.error, found.error), (change.answer, answers), (change.pattern, sql))
        if all(re.search(pattern, text, re.I | re.S) for pattern, text in held if pattern):
            return change
    return None
