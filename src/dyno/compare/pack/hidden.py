"""What a packed run does not tell: users, hosts, homes and secrets, each with a word in its place.

Two servers stay two servers (`server1`, `server2`), so that a run's candidates are told apart.
Names that every machine has (`root`, `localhost`) say nothing of anybody and stay. A name that is
also a word of the records (a user called `run`) is replaced only in paths and addresses, where it
cannot be that word.
"""

from __future__ import annotations

import getpass
import os
import pwd
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from dyno.passwords import HIDDEN, mask_password

#: Names that tell nothing.
PLAIN = {"admin", "debian", "host", "localhost", "nobody", "root", "test", "ubuntu", "user"}
#: The shortest name that is looked for as a word of its own.
SHORTEST = 3
#: What stands for a name of somebody.
NAMELESS = "hidden"

_HOME = re.compile(r"(/home/|/Users/)[^/\s'\":,]+")
_ADDRESS = re.compile(
    r"\b(?P<scheme>(?!https?:|file:)[a-z][a-z0-9+]*)://"
    r"(?P<user>[^@/?\s'\"]*@)?(?P<host>\[[^\]]*\]|[^\s:/?'\",)\\]*)"
)
_KEY = re.compile(r"\b(?P<key>host|hostaddr|user|PGHOST|PGUSER)=(?P<name>[^\s&'\",/)\\]+)")
_SECRET = re.compile(r"(?i)\b(password|identified\s+by|passwd)(\s*[:=]?\s*)'(?:[^'\\]|\\.|'')*'")
_PRIVATE_IP = re.compile(
    r"(?<![\w.-])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\w.-])"
)
_LOOPBACK = {"", "localhost", "127.0.0.1", "[::1]"}


class Hiding:
    """Replaces, always alike: the same name has the same word in all files of a run."""

    def __init__(
        self,
        names: Iterable[str],
        text: str = "",
        keys: Iterable[str] = (),
        words: Mapping[str, str] = MappingProxyType({}),
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`names` and those of the addresses in `text` are hidden wherever they stand as words;
        `keys` are words of the records, which are hidden in paths and addresses only. `words` are
        those in the place of names that must stay apart; `given` too, for names that users gave,
        which may be words of any page: they are replaced in records and logs, and not missed there.
        """
        self._servers: dict[str, str] = {**given, **words}
        self._given = frozenset(given) - words.keys()
        self._meant: dict[str, str] = dict.fromkeys(names, NAMELESS)
        self._words: re.Pattern[str] | None = None
        for found in _ADDRESS.finditer(text):
            self._hide_address(found)
        for found in _KEY.finditer(text):
            self._hide_key(found)
        known = {key.lower() for key in keys} | PLAIN
        self._meant |= self._servers
        for name in list(self._meant):
            if len(name) < SHORTEST or name.lower() in known:
                del self._meant[name]
        if self._meant:
            joined = "|".join(map(re.escape, sorted(self._meant, key=len, reverse=True)))
            self._words = re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])")

    def hide(self, text: str) -> str:
        """The text without names and secrets."""
        text = _SECRET.sub(rf"\1\2'{HIDDEN}'", mask_password(text))
        text = _ADDRESS.sub(self._hide_address, text)
        text = _KEY.sub(self._hide_key, text)
        text = _HOME.sub(r"\1user", text)
        text = _PRIVATE_IP.sub(lambda found: self._name_server(found[0]), text)
        return self._words.sub(lambda found: self._meant[found[0]], text) if self._words else text

    def is_hidden(self, name: str) -> bool:
        """Does this name have a word in its place everywhere?"""
        return name in self._meant

    def find_left(self, text: str) -> str:
        """A name that still stands in the text as a word; empty where none does."""
        found = self._words.finditer(text) if self._words else ()
        return next((each[0] for each in found if each[0] not in self._given), "")

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
