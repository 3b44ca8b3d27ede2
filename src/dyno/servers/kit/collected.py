"""What the part `history` collects: tables of performance_schema as this server has them, and the
same tables as of a collection, or between two, for the reports of `sys_history`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dyno.servers.kit.server import KitServer

SCHEMA = "ps_history"
REPORTS = Path(__file__).parent / "sql/history/reports"
#: What counts since the server began: summaries, but of single threads, accounts and objects in
#: memory, whose sums stand in the others.
COUNTED = re.compile(
    r"(?!.*_by_(thread|account|program|instance)(_|$)).*_summary_.*"
    r"|file_summary_by_instance|accounts|hosts|users|global_status"
)
#: What tells a table's rows apart.
KEYS = {
    *("EVENT_NAME", "HOST", "USER", "SCHEMA_NAME", "DIGEST", "OBJECT_TYPE", "OBJECT_SCHEMA"),
    *("OBJECT_NAME", "INDEX_NAME", "FILE_NAME", "VARIABLE_NAME", "ERROR_NUMBER"),
}
#: Whole statements with people's values, not normalised: they stay in the server's memory.
LEFT_OUT = "QUERY_SAMPLE_TEXT"
#: Rows of which nothing was counted are not kept; which column says so, the first that is there.
COUNTS = ("COUNT_STAR", "COUNT_ALLOC", "SUM_ERROR_RAISED")
#: Of every host and user one row of each kind, so that one that did nothing is told, too.
OF_ALL = "'statement/sql/select', 'wait/io/file/sql/binlog'"
#: Partitions are added as time goes on: psh_add_partitions.
PARTITIONED = "PARTITION BY RANGE (TO_SECONDS(ts)) (PARTITION p0 VALUES LESS THAN (0))"
#: What reports ask for and not every version has: NULL there.
NEWER = ("COUNT_SECONDARY", "SUM_CPU_TIME", "MAX_CONTROLLED_MEMORY", "MAX_TOTAL_MEMORY")
#: In place of the tables that MySQL 5.6 has not, those of memory and status: what reports ask of
#: them.
NO_ROWS = "SELECT {} FROM DUAL WHERE FALSE".format(
    ", ".join(
        f"NULL AS {name}"
        for name in (
            *("host", "user", "event_name", "current_count_used", "current_number_of_bytes_used"),
            *("high_count_used", "high_number_of_bytes_used", "sum_number_of_bytes_alloc"),
            *("variable_name", "variable_value"),
        )
    )
)
#: The pairs of collections between two times, each with the one before it.
SPAN = "k.ts > '{since}' AND k.ts <= '{until}'"


@dataclass(frozen=True)
class CollectedColumn:
    """A column of the server's; `kind` as CREATE TABLE says it."""

    name: str
    kind: str

    @property
    def quoted(self) -> str:
        return f"`{self.name}`"

    @property
    def counts(self) -> bool:
        """Return whether it only grows while the server runs."""
        return self.name.startswith(("COUNT_", "SUM_")) or self.name == "TOTAL_CONNECTIONS"

    def build_difference(self, reset: str) -> str:
        """What was counted, over the pairs of collections `c` and the one before it, `p`."""
        if self.counts:
            return f"SUM(IF({reset}, c.{self.quoted}, c.{self.quoted} - p.{self.quoted}))"
        if self.name in KEYS or self.name == "DIGEST_TEXT":
            return f"MAX(c.{self.quoted})"
        return f"MAX(IF(c.ts = '{{until}}', c.{self.quoted}, NULL))"


