"""What a packed run does not tell: users, hosts, homes and secrets, each with a word in its place.

Two servers stay two servers (`server1`, `server2`), so that a run's candidates are told apart.
Names that every machine has (`root`, `localhost`) say nothing of anybody and stay. A name that is
also a word of the records (a user called `run`) is replaced only in paths and addresses, where it
cannot be that word.

Patterns find secrets only where they are expected. So of text of others (logs, errors, values of
settings) a word stays that is known to be ours, as each word of Dyno's own sources is, and `?`
stands in the place of all others (`Hiding.mask`).
"""

from __future__ import annotations

import getpass
import hashlib
import html
import ipaddress
import json
import os
import pwd
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote

from dyno.passwords import HIDDEN, find_password, mask_password

#: Names that tell nothing.
PLAIN = {"admin", "debian", "host", "localhost", "nobody", "root", "test", "ubuntu", "user"}
#: The shortest name that is looked for as a word of its own, and the shortest secret.
SHORTEST, SHORTEST_SECRET = 3, 5
#: What stands for a name of somebody, and for a word that is not known to be ours.
NAMELESS, UNKNOWN = "hidden", "?"

_HOME = re.compile(r"(/home/|/Users/)[^/\s'\":,]+")
_ADDRESS = re.compile(
    r"\b(?P<scheme>(?!https?:|file:)[a-z][a-z0-9+]{0,30}+)://"
    r"(?P<user>[^@/?\s'\"]{0,300}+@)?(?P<host>\[[^\]]{0,300}+\]|[^\s:/?'\",)\\]*)"
)
_KEY = re.compile(r"\b(?P<key>host|hostaddr|user|PGHOST|PGUSER)=(?P<name>[^\s&'\",/)\\]+)")
_IP = re.compile(
    r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,40}+[0-9.]{0,15})"
    r"(?:%\w{1,15}+)?(?![\w.-])"
)
_SWITCHES = {"", "0", "1", "on", "off", "yes", "no", "true", "false"}
_LOOPBACK = {"", "localhost", "127.0.0.1", "[::1]"}

#: A literal of SQL or JSON; one that never ends goes as far as it may.
_TEXT = r"[A-Za-z]?'(?:[^'\\]|\\.|''){0,500}+'?|\$(?P<tag>\w{0,20})\$.{0,500}?\$(?P=tag)\$"
_QUOTED = rf'(?:{_TEXT}|"(?:[^"\\]|\\.|""){{0,500}}+"?)'
_LITERAL = re.compile(_QUOTED, re.DOTALL)
#: A key that is a password's by its name, with its value; behind a space only where it is quoted,
#: or the key an option.
_SECRET = re.compile(
    r"(?is)(?P<key>(?:passw(?:or)?ds?|pass|passphrase|pwd|secret|token|credentials?|api_?key"
    r"|access_?key|private_?key|auth(?:entication)?_string)"
    r"(?![a-z])[\w-]{0,30}+[\"'`\])]{0,2}+)"
    rf"(?P<sign>\s*+(?:=>|:=|[:=])\s*+\(?\s*+|\s*+\(\s*+|\s++(?=[A-Za-z]?['\"$])|\s++to\s++)"
    rf"(?P<value>{_QUOTED}|[^\s&,;)]++)"
)
_OPTION = re.compile(
    r"(?i)(?P<key>(?<![\w-])--?[\w-]{0,40}?"
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token)[\w-]{0,20}+)"
    r"(?P<sign>\s++|=)(?P<value>'[^'\n]{0,500}+'|\"[^\"\n]{0,500}+\"|[^\s'\"]++)"
)
#: `-psecret` of MySQL's programs.
_SHORT_OPTION = re.compile(r"(?P<key>(?<![\w-])-p)(?P<sign>)(?P<value>'[^'\n]{1,500}+'|[^\s'\"]++)")
#: Settings that are about passwords and hold none, where their value is a number or a switch.
_ABOUT_SECRETS = re.compile(
    r"(?i)passw(?:or)?d_(?:lifetime|history|reuse_interval|reuse_time|require_current|expire"
    r"|lock_time|grace_time|min_length|length)[\"'`\])]*+\Z"
)
_ABOUT_VALUE = re.compile(r"(?i)\d{1,4}|on|off|true|false|default|never")
#: Statements that may hold a password, up to their end: none of their literals is shown.
_ACCOUNT = re.compile(
    r"(?is)\b(?:identified"
    r"|(?:create|alter)\s++(?:or\s++replace\s++)?(?:user|role|server|subscription)"
    r"|set\s++password|change\s++(?:master|replication)|set\s++global|grant|primary_conninfo"
    r"|dblink_connect)\b[^;]{0,1000}+"
)
#: What stands for a moment, an error's code or a version: these are no values of anybody.
_STAMP = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w.])"
    r"|(?<![\w.])\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?![\w.])|MY-\d{6}(?!\w)"
    r"|(?i:\b(?:error|errno|errcode|code|signal|status|line|port|exit|pid)\b[ :=#(]{1,3}\d{1,5}\b)"
)
_WORD = re.compile(rf"(?P<stamp>{_STAMP})|[^\s()\[\]{{}}<>,;:'\"=`|/@\\]+")
_VERSION = re.compile(r"[v@]?\d{1,4}\.\d{1,4}\.\d{1,4}|\d{1,2}\.\d{1,2}")
_NUMBER = re.compile(r"[-+~±≤≥]?\d[\d+-]{0,20}(?:\.\d{1,12})?(?:e[-+]?\d{1,3})?[A-Za-zµ%]{0,3}")
#: Words of our own that stand in the place of others.
_STAND_IN = re.compile(r"(?:server|client)\d+|(?:group|host)-[0-9a-f]{8}|\?[0-9a-f]{0,3}")
_DIGITS = r"(?<![\w.$\"?])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w\"])"
#: Values in a statement, and in a plan, in which names are in double quotes.
_VALUE = re.compile(rf"{_QUOTED}|{_DIGITS}", re.DOTALL | re.IGNORECASE)
_PLANNED = re.compile(_TEXT, re.DOTALL)


