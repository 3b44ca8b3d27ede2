"""What a statement's text leaves open: the order of rows, which of them a LIMIT takes, values.

Read from the tokens, without a grammar: what is not surely understood is called open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from dyno.sql.lexing import Token, UnreadableError, read_tokens
from dyno.sql.tokens import Quoting

#: How texts are quoted, by the kind of the driver's session.
_QUOTINGS = {
    "mysql": Quoting(dollars=False, backslashes=True, names_in_double=False),
    "postgres": Quoting(dollars=True, backslashes=False, names_in_double=True),
    "duckdb": Quoting(dollars=True, backslashes=False, names_in_double=True),
    "resp": Quoting(dollars=False, backslashes=False, names_in_double=True),
    "sqlite": Quoting(dollars=False, backslashes=False, names_in_double=True),
}
#: Whose texts a collation may hold equal that differ in case, accents or blanks at the end.
FOLDING_KINDS = frozenset({"mysql", "sqlite"})


def _split_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: What may end a list of a SELECT, and the keys of an ORDER BY.
_CLAUSES = _split_words(
    "from where group having window qualify union intersect except order limit fetch "
    "offset into for lock procedure returning ;"
)
_LEADING = _split_words(
    "all distinct distinctrow high_priority straight_join sql_no_cache sql_cache "
    "sql_calc_found_rows sql_small_result sql_big_result sql_buffer_result"
)
#: Calls whose value is free where rows tie, or where no order is given.
_FREE_CALLS = _split_words(
    "group_concat string_agg array_agg json_agg jsonb_agg json_arrayagg json_objectagg "
    "json_object_agg jsonb_object_agg json_group_array json_group_object listagg list "
    "any_value arbitrary first last row_number ntile lag lead first_value last_value "
    "nth_value"
)
_OVER_TIES = _split_words("row_number ntile lag lead first_value last_value nth_value")
_FREE = "is free where rows tie or have no order"
#: Calls that add up: floats in another order have another sum.
_SUMS = re.compile(r"sum|avg|total|mean|std\w*|var\w*|corr|covar_\w+|regr_\w+|fsum")
#: Words behind which a name is no alias.
_BEFORE_NO_ALIAS = _split_words(
    "and or not like ilike is in distinct from collate zone over between div mod regexp "
    "rlike escape interval case when then else as using"
)


@dataclass(frozen=True)
class Openness:
    """What a text leaves open.

    Rows are ordered by `keys`, numbers of columns, and then by `hidden`, keys that are not among
    the columns (in words). `cut` says what may end, and `cuts_before` that it may begin, among rows
    that tie.
    `chooses` is what takes any of several rows or values, anywhere; `free` those of single columns.
    `added` are columns that add up values, `groups` whether one spelling stands for several.
    """

    is_ordered: bool = False
    keys: tuple[int, ...] = ()
    hidden: str = ""
    cut: str = ""
    cuts_before: bool = False
    chooses: str = ""
    free: dict[int, str] = field(default_factory=dict)
    added: frozenset[int] = frozenset()
    groups: bool = False
    unread: str = ""


@dataclass(frozen=True)
class _Select:
    """The parts of a text at its own level: items of the list, keys, and what follows them."""

    items: tuple[tuple[Token, ...], ...]
    keys: tuple[tuple[Token, ...], ...]
    is_combined: bool


def read_openness(
    sql: str, columns: Sequence[str], rows: int, kind: str, orders_are_total: bool = False
) -> Openness:
    """Read what `sql`, answered with these columns and so many rows, leaves open."""
    quoting = _QUOTINGS.get(kind, _QUOTINGS["postgres"])
    try:
        tokens = _read(sql, quoting)
    except UnreadableError as error:
        return _leave_unread(str(error), sql)
    if any(token.mark == ";" for token in tokens):
        return _leave_unread("it has several statements", sql)
    # how many brackets are open around each token; those themselves lie outside
    levels, depth = list[int](), 0
    for token in tokens:
        depth -= token.mark in (")", "]")
        levels.append(depth)
        depth += token.mark in ("(", "[")
    select = _split_select(tokens, levels)
    has_star = any(item and item[-1].mark == "*" for item in select.items)
    aligned = select.items if len(select.items) == len(columns) and not has_star else ()
    keys, hidden = _locate_keys(select, aligned, columns)
    free, chooses = _list_free(tokens, levels, aligned, orders_are_total)
    words = [token.word for token in tokens]
    grouping = {"group", "distinct", "union", "intersect", "except", "min", "max"}
    ends, begins = _read_limit(tokens, levels, rows)
    cut = "a LIMIT takes any of the rows that tie" if ends or begins else ""
    if _is_distinct_on(tokens):
        # each of its groups is one row, and any of them may be another: no key is held
        keys, hidden, cut = (), "DISTINCT ON", "DISTINCT ON takes any of the rows that tie"
    return Openness(
        bool(select.keys),
        keys,
        hidden,
        cut,
        begins,
        chooses,
        free,
        _find_sums(tokens, aligned, len(columns)),
        bool(grouping & set(words)),
    )


def are_ordered(sql: str, *, kind: str) -> bool:
    """Return whether the rows that answer `sql` may have an order: it says so, or is not read."""
    found = read_openness(sql, (), 0, kind)
    return found.is_ordered or bool(found.unread)


def _leave_unread(why: str, sql: str) -> Openness:
    has_limit = re.search(r"\b(?:limit|fetch|top)\b", sql, re.IGNORECASE)
    chooses = f"the text is not read ({why}), and it has a LIMIT" if has_limit else ""
    return Openness(unread=why, chooses=chooses)


def _is_distinct_on(tokens: Sequence[Token]) -> bool:
    words = [it.word for it in tokens]
    return ["select", "distinct", "on"] in [words[at : at + 3] for at in range(len(words))]


@lru_cache(maxsize=256)
def _read(sql: str, quoting: Quoting) -> tuple[Token, ...]:
    """The tokens, without hints, a semicolon at the end, and parentheses around all of it."""
    tokens = [it for it in read_tokens(sql, quoting) if it.kind != "hint"]
    while tokens and tokens[-1].mark == ";":
        tokens.pop()
    while tokens and tokens[0].mark == "(" and _find_close(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tuple(tokens)


def _find_close(tokens: Sequence[Token], start: int) -> int:
    """The place of the bracket that closes the one at `start`; the end where none does."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place].mark in ("(", "[")) - (tokens[place].mark in (")", "]"))
        if depth == 0 and tokens[place].mark:
            return place
    return len(tokens)


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a clause begins here, and not an operator or function of the same word."""
    word = tokens[place].word or tokens[place].mark
    before = tokens[place - 1] if place else Token("mark", "")
    after = tokens[place + 1].word if place + 1 < len(tokens) else ""
    if word not in _CLAUSES or before.mark == ".":
        return False
    if word == "from":
        return before.word != "distinct" or _is_leading(tokens, place - 1)
    return after == "by" if word in ("group", "order") else True


def _is_leading(tokens: Sequence[Token], place: int) -> bool:
    return place > 0 and tokens[place - 1].word == "select"


def _split_select(tokens: Sequence[Token], levels: Sequence[int]) -> _Select:
    own = [place for place, level in enumerate(levels) if level == 0]
    words = [tokens[place].word for place in own]
    clauses = [at for at, place in enumerate(own) if _is_clause(tokens, place)]
    items: tuple[tuple[Token, ...], ...] = ()
    if "select" in words:
        start = words.index("select") + 1
        end = next((at for at in clauses if at >= start), len(own))
        begin = _skip_leading(tokens, own[start]) if start < len(own) else len(tokens)
        items = _split_list(tokens, levels, begin, own[end] if end < len(own) else len(tokens))
    keys: tuple[tuple[Token, ...], ...] = ()
    orders = [at for at in clauses if words[at] == "order"]
    if orders:
        end = next((at for at in clauses if at > orders[-1]), len(own))
        last = own[end] if end < len(own) else len(tokens)
        keys = _split_list(tokens, levels, own[orders[-1]] + 2, last)
    is_combined = bool({"union", "intersect", "except"} & {words[at] for at in clauses})
    return _Select(items, keys, is_combined)


def _skip_leading(tokens: Sequence[Token], place: int) -> int:
    """Where the list begins: behind DISTINCT, DISTINCT ON (…), TOP n and the like."""
    while place < len(tokens):
        word = tokens[place].word
        if word == "on" and tokens[place - 1].word == "distinct":
            place = _find_close(tokens, place + 1) + 1
        elif word == "top":
            place = (_find_close(tokens, place + 1) if _is_call(tokens, place) else place + 1) + 1
        elif word in _LEADING:
            place += 1
        else:
            break
    return place


def _split_list(
    tokens: Sequence[Token], levels: Sequence[int], start: int, end: int
) -> tuple[tuple[Token, ...], ...]:
    """Split at the commas of the text's own level."""
    commas = [at for at in range(start, end) if levels[at] == 0 and tokens[at].mark == ","]
    bounds = [start - 1, *commas, end]
    return tuple(tuple(tokens[one + 1 : other]) for one, other in pairwise(bounds))


