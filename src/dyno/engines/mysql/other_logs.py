"""What MySQL, MariaDB and programs around them write that is no log of statements to replay."""

from __future__ import annotations

import re

from dyno.workloads.replay.formats import RefusedLog

_STATEMENTS = (
    "statements are logged with general_log=ON, or slow_query_log=ON and long_query_time=0"
)

REFUSED_LOGS = (
    RefusedLog("MySQL's binary log", re.compile("^\ufffebin|^\udcfebin"), _STATEMENTS),
    RefusedLog(
        "the output of mysqlbinlog, which has no reads",
        re.compile(r"^# at \d+$|PSEUDO_SLAVE_MODE|^BINLOG '"),
        _STATEMENTS,
    ),
    RefusedLog(
        "MySQL's error log",
        re.compile(
            r"^\d{4}-\d\d-\d\d[T ]\s*\d{1,2}:\d\d:\d\d\S* \d+ \[(?:Note|Warning|System|ERROR)\]"
        ),
        _STATEMENTS,
    ),
    RefusedLog(
        "the log of MariaDB's audit plugin",
        re.compile(r"^\d{8} \d\d:\d\d:\d\d,[^,]*,[^,]*,[^,]*,\d+,\d+,[A-Z_]+,"),
        _STATEMENTS,
    ),
    RefusedLog(
        "an audit log",
        re.compile(r"<AUDIT_RECORD|^\{\s*\"audit_record\"|\"class\": *\"(?:general|audit)\""),
        _STATEMENTS,
    ),
    RefusedLog(
        "a report of pt-query-digest",
        re.compile(r"^# Overall: .* total, .* unique|^# Query 1: .* QPS"),
        "replay the log that it was made of",
    ),
    RefusedLog(
        "the output of mysqldumpslow",
        re.compile(r"^Count: \d+ +Time=[\d.]+s \("),
        "replay the log that it was made of",
    ),
)