#: Files of ours whose words may be shown.
_SOURCES = {".py", ".lua", ".toml", ".sql", ".css", ".html", ".js"}


@cache
def list_own_words() -> frozenset[str]:
    """The words of Dyno's own sources, in lower case: messages, options, engines' own names."""
    home = Path(__file__).resolve().parents[2]
    texts = (
        file.read_text("utf-8", errors="replace")
        for file in home.rglob("*")
        if file.suffix in _SOURCES and file.is_file()
    )
    return _split_words(texts)


def _split_words(texts: Iterable[str]) -> frozenset[str]:
    words = {word for text in texts for word in re.findall(r"[a-z0-9]+", text.lower())}
    return frozenset(word for word in words if not word.isdigit())


@dataclass(frozen=True)
class Known:
    """What is known of the words of records: `keys` are hidden in paths and addresses only, `told`
    are names that stay, of candidates, workloads and runs. `words` are those in the place of names
    that must stay apart; `given` too, for names that users gave, which may be words of any page:
    they are replaced in records and logs, and not missed there.
    """

    keys: Collection[str] = ()
    told: Collection[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)


NOTHING_KNOWN = Known()


class Hiding:
    """Replaces, always alike: the same name has the same word in all files of a run."""

    def __init__(
        self, names: Iterable[str], texts: Iterable[str] = (), known: Known = NOTHING_KNOWN
    ) -> None:
        """`names`, the secrets in `texts`, and the names of their addresses are hidden wherever
        they stand as words.
        """
        self._servers: dict[str, str] = {**known.given, **known.words}
        self._given = frozenset(known.given) - known.words.keys()
        self._meant: dict[str, str] = dict.fromkeys(names, NAMELESS)
        self._secrets: set[str] = set()
        self._words: re.Pattern[str] | None = None
        plain = {key.lower() for key in known.keys} | PLAIN
        self._known = list_own_words() | _split_words(plain)
        self._told: frozenset[str] = frozenset()
        for text in texts:
            self.hide(text)
        self._meant |= self._servers
        for name in list(self._meant):
            if len(name) < SHORTEST or name.lower() in plain:
                del self._meant[name]
        self._meant |= dict.fromkeys(filter(self._is_telling, self._secrets), HIDDEN)
        if self._meant:
            joined = "|".join(map(re.escape, sorted(self._meant, key=len, reverse=True)))
            self._words = re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])")
        self._told = frozenset(self.hide(name).lower() for name in known.told)
        self._known |= _split_words(self._told)

    def hide(self, text: str) -> str:
        """The text without names and secrets; what it knows of itself stays."""
        text = _ACCOUNT.sub(lambda found: _LITERAL.sub(self._hide_literal, found[0]), text)
        text = _OPTION.sub(self._hide_secret, _SECRET.sub(self._hide_secret, text))
        text = "\n".join(map(self._hide_in_url, text.split("\n")))
        text = _ADDRESS.sub(self._hide_address, text)
        text = _KEY.sub(self._hide_key, text)
        text = _HOME.sub(r"\1user", text)
        text = _IP.sub(self._hide_ip, text)
        return self._words.sub(lambda found: self._meant[found[0]], text) if self._words else text

    def hide_folders(self, text: str) -> str:
        """A file's place without names and secrets; of folders, those that are known to be ours."""
        folder, slash, name = self.hide(text).rpartition("/")
        if not folder.startswith("/"):
            return f"{folder}{slash}{name}"
        return f"{_WORD.sub(partial(self._mask_word, numbers=False, apart=True), folder)}/{name}"

    def hide_values(self, text: str) -> str:
        """A statement without names, secrets and values."""
        return _VALUE.sub(UNKNOWN, self.hide(text))

    def hide_whole(self, text: str) -> str:
        """Stars in the place of what is a secret as a whole, and no number or switch."""
        return text if text.lower() in _SWITCHES else HIDDEN

    def hide_texts(self, text: str) -> str:
        """A plan, or a statement that has no values any more, the same."""
        return _PLANNED.sub(UNKNOWN, self.hide(text))

    def mask(self, text: str, *, numbers: bool = False, apart: bool = False) -> str:
        """Text of others: `?` in the place of each word that is not known to be ours, and of
        numbers unless they may stay. Kept `apart`, different words have different ones (`?3f1`),
        the same in every run, and so few of them that none tells its word.
        """
        text = _SHORT_OPTION.sub(self._hide_secret, self.hide(text))
        return _WORD.sub(partial(self._mask_word, numbers=numbers, apart=apart), text)

    def _mask_word(self, found: re.Match[str], numbers: bool, apart: bool) -> str:
        word = found[0]
        plain = word.rstrip(".!?")
        if found["stamp"] or self._is_known(plain, 2 * numbers):
            return word
        if numbers and _NUMBER.fullmatch(word):
            return word
        return f"{UNKNOWN}{hashlib.sha256(word.encode('utf-8', 'replace')).hexdigest()[:3] * apart}"

    def _is_known(self, word: str, digits: int = 0) -> bool:
        """Is it a word of ours, or made of such and of numbers of so many digits?"""
        low = word.lower()
        if low in self._told or low in self._known or _VERSION.fullmatch(word):
            return True
        if HIDDEN in word or _STAND_IN.fullmatch(word):
            return True
        parts = re.findall(r"[^\W_]+", low)
        return all(len(part) <= digits if part.isdigit() else part in self._known for part in parts)

    def _is_telling(self, secret: str) -> bool:
        """Is it a word by which a secret, and nothing else, is found again?"""
        is_number = secret.isdigit() and len(secret) < 2 * SHORTEST_SECRET
        return len(secret) >= SHORTEST_SECRET and not is_number and not self._is_known(secret)

    def is_hidden(self, name: str) -> bool:
        """Does this name have a word in its place everywhere?"""
        return name in self._meant

    def find_left(self, text: str) -> str:
        """A name or a secret that still stands in the text as a word, or as JSON and pages write
        it; empty where none does.
        """
        found = self._words.finditer(text) if self._words else ()
        if left := next((each[0] for each in found if each[0] not in self._given), ""):
            return left
        for secret in self._secrets:
            forms = {json.dumps(secret)[1:-1], html.escape(secret)} - {secret}
            if self._is_telling(secret) and any(form in text for form in forms):
                return secret
        return ""

    def _hide_in_url(self, line: str) -> str:
        self._note_secret(unquote(find_password(line)))
        return mask_password(line)

    def _hide_secret(self, found: re.Match[str]) -> str:
        if _ABOUT_SECRETS.search(found["key"]) and _ABOUT_VALUE.fullmatch(found["value"]):
            return found[0]
        self._note_secret(found["value"])
        return f"{found['key']}{found['sign']}{HIDDEN}"

    def _hide_literal(self, found: re.Match[str]) -> str:
        self._note_secret(found[0])
        return f"'{HIDDEN}'"

    def _note_secret(self, literal: str) -> None:
        if self._words is None:
            inner = re.sub(r"^(?:[A-Za-z]?'|\"|\$\w*\$)|(?:'|\"|\$\w*\$)$", "", literal)
            self._secrets.add(inner.strip("'\".,:"))

    def _hide_address(self, found: re.Match[str]) -> str:
        user, host = found["user"] or "", found["host"]
        if name := user.removesuffix("@").partition(":")[0]:
            self._meant.setdefault(name, NAMELESS)
        shown = host if host in _LOOPBACK else self._name_server(host)
        return f"{found['scheme']}://{'user@' if user else ''}{shown}"

    def _hide_key(self, found: re.Match[str]) -> str:
        key, name = found["key"], found["name"]
        if key.lower().endswith("user"):
            self._meant.setdefault(name, NAMELESS)
            return f"{key}=user"
        return f"{key}={name if name in _LOOPBACK else self._name_server(name)}"

    def _hide_ip(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]
        if not any(map(str.isdigit, found[0])):
            return found[0]  # a::b is a name of C++, too
        inner = getattr(address, "ipv4_mapped", None) or address
        if inner.is_loopback or inner.is_unspecified:
            return found[0]
        # a version in four parts is an address, too
        return found[0] if inner.is_global and inner.version == 4 else self._name_server(found[0])

    def _name_server(self, host: str) -> str:
        if host in self._servers.values():
            return host
        return self._servers.setdefault(host, f"server{len(self._servers) + 1}")


def list_own_names() -> set[str]:
    """The names of this host and of who asks: account, full name, home folder's, host's."""
    names = {os.uname().nodename, os.uname().nodename.partition(".")[0], Path.home().name}
    names |= {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    with suppress(KeyError, OSError):
        names |= {getpass.getuser(), pwd.getpwuid(os.getuid()).pw_gecos.partition(",")[0]}
    return names - {""}