def _normalize(tokens: Sequence[Token]) -> tuple[tuple[str, str], ...]:
    """Tokens as they are compared: names by their letters, whether they are quoted or not."""
    named = ("word", "name")
    return tuple(
        ("name", it.text.casefold()) if it.kind in named else (it.kind, it.text) for it in tokens
    )


def _split_alias(item: Sequence[Token]) -> tuple[Sequence[Token], str]:
    """An item's expression and its alias, if it has one."""
    if len(item) < 2 or item[-1].kind not in ("word", "name", "string"):
        return item, ""
    last, before = item[-1], item[-2]
    if before.word == "as":
        return item[:-2], last.text.strip("'\"").casefold()
    is_operand = before.kind in ("name", "string", "number", "parameter", "variable")
    is_operand |= before.kind == "word" and before.word not in _BEFORE_NO_ALIAS
    if last.kind == "string" or last.word in ("end", "null") or before.mark not in ("", ")", "]"):
        return item, ""
    return (item[:-1], last.text.casefold()) if is_operand or before.mark else (item, "")


def _locate_keys(
    select: _Select, aligned: Sequence[Sequence[Token]], columns: Sequence[str]
) -> tuple[tuple[int, ...], str]:
    """The columns that rows are ordered by, and the first key that is none of them, as words."""
    found: list[int] = []
    for key in select.keys:
        plain = _strip_direction(key)
        place = _locate_key(plain, select, aligned, columns) if plain else None
        if place is None:
            return tuple(found), " ".join(it.text for it in key)[:60]
        if place >= 0:
            found.append(place)
    return tuple(found), ""


