"""What a text of MySQL's family names and does, by its tokens: tables, calls, and the statements in
a routine's body. What is not known to name no table counts as one that does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dyno.sql.lexing import Token, UnreadableError


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Reserved words and signs behind which no table stands.
_NOT_BEFORE_TABLE = _split_words(
    "select distinct where and or xor by set on having as when then else case not in between like"
    " limit is div mod regexp rlike = < > + - * / | & ^ ! ~"
)
#: Words between INSERT and its table.
_MODIFIERS = _split_words("into ignore low_priority high_priority delayed quick")
_INSERTS = frozenset({"insert", "replace"})
#: Reserved words behind which a name may begin with a dot.
_RESERVED = _split_words("from join straight_join update table using delete call") | _MODIFIERS
_RESERVED |= _INSERTS
#: What ends a list of tables.
_LIST_ENDS = _split_words(
    "where set group order having limit union except intersect select values for window returning"
    " duplicate"
)
#: Functions with a FROM of their own.
_WITH_FROM = _split_words("extract trim substring substr mid")

#: First words of statements that change tables at most, or nothing.
_KNOWN_HEADS = _split_words(
    "select with insert update delete replace set declare if elseif else case when while repeat"
    " until loop leave iterate return end begin open fetch close call signal resignal get do for"
)
_WRITES = _split_words("insert update delete replace")
#: What another statement follows at once.
_OPENERS = _split_words("begin loop repeat else")
_BEFORE_HEAD = _split_words("then else do")
_CONDITIONS = _split_words("sqlstate value not")


@dataclass(frozen=True)
class QualifiedName:
    """Names with dots between them: tokens from `begin` to before `end`."""

    parts: tuple[str, ...]
    begin: int
    end: int
    is_call: bool
    may_be_table: bool

    def list_keys(self, schema: str) -> Iterator[tuple[str, str]]:
        """Each schema and table that may be meant: `a.b` is a table's column as well."""
        parts = [it.lower() for it in self.parts]
        yield schema.lower(), parts[0]
        if len(parts) > 1:
            yield parts[0], parts[1]


def find_names(tokens: Sequence[Token]) -> Iterator[QualifiedName]:
    """Every name and word, with what stands before its dots. `UnreadableError` where a number may
    be a name.
    """
    at = 0
    while at < len(tokens):
        if tokens[at].kind not in ("word", "name"):
            at += 1
            continue
        begin, parts = at, [tokens[at].text]
        at += 1
        joins = tokens[begin].word not in _RESERVED  # `FROM .t` is a table's name as well
        while (
            joins and at + 1 < len(tokens) and tokens[at].mark == "." and _is_name(tokens[at + 1])
        ):
            parts.append(tokens[at + 1].text)
            at += 2
        _check_number(tokens, at)
        before = tokens[begin - 1] if begin else None
        bare = (before.word or before.mark) if before is not None else ""
        is_target = _is_target(tokens, begin)
        is_call = at < len(tokens) and tokens[at].mark == "(" and not is_target
        yield QualifiedName(tuple(parts), begin, at, is_call, bare not in _NOT_BEFORE_TABLE)


def _is_name(token: Token) -> bool:
    return token.kind in ("word", "name")


def _check_number(tokens: Sequence[Token], at: int) -> None:
    """Raise `UnreadableError` for `1e5` behind a dot, which a server reads as a name."""
    after = tokens[at : at + 2]
    is_joined = len(after) == 2 and after[0].mark == "." and after[1].kind == "number"
    is_own = bool(after) and after[0].kind == "number" and after[0].text.startswith(".")
    if is_joined or (is_own and not after[0].text[1:].isdigit()):
        raise UnreadableError("it has a name that looks like a number")


