"""What MySQL's and MariaDB's log files have in common: SQL's dialect, times, and lines that begin a
file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from dyno.sql.tokens import Quoting
from dyno.workloads.replay.formats import LogFile
from dyno.workloads.replay.logs import TIME_MOST_S
from dyno.workloads.replay.statements import Dialect

SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)
DIALECT = Dialect(QUOTING, SCHEMAS, "USE `{}`")


ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
OLD = r"\d{6}\s+\d{1,2}:\d\d:\d\d"
#: What a server writes at the head of each file that it opens, at its start and by FLUSH LOGS.
_HEADER = re.compile(r"^(?:Time +Id +Command +Argument|Tcp port: .*|.*, Version: .*started with:)")

#: Commands of the protocol, as a general log names them.
_COMMANDS = (
    r"(?:Query|Execute|Prepare|Connect|Quit|Init DB|Close stmt|Reset stmt|Fetch|Long Data"
    r"|Field List|Statistics|Ping|Change user|Reset [Cc]onnection|Set option|Processlist|Kill"
    r"|Bulk_execute|Create DB|Drop DB|Refresh|Shutdown|Debug|Time|Sleep|Error|Daemon|Clone"
    r"|Delayed insert|Delayed_insert|Connect Out|Table Dump|Slave_\w+|Register (?:Slave|Replica)"
    r"|Binlog Dump(?: GTID)?|Unimpl\w*|Com_multi|<unknown>)"
)
#: An entry's time, the number of its session, its command and the argument. Before 5.7, and in
#: MariaDB, a time stands only where the second is a new one; up to 5.0 spaces pad the command.
TIMED = re.compile(rf"^(?:({ISO})[\t ] *|({OLD})[\t ]\s*)(\d+) ({_COMMANDS})(?:(\t| +)(.*))?$")
UNTIMED = re.compile(
    rf"^(?:\t\t| {{13,17}}\t?)(?=[ \d]{{5}})( *\d+) ({_COMMANDS})(?:(\t| +)(.*))?$"
)
#: The head of a slow log's entry.
HEAD = re.compile(r"^# (?:Time: |User(?:@Host)?: |Query_time: |Thread_id: |Txn_start_ts: )")


def is_header_line(line: str) -> bool:
    """Return whether it is one of the three lines at the head of a file."""
    # a statement may be long, and the pattern would go through it
    may_be = line.startswith(("Time ", "Tcp port: ")) or "started with:" in line
    return may_be and bool(_HEADER.match(line))


def find_kind(head: Sequence[str]) -> Literal["general", "slow", ""]:
    """Return which of the two logs the first lines are of; "" for neither."""
    for line in head:
        if HEAD.match(line):
            return "slow"
        if TIMED.match(line) or UNTIMED.match(line):
            return "general"
    return ""


def parse_seconds(text: str) -> float | None:
    """A time of either form, in seconds since 1970; None of one that cannot be."""
    if text[-1] == "Z" and text[19:20] == ".":
        second = _parse_second(f"{text[:19]}Z")
        return None if second is None else second + float(text[19:-1])
    return _parse_second(text)


@lru_cache(maxsize=64)
def _parse_second(text: str) -> float | None:
    try:
        if "T" in text:
            at = datetime.fromisoformat(text)
        else:
            at = datetime.strptime(" ".join(text.split()), "%y%m%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return at.timestamp() if 0 <= at.timestamp() < TIME_MOST_S else None


def find_first(file: LogFile, form: re.Pattern[str]) -> re.Match[str] | None:
    """Return the first line of this form, whose two groups are the times."""
    return next((it for _, line in file.read_lines(1 << 12) if (it := form.match(line))), None)


def parse_first(found: re.Match[str] | None) -> float:
    return (parse_seconds(found[1] or found[2]) if found else None) or 0.0
