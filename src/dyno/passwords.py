"""Passwords in what users write: what may be shown, kept or said has stars in their place.

Knows nothing else of ours, so that an error can be said where nothing more can be loaded.
"""

from __future__ import annotations

import re
from urllib.parse import quote

HIDDEN = "***"

#: A password as a word of a connection string (`host=db password=…`), or as a key of a URL.
IN_KEYS = re.compile(r"((?:^|[?&\s])password\s*=\s*)('(?:\\.|[^'\\])*'|[^&\s']+)")

#: All up to the last @ before the keys or, where the password holds a raw ?, up to the last of all.
IN_URL = re.compile(r"(://[^:@/?#]*):([^?]*|(?!\d*/).*)@")
#: A password as an option of its own, of sysbench's: all that follows the sign.
OPTION = re.compile(r"^(--[\w-]*password=).+", re.DOTALL)
#: What may be a password in a word that is no URL, but was meant for one: from the colon behind a
#: user, whatever stands before it, to the last @; or behind a host, where it is no port.
_MISTYPED = re.compile(
    r"((?:\w+(?:[:/\\@]|\s)+)?[^\s:@/\\'\"(]*):(?!//|\*{3}@|\d+(?:[/?]|$))[^\n]+(?=@)"
    r"|(:/{1,2}[^\s:@/?#\[]*):(?!\d*(?:[/?'\")]|[,;]?$))[^\s/@?'\")]+"
)
#: A line of a log, in which such words are users, databases and processes.
_LOGGED = re.compile(r"(?:\d{4}-\d\d-\d\d[ T]\d\d|\d{6}\s+\d{1,2}):\d\d:\d\d")
#: The words of a sentence: in quotes, in brackets, or bare.
_WORDS = re.compile(r"'[^'\n]*'|\([^()\n]*\)|[^\s'()]+")


def mask_password(text: str) -> str:
    """The text with `***` for a URL's password: what may be shown and kept."""
    text = IN_KEYS.sub(rf"\1{HIDDEN}", text)
    return OPTION.sub(rf"\1{HIDDEN}", IN_URL.sub(rf"\1:{HIDDEN}@", text))


def find_password(text: str) -> str:
    """The password of a server's address, as a URL has it (percent signs are escapes); empty where
    there is none, or only its stars.
    """
    if found := IN_KEYS.search(text):
        secret = found[2]
        if "://" not in text:
            secret = quote(re.sub(r"\\(.)", r"\1", secret.strip("'")), safe="")
    else:
        in_url = IN_URL.search(text)
        secret = in_url[2] if in_url else ""
    return "" if secret in (HIDDEN, quote(HIDDEN)) else secret


def mask_word(word: str) -> str:
    """The word with `***` for all that may be a password in it, though it is no URL: for messages
    about a word that is refused. It may hide too much, so it is not for what is kept.
    """
    masked = mask_password(word)
    return masked if _LOGGED.search(word) else _MISTYPED.sub(rf"\1\2:{HIDDEN}", masked)


def mask_sentence(sentence: str) -> str:
    """The sentence with `***` for the password of every URL in it, mistyped ones too."""
    return _WORDS.sub(lambda word: mask_word(word[0]), sentence)
