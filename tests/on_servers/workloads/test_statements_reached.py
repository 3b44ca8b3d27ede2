"""Statements that reached a server, and those that a replay of its log sends to another: each
session's, one by one, as both servers' own logs have them (docs/evidence/statements-reached.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from pgbench_files import play_plan
from private_servers import serving
from sent_statements import (
    MADE_MYSQL,
    MADE_OF,
    MADE_POSTGRES,
    MAKE,
    SHIPPED,
    Reached,
    read_csvlog,
    read_general_log,
    send_to_mysql,
    send_to_postgres,
)

from dyno import driver
from dyno.driver.plan import Plan, Script
from dyno.engines import Server
from dyno.workloads.replay.formats import LogFile
from dyno.workloads.replay.layout import Replay, lay_out

pytestmark = [pytest.mark.timeout(300)]

GENERAL = {"general_log": "on"}
BOTH = {**GENERAL, "slow_query_log": "on", "long_query_time": "0"}
COLLECTED = {"logging_collector": "on", "log_destination": "stderr,csvlog"}
#: Servers that are sent the mix, and what makes them log it.
SENT_TO = {
    "mysql-5.6": BOTH,
    "mysql-8.0": BOTH,
    "mariadb-innodb": BOTH,
    "postgres-12": {**COLLECTED, "log_min_duration_statement": "0"},
    "postgres-18": {
        **{"logging_collector": "on", "log_destination": "stderr,csvlog,jsonlog"},
        **{"log_statement": "all", "log_line_prefix": "%m [%p] %q%u@%d/%a "},
    },
}
#: Servers that the logs are played on.
PLAYED_ON = {
    "mysql": ("mysql-8.0", GENERAL),
    "mariadb": ("mariadb-innodb", GENERAL),
    "postgres": (
        "postgres-18",
        {"logging_collector": "on", "log_destination": "csvlog", "log_statement": "all"},
    ),
}
ENDS = b"'it ends'"


@dataclass(frozen=True)
class Logs:
    """A server's logs of the mix, by their forms, and what reached it."""

    forms: dict[str, bytes]
    reached: dict[str, list[Reached]]


def find_files(server: Server) -> dict[str, Path]:
    """The server's logs by their forms."""
    if server.session["kind"] == "mysql":
        asked = "SELECT @@general_log_file, @@slow_query_log_file, @@slow_query_log, @@datadir"
        ((general, slow, has_slow, folder),) = driver.ask(server.session, [asked])[0]
        home, slows = Path(str(folder)), {"slow": str(slow)} if has_slow == "1" else {}
        return {form: home / name for form, name in ({"general": str(general)} | slows).items()}
    asked = "SELECT current_setting('data_directory'), current_setting('log_destination')"
    ((folder, forms),) = driver.ask(server.session, [asked])[0]
    found = {}
    for form in str(forms).replace(" ", "").split(","):
        ((name,),) = driver.ask(server.session, [f"SELECT pg_current_logfile('{form}')"])[0]
        found[form] = Path(str(folder)) / str(name)
    return found


def log_of(server: Server, work: Callable[[], object], ends: int) -> dict[str, bytes]:
    """What a server logs while something is done that ends so many sessions."""
    files = find_files(server)
    begin = {form: len(file.read_bytes()) for form, file in files.items()}
    work()
    logs = dict[str, bytes]()
    for form, file in files.items():
        for _ in range(600):
            logs[form] = file.read_bytes()[begin[form] :]
            if logs[form].count(ENDS) >= ends:
                break
            time.sleep(0.05)
    return logs


def read_reached(logs: dict[str, bytes]) -> dict[str, list[Reached]]:
    if "general" in logs:
        return read_general_log(logs["general"])
    return read_csvlog(logs["csvlog"].decode().splitlines(keepends=True))


CACHE: dict[str, Logs] = {}


def send(kind: str) -> Logs:
    """The logs of a server that is sent the mix; it is sent once for all tests."""
    if kind not in CACHE:
        with serving(kind, **SENT_TO[kind]) as server:
            is_mysql = server.session["kind"] == "mysql"
            driver.ask(server.session, MADE_MYSQL if is_mysql else MADE_POSTGRES)
            sends = send_to_mysql if is_mysql else send_to_postgres
            logs = log_of(server, lambda: sends(server.session), 3)
            CACHE[kind] = Logs(logs, read_reached(logs))
    return CACHE[kind]


