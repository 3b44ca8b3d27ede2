"""Passwords in what users write: what may be shown, kept or said has stars in their place.

Knows nothing else of ours, so that an error can be said where nothing more can be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

HIDDEN = "***"

#: A password as a word of a connection string (`host=db password=…`), or as a key of a URL.
IN_KEYS = re.compile(r"((?:^|[?&\s])password\s*+=\s*+)('(?:\\.|[^'\\])*+'|[^&\s']++)")

#: What stands before a password in a URL.
_BEFORE = re.compile(r"://[^:@/?#]*+:")
_PORT = re.compile(r"\d*/")
#: A password as an option of its own, of sysbench's: all that follows the sign.
OPTION = re.compile(r"^(--[\w-]*password=).+", re.DOTALL)
#: What stands before a password in a word that is no URL, but was meant for one: the colon behind a
#: user, whatever stands before it; it goes to the last @.
_MISTYPED_USER = re.compile(
    r"(?:(?<!\w)\w++(?:[:/\\@]|\s)+|(?<![^\s:@/\\'\"(]))[^\s:@/\\'\"(]*+"
    r":(?!//|\*{3}@|\d+(?:[/?]|$))"
)
#: Or the colon behind a host, where what follows is no port.
_MISTYPED = re.compile(r"(:/{1,2}[^\s:@/?#\[]*+):(?!\d*(?:[/?'\")]|[,;]?$))[^\s/@?'\")]+")
#: A line of a log, in which such words are users, databases and processes.
_LOGGED = re.compile(r"(?:\d{4}-\d\d-\d\d[ T]\d\d|\d{6}\s+\d{1,2}):\d\d:\d\d")
#: The words of a sentence: in quotes, in brackets, or bare.
_WORDS = re.compile(r"'[^'\n]*'|\([^()\n]*\)|[^\s'()]+")


def mask_password(text: str) -> str:
    """The text with `***` for a URL's password: what may be shown and kept."""
    text = IN_KEYS.sub(rf"\1{HIDDEN}", text)
    return OPTION.sub(rf"\1{HIDDEN}", _replace(text, _list_in_urls(text)))


def _list_in_urls(text: str) -> Iterator[tuple[int, int]]:
    """Where each URL's password begins and ends: all up to the last @ before the keys or, where the
    password holds a raw ?, up to the last of the line.
    """
    after, keys, last, line, last_of_line = 0, -1, -1, -1, -1
    for found in _BEFORE.finditer(text):
        begin = found.end()
        if begin < after:
            continue
        if keys < begin:
            keys = _find_end(text, "?", begin)
            last = text.rfind("@", begin, keys)
        if line < begin:
            line = _find_end(text, "\n", begin)
            last_of_line = text.rfind("@", begin, line)
        end = last if last >= begin else -1 if _PORT.match(text, begin) else last_of_line
        if end >= begin:
            yield begin, end
            after = end + 1


def _find_end(text: str, sign: str, begin: int) -> int:
    found = text.find(sign, begin)
    return len(text) if found < 0 else found


def _find_mistyped(line: str) -> Iterator[tuple[int, int]]:
    """The same of what may be a password up to the last @ of a line."""
    end = line.rfind("@")
    if end > 0 and (found := _MISTYPED_USER.search(line)) and found.end() < end:
        yield found.end(), end


def _replace(text: str, places: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for begin, end in places:
        parts += [text[at:begin], HIDDEN]
        at = end
    return "".join([*parts, text[at:]])


def find_password(text: str) -> str:
    """The password of a server's address, as a URL has it (percent signs are escapes); empty where
    there is none, or only its stars.
    """
    if found := IN_KEYS.search(text):
        secret = found[2]
        if "://" not in text:
            secret = quote(re.sub(r"\\(.)", r"\1", secret.strip("'")), safe="")
    else:
        begin, end = next(_list_in_urls(text), (0, 0))
        secret = text[begin:end]
    return "" if secret in (HIDDEN, quote(HIDDEN)) else secret


def mask_word(word: str) -> str:
    """The word with `***` for all that may be a password in it, though it is no URL: for messages
    about a word that is refused. It may hide too much, so it is not for what is kept.
    """
    masked = mask_password(word)
    if _LOGGED.search(word):
        return masked
    lines = [_replace(line, _find_mistyped(line)) for line in masked.split("\n")]
    return _MISTYPED.sub(rf"\1:{HIDDEN}", "\n".join(lines))


def mask_sentence(sentence: str) -> str:
    """The sentence with `***` for the password of every URL in it, mistyped ones too."""
    return _WORDS.sub(lambda word: mask_word(word[0]), sentence)