def _is_target(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a list of columns follows: `INSERT [INTO] t (a, b)`."""
    begin = at - 1
    while begin >= 0 and tokens[begin].word in _MODIFIERS:
        begin -= 1
    if begin >= 0 and tokens[begin].word in _INSERTS:
        return True
    return begin < at - 1 and tokens[at - 1].word == "into"


def find_table_places(tokens: Sequence[Token]) -> Iterator[QualifiedName]:
    """The names where a table stands for certain, less those that WITH makes."""
    made = set(_find_made(tokens))
    places = set(_find_places(tokens))
    for name in find_names(tokens):
        is_made = len(name.parts) == 1 and name.parts[0].lower() in made | {"dual"}
        if name.begin in places and not is_made and not name.is_call:
            yield name


def _find_made(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names that WITH makes: `name AS (` and `name (a, b) AS (`."""
    for at, token in enumerate(tokens):
        if token.word != "as" or at + 1 == len(tokens) or tokens[at + 1].mark != "(":
            continue
        begin = at - 1
        if begin >= 0 and tokens[begin].mark == ")":
            while begin >= 0 and tokens[begin].mark != "(":
                begin -= 1
            begin -= 1
        if begin >= 0:
            yield tokens[begin].text.lower()


def _find_places(tokens: Sequence[Token]) -> Iterator[int]:
    """Where a table is expected: behind FROM, JOIN, INSERT, UPDATE and the commas of a list."""
    lists, expects = [""], False
    for at, token in enumerate(tokens):
        word, mark = token.word, token.mark
        if mark == "(":
            is_function = at > 0 and tokens[at - 1].word in _WITH_FROM
            lists.append("list" if expects and lists[-1] else "own" if is_function else "")
        elif mark == ")":
            expects = False
            lists[1:] = lists[1:-1]
        elif mark == ",":
            expects = lists[-1] == "list"
        elif mark == ";" or word in _LIST_ENDS:
            lists, expects = ([""] if mark else [*lists[:-1], ""]), False
        elif _is_list_begin(tokens, at, lists[-1]):
            lists[-1], expects = "list", True
        elif expects and word in ("lateral", *_MODIFIERS):
            continue
        elif token.kind in ("word", "name") and expects:
            yield at
            expects = False
        else:
            expects = False


def _is_list_begin(tokens: Sequence[Token], at: int, state: str) -> bool:
    word, before = tokens[at].word, tokens[at - 1].word if at else ""
    if word in ("join", "straight_join"):
        return True
    if word == "from":
        return state != "own" and before not in ("next", "fetch")
    if word == "update":
        return before not in ("for", "key")
    is_function = at + 1 < len(tokens) and tokens[at + 1].mark == "("
    return word in _INSERTS and not is_function


def find_heads(tokens: Sequence[Token]) -> Iterator[int]:
    """Where the statements of a routine's body begin, those inside of others too. A THEN of a CASE
    in an expression begins none.
    """
    expects, cases, at = True, 0, 0
    while at < len(tokens):
        token = tokens[at]
        word = token.word
        if token.mark == ";":
            expects, cases = True, 0
        elif expects and token.mark == "(":
            pass
        elif expects and _is_label(tokens, at):
            at += 1
        elif expects:
            yield at
            expects = word in _OPENERS
            if word == "declare" and (handled := _find_handled(tokens, at)):
                at, expects = handled - 1, True
        elif word == "case":
            cases += 1
        elif word == "end" and cases:
            cases -= 1
        elif word in _BEFORE_HEAD and not cases:
            expects = True
        at += 1


def _is_label(tokens: Sequence[Token], at: int) -> bool:
    after = tokens[at + 1 : at + 3]
    return bool(after) and after[0].mark == ":" and (len(after) < 2 or after[1].mark != "=")


def _find_handled(tokens: Sequence[Token], at: int) -> int:
    """Where the statement of `DECLARE EXIT HANDLER FOR conditions` begins; 0 for no handler."""
    words = [it.word for it in tokens[at + 1 : at + 4]]
    if words[1:] != ["handler", "for"]:
        return 0
    at += 4
    while at < len(tokens):
        while at < len(tokens) and tokens[at].word in _CONDITIONS:
            at += 1
        at += 1
        if at >= len(tokens) or tokens[at].mark != ",":
            return at
        at += 1
    return at


def is_write(tokens: Sequence[Token], head: int) -> bool:
    """Return whether the statement that begins here may change a table."""
    if tokens[head].word != "with":
        return tokens[head].word in _WRITES
    return any(
        it.word in ("update", "delete") and tokens[head + at - 1].word != "for"
        for at, it in enumerate(_list_own(tokens, head))
    )


def find_body_problem(tokens: Sequence[Token], variables: frozenset[str]) -> str:
    """Return what in a routine's body may change more than tables, or ""."""
    declared = set[str]()
    for head in find_heads(tokens):
        word = tokens[head].word
        if word not in _KNOWN_HEADS:
            return f"{tokens[head].text.upper()} in it is not known to change tables only"
        own = _list_own(tokens, head)
        if word == "declare":
            declared |= {it.text.lower() for it in own if _is_name(it)}
        if word == "set" and (what := _find_strange_target(own[1:], variables - declared)):
            return f"it sets {what}"
    return ""


def _list_own(tokens: Sequence[Token], head: int) -> Sequence[Token]:
    end = next((at for at in range(head, len(tokens)) if tokens[at].mark == ";"), len(tokens))
    return tokens[head:end]


def _find_strange_target(tokens: Sequence[Token], variables: frozenset[str]) -> str:
    """Return what SET sets beside the routine's variables, the row's columns and the session's own
    `@names`, or "".
    """
    depth, begin, expects = 0, 0, True
    for at, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.mark, 0)
        if token.mark == "," and not depth:
            begin, expects = at + 1, True
        elif expects and token.mark in ("=", ":"):
            expects = False
            target = tokens[begin:at]
            if not _is_own_target(target, variables):
                return " ".join(it.text for it in target)
    return " ".join(it.text for it in tokens[begin:]) if expects else ""


def _is_own_target(target: Sequence[Token], variables: frozenset[str]) -> bool:
    if len(target) == 3:
        return target[0].word == "new" and target[1].mark == "." and _is_name(target[2])
    if len(target) != 1:
        return False
    (one,) = target
    if one.kind == "variable":
        return not one.text.startswith("@@")
    return _is_name(one) and one.text.lower() not in variables | {"password"}
