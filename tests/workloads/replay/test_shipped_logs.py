"""Logs as shippers and archives hold them, and what is known and refused by its name."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from small_logs import CSV, GENERAL, JSON, SLOW, STDERR

from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.logs import Log

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LOGS = {"general": GENERAL, "slow": SLOW, "stderr": STDERR, "csv": CSV, "json": JSON}
STAMP = "2026-01-01T10:00:00.100Z"


def read(
    folder: Path, text: str | bytes, name: str = "it.log"
) -> tuple[Log, list[tuple[object, ...]]]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogateescape"))
    log = read_log(LogFile(path))
    return log, [(it.at_s, it.session, it.database, it.sql, it.values) for it in log.entries]


def wrap(text: str, form: str) -> str:
    return "".join(f"{form.format(line)}\n" for line in text.splitlines())


def number_parts(text: str, head: str) -> str:
    """As PostgreSQL writes to syslog: its messages numbered, and their lines."""
    shipped, message, part = "", 0, 0
    for line in text.splitlines():
        message, part = (message, part + 1) if line.startswith("\t") else (message + 1, 1)
        told = line.replace("\t", "#011")
        shipped += f"{head} [{message}-{part}] {told}\n"
    return shipped


def write_objects(objects: Iterable[object]) -> str:
    return "".join(f"{json.dumps(it)}\n" for it in objects)


def docker_json(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return write_objects({"log": it, "stream": "stderr", "time": STAMP} for it in lines)


def cut_by_docker(text: str) -> str:
    """Lines in parts of 16, as Docker has them of 16,384."""
    parts = (line[at : at + 16] for line in text.splitlines(True) for at in range(0, len(line), 16))
    return write_objects({"log": it, "stream": "stderr", "time": STAMP} for it in parts)


def cut_by_runtime(text: str) -> str:
    found = ""
    for line in text.splitlines():
        for at in range(0, len(line) or 1, 16):
            mark = "F" if at + 16 >= len(line) else "P"
            found += f"{STAMP} stderr {mark} {line[at : at + 16]}\n"
    return found


def cloud_export(text: str) -> str:
    lines = text.splitlines()
    return write_objects({"textPayload": it, "logName": "postgres.log"} for it in lines)


SHIPPED: dict[str, Callable[[str], str]] = {
    "compose": lambda text: wrap(text, "db_1  | {}"),
    "compose-v2-with-timestamps": lambda text: wrap(text, f"app-db-1  | {STAMP} {{}}"),
    "kubectl-prefix": lambda text: wrap(text, "[pod/db-0/postgres] {}"),
    "timestamps": lambda text: wrap(text, f"{STAMP} {{}}"),
    "runtime": cut_by_runtime,
    "docker": docker_json,
    "docker-in-parts": cut_by_docker,
    "cloud": cloud_export,
    "fluent": lambda text: write_objects(
        {"@timestamp": STAMP, "message": it} for it in text.splitlines()
    ),
    "journal": lambda text: write_objects(
        {"MESSAGE": it, "_COMM": "postgres", "_PID": "7"} for it in text.splitlines()
    ),
    "syslog": lambda text: wrap(text, "Jan  1 10:00:00 db1 postgres[12]: {}"),
    "syslog-iso": lambda text: wrap(text, f"{STAMP} db1 postgres[12]: {{}}"),
    "syslog-5424": lambda text: wrap(text, f"<134>1 {STAMP} db1 postgres 12 - - {{}}"),
    "returns": lambda text: text.replace("\n", "\r\n"),
    "marked": lambda text: "\ufeff" + text,
}


@pytest.mark.parametrize("shipper", SHIPPED)
@pytest.mark.parametrize("kind", LOGS)
def test_a_shipped_log_is_the_servers(kind: str, shipper: str, tmp_path: Path) -> None:
    _, wanted = read(tmp_path, LOGS[kind])
    log, found = read(tmp_path, SHIPPED[shipper](LOGS[kind]))
    assert found == wanted
    assert not log.unread


@pytest.mark.parametrize(
    "head", ["Jan  1 10:00:00 db1 postgres[12]:", f"{STAMP} db1 postgres[12]:"]
)
def test_syslogs_numbered_parts_are_put_together(head: str, tmp_path: Path) -> None:
    _, wanted = read(tmp_path, STDERR)
    assert read(tmp_path, number_parts(STDERR, head))[1] == wanted


@pytest.mark.parametrize(
    "head,at_s",
    [
        ("Jan  1 10:00:0{0} db1 postgres[{1}]: [{0}-1]", 946720800),
        (f"{STAMP[:17]}0{{0}}Z db1 postgres[{{1}}]: [{{0}}-1]", 1767261600),
        (f"{STAMP[:17]}0{{0}}+00:00 app[postgres.{{1}}]: [GREEN] [{{0}}-1] ", 1767261600),
    ],
)
@pytest.mark.parametrize("prefix", ["", "db=shop,user=app "])
def test_a_prefix_without_time_and_process_has_those_of_its_shipper(
    head: str, at_s: int, prefix: str, tmp_path: Path
) -> None:
    said = ((1, 7), (2, 8), (3, 7))
    text = "".join(f"{head.format(*it)} {prefix}LOG:  statement: SELECT 1\n" for it in said)
    detail = f"{head.format(1, 7)} {prefix}LOG:  execute a: SELECT $1\n".replace("[1-1]", "[4-1]")
    text += detail + detail.replace("[4-1]", "[4-2]").replace(
        "LOG:  execute a: SELECT $1", "DETAIL:  parameters: $1 = 'x'"
    )
    _, found = read(tmp_path, text)
    told = [(at, session, database) for at, session, database, _, it in found if not it]
    database = "shop" if prefix else ""
    assert sorted(told) == [(at_s + n, str(process), database) for n, process in said]
    assert [it for *_, it in found if it] == [("x",)]


@pytest.mark.parametrize("kind", ["stderr", "json"])
def test_a_log_that_is_exported_newest_first_is_refused(kind: str, tmp_path: Path) -> None:
    form = "2026-01-01 10:00:0{}.000 UTC [7] LOG:  statement: SELECT 1\n"
    said = [form.format(second) for second in range(9, 2, -1)]
    with pytest.raises(UsageError, match="runs backwards") as refused:
        read(tmp_path, "".join(said) if kind == "stderr" else cloud_export("".join(said)))
    assert "tac" in refused.value.hint


def test_parts_of_messages_that_syslog_mixes_are_told_apart(tmp_path: Path) -> None:
    head, stamp = (
        "Jan  1 10:00:00 db1 postgres[{0}]: [{1}-{2}] {3}\n",
        "2026-01-01 10:00:00.000 UTC",
    )
    said = [
        (7, 1, 1, f"{stamp} [7] a@shop LOG:  statement: SELECT"),
        (8, 1, 1, f"{stamp} [8] a@shop LOG:  statement: SELECT 1 FROM a_table_with_a_name"),
        (7, 1, 2, "#0111"),
        (8, 1, 2, " WHERE x = 2"),
        (7, 1, 3, "#011FROM t"),
        (8, 2, 1, f"{stamp} [8] a@shop LOG:  statement: SELECT 3"),
    ]
    noise = "Jan  1 10:00:00 db1 cron[5]: (root) CMD (x)\n"
    _, found = read(tmp_path, noise + "".join(head.format(*it) for it in said))
    assert [(session, sql) for _, session, _, sql, _ in found] == [
        ("8", "SELECT 1 FROM a_table_with_a_name WHERE x = 2"),
        ("7", "SELECT\n1\nFROM t"),
        ("8", "SELECT 3"),
    ]


def test_lines_of_other_containers_are_left_out_and_said(tmp_path: Path) -> None:
    text = wrap(STDERR, "db_1  | {}").replace("\n", "\nweb_1  | GET / 200\n", 5)
    log, found = read(tmp_path, text)
    assert found == read(tmp_path, STDERR)[1]
    assert [it.count for it in log.unread.values()] == [5]


def test_logs_of_two_servers_in_one_are_asked_for(tmp_path: Path) -> None:
    text = wrap(STDERR, "db_1  | {}") + wrap(STDERR, "db_2  | {}")
    with pytest.raises(UsageError, match="'db_1' and 'db_2'") as refused:
        read(tmp_path, text)
    assert "grep -F 'db_1'" in refused.value.hint


def test_cloudnativepgs_records_are_read(tmp_path: Path) -> None:
    names = {"timestamp": "log_time", "dbname": "database_name", "user": "user_name"}
    said = [json.loads(line) for line in JSON.splitlines()]
    records = [{names.get(name, name): value for name, value in it.items()} for it in said]
    text = '{"level":"info","ts":"2026","logger":"instance-manager","msg":"Starting"}\n'
    text += "".join(
        json.dumps({"logger": "postgres", "msg": "record", "logging_pod": "c-1", "record": it})
        + "\n"
        for it in records
    )
    log, found = read(tmp_path, text)
    assert found == read(tmp_path, JSON)[1] and not log.unread


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress,
}  # fmt: skip


@pytest.mark.parametrize("ending", PACKED)
def test_a_compressed_log_is_read(ending: str, tmp_path: Path) -> None:
    _, wanted = read(tmp_path, SLOW)
    packed = PACKED[ending](SLOW.encode())
    assert read(tmp_path, packed, "it.log.1")[1] == wanted, "known by its bytes"
    many = PACKED[ending]((SLOW * 2000).encode())
    with pytest.raises(UsageError, match="cannot be unpacked"):
        read(tmp_path, many[: len(many) // 2])


AUDITED = "20260101 10:00:00,db1,app,localhost,12,345,QUERY,shop,'SELECT 1',0\n"
REFUSED: dict[str, str | bytes] = {
    "a ZIP archive": b"PK\x03\x04rest",
    "a TAR archive": b"it.log" + bytes(251) + b"ustar\0" + bytes(300),
    "in UTF-16": STDERR.encode("utf-16"),
    "a capture of packets": b"\xd4\xc3\xb2\xa1" + bytes(60),
    "MySQL's binary log": b"\xfebin" + bytes(40),
    "the output of mysqlbinlog": "# The proper term\n# at 4\n#260101 10:00:00 server id 1\n",
    "MySQL's error log": "2026-01-01T10:00:00.000000Z 0 [System] [MY-010116] [Server] starting\n",
    "the log of MariaDB's audit plugin": AUDITED,
    "an audit log": "<?xml version='1.0'?>\n<AUDIT>\n <AUDIT_RECORD>\n",
    "a report of pt-query-digest": "# 1s user time\n# Overall: 1.2k total, 5 unique, 3.1 QPS, 1x\n",
    "the output of mysqldumpslow": "Count: 5  Time=0.10s (0s)  Lock=0.00s (0s)  Rows=1.0 (5)\n",
    "PostgreSQL's log in another language": "2026-01-01 10:00:00 UTC [7] СООБЩЕНИЕ:  оператор: S\n",
    "PgBouncer's log": "2026-01-01 10:00:00.000 UTC [7] LOG C-0x55: shop/app@10.0.0.1:5 login\n",
    "an export of Cloud Logging": '[\n  {\n    "insertId": "1",\n    "textPayload": "x"\n  }\n]\n',
    "an answer of CloudWatch": '{\n  "events": [\n   {\n    "ingestionTime": 5\n',
    "an export of Azure's": '{"category": "PostgreSQLLogs", "properties": {"message": "x"}}\n',
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_known_and_not_read_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=name) as refused:
        read(tmp_path, REFUSED[name])
    assert refused.value.hint