def play(kind: str, log: LogFile, home: Path) -> tuple[Replay, dict[str, list[Reached]]]:
    """What of a log reaches another server."""
    other, settings = PLAYED_ON[kind.partition("-")[0]]
    replay = lay_out(log, True, lambda _: None)
    with serving(other, **settings) as server:
        is_mysql = server.session["kind"] == "mysql"
        driver.ask(server.session, MADE_MYSQL if is_mysql else MADE_POSTGRES)
        plan = Plan(server.session, Script(str(replay.script), {}), 7, ("run",), progress_s=0)
        logs = log_of(server, lambda: play_plan(plan, home), 3)
    return replay, read_reached(logs)


#: What a log does not hold, or holds in another form: the beginning of what reached the first
#: server, what reached the second in its place, and what Dyno says of it.
Difference = tuple[bytes, tuple[bytes, ...], str]
PREPARED: list[Difference] = [(it, (), "") for it in (b"PREPARE p", b"EXECUTE p", b"DEALLOCATE")]
SEVERAL = "texts of several statements are sent as logged"
PARTS: Difference = (b"SELECT 7; SELECT 8", (b"SELECT 7", b"SELECT 8"), "")
UNKNOWN: Difference = (b"SELEC 1", (), "no statement known here begins with 'SELEC'")
HEAD: Difference = (b"SELECT '# Time: 2026", (), "it ends within a quoted text")
PREFIX = "%m [%p] %q%u@%d/%a "
FORMS: dict[tuple[str, str], list[Difference]] = {
    ("mysql-5.6", "general"): PREPARED,
    ("mysql-5.6", "slow"): [*PREPARED, HEAD],
    ("mysql-8.0", "general"): PREPARED,
    ("mysql-8.0", "slow"): [*PREPARED, HEAD],
    ("mysql-8.0", "percona"): [*PREPARED, HEAD],
    ("mariadb-innodb", "general"): [*PREPARED, UNKNOWN],
    ("mariadb-innodb", "slow"): [*PREPARED, PARTS, HEAD, UNKNOWN],
    ("postgres-12", "stderr"): [],
    ("postgres-12", "csvlog"): [],
    **{("postgres-18", form): [] for form in ("stderr", "csvlog", "jsonlog", *SHIPPED)},
}


def compare(sent: list[Reached], played: list[Reached]) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """What differs of a session: each that reached the first server alone, and what stands in the
    second's log in its place. An end without meaning (`;`) counts for nothing.
    """
    one, other = (
        [it._replace(text=it.text.rstrip(b"; \n")) for it in side] for side in (sent, played)
    )
    found = list[tuple[bytes, tuple[bytes, ...]]]()
    for word, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if word != "equal":
            there = tuple(it.text for it in other[k:m])
            alone = [it.text for it in one[i:j]] or [b"(nothing)"]
            found += [(text, there if text == alone[-1] else ()) for text in alone]
    return found


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_what_a_log_is_played_as_reaches_a_server_as_it_reached_the_first(
    kind: str,
    form: str,
    tmp_path: Path,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    sent = send(kind)
    log = tmp_path / "it.log"
    written = sent.forms[MADE_OF.get(form, form)]
    log.write_bytes(MAKE[form](written) if form in MAKE else written)
    is_prefixed = kind == "postgres-18" and MADE_OF.get(form, form) == "stderr"
    replay, reached = play(kind, LogFile(log, PREFIX if is_prefixed else ""), tmp_path)
    told = "\n".join(replay.describe())
    found = [it for name, texts in sent.reached.items() for it in compare(texts, reached[name])]
    explained = dict[bytes, tuple[bytes, ...]]()
    for beginning, there, said in FORMS[kind, form]:
        (explained[beginning],) = (them for text, them in found if text.startswith(beginning))
        assert explained[beginning] == there and said in told, told
    assert len(found) == len(explained), found
    assert (SEVERAL in told) == (
        "postgres" in kind or (kind, form) == ("mariadb-innodb", "general")
    )
    count = sum(map(len, sent.reached.values()))
    said = f"{count}, {count - len(found)} the same"
    record_testsuite_property(f"reached_{kind}_{form}", said)
    assert count >= 39
