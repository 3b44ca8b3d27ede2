"""Rows against rows: positions within what the keys say, multisets within what they leave open.

A hash of exact forms finds the rows that have no equal; only these few are held against each other
with tolerance, pair by pair, so that nothing is rounded before it is hashed or sorted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from dyno.answers.cells import (
    DIGITS_15,
    Family,
    Sameness,
    Word,
    are_close,
    describe_spelling,
    guess_form,
    is_cut,
    make_form,
    strip_case,
)
from dyno.answers.ordering import FOLDING_KINDS, Openness
from dyno.numbers import format_count
from dyno.printable import escape_line

Row = tuple[str | None, ...]
Form = tuple[Hashable, ...]
#: Rows that are shown side by side, and letters of a cell and of a row.
SHOWN, CELL_LETTERS, ROW_LETTERS = 3, 80, 240
#: Rows alike in all but floats that are paired in any way; more are paired in their order only.
PAIRED = 64
#: What a sum of floats may lose by another order of its addends, as a part of it.
SUM_TOLERANCE = 1e-9
#: To how many digits sums must agree to be called the same; to fewer it is undecidable.
SUM_DIGITS = 12
ADDED = "floats were added, and in which order is open"


@dataclass(frozen=True)
class RowReader:
    """How rows of two answers are read: by their columns' families, and by what the text leaves."""

    families: tuple[Family, ...]
    openness: Openness
    kind: str
    same_engine: bool

    def make_forms(self, rows: Sequence[Row]) -> list[Form]:
        """Return each row by the values of its cells; NULL is None."""
        makers = [make_form(family) for family in self.families]
        return [
            tuple(
                None if cell is None else make(cell) for make, cell in zip(makers, row, strict=True)
            )
            for row in rows
        ]

    def can_fold(self, column: int) -> bool:
        """Return whether a collation may have taken one spelling for another in this column."""
        is_text = self.families[column] in ("text", "char", "unknown")
        return is_text and self.kind in FOLDING_KINDS


@dataclass
class _Found:
    """Rows without an equal, by their numbers in both answers; and what was seen on the way."""

    ours: list[int]
    theirs: list[int]
    cut: tuple[list[int], list[int]] | None = None
    is_permuted: bool = False


def compare_rows(base: Sequence[Row], other: Sequence[Row], reader: RowReader) -> Sameness:
    """Return whether rows are the same, within what the text leaves open. They are not equal as
    texts in their order: that is asked before.
    """
    return _Comparison(base, other, reader).judge()


