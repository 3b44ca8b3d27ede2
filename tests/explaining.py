"""`dyno explain` for tests: the record of a statement on a server of theirs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from urllib.parse import quote

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import PathRequest, Server
from dyno.record.explanation import REST, Explanation
from dyno.servers.explain.explain import ExplainOptions, PathPlayer, explain_all
from dyno.servers.explain.target import open_path

#: Enough to tell a stage that grew by a factor.
QUICK = ExplainOptions(runs=6, for_s=5.0, limit_s=10.0)


def url_of(server: Server, kind: str = "") -> str:
    """The server as `dyno explain` takes it."""
    session = server.session
    user = quote(str(session["user"]), safe="")
    word = "" if session["password"] is None else f":{quote(str(session['password']), safe='')}"
    host = quote(str(session["host"]), safe="")
    return f"{kind or session['kind']}://{user}{word}@{host}/{session['database']}"


def explain(dsn: str, sql: str, options: ExplainOptions = QUICK) -> Explanation:
    """The record."""
    path = open_path(driver.ask, dsn, PathRequest(sql, options.limit_s, options.writes))
    (found,) = explain_all([PathPlayer(path, driver.ask, sql, options)], options)
    return found


Middle = Callable[[Sequence[float]], float]


def times_of(found: Explanation, middle: Middle = median) -> dict[str, float]:
    """The median of each stage that was told, in µs."""
    return {stage.name: middle(stage.us) for stage in found.stages if stage.us}


def find_grown(before: Explanation, after: Explanation, middle: Middle = median) -> str:
    """The stage that grew most, of those that a statement has and that are told; of a busy host
    `min` sees least. Connecting is none: the host's moment decides on it.
    """
    old, new = times_of(before, middle), times_of(after, middle)
    new.pop(REST)
    new.pop("connection", None)
    return max(new, key=lambda name: new[name] - old.get(name, 0.0))


def ask(session: Session, *statements: str) -> list[list[str | None]]:
    """The rows of the last statement."""
    return driver.ask(session, statements, 60)[-1]


def wait_until(holds: Callable[[], bool]) -> None:
    """Within two minutes, which a crowded host needs to start a command."""
    ends_s = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def interrupt_explain(server: Server, sql: str, running: str) -> None:
    """Interrupts `dyno explain` of a statement that takes long: it ends there, too, which `running`
    asks the server.
    """
    words = [sys.executable, "-m", "dyno.cli", "explain", url_of(server), sql]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: ask(server.session, running) != [])
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: ask(server.session, running) == [])
