"""What `log_line_prefix` says of a line (manual, "What To Log"): its time, session and database."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, Protocol

from dyno.errors import UsageError

HINT = "name it as the server has it (SHOW log_line_prefix): --log-prefix '%m [%p] %q%u@%d '"
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
ZONE = r" (?:[A-Z][A-Za-z]{1,5}(?![\w@])|[+-]\d\d(?::?\d\d){0,2}|<[^>]*>)"
EPOCH = r"\d{9,11}\.\d{3}"
#: What each escape writes; names of applications, users and databases may hold anything.
_ESCAPES = {
    **dict.fromkeys("tms", rf"{TIME}(?:{ZONE})?"),
    "n": EPOCH,
    "c": r"[0-9a-f]+\.[0-9a-f]+",
    "p": r"\d+",
    **dict.fromkeys("lx", r"\d+"),
    "P": r"\d*",
    "Q": r"-?\d+",
    "e": "[0-9A-Z]{5}",
    "v": r"(?:-?\d+/\d+)?",
    **dict.fromkeys("adubhirL", ".*?"),
}
_GROUPS = {
    **{"t": "time", "m": "time", "n": "time", "c": "session", "p": "process"},
    **{"d": "database", "u": "user"},
}
_ESCAPE = re.compile(r"%(-?\d*)(.)|([^%]+)|%", re.DOTALL)


class PrefixWords(NamedTuple):
    """What a line's prefix says; "" for what it does not."""

    time: str
    session: str
    database: str
    user: str = ""


class Shipped(NamedTuple):
    """What a shipper says of a line: when and by which process it was written; "" where not."""

    time: str
    process: str


NOT_SHIPPED = Shipped("", "")


class PrefixReader(Protocol):
    """Reads prefixes of one form."""

    def read(self, prefix: str, by: Shipped = NOT_SHIPPED) -> PrefixWords | None:
        """What a prefix says; None where it has another form."""


class KnownPrefix:
    """Prefixes by a server's own `log_line_prefix`; `UsageError` where that has no time or no
    session.
    """

    def __init__(self, setting: str, by: Shipped = NOT_SHIPPED) -> None:
        self._form = _compile(setting)
        names = self._form.groupindex
        for said, wanted, escapes in (
            (by.time, {"time"}, "%m, %t or %n"),
            (by.process, {"session", "process"}, "%p or %c"),
        ):
            if not (said or wanted.intersection(names)):
                what = "time" if "time" in wanted else "session"
                raise UsageError(
                    f"--log-prefix '{setting}' has no {what} ({escapes})",
                    hint="a replay needs both: log_line_prefix = '%m [%p] %q%u@%d '",
                )

    def read(self, prefix: str, by: Shipped = NOT_SHIPPED) -> PrefixWords | None:
        """What a prefix says; None where it has another form."""
        found = self._form.fullmatch(prefix)
        if found is None:
            return None
        said = found.groupdict("")
        session = said.get("session") or said.get("process") or by.process
        time = said.get("time") or by.time
        return PrefixWords(time, session, said.get("database", ""), said.get("user", ""))


@lru_cache(maxsize=8)
def _compile(setting: str) -> re.Pattern[str]:
    """A setting as the form of a prefix; behind %q stands nothing where no session writes."""
    parts, opened, named = list[str](), 0, set[str]()
    for width, escape, text in _ESCAPE.findall(setting):
        if text or not escape:
            parts.append(re.escape(text))
        elif escape == "%":
            parts.append("%")
        elif escape == "q":
            parts.append("(?:")
            opened += 1
        else:
            name = _GROUPS.get(escape, "")
            form = _ESCAPES.get(escape, "")
            group = f"(?P<{name}>{form})" if name and name not in named else f"(?:{form})"
            named.add(name)
            parts.append(rf" *{group} *" if width else group)
    # an editor may have cut the space in the end
    text = "".join(parts)
    text = text.removesuffix(r"\ ") + r"\ ?" if text.endswith(r"\ ") else text
    return re.compile(text + ")?" * opened)


def try_setting(setting: str, prefixes: list[str], by: Shipped) -> KnownPrefix | None:
    """The reader by a setting that a server has now; None where some of these have another form, or
    a replay could not do with it.
    """
    try:
        reader = KnownPrefix(setting, by)
    except UsageError:
        return None
    return reader if prefixes and all(reader.read(it) for it in prefixes) else None


def check_setting(setting: str, prefixes: list[str], by: Shipped) -> KnownPrefix:
    """The reader of a log's prefixes by a setting; `UsageError` where it fits none of these."""
    reader = KnownPrefix(setting, by)
    if prefixes and not any(reader.read(it) for it in prefixes):
        raise UsageError(
            f"--log-prefix '{setting}' does not fit the log",
            cause=f"its lines begin with '{prefixes[0][:60]}'",
            hint=HINT,
        )
    return reader
