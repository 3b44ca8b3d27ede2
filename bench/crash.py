"""What each durability setting really keeps: a row per setting, from kills (`dyno crash`).

Prints rows of docs/evidence/crash.md as they come; the runs stay where runs lie. About 45 minutes
with 20 kills on two cores.
"""

from __future__ import annotations

import argparse
import sys

from dyno.instruments.crash.plan import CrashPlan, make_crash_folder, plan_crash_run
from dyno.instruments.crash.play import play_crashes
from dyno.instruments.crash.verdict import describe_recovery, judge_crashes
from dyno.record.crash import CrashRun
from dyno.runs.run_folder import find_runs_home

SMALL = "&shared_buffers=512kB"
MYSQL = "mysql@8.0.33"
MARIADB = "mariadb@10.11"
MYROCKS = "mariadb@11.8?engine=rocksdb&log_bin=on"
#: Each row: the candidate, and whether what was not synced is torn.
ROWS = [
    *(
        (f"sqlite?journal_mode={journal}&synchronous={level}", False)
        for journal in ("wal", "delete", "truncate", "persist")
        for level in ("off", "normal", "full", "extra")
    ),
    ("sqlite?journal_mode=memory&synchronous=full", True),
    ("sqlite?journal_mode=wal&synchronous=full", True),
    ("sqlite?journal_mode=delete&synchronous=full", True),
    ("duckdb", False),
    ("duckdb", True),
    ("postgres@18?synchronous_commit=on", False),
    ("postgres@18?synchronous_commit=local", False),
    ("postgres@18?synchronous_commit=off", False),
    ("postgres@18?synchronous_commit=on&fsync=off", False),
    (f"postgres@18?synchronous_commit=on{SMALL}", True),
    (f"postgres@18?synchronous_commit=on&full_page_writes=off{SMALL}", True),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=1", False),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=2", False),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=0", False),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=1&log_bin=on&sync_binlog=1", False),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=1&log_bin=on&sync_binlog=0", False),
    (f"{MYSQL}?innodb_flush_log_at_trx_commit=1&innodb_buffer_pool_size=5M", True),
    (
        f"{MYSQL}?innodb_flush_log_at_trx_commit=1&innodb_doublewrite=OFF"
        "&innodb_buffer_pool_size=5M",
        True,
    ),
    *((f"{MARIADB}?innodb_flush_log_at_trx_commit={level}", False) for level in (1, 2, 0)),
    *(
        (f"{MARIADB}?innodb_flush_log_at_trx_commit=1&log_bin=on&sync_binlog={synced}", False)
        for synced in (1, 0)
    ),
    (
        f"{MARIADB}?innodb_flush_log_at_trx_commit=1&innodb_doublewrite=OFF"
        "&innodb_buffer_pool_size=8M",
        True,
    ),
    (f"{MYROCKS}&sync_binlog=1&rocksdb_flush_log_at_trx_commit=1", False),
    (f"{MYROCKS}&sync_binlog=0&rocksdb_flush_log_at_trx_commit=2", False),
]


def play(word: str, torn: bool, words: argparse.Namespace) -> CrashRun:
    plan = CrashPlan([word], "transactions", words.times, within_s=words.within, torn=torn)
    run, engines = plan_crash_run(plan, lambda _: None)
    return play_crashes(run, engines, make_crash_folder(find_runs_home(), run), lambda _: None)


def describe(run: CrashRun) -> str:
    """A row of the table."""
    asked = sum(it.acknowledged for it in run.plays if not it.failure)
    lost, torn = (
        sum(getattr(it, name) for it in run.plays) for name in ("lost_count", "torn_count")
    )
    dead = sum(bool(it.failure or it.damage) for it in run.plays)
    losing = f"{sum(it.loses for it in run.plays)} of {len(run.plays)}"
    cells = (
        f"`{run.candidate.spec}`{', torn' * run.torn}",
        run.promise,
        f"{lost:,} of {asked:,}",
        f"{torn:,}",
        f"{dead:,}",
        losing,
        describe_recovery(run.sides[0]),
        judge_crashes(run).overall,
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="kills a row")
    parser.add_argument("--within", type=float, default=0.7, help="s in which a kill comes")
    parser.add_argument("--only", default="", help="rows whose candidate begins so")
    parser.add_argument("--quick", action="store_true", help="two kills a row")
    words = parser.parse_args()
    words.times = 2 if words.quick else words.times
    heads = ("setting", "promise", "lost", "torn", "not whole", "kills that lose", "recovered in")
    print(f"| {' | '.join(heads)} | |\n|{'---|' * (len(heads) + 1)}")
    for word, torn in ROWS:
        if word.startswith(words.only):
            print(describe(play(word, torn, words)))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
