"""What is recorded of a server of MySQL's family: the tables of performance_schema and two more.

The columns are those of MySQL 8.0; 5.6 and MariaDB have fewer (MySQL 8.0 reference manual, chapter
"Performance Schema Summary Tables"; MariaDB's knowledge base, "List of Performance Schema Tables").
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.servers.watch.source import Row, WatchSource

PS = "performance_schema."
#: Schemas that hold the tables below.
SCHEMAS = ("performance_schema", "information_schema")
#: In how many samples what moves slowly, and is long, is asked.
SLOWLY = 10
#: The server's clock in UTC.
CLOCK = "SELECT NOW(6) - INTERVAL 1 SECOND"
#: Said first in each connection. What we ask is not to be counted; where a user may not say so
#: (UPDATE on performance_schema.threads), it is.
BEGIN = (
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = ''",
    # without, tables stay locked against TRUNCATE after a SELECT
    "SET SESSION autocommit = 1",
)
UNCOUNTED = (
    "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO'"
    " WHERE PROCESSLIST_ID = CONNECTION_ID()"
)
#: Ours among the sessions.
SKIP = "t.PROCESSLIST_ID <> CONNECTION_ID()"
#: Rows of all hosts and users, so that one without statements is told, too.
_SOME_STATEMENTS = "COUNT_STAR > 0 OR EVENT_NAME = 'statement/sql/select'"
_SOME_WAITS = "COUNT_STAR > 0 OR EVENT_NAME = 'wait/io/file/sql/binlog'"

_WAITS = ("COUNT_STAR", "SUM_TIMER_WAIT")
_ENDS = ("MIN_TIMER_WAIT", "MAX_TIMER_WAIT")
_STATEMENTS = (
    *("COUNT_STAR", "SUM_TIMER_WAIT", "SUM_LOCK_TIME", "SUM_ERRORS", "SUM_WARNINGS"),
    *("SUM_ROWS_AFFECTED", "SUM_ROWS_SENT", "SUM_ROWS_EXAMINED"),
    *("SUM_CREATED_TMP_DISK_TABLES", "SUM_CREATED_TMP_TABLES", "SUM_SELECT_FULL_JOIN"),
    *("SUM_SELECT_FULL_RANGE_JOIN", "SUM_SELECT_RANGE", "SUM_SELECT_RANGE_CHECK"),
    *("SUM_SELECT_SCAN", "SUM_SORT_MERGE_PASSES", "SUM_SORT_RANGE", "SUM_SORT_ROWS"),
    *("SUM_SORT_SCAN", "SUM_NO_INDEX_USED", "SUM_NO_GOOD_INDEX_USED", "SUM_CPU_TIME"),
    "COUNT_SECONDARY",
)
_MEMORY = ("MAX_CONTROLLED_MEMORY", "MAX_TOTAL_MEMORY")
_FILES = (
    *("COUNT_STAR", "SUM_TIMER_WAIT", "COUNT_READ", "SUM_TIMER_READ", "SUM_NUMBER_OF_BYTES_READ"),
    *("COUNT_WRITE", "SUM_TIMER_WRITE", "SUM_NUMBER_OF_BYTES_WRITE", "COUNT_MISC"),
    "SUM_TIMER_MISC",
)
_TABLE_IO = tuple(
    f"{what}_{kind}"
    for kind in ("READ", "WRITE", "FETCH", "INSERT", "UPDATE", "DELETE")
    for what in ("COUNT", "SUM_TIMER")
)
_ALLOCATED = ("COUNT_ALLOC", "COUNT_FREE", "SUM_NUMBER_OF_BYTES_ALLOC", "SUM_NUMBER_OF_BYTES_FREE")
_USED = (
    *("CURRENT_COUNT_USED", "HIGH_COUNT_USED", "CURRENT_NUMBER_OF_BYTES_USED"),
    "HIGH_NUMBER_OF_BYTES_USED",
)
#: The status variables of each sample: the plots', `top`'s, what is looked at first, and for how
#: long the server has been up. All 560 of MariaDB's would be more than half of a sample's time.
_FIRST_STATUS = (
    *("UPTIME", "QUESTIONS", "QUERIES", "SLOW_QUERIES", "BYTES_SENT", "BYTES_RECEIVED"),
    *(f"COM_{what}" for what in ("SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT", "ROLLBACK")),
    *("HANDLER_COMMIT", "HANDLER_ROLLBACK", "HANDLER_READ_RND_NEXT", "SELECT_SCAN"),
    *("CREATED_TMP_TABLES", "CREATED_TMP_DISK_TABLES", "SORT_MERGE_PASSES"),
    *("THREADS_RUNNING", "THREADS_CONNECTED", "CONNECTIONS", "ABORTED_CLIENTS"),
    *(f"INNODB_ROWS_{what}" for what in ("READ", "INSERTED", "UPDATED", "DELETED")),
    *("INNODB_DATA_READS", "INNODB_DATA_WRITES", "INNODB_DATA_READ", "INNODB_DATA_WRITTEN"),
    *("INNODB_DATA_FSYNCS", "INNODB_OS_LOG_WRITTEN", "INNODB_LOG_WAITS"),
    *("INNODB_ROW_LOCK_WAITS", "INNODB_ROW_LOCK_TIME", "INNODB_BUFFER_POOL_READS"),
    *("INNODB_BUFFER_POOL_READ_REQUESTS", "INNODB_BUFFER_POOL_PAGES_DIRTY"),
)
#: A status variable is a number or a word. A regular expression would say so, too, and take more
#: time than all the rest of the question (docs/evidence/code-choices.md).
_WHOLE_NUMBER = "VARIABLE_VALUE = CAST(CAST(VARIABLE_VALUE AS SIGNED) AS BINARY)"

DIGESTS = WatchSource(
    "events_statements_summary_by_digest",
    (f"{PS}events_statements_summary_by_digest",),
    keys=("QUERY_KEY", "SCHEMA_NAME", "DIGEST"),
    counters=_STATEMENTS,
    values=(*_ENDS, *_MEMORY, "QUANTILE_95", "QUANTILE_99", "QUANTILE_999"),
    words=("FIRST_SEEN", "LAST_SEEN"),
    told=("DIGEST_TEXT",),
    # a digest is another in each version of the server, its text nearly the same
    hashed={"QUERY_KEY": "CONCAT(COALESCE(SCHEMA_NAME, ''), CHAR(0), COALESCE(DIGEST_TEXT, ''))"},
    recent="LAST_SEEN >= '{since}'",
    born="FIRST_SEEN",
)


def _make_summary(
    whom: str, what: str, counters: tuple[str, ...], values: tuple[str, ...], where: str
) -> WatchSource:
    name = f"events_{what}_summary_by_{whom}_by_event_name"
    keys = (whom.upper(), "EVENT_NAME")
    return WatchSource(name, (PS + name,), keys, counters, values, where=where, every=SLOWLY)


def _make_memory_summary(whom: str) -> WatchSource:
    name = f"memory_summary_by_{whom}_by_event_name"
    keys = (whom.upper(), "EVENT_NAME")
    where = "COUNT_ALLOC > 0 OR EVENT_NAME = 'memory/sql/String::value'"
    return WatchSource(
        name, (PS + name,), keys, _ALLOCATED, _USED, where=where, every=SLOWLY, standing=True
    )


def _make_account_summaries() -> tuple[WatchSource, ...]:
    return tuple(
        source
        for whom in ("host", "user")
        for source in (
            _make_summary(whom, "statements", _STATEMENTS, (*_ENDS, *_MEMORY), _SOME_STATEMENTS),
            _make_summary(whom, "waits", _WAITS, _ENDS, _SOME_WAITS),
            _make_summary(whom, "stages", _WAITS, _ENDS, "COUNT_STAR > 0"),
            _make_memory_summary(whom),
        )
    )


def _make_table_io(name: str, *index: str) -> WatchSource:
    keys = ("OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME", *index)
    return WatchSource(name, (PS + name,), keys, (*_WAITS, *_TABLE_IO), every=SLOWLY, standing=True)


#: A session that works, and its statement; one within it (in a procedure) is left out.
_AT_WORK = {
    "THD_ID": "t.THREAD_ID",
    "CONN_ID": "t.PROCESSLIST_ID",
    "TIME": "t.PROCESSLIST_TIME",
    "STATEMENT_LATENCY": "IF(e.END_EVENT_ID IS NULL, e.TIMER_WAIT, NULL)",
    "LOCK_LATENCY": "e.LOCK_TIME",
    "ROWS_EXAMINED": "e.ROWS_EXAMINED",
    "ROWS_SENT": "e.ROWS_SENT",
    "ROWS_AFFECTED": "e.ROWS_AFFECTED",
    "TMP_TABLES": "e.CREATED_TMP_TABLES",
    "TMP_DISK_TABLES": "e.CREATED_TMP_DISK_TABLES",
    "USER": "CONCAT(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST)",
    "DB": "t.PROCESSLIST_DB",
    "COMMAND": "t.PROCESSLIST_COMMAND",
    "STATE": "t.PROCESSLIST_STATE",
    "CURRENT_STATEMENT": "LEFT(t.PROCESSLIST_INFO, 1000)",
    "FULL_SCAN": "IF(e.NO_GOOD_INDEX_USED > 0 OR e.NO_INDEX_USED > 0, 'YES', 'NO')",
}
#: States of threads that wait for work: the event scheduler's, replication's on either side. They
#: are sessions of the server's own, and some are called neither Sleep nor Daemon.
IDLE_STATES = (
    *("Waiting for next activation", "Waiting on empty queue", "Suspending"),
    *("%waiting for more updates", "% has read all relay log; waiting for %"),
    *("Waiting for % to send event", "Waiting for master update"),
    *("Waiting for an event from Coordinator", "Waiting for work from SQL thread"),
    *("Waiting until %_DELAY seconds after %", "Waiting for INSERT"),
)
_IDLE = " OR ".join(f"t.PROCESSLIST_STATE LIKE '{state}'" for state in IDLE_STATES)
PROCESSLIST = WatchSource(
    "processlist",
    (f"{PS}threads",),
    values=tuple(_AT_WORK)[:10],
    words=tuple(_AT_WORK)[10:],
    sql=_AT_WORK,
    joined=f"t LEFT JOIN {PS}events_statements_current e ON e.THREAD_ID = t.THREAD_ID"
    " AND (e.NESTING_EVENT_TYPE IS NULL OR e.NESTING_EVENT_TYPE <> 'STATEMENT')",
    where="t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_COMMAND NOT IN ('Sleep', 'Daemon')"
    f" AND NOT COALESCE({_IDLE}, FALSE)",
    sampled=True,
)

SOURCES = (
    DIGESTS,
    WatchSource(
        "events_waits_summary_global_by_event_name",
        (f"{PS}events_waits_summary_global_by_event_name",),
        ("EVENT_NAME",),
        _WAITS,
        _ENDS,
        where="COUNT_STAR > 0",
        # it is added up over every mutex, lock and thread: half of a sample's time on MySQL 8.0
        every=SLOWLY,
    ),
    WatchSource(
        "file_summary_by_event_name",
        (f"{PS}file_summary_by_event_name",),
        ("EVENT_NAME",),
        _FILES,
        _ENDS,
        where="COUNT_STAR > 0",
    ),
    WatchSource(
        "file_summary_by_instance",
        (f"{PS}file_summary_by_instance",),
        ("FILE_NAME", "EVENT_NAME"),
        _FILES,
        _ENDS,
        every=SLOWLY,
        # MySQL 8.0.33 was seen to tell of a file once for each of its former names
        several=True,
    ),
    _make_table_io("table_io_waits_summary_by_table"),
    _make_table_io("table_io_waits_summary_by_index_usage", "INDEX_NAME"),
    *_make_account_summaries(),
    WatchSource(
        "memory_summary_global_by_event_name",
        (f"{PS}memory_summary_global_by_event_name",),
        ("EVENT_NAME",),
        _ALLOCATED,
        _USED,
        where="COUNT_ALLOC > 0",
        every=SLOWLY,
        standing=True,
    ),
    WatchSource(
        "accounts",
        (f"{PS}accounts",),
        ("USER", "HOST"),
        ("TOTAL_CONNECTIONS",),
        ("CURRENT_CONNECTIONS",),
        every=SLOWLY,
        standing=True,
    ),
    WatchSource(
        "global_status",
        # the one of performance_schema leaves out Com_…; MySQL 8.0 has no other
        ("information_schema.global_status", f"{PS}global_status"),
        ("VARIABLE_NAME",),
        ("VARIABLE_VALUE",),
        words=("VARIABLE_WORD",),
        sql={
            "VARIABLE_VALUE": f"IF({_WHOLE_NUMBER}, VARIABLE_VALUE, NULL)",
            "VARIABLE_WORD": f"IF({_WHOLE_NUMBER}, NULL, VARIABLE_VALUE)",
        },
        recent=f"VARIABLE_NAME IN ({', '.join(map(repr, _FIRST_STATUS))})",
        all_rows_every=SLOWLY,
        signed=True,
    ),
    WatchSource(
        "innodb_metrics",
        ("information_schema.innodb_metrics",),
        ("NAME", "SUBSYSTEM"),
        ("COUNT",),
        where="COUNT <> 0",
        every=SLOWLY,
        signed=True,
    ),
    PROCESSLIST,
)


def compute_up_s(clock: Row, status: Sequence[Row]) -> float:
    del clock
    said = (value for name, value, _ in status if str(name).upper() == "UPTIME")
    return float(next(said, None) or 0)
