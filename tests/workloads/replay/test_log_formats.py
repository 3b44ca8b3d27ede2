"""The guide's tables of formats hold what Dyno reads and refuses, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from dyno.engines.mysql.logs import REFUSED_LOGS as AROUND_MYSQL
from dyno.engines.postgres.log_formats import REFUSED_LOGS as AROUND_POSTGRES
from dyno.workloads.replay.shippers import SHIPPERS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/guides/log-formats.md"
#: A word of the table for each that is refused, and each shipper.
REFUSED = {
    "MySQL's binary log": "binary log",
    "the output of mysqlbinlog, which has no reads": "`mysqlbinlog`",
    "MySQL's error log": "error log",
    "the log of MariaDB's audit plugin": "audit logs",
    "an audit log": "audit logs",
    "a report of pt-query-digest": "pt-query-digest",
    "the output of mysqldumpslow": "mysqldumpslow",
    "PostgreSQL's log in another language than C": "another language",
    "PgBouncer's log, which has no statements": "PgBouncer",
    "an export of Cloud Logging as one JSON array": "Cloud Logging as an array",
    "an answer of CloudWatch as one JSON object": "CloudWatch's answer",
    "an export of Azure's diagnostics": "Azure's diagnostics",
    "a report of pgBadger": "pgBadger",
}
SHIPPED = {
    "syslog": "syslog",
    "a container's runtime": "container runtimes",
    "docker compose": "docker compose",
    "kubectl": "kubectl logs --prefix",
    "timestamps": "--timestamps",
    "JSON lines": "JSON object around each line",
}


def rows(about: str) -> list[str]:
    return re.findall(rf"^\|.*{about}.*\|$", PAGE.read_text(), re.MULTILINE)


def test_the_table_names_all_that_is_refused() -> None:
    names = {it.name for it in (*AROUND_MYSQL, *AROUND_POSTGRES)}
    assert names == set(REFUSED)
    refused = "\n".join(rows("refused by name"))
    assert [word for word in REFUSED.values() if word not in refused] == []


def test_the_table_names_all_shippers() -> None:
    assert {it.name for it in SHIPPERS} == set(SHIPPED)
    assert [word for word in SHIPPED.values() if not rows(re.escape(word))] == []
