"""What `log_line_prefix` says of a line (manual, "What To Log"): its time, session and database.
An unknown one is guessed by the lines it wrote: only where one reading of their sessions and
databases fits, else it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from dyno.errors import UsageError

HINT = "name it as the server has it (SHOW log_line_prefix): --log-prefix '%m [%p] %q%u@%d '"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
ZONE = r" (?:[A-Z][A-Za-z]{1,5}(?![\w@])|[+-]\d\d(?::?\d\d){0,2}|<[^>]*>)"
EPOCH = r"\d{9,11}\.\d{3}"
#: What each escape writes; names of applications, users and databases may hold anything.
_ESCAPES = {
    **dict.fromkeys("tms", rf"{STAMP}(?:{ZONE})?"),
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
        """Return what a prefix says; None if it has another form."""


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


_TIMES = re.compile(rf"({STAMP}(?:{ZONE})?)|(?<![\d.])({EPOCH})(?!\d)")
_SESSION = re.compile(r"(?<![\w.])([0-9a-f]{6,8})\.[0-9a-f]{1,8}(?![\w.])")
_LABELLED = re.compile(
    r"(?<![a-z])(?:pid|process(?:[_ ]?id)?|backend(?:[_ ]?pid)?)[=: ]{1,2}\[?(\d+)"
    r"|\[(\d+)\]: \[\d+-\d+\]",  # pgBadger's %p and %l
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?<![a-z])(?:db|dbname|datname|database)[=:] ?([^\s,;|\])]*)", re.IGNORECASE)
#: A user or an application may have an @, too, and a host may stand behind it.
_AT = re.compile(r"(?<![^\s:|,(\[=])[^\s@:|,\[\]=]+@([^\s:|,/()\[\]=]+)")
#: Words behind a database that may be more of its name.
_BEHIND = re.compile(r"\x01 ++([^\0\x01\[\](){}|,:;=<>@/]*[^\0\x01\[\](){}|,:;=<>@/ ])(?![\w=])")
_REMOTE = re.compile(
    r"\[local\](?:\(\d*\))?|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[(:]\d+\)?)?(?![\w.])"
    r"|(?<![\w.-])[\w.-]++\(\d+\)"
    r"|(?<![\w:\0])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}(?:\(\d+\))?(?![\w:])"
)
#: Virtual transactions, an error's code where there is none, and a tag of what a session does.
_OTHER = re.compile(
    r"(?<![\w/])-?\d+/\d+(?![\w/])|(?<!\w)00000(?!\w)"
    r"|(?<![\w.-])\d[\dA-Z]*[A-Z][\dA-Z]*(?![\w.-])|(?<!\w)idle(?: in transaction)?(?!\w)"
    r"|(?<!\w)(?:client backend|parallel worker|not initialized|startup)(?!\w)|\[unknown\]"
    r"|(?<![\w.-])(?:SELECT|INSERT|UPDATE|DELETE|MERGE|BEGIN|START TRANSACTION|COMMIT|ROLLBACK|SET"
    r"|SHOW|PARSE|BIND|EXECUTE|PREPARE|DEALLOCATE|DISCARD(?: ALL)?|EXPLAIN|FETCH|DECLARE CURSOR"
    r"|CLOSE CURSOR|COPY|TRUNCATE TABLE|(?:CREATE|ALTER|DROP) [A-Z]+|VACUUM|ANALYZE|SAVEPOINT"
    r"|RELEASE|LISTEN|NOTIFY|LOCK TABLE|CALL|DO)(?![\w.-])"
)
_NUMBER = re.compile(r"(?<![\w./@=-])\d{1,10}(?![\w./@])|(?<=\d-)\d+(?!\w)")
_WORD = re.compile(r"[^\W\d][\w.$-]*")
#: The highest number of a process on 64-bit Linux.
PROCESS_MOST = 1 << 22
#: A session's id has its begin in it: up to so long before a line, and a time zone after it.
AGE_MOST_S, ZONES_S = 5 * 366 * 86400, 15 * 3600


class _Parts(NamedTuple):
    """A prefix taken apart but for its time: what may be a session, its database (None: it names
    none), and the words that are none of these. `beside`: what may be of the database's name, too;
    `others`: what may be the database in its place.
    """

    ids: tuple[str, ...]
    labelled: str
    numbers: tuple[int, ...]
    database: str | None
    words: tuple[str, ...]
    beside: tuple[str, ...]
    others: tuple[str, ...]


def _take_apart(prefix: str) -> tuple[tuple[str, ...], _Parts]:
    """The times of a prefix, and its other parts."""
    time = _TIMES.search(prefix)
    if time is None:
        return (), _take_rest_apart(prefix)
    end = time.end()
    if _TIMES.search(prefix, end):
        times = tuple(it[0] for it in _TIMES.finditer(prefix))
        return times, _take_rest_apart(_TIMES.sub("\0", prefix))
    return (time[0],), _take_rest_apart(f"{prefix[: time.start()]}\0{prefix[end:]}")


@lru_cache(maxsize=1 << 12)
def _take_rest_apart(rest: str) -> _Parts:
    ids = tuple(it[0] for it in _SESSION.finditer(rest))
    labelled = _LABELLED.search(rest)
    named = _NAMED.search(rest)
    found = [(it[0], parts) for it in _AT.finditer(rest) if (parts := _split_names(rest, it))]
    if named:
        found = [(named[0], [named[1]])]
    rest = _SESSION.sub("\0", rest)
    database, beside = None, list[str]()
    if found:
        text, (*beside, database) = found[0]
        rest = rest.replace(text, "\1", 1)
    rest = _OTHER.sub("\0", _REMOTE.sub("\0", rest))
    behind = _BEHIND.search(rest)
    if behind and not behind[1].isdecimal():
        beside.append(behind[1])
    numbers = tuple(int(it) for it in _NUMBER.findall(rest))
    words = tuple(_WORD.findall(rest))
    process = next(filter(None, labelled.groups())) if labelled else ""
    others = tuple(parts[-1] for _, parts in found[1:])
    return _Parts(ids, process, numbers, database, words, tuple(beside), others)


def _split_names(prefix: str, at: re.Match[str]) -> list[str]:
    """What stands behind each @ but for a host."""
    names = at[1].split("@")
    is_host = "." in names[-1] or prefix[at.end() :][:1] == "("
    return names[:-1] if is_host else names


class _Names:
    """What lines name beside their sessions, as long as one reading of it fits; `UsageError` of the
    line by which another one would have other databases.
    """

    def __init__(self) -> None:
        self._first: _Parts | None = None
        self._of = dict[str | None, tuple[str, ...]]()
        self._others = dict[tuple[str, ...], str | None]()

    @property
    def has_database(self) -> bool:
        """Return whether statements' lines name one."""
        return self._first is not None and self._first.database is not None

    def check(self, prefix: str, parts: _Parts) -> None:
        first = self._first = self._first or parts
        one: tuple[str, ...] = (first.database or "", *first.beside, *first.others)
        other: tuple[str, ...] = (parts.database or "", *parts.beside, *parts.others)
        is_alike = (first.database is None) == (parts.database is None)
        if parts.database is None:
            one, other = first.words, parts.words
            is_alike = is_alike and one == other
        else:
            of = self._of.setdefault(parts.database, parts.beside)
            is_alike = is_alike and of == parts.beside and len(first.others) == len(parts.others)
            if is_alike and parts.others:
                of = self._of.setdefault(f"\0{parts.database}", parts.others)
                is_alike = of == parts.others
                is_alike &= self._others.setdefault(of, parts.database) == parts.database
        if not is_alike:
            raise UsageError(
                f"the prefix '{prefix.strip()[:60]}' can be read in more than one way",
                cause=f"'{' '.join(filter(None, one))}' or '{' '.join(filter(None, other))}' may "
                "name a database, or an application",
                hint=HINT,
            )


