"""What PostgreSQL, programs around it and services write that is no log of statements to replay."""

from __future__ import annotations

import re

from dyno.workloads.replay.formats import RefusedLog

_TEXT = "write its text, one line each: jq -r"

REFUSED_LOGS = (
    RefusedLog(
        "PostgreSQL's log in another language than C",
        re.compile(r"(?:СООБЩЕНИЕ|ЗАПИСЬ|日志|ログ|로그|LOGG|DZIENNIK|PROTOKOLL|ZÁZNAM|LOGI):  "),
        "lc_messages = 'C' makes the server write what is read",
    ),
    RefusedLog(
        "PgBouncer's log, which has no statements",
        re.compile(r" (?:LOG|DEBUG|WARNING) (?:[CS]-0x[0-9a-f]+: |(?:kernel|listening|stats):? )"),
        "replay the server's own log",
    ),
    RefusedLog(
        "an export of Cloud Logging as one JSON array",
        re.compile(r"\"(?:insertId|textPayload|logName)\": "),
        f"{_TEXT} 'reverse | .[].textPayload'",
    ),
    RefusedLog(
        "an answer of CloudWatch as one JSON object",
        re.compile(r"\"(?:nextForwardToken|ingestionTime|LogFileData)\": "),
        f"{_TEXT} '.events[].message'",
    ),
    RefusedLog(
        "an export of Azure's diagnostics",
        re.compile(r"\"category\": *\"PostgreSQL"),
        f"{_TEXT} '.properties.message'",
    ),
    RefusedLog(
        "a report of pgBadger",
        re.compile(r"<title>pgBadger|^\s*- Global informations? -"),
        "replay the log that it was made of",
    ),
)
