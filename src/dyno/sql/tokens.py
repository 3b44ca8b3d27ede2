"""SQL's tokens, read in time and memory that grow with the text: no pattern here goes back.

A text is *shortened* first: comments become a space and literals `?`, so that what is judged of a
statement of 16 MB is as long as its structure, and statements that differ in literals only are one.
Quantifiers are possessive, and what is not closed takes the rest of the text: no place is looked at
more than twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

#: Letters from which on the rows of a structure are put together, and those of the longest judged.
LONG, LONGEST = 1 << 10, 1 << 18
#: Literals of a long text that are looked at together.
LITERALS = 1 << 14


@dataclass(frozen=True)
class Quoting:
    """How a session quotes: by PostgreSQL's rules (`dollars`: $tag$…$tag$, E'…', comments within
    comments) or MySQL's; does a backslash escape in '…' (not with NO_BACKSLASH_ESCAPES, nor with
    standard_conforming_strings); and is "…" a name (always in PostgreSQL, else by ANSI_QUOTES)?
    """

    dollars: bool
    backslashes: bool
    names_in_double: bool


#: `word`, quoted `name`, `parameter` (a literal is one, too) or `mark`; and its text.
Token = tuple[str, str]


@dataclass(frozen=True)
class _Patterns:
    """`structure`: what stands before each literal; `code`: all up to a comment or a dollar quote;
    `begins` finds those that are none of all servers' (`--` and `/*`).
    """

    structure: re.Pattern[str]
    code: re.Pattern[str]
    begins: re.Pattern[str]
    tokens: re.Pattern[str]


_NUMBER = r"(?:0x[0-9a-fA-F]++|\d++\.?\d*+(?:[eE][-+]?\d++)?+)(?!\w)"
#: What opens $tag$…$tag$.
_DOLLARS = r"\$(?:[^\W\d]\w*+)?+\$"
_EITHER = re.compile(r"/\*|\*/")
_DOLLAR_QUOTE = re.compile(_DOLLARS)


def _build_quoted_pattern(mark: str, backslashes: bool) -> str:
    within = rf"[^{mark}\\]++|{mark}{mark}|\\." if backslashes else rf"[^{mark}]++|{mark}{mark}"
    return f"{mark}(?:{within})*+{mark}"


@lru_cache(maxsize=16)
def _compile_patterns(quoting: Quoting) -> _Patterns:
    string, name = (
        _build_quoted_pattern("'", quoting.backslashes),
        _build_quoted_pattern('"', False),
    )
    if not quoting.dollars:
        if not quoting.names_in_double:
            string, name = string + "|" + _build_quoted_pattern('"', quoting.backslashes), "(?!)"
        name, opens = _build_quoted_pattern("`", False) + "|" + name, "['\"`]"
        special, begins = r"\#|--(?=\s|\Z)|/\*(?!M?!)", "#"
    else:
        string = r"(?<=[eE])(?<![\w$][eE])" + _build_quoted_pattern("'", True) + "|" + string
        opens = rf"(?:['\"]|{_DOLLARS})"
        special, begins = rf"--|/\*|{_DOLLARS}", _DOLLARS
    unclosed = rf"(?={opens})(?!{string}).*+"
    either = rf"@{{1,2}}[\w.$]++|@|{name}|{unclosed}|(?!{opens})\$\d*+|`"
    kept = rf"[^\d'\"`$@]++|(?<=\w)[\d$][\w$]*+|{either}|(?!{_NUMBER})\d"
    code = rf"[^'\"`$/\#\-@\w]++|\w[\w$]*+|{string}|(?!{special})(?:{either}|[/\#\-])"
    # `?` is what stands for .5, N'x' and the like, too
    before = r"(?:[eEnNxXbBuU_]&?|(?<![\w$`\"])\.)"
    return _Patterns(
        re.compile(rf"((?:{kept})*+)(?:{string}|{_NUMBER}|\Z)", re.DOTALL),
        re.compile(rf"(?:{code})*+", re.DOTALL),
        re.compile(begins),
        re.compile(
            rf"(?P<space>\s++)|(?P<name>{name})|(?P<parameter>{before}?\?|\$\d++)"
            rf"|(?P<word>[^\W\d][\w$]*+)|(?P<open>{opens}|/\*(?!M?!))|(?P<mark>@{{1,2}}[\w.$]++|.)",
            re.DOTALL,
        ),
    )


def shorten(text: str, quoting: Quoting) -> str:
    """`text` with a space for each comment and `?` for each literal; it ends with a semicolon.

    What is not closed stays as it is, from where it opens.
    """
    return make_shortener(quoting)(text)


@lru_cache(maxsize=16)
def make_shortener(quoting: Quoting) -> Callable[[str], str]:
    """What shortens texts that are quoted so: `shorten`, for many texts."""
    patterns = _compile_patterns(quoting)
    find, holds_special = patterns.structure.findall, patterns.begins.search

    def shorten_one(text: str) -> str:
        if "--" in text or "/*" in text or holds_special(text):
            text = _without_specials(text, quoting, patterns)
        if len(text) > LONGEST:
            found = list(_split_structure(f"{text};", patterns.structure))
        else:
            found = find(f"{text};")
        # behind the semicolon an empty text is found
        short = "?".join(found)[:-1]
        return short if len(short) <= LONG else _merge_rows(short)

    return shorten_one


def _split_structure(text: str, structure: re.Pattern[str]) -> Iterator[str]:
    """The structure of a text whose literals may be millions, so that they are never listed."""
    found = (match[1] for match in structure.finditer(text))
    while batch := list(islice(found, LITERALS)):
        yield _merge_rows("?".join(batch))


def _without_specials(text: str, quoting: Quoting, patterns: _Patterns) -> str:
    """Without comments and dollar quotes."""
    parts, at = list[str](), 0
    while True:
        begin = patterns.code.match(text, at).end()  # type: ignore[union-attr]
        parts.append(text[at:begin])
        if begin == len(text):
            return "".join(parts)
        is_string = quoting.dollars and text[begin] == "$"
        at = _find_quote_end(text, begin) if is_string else _find_comment_end(text, begin, quoting)
        if at < 0:
            parts.append(text[begin:])
            return "".join(parts)
        parts.append("?" if is_string else " ")


def _find_quote_end(text: str, begin: int) -> int:
    tag = _DOLLAR_QUOTE.match(text, begin)[0]  # type: ignore[index]
    end = text.find(tag, begin + len(tag))
    return end + len(tag) if end >= 0 else -1


def _find_comment_end(text: str, begin: int, quoting: Quoting) -> int:
    if text[begin : begin + 2] != "/*":
        end = text.find("\n", begin)
        return end if end >= 0 else len(text)
    if not quoting.dollars:
        end = text.find("*/", begin + 2)
        return end + 2 if end >= 0 else -1
    depth = 0
    for found in _EITHER.finditer(text, begin):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return -1


#: Lists that a digest says in short, as short as they may be.
_LIST = re.compile(r"\(\s*+\?(?:\s*+,\s*+[-+]?\s?\?)++\s*+(?=\))")
_ROWS = tuple(
    (re.compile(rf"\({first}\)(?:\s*+,\s*+\((?:\?|\?,\?)\))++"), f"({first}),(?)".replace("\\", ""))
    for first in (r"\?", r"\?,\?")
)
#: What stands in rows beside literals: only statements that are long without it are put so.
_PLAIN_VALUES = re.compile(r"(?<=[(,])\s*+(?:NULL|DEFAULT|TRUE|FALSE|[-+]\s?\?)\s*+(?=[,)])", re.I)


def _merge_rows(short: str) -> str:
    for is_last in (False, True):
        short = _LIST.sub("(?,?", short)
        for form, said in _ROWS:
            short = form.sub(said, short)
        if len(short) <= LONG << 6 or is_last:
            break
        short = _PLAIN_VALUES.sub("?", short)
    return short


def split(short: str, quoting: Quoting) -> list[Token] | str:
    """The tokens of a shortened text; where it ends within something, what that is."""
    tokens = list[Token]()
    for found in _compile_patterns(quoting).tokens.finditer(short):
        kind = str(found.lastgroup)
        if kind == "open":
            return "comment" if found[0] == "/*" else "quoted text"
        if kind != "space":
            tokens.append((kind, found[0]))
    return tokens
