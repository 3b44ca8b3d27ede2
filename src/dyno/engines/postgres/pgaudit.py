"""Entries of pgaudit in PostgreSQL's log (its README, "Format"): CSV behind `AUDIT: `.

A statement has a number in its session, and an entry for each relation (`log_relation`), each
object that a role audits, and each statement that a function or a trigger sends. The first is what
the client sent. It is written when the statement begins; that of a utility when it has ended.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NamedTuple

from dyno.sql.tokens import Quoting, shorten
from dyno.workloads.replay.logs import LogEntry, Reasons, count_parameters

#: What an entry's message begins with.
AUDIT = "AUDIT: "
#: Columns: the kind of entry, numbers of statement and part, class, command, object, text, values.
_NUMBER_AT, _COMMAND_AT, _TEXT_AT, _VALUES_AT, _COLUMNS = 1, 4, 7, 8, 9
#: What stands for values, for one over `log_parameter_max_size`, for a text (`log_statement_once`),
#: for a password.
_NONE, _NOT_LOGGED, _LONG = "<none>", "<not logged>", "<long field suppressed>"
_LOGGED, _REDACTED = "<previously logged>", "<REDACTED>"
_PREPARED = re.compile(r"\s*prepare\b", re.IGNORECASE)

ROWS = "entries of pgaudit with rows, which stand behind those of inner statements"
ROWS_HINT = "set pgaudit.log_rows=off, and log again"
DAMAGED = "an entry of pgaudit that is not whole"
WITHOUT_VALUES = "without the values of their parameters (pgaudit.log_parameter=off)"
PASSWORD = "whose password pgaudit took out"
UNCLEAR = "with a value that is NULL, empty or too long, which pgaudit does not tell"
BESIDE = "an entry of pgaudit beside logged statements, which are read"
BESIDE_AUDITS = "a logged statement beside entries of pgaudit, which are read"


class AuditedStatement(NamedTuple):
    """What a client sent; `lost` says why it cannot be played."""

    sql: str
    values: tuple[str | None, ...] = ()
    lost: str = ""


class AuditEntries:
    """The entries of a log, of each statement the first, and of one packet's statements, which have
    one text, too.
    """

    def __init__(self, quoting: Quoting) -> None:
        self._quoting = quoting
        #: By session: the number of the latest statement, its text, how many more have the text.
        self._latest = dict[str, tuple[str, str, int]]()

    def read(self, entry: LogEntry, unread: Reasons) -> Iterator[LogEntry]:
        """Yield an entry, whose text is the message, with its statement where it is the first."""
        said: AuditedStatement | str | None = AuditedStatement(entry.sql)  # of one that is cut
        if not entry.letters:
            said = self._read_text(entry.session, entry.sql)
        if isinstance(said, str):
            unread.add(said, entry.line, hint=ROWS_HINT if said == ROWS else "")
        elif said is not None:
            lost = entry.lost or said.lost
            yield entry._replace(sql=said.sql, values=said.values, lost=lost)

    def _read_text(self, session: str, text: str) -> AuditedStatement | str | None:
        """Return the statement, or why there is none; None where it was returned."""
        row = _parse(text.removeprefix(AUDIT))
        if len(row) != _COLUMNS or (row[_TEXT_AT] == _LOGGED and session not in self._latest):
            return ROWS if len(row) == _COLUMNS + 1 else DAMAGED
        number, sql = row[_NUMBER_AT], row[_TEXT_AT]
        # what an EXECUTE runs stands before it, with the text by which it was prepared
        is_run = row[_COMMAND_AT] != "PREPARE" and bool(_PREPARED.match(sql))
        latest, told, left = self._latest.get(session, ("", "", 0))
        if is_run or number == latest:
            return None
        if left and sql == told:
            self._latest[session] = number, sql, left - 1
            return None
        more = 0
        if ";" in sql.rstrip("; \n"):
            parts = shorten(sql, self._quoting).split(";")
            more = sum(bool(part.strip()) for part in parts) - 1
        self._latest[session] = number, sql, more
        if _REDACTED in sql:
            return AuditedStatement(sql, lost=PASSWORD)
        if row[_VALUES_AT] == _NONE or row[_COMMAND_AT] == "PREPARE":
            return AuditedStatement(sql)
        if row[_VALUES_AT] == _NOT_LOGGED:
            return AuditedStatement(sql, lost=WITHOUT_VALUES if count_parameters(sql) else "")
        values = _parse(row[_VALUES_AT])
        return AuditedStatement(sql, tuple(values), UNCLEAR if {"", _LONG} & {*values} else "")


def _parse(text: str) -> list[str]:
    csv.field_size_limit(1 << 30)
    try:
        (row,) = csv.reader([text], strict=True)
    except (csv.Error, ValueError):
        return []
    return row
