"""A `log_line_prefix` that nobody named, guessed by the lines it wrote: only where one reading of
their sessions and databases fits, else it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from dyno.engines.postgres.log_prefix import (
    EPOCH,
    HINT,
    NOT_SHIPPED,
    TIME,
    ZONE,
    PrefixWords,
    Shipped,
)
from dyno.errors import UsageError

_TIMES = re.compile(rf"({TIME}(?:{ZONE})?)|(?<![\d.])({EPOCH})(?!\d)")
_SESSION = re.compile(r"(?<![\w.])([0-9a-f]{6,8})\.[0-9a-f]{1,8}(?![\w.])")
_LABELLED = re.compile(
    r"(?<![a-z])(?:pid|process(?:[_ ]?id)?|backend(?:[_ ]?pid)?)[=: ]{1,2}\[?(\d+)", re.IGNORECASE
)
_DATABASES = (
    re.compile(r"(?<![a-z])(?:db|dbname|datname|database)[=:] ?([^\s,;|\])]*)", re.IGNORECASE),
    re.compile(r"(?<![^\s:|,(\[=])[^\s@:|,\[\]=]+@([^\s@:|,/()\[\]=]+)"),
)
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
    none), and the words that are none of these.
    """

    ids: tuple[str, ...]
    labelled: str
    numbers: tuple[int, ...]
    database: str | None
    words: tuple[str, ...]


def _take_apart(prefix: str) -> tuple[str, _Parts]:
    """The time of a prefix, and its other parts."""
    time = _TIMES.search(prefix)
    if time is None:
        return "", _take_rest_apart(prefix)
    rest = f"{prefix[: time.start()]}\0{prefix[time.end() :]}"
    return time[1] or time[2], _take_rest_apart(rest)


@lru_cache(maxsize=1 << 12)
def _take_rest_apart(rest: str) -> _Parts:
    rest = _TIMES.sub("\0", rest)
    ids = tuple(it[0] for it in _SESSION.finditer(rest))
    labelled = _LABELLED.search(rest)
    found = next((it for form in _DATABASES if (it := form.search(rest))), None)
    if found and "@" in found[0] and ("." in found[1] or rest[found.end() :][:1] == "("):
        found = None  # a host
    rest = _SESSION.sub("\0", rest)
    if found:
        rest = rest.replace(found[0], "\0", 1)
    rest = _OTHER.sub("\0", _REMOTE.sub("\0", rest))
    numbers = tuple(int(it) for it in _NUMBER.findall(rest))
    words = tuple(_WORD.findall(rest))
    database = found[1] if found else None
    return _Parts(ids, labelled[1] if labelled else "", numbers, database, words)


class GuessedPrefix:
    """Prefixes of which one reading fits: the session is the labelled number, an id or a number,
    the n-th from the left.
    """

    def __init__(self, at: int, is_id: bool, words: tuple[str, ...] | None) -> None:
        self._at, self._is_id, self._words = at, is_id, words

    def read(self, prefix: str, by: Shipped = NOT_SHIPPED) -> PrefixWords | None:
        """What a prefix says; None where it has another form; `UsageError` where it is the first
        that may name another database.
        """
        time, parts = _take_apart(prefix)
        session, time = parts.labelled or by.process, time or by.time
        if self._at >= 0:
            found: Sequence[object] = parts.ids if self._is_id else parts.numbers
            session = str(found[self._at]) if self._at < len(found) else ""
        if not (time and session):
            return None
        if self._words is not None and parts.database is None and parts.words != self._words:
            _refuse_words(prefix, self._words, parts.words)
        return PrefixWords(time, session, parts.database or "")


def _refuse_words(prefix: str, one: Iterable[str], other: Iterable[str]) -> None:
    raise UsageError(
        f"the prefix '{prefix.strip()[:60]}' can be read in more than one way",
        cause=f"'{' '.join(one)}' or '{' '.join(other)}' may name a database, or an application",
        hint=HINT,
    )


def guess_prefix(prefixes: list[str], every: list[str], by: Shipped = NOT_SHIPPED) -> GuessedPrefix:
    """The one reading of the prefixes of a log's first statements, and of `every` line among them;
    `UsageError` where there is none, or more than one. `by`: what their shipper says.
    """
    times, rows = zip(*map(_take_apart, prefixes), strict=True)
    first = prefixes[0].strip()[:60]
    if not (by.time or any(times)):
        raise UsageError(
            f"the prefix '{first}' has no time", hint="a replay needs %m and %p in log_line_prefix"
        )
    words = None
    if any(row.database is None for row in rows):
        words = next(row.words for row in rows if row.database is None)
        for prefix, row in zip(prefixes, rows, strict=True):
            if row.database is None and row.words != words:
                _refuse_words(prefix, words, row.words)
    if all(row.labelled for row in rows):
        return GuessedPrefix(-1, False, words)
    ids = min(len(row.ids) for row in rows)
    for at in range(ids):
        told = zip(times, rows, strict=True)
        if all(_is_session_id(row.ids[at], time or by.time) for time, row in told):
            return GuessedPrefix(at, True, words)
    if by.process and not all(row.numbers for row in rows):
        return GuessedPrefix(-1, False, words)
    counted = [_take_apart(it)[1] for it in every]
    return GuessedPrefix(_find_process(rows, counted, first), False, words)


def _is_session_id(text: str, time: str) -> bool:
    """Is the first part of it the second when a session began, not long before this time?"""
    from dyno.engines.postgres.logs import parse_seconds

    age_s = (parse_seconds(time) or 0.0) - int(text.partition(".")[0], 16)
    return -ZONES_S <= age_s <= AGE_MOST_S


def _find_process(rows: Sequence[_Parts], every: Sequence[_Parts], first: str) -> int:
    """Which number from the left is the process: the only one, the one by which another counts
    lines, or any of those that part the lines alike.
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
    """Does the second number grow with each line of the same first, by so much at most, and are
    there such lines?
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
