"""SQL as a server's own lexer reads it, for statements that must not be mistaken.

The digests' tokenizer (`read_all`) puts up with any text; here a text is refused by name where
anything in it could be read in another way than the `Quoting` says. What is refused is not played,
so this file may be stricter than a server and never laxer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dyno.sql.tokens import Quoting

#: What a token is: a bare word, a quoted name, a text, a number, a parameter (`$1`), a variable
#: (`@x`, `@@x`), an optimizer hint's text, or a single sign.
TokenKind = Literal["word", "name", "string", "number", "parameter", "variable", "hint", "mark"]


@dataclass(frozen=True)
class Token:
    """A token; `text` is a name without its quotes, a text with them."""

    kind: TokenKind
    text: str

    @property
    def mark(self) -> str:
        """A sign; empty for anything else."""
        return self.text if self.kind == "mark" else ""

    @property
    def word(self) -> str:
        """A bare word, its letters of ASCII in lower case; empty for anything else."""
        if self.kind != "word":
            return ""
        # Python's own lower case makes a `k` of the sign for kelvin, and servers do not
        return self.text.lower() if self.text.isascii() else self.text


class UnreadableError(Exception):
    """A text that this file does not read as surely as a server would; the message is a clause."""


#: What may stand outside quotes beside words: a control character may not, nor what only a client
#: or a broken text has there (a backslash, braces).
_SIGNS = frozenset("()[],.;:+-*/<>=~!@#%^&|?$'\"`")
_SPACE = re.compile(r"[ \t\n\r\f\v]+")
#: Letters beyond ASCII stand in names, for every server; Python's own classes know more spaces. The
#: classes say what they lack: `re` takes long to compile one with a range up to the last letter.
_LETTER = r"[^\x00-@\[-^`{-\x7f]"
_LETTER_OR_DIGIT = r"[^\x00-/:-@\[-^`{-\x7f]"
#: With `$`; with `$` and `.`.
_OF_WORD, _OF_VARIABLE = r"[^\x00-#%-/:-@\[-^`{-\x7f]", r"[^\x00-#%-\-/:-@\[-^`{-\x7f]"
#: By whether `$` quotes.
_WORDS: dict[bool, re.Pattern[str]] = {
    False: re.compile(rf"{_OF_WORD}+"),
    True: re.compile(rf"{_LETTER}{_OF_WORD}*"),
}
_NUMBERS: dict[bool, re.Pattern[str]] = {
    # a digit may begin a name: 1e5 and 0x1f are numbers, 1f and 2016_sales are names
    False: re.compile(
        rf"(?:0x[0-9a-fA-F]++|0b[01]++|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?)"
        rf"(?!{_OF_WORD})",
        re.ASCII,
    ),
    True: re.compile(r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?", re.ASCII),
}
_VARIABLE = re.compile(rf"@@?(?:{_OF_VARIABLE}+|`[^`]*`|'[^'\\]*'|\"[^\"\\]*\")")
_PARAMETER = re.compile(r"\$\d++", re.ASCII)
#: A text of bits or hexadecimal digits, which escapes nothing and is not doubled.
_DIGITS = re.compile(r"'[0-9a-fA-F \t\n\r\f\v]*+'(?!')")
_DOLLAR_TAG = re.compile(rf"\$(?:{_LETTER}{_LETTER_OR_DIGIT}*)?\$")
_ESCAPED: dict[str, re.Pattern[str]] = {
    quote: re.compile(rf"[^{quote}\\]*+(?:(?:{quote}{quote}|\\.)[^{quote}\\]*+)*+{quote}", re.S)
    for quote in "'\""
}
_PLAIN: dict[str, re.Pattern[str]] = {
    quote: re.compile(rf"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}") for quote in "'\"`"
}
_LINE_COMMENTS: dict[bool, re.Pattern[str]] = {
    False: re.compile(r"(?:#|--(?=[\x00-\x20]|$))[^\n]*"),
    True: re.compile(r"--[^\n\r]*"),
}
#: An executable comment whose words do nothing but choose how the statement is planned.
_HARMLESS_COMMENT = re.compile(
    r"/\*M?!\d{0,6}\s+(?:SQL_(?:NO_CACHE|CACHE|BIG_RESULT|SMALL_RESULT)|STRAIGHT_JOIN)\s*\*/",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"['\"`\\]")
_NESTED = re.compile(r"/\*|\*/")


def read_tokens(text: str, quoting: Quoting) -> list[Token]:
    """The tokens of a text, comments left out; `UnreadableError` says why there are none."""
    if "\0" in text:
        raise UnreadableError("it holds a zero byte")
    return list(_Scanner(text, quoting).read_all())


class _Scanner:
    """Goes through a text once: every pattern is possessive, so time is linear in its length."""

    def __init__(self, text: str, quoting: Quoting) -> None:
        self.text, self.quoting, self.at = text, quoting, 0
        self.is_dollars = quoting.dollars
        self.may_go_on = self.is_dollars and "\\" in text

    def read_all(self) -> Iterator[Token]:
        """Every token in order."""
        while self.at < len(self.text):
            if not self._skip():
                yield self._read_next()

    def _skip(self) -> bool:
        """Passes over space or a comment, where one stands here."""
        for pattern in (_SPACE, _LINE_COMMENTS[self.is_dollars]):
            if found := pattern.match(self.text, self.at):
                self.at = found.end()
                return True
        if not self.text.startswith("/*", self.at):
            return False
        if self.is_dollars:
            if self.text.startswith("/*+", self.at):
                raise UnreadableError("it has a hint, which extensions read")
            self._skip_nested()
            return True
        if found := _HARMLESS_COMMENT.match(self.text, self.at):
            self.at = found.end()
            return True
        opening = self.text[self.at : self.at + 4].upper()
        if opening.startswith(("/*!", "/*M!")):
            raise UnreadableError("it has an executable comment")
        if opening.startswith("/*+"):
            return False
        self._close(self.text.find("*/", self.at + 2), 2, "a comment")
        return True

    def _skip_nested(self) -> None:
        depth, at = 1, self.at + 2
        while depth:
            found = _NESTED.search(self.text, at)
            if found is None:
                raise UnreadableError("it ends within a comment")
            depth += 1 if found[0] == "/*" else -1
            at = found.end()
        self.at = at

    def _close(self, at: int, length: int, what: str) -> None:
        if at < 0:
            raise UnreadableError(f"it ends within {what}")
        self.at = at + length

    def _read_next(self) -> Token:
        text, dollars = self.text, self.is_dollars
        if text.startswith("/*+", self.at):
            start = self.at
            self._close(text.find("*/", self.at + 3), 2, "a hint")
            if _QUOTE.search(text, start, self.at):
                raise UnreadableError("it has a hint with quotes")
            return Token("hint", text[start + 3 : self.at - 2])
        sign = text[self.at]
        if sign in "'\"`":
            return self._read_quoted(sign, self.quoting.backslashes)
        if found := _NUMBERS[dollars].match(text, self.at):
            self.at = found.end()
            return Token("number", found[0])
        if sign == "$" and self.is_dollars:
            return self._read_dollar()
        if found := _WORDS[dollars].match(text, self.at):
            self.at = found.end()
            return self._read_word(found[0])
        if sign == "@" and not self.is_dollars and (found := _VARIABLE.match(text, self.at)):
            self.at = found.end()
            return Token("variable", found[0])
        if sign not in _SIGNS:
            raise UnreadableError("it has a sign outside quotes that is none of SQL's")
        self.at += 1
        return Token("mark", sign)

    def _read_word(self, word: str) -> Token:
        """A word; where a quote follows at once it may say how that is read."""
        after, plain = self.text[self.at : self.at + 1], word.lower()
        if self.is_dollars and plain == "u" and after == "&":
            raise UnreadableError("it has a name or text in U&'…'")
        if self.is_dollars and after == "'" and plain == "e":
            return Token("string", f"E{self._read_quoted(after, True).text}")
        if after == "'" and plain in ("b", "x"):
            return self._read_digits()
        return Token("word", word)

    def _read_digits(self) -> Token:
        found = _DIGITS.match(self.text, self.at)
        if found is None:
            raise UnreadableError("it has a text of digits that are none")
        self.at = found.end()
        return Token("string", found[0])

    def _read_quoted(self, quote: str, escapes: bool) -> Token:
        """A quoted text or name that begins here; its own end is its first quote that is not
        doubled or escaped."""
        is_name = quote == "`" or (quote == '"' and self.quoting.names_in_double)
        if quote == "`" and self.is_dollars:
            raise UnreadableError("it has a backtick outside quotes")
        # the lexer of this family escapes nothing within names
        patterns = _ESCAPED if escapes and not is_name else _PLAIN
        start = self.at + 1
        found = patterns[quote].match(self.text, start)
        if found is None:
            raise UnreadableError("it ends within a quoted text")
        self.at = found.end()
        inner = self.text[start : found.end() - 1]
        if is_name:
            return Token("name", inner.replace(quote * 2, quote))
        if self.may_go_on and self._has_next_text():
            raise UnreadableError("it has a text in several parts")
        return Token("string", self.text[start - 1 : self.at])

    def _has_next_text(self) -> bool:
        """Does another text follow, which the server may take for a part of this one?"""
        at = self.at
        while self.at < len(self.text) and self._skip():
            pass
        follows, self.at = self.text.startswith("'", self.at), at
        return follows

    def _read_dollar(self) -> Token:
        if found := _PARAMETER.match(self.text, self.at):
            self.at = found.end()
            return Token("parameter", found[0])
        if found := _DOLLAR_TAG.match(self.text, self.at):
            self._close(self.text.find(found[0], found.end()), len(found[0]), "a quoted text")
            return Token("string", "$$")
        raise UnreadableError("it has '$' outside quotes")