CHECKED = 1 << 10


class GuessedPrefix:
    """Prefixes of which one reading fits: the session is the labelled number, an id or a number,
    the n-th from the left.
    """

    def __init__(self, at: int, is_id: bool, names: _Names, time_at: int) -> None:
        self._at, self._is_id, self._names, self._time_at = at, is_id, names, time_at
        #: Those that were checked, by their places in memory: most lines' parts are known objects.
        self._checked = dict[int, _Parts]()

    def read(self, prefix: str, by: Shipped = NOT_SHIPPED) -> PrefixWords | None:
        """What a prefix says; None where it has another form; `UsageError` where it is the first
        that may name another database.
        """
        times, parts = _take_apart(prefix)
        time = times[self._time_at] if len(times) > self._time_at else by.time
        session = parts.labelled or by.process
        if self._at >= 0:
            found: Sequence[object] = parts.ids if self._is_id else parts.numbers
            session = str(found[self._at]) if self._at < len(found) else ""
        if not (time and session):
            return None
        if parts is not self._checked.get(id(parts)):
            if parts.database is not None or not self._names.has_database:
                self._names.check(prefix, parts)  # else a process without one
            if len(self._checked) >= CHECKED:
                self._checked.clear()
            self._checked[id(parts)] = parts
        return PrefixWords(time, session, parts.database or "")


