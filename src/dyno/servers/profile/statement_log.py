"""The statements that a running server has counted, as a log: each once, reads first and some of
them several times, with how often the server was sent it.

What it was sent when, and in which order, nobody knows any more. Reads are of one session, since
they leave nothing behind; any other statement has a session of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

from dyno.engines import Ask
from dyno.errors import UsageError
from dyno.runs.experiment.candidates import Spec, parse_candidate
from dyno.servers.profile.source import StatementCount, StatementServer, StatementText
from dyno.servers.profile.target import BY_DATABASE, KINDS
from dyno.workloads.replay.logs import Log, LogEntry, UnplayedStatement
from dyno.workloads.replay.statements import read_statement

#: Executions of a read that took less than this, so that its time can be told.
READS, SHORT_NS = 5, 20_000_000
#: What stands for no statement of its own.
_ALONE = ("begin", "commit", "rollback", "use")


def read_statement_log(ask: Ask, url: str) -> Log:
    """The log; `UsageError` where the server keeps no statements, or none of its database."""
    spec = parse_candidate(url)
    if spec.engine not in KINDS or not spec.is_url:
        hint = "write postgres://user@host:5432/database or mysql://user@host:3306/database"
        raise UsageError(f"'{spec.text}' names no server", hint=hint)
    server, database = _reach(ask, spec)
    server.check_keeps_statements()
    (rows,) = ask(server.session, [server.counts_sql])
    counts = server.extract_counts(rows)
    texts = server.read_texts(ask, list(counts))
    own = {key: it for key, it in texts.items() if server.is_of(it, database)}
    if not own:
        raise UsageError(
            f"the server at {server.name} has counted no statement of {database or 'a database'}",
            hint="let it work for a while, and name the database in the URL",
        )
    return _build_log(server, own, counts)


def _reach(ask: Ask, spec: Spec) -> tuple[StatementServer, str]:
    """The server, and the database whose statements are meant. Where a server counts questions of
    ours by the database that they were asked in, we are in another one.
    """
    if spec.engine not in BY_DATABASE:
        server = KINDS[spec.engine](ask, spec)
        return server, str(server.session["database"])
    address, _, named = spec.build.removeprefix("//").partition("/")
    return KINDS[spec.engine](ask, replace(spec, build=f"//{address}")), unquote(named)


def _build_log(
    server: StatementServer,
    texts: Mapping[str, StatementText],
    counts: Mapping[str, StatementCount],
) -> Log:
    unplayed, reads, others = list[UnplayedStatement](), list[LogEntry](), list[LogEntry]()
    often, began_s = list[LogEntry](), time.time()
    for key in sorted(texts, key=lambda it: (-counts[it].calls, it)):
        text, count = texts[key], counts[key]
        sql, why = server.choose_played(text)
        kind = read_statement(sql or text.text, server.dialect).kind
        if kind in _ALONE:
            continue
        if why:
            unplayed.append(UnplayedStatement(" ".join(text.text.split()), why, count.calls))
            continue
        line = len(reads) + len(others) + 1
        name = "reads" if kind == "read" else str(line)
        entry = LogEntry(began_s, name, sql, line, database=text.database, calls=count.calls)
        (reads if kind == "read" else others).append(entry)
        if kind == "read" and count.time_ns < SHORT_NS * max(count.calls, 1):
            often.append(entry._replace(calls=0))
    played = [*reads, *often * (READS - 1), *others]
    timed = tuple(it._replace(at_s=began_s + at / 1000) for at, it in enumerate(played))
    of = f"{server.statement_source} of {server.name}"
    return Log(of, server.dialect, timed, unplayed=tuple(unplayed))