@dataclass(frozen=True)
class CollectedTable:
    """A table of performance_schema that is collected, under its own name."""

    name: str
    columns: tuple[CollectedColumn, ...]

    @property
    def names(self) -> set[str]:
        return {it.name for it in self.columns}

    @property
    def kept(self) -> str:
        return f"{SCHEMA}.`{self.name}`"

    def create(self) -> str:
        columns = "".join(f" {it.quoted} {it.kind} NULL," for it in self.columns)
        return (
            f"CREATE TABLE IF NOT EXISTS {self.kept} (ts DATETIME(6) NOT NULL,"
            f" server_start DATETIME NOT NULL, row_key BINARY(16) NOT NULL,{columns}"
            f" PRIMARY KEY (ts, row_key)) ENGINE=InnoDB COMMENT 'dyno kit history' {PARTITIONED}"
        )

    def collect(self, hashed: Callable[[str], str]) -> str:
        """Return the statement that collects it; the server makes `hashed`, a row's key, of its
        columns. If the server reports a row twice, the two are added up.
        """
        names = ", ".join(it.quoted for it in self.columns)
        keys = [f"COALESCE({it.quoted}, CHAR(0))" for it in self.columns if it.name in KEYS]
        key = hashed(f"CONCAT_WS(CHAR(1), {', '.join(keys)})")
        added = [it.quoted for it in self.columns if it.counts]
        sums = [f"{it} = {self.kept}.{it} + VALUES({it})" for it in added]
        return (
            f"INSERT INTO {self.kept} (ts, server_start, row_key, {names})"
            f" SELECT v_ts, v_start, UNHEX({key}), {names}"
            f" FROM performance_schema.`{self.name}`{self._build_where()}"
            f" ON DUPLICATE KEY UPDATE {', '.join(sums) or f'ts = {self.kept}.ts'}"
        )

    def _build_where(self) -> str:
        if "VARIABLE_VALUE" in self.names:
            return " WHERE variable_value NOT IN ('', '0')"
        if not (counted := self._list_counted()):
            return ""
        if self.name == "file_summary_by_instance":
            return f" WHERE {counted} > 0 AND file_name NOT LIKE '%/{SCHEMA}/%'"
        everybody = f" OR event_name IN ({OF_ALL})" if self.names & {"HOST", "USER"} else ""
        return f" WHERE {counted} > 0{everybody if 'EVENT_NAME' in self.names else ''}"

    def _list_counted(self) -> str:
        return next((it for it in COUNTS if it in self.names), "")

    def build_state(self) -> str:
        """The table as it stood at the collection {until}."""
        columns = ", ".join([*(it.quoted for it in self.columns), *self._list_lacking()])
        return f"SELECT {columns} FROM {self.kept} WHERE ts = '{{until}}'"

    def build_query(self) -> str:
        """Return what it counted from the collection {since} to {until}; the rest as it stood then.

        It is added up from each collection to the next. If the server was restarted, or any of a
        row's counters fell, as the table was emptied, a row counts from 0.
        """
        if "VARIABLE_VALUE" in self.names:
            return self._build_growth()
        told_reset = [f"p.{it.quoted} > c.{it.quoted}" for it in self.columns if it.counts]
        if "FIRST_SEEN" in self.names:
            told_reset.append("p.first_seen <> c.first_seen")
        reset = " OR ".join(["p.ts IS NULL", "p.server_start <> c.server_start", *told_reset])
        columns = [f"{it.build_difference(reset)} AS {it.quoted}" for it in self.columns]
        counted = self._list_counted()
        some = f" HAVING `{counted}` > 0" if counted == "COUNT_STAR" else ""
        return (
            f"SELECT {', '.join([*columns, *self._list_lacking()])}"
            f" FROM {SCHEMA}.psh_collections k JOIN {self.kept} c ON c.ts = k.ts"
            f" LEFT JOIN {self.kept} p ON p.ts = k.previous_ts AND p.row_key = c.row_key"
            f" WHERE {SPAN} GROUP BY c.row_key{some}"
        )

    def _build_growth(self) -> str:
        """Status variables from {since} to {until}: by how much whole numbers grew, or fell, since
        some do; other values as they stood then. One that was 0 has no row.
        """
        whole = "variable_value REGEXP '^-?[0-9]{1,18}$'"
        return (
            "SELECT variable_name, COALESCE(MAX(word), SUM(number)) AS variable_value FROM ("
            f"SELECT c.variable_name, IF(c.{whole}, CAST(c.variable_value AS SIGNED), 0) AS number,"
            f" IF(c.{whole} OR c.ts <> '{{until}}', NULL, c.variable_value) AS word"
            f" FROM {SCHEMA}.psh_collections k JOIN {self.kept} c ON c.ts = k.ts WHERE {SPAN}"
            " UNION ALL SELECT p.variable_name, -CAST(p.variable_value AS SIGNED), NULL"
            f" FROM {SCHEMA}.psh_collections k JOIN {self.kept} p"
            f" ON p.ts = k.previous_ts AND p.server_start = k.server_start"
            f" WHERE {SPAN} AND p.{whole}"
            ") g GROUP BY variable_name HAVING MAX(word) IS NOT NULL OR SUM(number) <> 0"
        )

    def _list_lacking(self) -> Iterator[str]:
        if self.name.startswith("events_statements_"):
            yield from (f"NULL AS {name}" for name in NEWER if name not in self.names)


def read_tables(server: KitServer, schema: str = "performance_schema") -> dict[str, CollectedTable]:
    """What is collected on this server, or with `schema` what its history has."""
    rows = server.query(
        "SELECT table_name, column_name, column_type, character_set_name, collation_name"
        f" FROM information_schema.columns WHERE table_schema = '{schema}'"
        " ORDER BY table_name, ordinal_position",
    )
    found: dict[str, list[CollectedColumn]] = {}
    for name, column, kind, charset, collation in rows:
        text = f" CHARACTER SET {charset} COLLATE {collation}" if charset else ""
        if COUNTED.fullmatch(str(name)) and column != LEFT_OUT:
            found.setdefault(str(name), []).append(CollectedColumn(str(column), f"{kind}{text}"))
    return {name: CollectedTable(name, tuple(columns)) for name, columns in found.items()}


def build_reports(counted: dict[str, CollectedTable]) -> Iterator[tuple[str, str, str, str]]:
    """Each report of `sys_history`: its name, what it shows, its statement as of {until}, and the
    one from {since} to {until}.
    """
    for path in sorted(REPORTS.glob("*.sql")):
        title, _, text = path.read_text().partition("\n")
        as_of, between = (
            re.sub(r"\{(\w+)\}", partial(_fill_report, counted, between), text.strip())
            for between in (False, True)
        )
        yield path.stem, title.removeprefix("-- "), as_of, between


def _fill_report(counted: dict[str, CollectedTable], between: bool, name: re.Match[str]) -> str:
    if not (table := counted.get(name[1])):
        return f"({NO_ROWS})"
    return f"({table.build_query() if between else table.build_state()})"