def guess_prefix(prefixes: list[str], every: list[str], by: Shipped = NOT_SHIPPED) -> GuessedPrefix:
    """The one reading of the prefixes of a log's first statements, and of `every` line among them;
    `UsageError` where there is none, or more than one. `by`: what their shipper says.
    """
    first, taken = prefixes[0].strip()[:60], [(it, *_take_apart(it)) for it in prefixes]
    if not by.time:  # a damaged line decides nothing
        taken = [it for it in taken if it[1]]
    if not taken:
        raise UsageError(
            f"the prefix '{first}' has no time", hint="a replay needs %m and %p in log_line_prefix"
        )
    names = _Names()
    for prefix, _, row in taken:
        names.check(prefix, row)
    _, times, rows = zip(*taken, strict=True)
    time_at = _find_time(times, first)
    build = partial(GuessedPrefix, names=names, time_at=time_at)
    if all(row.labelled for row in rows):
        return build(-1, False)
    ids = min(len(row.ids) for row in rows)
    for at in range(ids):
        told = zip(times, rows, strict=True)
        if all(_is_session_id(row.ids[at], it[time_at] if it else by.time) for it, row in told):
            return build(at, True)
    if by.process and not all(row.numbers for row in rows):
        return build(-1, False)
    counted = [_take_apart(it)[1] for it in every]
    return build(_find_process(rows, counted, first), False)


def _find_time(rows: Sequence[tuple[str, ...]], first: str) -> int:
    """Return which time from the left is the line's: another is when its session began, or is
    coarser.
    """
    width = min(map(len, rows))
    seconds = [[_parse_known(it) for it in row[:width]] for row in rows]
    for at in range(width):
        if all(row[at] >= max(row) for row in seconds):
            return at
    if width:
        shown = " or ".join(f"'{it}'" for it in rows[0])
        raise UsageError(
            f"the prefix '{first}' can be read in more than one way",
            cause=f"{shown} may be its time",
            hint=HINT,
        )
    return 0


def _parse_known(time: str) -> float:
    from dyno.engines.postgres.logs import parse_seconds

    return parse_seconds(time) or 0.0


def _is_session_id(text: str, time: str) -> bool:
    """Return whether its first part is the second when a session began, not long before this
    time.
    """
    age_s = _parse_known(time) - int(text.partition(".")[0], 16)
    return -ZONES_S <= age_s <= AGE_MOST_S


def _find_process(rows: Sequence[_Parts], every: Sequence[_Parts], first: str) -> int:
    """Return which number from the left is the process: the only one, one by which another counts
    lines, or any of those that split the lines alike.
    """
    width = min(len(row.numbers) for row in rows)
    columns = [[row.numbers[at] for row in rows] for at in range(width)]
    lines = [row.numbers for row in every if len(row.numbers) >= width]
    fitting = [at for at, it in enumerate(columns) if all(0 < n <= PROCESS_MOST for n in it)]
    if not fitting:
        raise UsageError(
            f"the prefix '{first}' has no session",
            hint="a replay needs %m and %p: log_line_prefix = '%m [%p] %q%u@%d '",
        )
    # line by line; in a log of which lines were left out, with gaps
    for gap_most in (1, PROCESS_MOST):
        counted = {
            (by, at)
            for by in fitting
            for at in fitting
            if at != by and _is_line_count([(it[by], it[at]) for it in lines], gap_most)
        }
        if len(counted) == 1:
            ((by, _),) = counted
            return by
    parted = {tuple(columns[at].index(it) for it in columns[at]) for at in fitting}
    if len(parted) > 1 or len(fitting) > 1 == len(rows):
        shown = " or ".join(str(columns[at][0]) for at in fitting)
        raise UsageError(
            f"the prefix '{first}' can be read in more than one way",
            cause=f"{shown} may be its process",
            hint=HINT,
        )
    return fitting[0]


def _is_line_count(lines: Sequence[tuple[int, int]], gap_most: int) -> bool:
    """Return whether the second number grows with each line of the same first, by `gap_most` at
    most, and there are such lines.
    """
    latest, has_grown = dict[int, int](), False
    for session, count in lines:
        before = latest.get(session)
        if before is not None:
            if not before < count <= before + gap_most:
                return False
            has_grown = True
        latest[session] = count
    return has_grown