class _Comparison:
    def __init__(self, base: Sequence[Row], other: Sequence[Row], reader: RowReader) -> None:
        self.base, self.other, self.reader = base, other, reader
        self.open = reader.openness
        self.ours, self.theirs = reader.make_forms(base), reader.make_forms(other)

    def judge(self) -> Sameness:
        if len(self.base) != len(self.other):
            return self._judge_numbers()
        at = self._find_other_key()
        if at is not None and Counter(self.ours) == Counter(self.theirs):
            return self._judge_order(at)
        found = self._find_unequal([()] * len(self.base) if at is not None else None)
        if found.ours:
            return self._judge_unequal(found.ours, found.theirs)
        if found.cut:
            return self._say("undecidable", self.open.cut, "rows", *found.cut)
        if found.is_permuted and (self.open.hidden or self.open.unread):
            return self._judge_unseen_order()
        return Sameness("same", self._describe_spellings())

    def _judge_numbers(self) -> Sameness:
        ours, theirs = _subtract(self.ours, self.theirs), _subtract(self.theirs, self.ours)
        why = f"{len(self.base)} and {format_count(len(self.other), 'row')}"
        if self.open.chooses:
            return self._say("undecidable", f"{why}: {self.open.chooses}", "rows", ours, theirs)
        return self._say("differs", why, "rows", ours, theirs)

    def _take_key(self, form: Form) -> Form:
        return tuple(form[column] for column in self.open.keys)

    def _find_other_key(self) -> int | None:
        if not self.open.keys:
            return None
        pairs = zip(self.ours, self.theirs, strict=True)
        places = enumerate(self._take_key(one) != self._take_key(other) for one, other in pairs)
        return next((at for at, is_other in places if is_other), None)

    def _judge_order(self, at: int) -> Sameness:
        """Judge the same rows, whose keys are in another order."""
        pairs = zip(self.ours, self.theirs, strict=True)
        if all(self._strip_key(one) == self._strip_key(other) for one, other in pairs):
            why = "a collation may hold keys equal that differ in case, accents or blanks"
            return self._say("undecidable", why, "order", [at], [at])
        shown = list(range(at, min(at + SHOWN, len(self.base))))
        return self._say("differs", "the same rows in another order", "order", shown, shown)

    def _strip_key(self, form: Form) -> Form:
        return tuple(
            strip_case(value) if self.reader.can_fold(column) and isinstance(value, str) else value
            for column, value in zip(self.open.keys, self._take_key(form), strict=True)
        )

    def _find_unequal(self, keys: Sequence[Form] | None) -> _Found:
        """Rows without an equal among those of the same keys; where a LIMIT may have chosen (the
        last such rows, with an OFFSET the first, too) apart.
        """
        found = _Found([], [])
        is_whole = keys is not None
        each = keys if keys is not None else [self._take_key(form) for form in self.ours]
        for _, group in groupby(range(len(self.ours)), key=each.__getitem__):
            places = list(group)
            ours, theirs = ([forms[at] for at in places] for forms in (self.ours, self.theirs))
            if ours == theirs:
                continue
            found.is_permuted = True
            more, less = _subtract(ours, theirs), _subtract(theirs, ours)
            at_edge = places[-1] == len(each) - 1 or (self.open.cuts_before and places[0] == 0)
            rows = [places[it] for it in more], [places[it] for it in less]
            if more and self.open.cut and at_edge and not is_whole:
                found.cut = found.cut or rows
            else:
                found.ours += rows[0]
                found.theirs += rows[1]
        return found

    def _judge_unseen_order(self) -> Sameness:
        hidden = f"they are ordered by {self.open.hidden}, which is not among the columns"
        why = f"the text is not read: {self.open.unread}" if self.open.unread else hidden
        pairs = enumerate(zip(self.ours, self.theirs, strict=True))
        at = next(place for place, (one, other) in pairs if one != other)
        return self._say("undecidable", f"rows are in another order: {why}", "order", [at], [at])

    def _judge_unequal(self, ours: list[int], theirs: list[int]) -> Sameness:
        if self.open.chooses:
            return self._say("undecidable", self.open.chooses, "rows", ours, theirs)
        pairs = self._pair(ours, theirs)
        if pairs is None:
            return self._say(
                "differs",
                f"{format_count(len(ours), 'row')} {'differs' if len(ours) == 1 else 'differ'}",
                "rows",
                ours,
                theirs,
            )
        reasons = dict(reason for pair in pairs for reason in self._list_reasons(*pair))
        hard = next((why for why, is_hard in reasons.items() if is_hard), "")
        if list(reasons) == [ADDED] and self._are_in_place(pairs):
            digits = min(self._count_digits(*pair) for pair in pairs)
            if digits >= SUM_DIGITS:
                return Sameness("same", f"sums are the same to {digits} digits: {ADDED}")
        shown = [one for one, _ in pairs], [other for _, other in pairs]
        if hard:
            return self._say("differs", hard, "digits", *shown)
        return self._say("undecidable", "; ".join(reasons), "rows", *shown)

    def _are_in_place(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Return whether the rows come in one order, if the text asks for any; ties may not."""
        paired = {one for one, _ in pairs}
        left = (at for at in range(len(self.ours)) if at not in paired)
        return not self.open.is_ordered or (
            all(one == other for one, other in pairs)
            and all(self.ours[at] == self.theirs[at] for at in left)
        )

    def _count_digits(self, ours: int, theirs: int) -> int:
        floats = zip(
            self._list_floats(self.base[ours]), self._list_floats(self.other[theirs]), strict=True
        )
        parts = (
            abs(one - other) / max(abs(one), abs(other)) for one, other in floats if one != other
        )
        return int(-math.log10(max(parts)))

    def _pair(self, ours: list[int], theirs: list[int]) -> list[tuple[int, int]] | None:
        """Pairs of rows that are the same but for what is open; None where some have no other."""
        buckets: dict[Form, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, (rows, places) in enumerate(((self.base, ours), (self.other, theirs))):
            for at in places:
                buckets[self._strip_open(rows[at])[0]][side].append(at)
        pairs: list[tuple[int, int]] = []
        for mine, others in buckets.values():
            found = self._pair_floats(mine, others) if len(mine) == len(others) else None
            if found is None:
                return None
            pairs += found
        return sorted(pairs)

    def _strip_open(self, row: Row) -> tuple[Form, dict[int, float]]:
        """A row without what is open, and its floats by their columns."""
        rest: list[Hashable] = []
        floats: dict[int, float] = {}
        for column, cell in enumerate(row):
            family = self.reader.families[column]
            form: Hashable = None
            if cell is not None:
                form = guess_form(cell) if family == "unknown" else make_form(family)(cell)
            if column in self.open.free:
                form = True
            elif isinstance(form, float):
                floats[column], form = form, "float"
            elif self._may_be_respelled(column) and isinstance(form, str):
                form = strip_case(form)
            rest.append(form)
        return tuple(rest), floats

    def _may_be_respelled(self, column: int) -> bool:
        return self.open.groups and self.reader.can_fold(column)

    def _pair_floats(self, ours: list[int], theirs: list[int]) -> list[tuple[int, int]] | None:
        """Each row with one whose floats are close, in the order of the floats."""
        mine = sorted((self._list_floats(self.base[at]), at) for at in ours)
        others = sorted((self._list_floats(self.other[at]), at) for at in theirs)
        columns = list(self._strip_open(self.base[ours[0]])[1])
        pairs = []
        for place, (floats, at) in enumerate(mine):
            reach = others if len(mine) <= PAIRED else others[place : place + 1]
            found = next((it for it in reach if self._are_close(floats, it[0], columns)), None)
            if found is None:
                return None
            if reach is others:
                others.remove(found)
            pairs.append((at, found[1]))
        return pairs

    def _list_floats(self, row: Row) -> tuple[float, ...]:
        return tuple(self._strip_open(row)[1].values())

    def _are_close(
        self, one: tuple[float, ...], other: tuple[float, ...], columns: Sequence[int]
    ) -> bool:
        # a column of unknown type may be of decimals, whose sums are exact
        added = {it for it in self.open.added if self.reader.families[it] == "float"}
        return all(
            are_close(mine, theirs, SUM_TOLERANCE if column in added else DIGITS_15)
            for column, mine, theirs in zip(columns, one, other, strict=True)
        )

    def _list_reasons(self, ours: int, theirs: int) -> Iterator[tuple[str, bool]]:
        """Yield why two rows that were paired are not equal, and whether that is a difference for
        certain.
        """
        for column, (one, other) in enumerate(
            zip(self.base[ours], self.other[theirs], strict=True)
        ):
            if self.ours[ours][column] == self.theirs[theirs][column] or one is None:
                continue
            family = self.reader.families[column]
            if column in self.open.free:
                yield self.open.free[column], False
            elif family == "float" and column in self.open.added:
                yield ADDED, False
            elif family == "float" and other is not None and is_cut(one, other):
                yield f"one side writes 15 digits of a float: {one} and {other}", False
            elif family == "float" and not self.reader.same_engine:
                yield "floats are the same to 15 digits, on engines of other arithmetic", False
            elif family == "float":
                yield f"floats are the same to 15 digits, not exactly: {one} and {other}", True
            elif (
                self._may_be_respelled(column)
                and other is not None
                and strip_case(one) == strip_case(other)
            ):
                yield f"a collation may answer either spelling: '{one}' and '{other}'", False
            else:
                yield f"the column's type is unknown: {one} and {other}", False

    def _describe_spellings(self) -> str:
        """What is spelled otherwise in rows that are the same: of each family the first."""
        if Counter(self.base) == Counter(self.other):
            return ""
        known = dict(zip(self.ours, self.base, strict=True))
        told: dict[Family, str] = {}
        for form, row in zip(self.theirs, self.other, strict=True):
            for family, one, other in zip(self.reader.families, known[form], row, strict=True):
                if one != other and one is not None and other is not None:
                    told.setdefault(family, describe_spelling(family, one, other))
        return "; ".join(told.values())

    def _say(
        self, word: Word, why: str, kind: str, ours: Sequence[int], theirs: Sequence[int]
    ) -> Sameness:
        mine = tuple(_print_row(self.base[at]) for at in ours[:SHOWN])
        others = tuple(_print_row(self.other[at]) for at in theirs[:SHOWN])
        return Sameness(word, why, kind, mine, others)


def _subtract(forms: Sequence[Form], others: Sequence[Form]) -> list[int]:
    """The numbers of the rows that are left where each of the others takes one that is equal."""
    left = Counter(others)
    more = []
    for at, form in enumerate(forms):
        if left[form]:
            left[form] -= 1
        else:
            more.append(at)
    return more


def _print_row(row: Row) -> str:
    cells = ("NULL" if cell is None else f"'{escape_line(cell[:CELL_LETTERS])}'" for cell in row)
    return ", ".join(cells)[:ROW_LETTERS]