def _strip_direction(key: Sequence[Token]) -> Sequence[Token]:
    words = [it.word for it in key]
    if words[-2:-1] == ["nulls"]:
        key, words = key[:-2], words[:-2]
    if words[-1:] in (["asc"], ["desc"]):
        key, words = key[:-1], words[:-1]
    return key[:-2] if words[-2:-1] == ["collate"] else key


def _locate_key(
    key: Sequence[Token],
    select: _Select,
    aligned: Sequence[Sequence[Token]],
    columns: Sequence[str],
) -> int | None:
    """A key's column: by its number, alias, expression or name; -1 where it orders nothing."""
    if len(key) == 1 and key[0].kind == "number":
        number = int(key[0].text) if key[0].text.isdecimal() else 0
        return number - 1 if 0 < number <= len(columns) else None
    if len(key) == 1 and (key[0].kind == "string" or key[0].word == "null"):
        return -1
    wanted = _normalize(key)
    split = [_split_alias(item) for item in aligned]
    bare = wanted[0][1] if len(wanted) == 1 and wanted[0][0] == "name" else ""
    for at, (_, alias) in enumerate(split):
        if bare and alias == bare:
            return at
    for at, (expression, _) in enumerate(split):
        if _is_same_column(wanted, _normalize(expression)):
            return at
    is_whole = len(select.items) == 1 and [it.text for it in select.items[0]] == ["*"]
    names = [name.casefold() for name in columns]
    name = bare if select.is_combined else _extract_last_name(wanted)
    if (is_whole or select.is_combined) and name and names.count(name) == 1:
        return names.index(name)
    return None


def _is_same_column(key: tuple[tuple[str, str], ...], item: tuple[tuple[str, str], ...]) -> bool:
    """Return whether it is the same expression, or one column that only one of them qualifies."""
    if key == item:
        return True
    one, other = _extract_last_name(key), _extract_last_name(item)
    return bool(one) and one == other and 1 in (len(key), len(item))


def _extract_last_name(tokens: tuple[tuple[str, str], ...]) -> str:
    """Return the column's own name of `a`, `t.a` or `s.t.a`; "" for any other expression."""
    names, dots = tokens[::2], tokens[1::2]
    is_path = len(tokens) % 2 == 1 and all(it == ("mark", ".") for it in dots)
    return names[-1][1] if is_path and all(kind == "name" for kind, _ in names) else ""


def _read_limit(tokens: Sequence[Token], levels: Sequence[int], rows: int) -> tuple[bool, bool]:
    """Return whether a LIMIT ends, and an OFFSET begins, among rows that another order would leave
    out.
    """
    ends = begins = False
    for place, (token, level) in enumerate(zip(tokens, levels, strict=True)):
        if level or (place and tokens[place - 1].mark == "."):
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else Token("mark", "")
        if token.word == "limit":
            comma = place + 2 < len(tokens) and tokens[place + 2].mark == ","
            begins |= comma
            ends |= comma or (after.text != "all" and _is_reached(after, rows))
        elif token.word == "offset" and after.text != "0":
            begins = True
        elif token.word == "fetch" and after.word in ("first", "next"):
            count = tokens[place + 2] if place + 2 < len(tokens) else after
            ends |= tokens[-1].word != "ties" and _is_reached(count, rows)
        elif token.word == "top" and _is_leading(tokens, place):
            ends |= _is_reached(after, rows)
    return ends, begins


def _is_reached(count: Token, rows: int) -> bool:
    """Return whether there are as many rows as may be; True if the number is not in the text."""
    return not count.text.isdecimal() or rows >= int(count.text)


def _is_call(tokens: Sequence[Token], place: int) -> bool:
    return place + 1 < len(tokens) and tokens[place + 1].mark == "("


def _list_free(
    tokens: Sequence[Token],
    levels: Sequence[int],
    aligned: Sequence[Sequence[Token]],
    orders_are_total: bool,
) -> tuple[dict[int, str], str]:
    """The columns whose values are free, and what chooses among whole rows, each in words."""
    inner = [it.word for it, level in zip(tokens, levels, strict=True) if level]
    if {"limit", "fetch"} & set(inner):
        return {}, "a LIMIT of a subquery takes any of the rows that tie"
    calls = list(_list_free_calls(tokens, orders_are_total))
    named = {at: list(_list_free_calls(item, orders_are_total)) for at, item in enumerate(aligned)}
    if sum(map(len, named.values())) < len(calls):
        return {}, f"{calls[0]} {_FREE}"
    return {at: f"{names[0]} {_FREE}" for at, names in named.items() if names}, ""


def _list_free_calls(tokens: Sequence[Token], orders_are_total: bool) -> Iterator[str]:
    for place, token in enumerate(tokens):
        if token.word in _FREE_CALLS and _is_call(tokens, place):
            within = tokens[place + 1 : _find_close(tokens, place + 1)]
            if token.word in _OVER_TIES and orders_are_total:
                continue
            if token.word in _OVER_TIES or "order" not in [it.word for it in within]:
                yield token.word


def _find_sums(
    tokens: Sequence[Token], aligned: Sequence[Sequence[Token]], width: int
) -> frozenset[int]:
    """The columns that add up; all, where a sum stands elsewhere."""

    def count_sums(within: Sequence[Token]) -> int:
        return sum(
            bool(_SUMS.fullmatch(it.word)) and _is_call(within, at) for at, it in enumerate(within)
        )

    per_item = [count_sums(item) for item in aligned]
    if sum(per_item) < count_sums(tokens):
        return frozenset(range(width))
    return frozenset(at for at, count in enumerate(per_item) if count)
