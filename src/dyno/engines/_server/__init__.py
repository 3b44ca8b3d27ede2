"""A server: started in a private home, watched until it answers, stopped for good; and sysbench's
connection options, as all its drivers have them (`--PREFIX-host` and the like).

It leads a session of its own, so that Ctrl-C reaches it only through us. When we die, however we
die, it gets a signal, is woken to take it, and is killed if it does not end. What it leaves behind
when it stops is killed.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dyno import subprocesses
from dyno.access import account
from dyno.access.account import Socket
from dyno.access.url import Login, is_here
from dyno.engines import NO_CONDITIONS, Server, StartConditions
from dyno.engines import SysbenchOption as Option
from dyno.engines._server import process as _process
from dyno.engines._server.libraries import diagnose_failure
from dyno.errors import TrialFailed, UsageError
from dyno.tails import read_tail

#: What a server may take to answer first; it may have a crash to recover from.
READY_S = 60.0
#: What it may take to stop: it writes all that it holds back to disk.
STOP_S = 120.0
#: How often a starting server is asked.
PAUSE_S = 0.02


@dataclass(frozen=True)
class ServerLaunch:
    """A server to be: its name for people ("thing 18.6"), command, home and socket.

    The command's first word is the server's own program, by its path. `stops_on` is the signal for
    a clean stop, `dies_on` the one that it gets when we die; `asked` are the settings that it must
    be found running with.
    """

    name: str
    command: Sequence[str]
    home: Path
    socket: Socket
    under: StartConditions = NO_CONDITIONS
    environment: Mapping[str, str] = field(default_factory=dict)
    stops_on: signal.Signals = signal.SIGTERM
    dies_on: signal.Signals = signal.SIGKILL
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def programs(self) -> list[Path]:
        return [Path(self.command[0]), *filter(None, [self.under.shown_as])]


@dataclass(frozen=True)
class Running:
    """A server's process; it is the `handle` of its `Server`."""

    launch: ServerLaunch
    process: subprocess.Popen[bytes]
    log: Path
    watchdog: subprocess.Popen[bytes]

    def poll(self) -> int | None:
        return self.process.poll()


def start_server(launch: ServerLaunch) -> Running:
    """Starts the server as an unprivileged user, its words in `home/server.log`, a new one.

    The home and all in it become that user's. Call it from a thread that outlives the server: the
    kernel counts the end of the thread as our death. `HostError` where it cannot be started.
    """
    user, home = account.find_server_account(), launch.home
    account.check_reach(user, home, "set DYNO_TMP to a folder that everybody may pass through")
    log = home / "server.log"
    log.write_bytes(b"")
    account.give_folder(user, home)
    switch = account.build_account_prefix(user, launch.dies_on)
    command = [*launch.under.prefix, *switch, *launch.under.executor, *launch.command]
    environment = (
        _process.build_server_environment(home, launch.environment) | launch.under.environment
    )
    folder = launch.socket.folder
    watchdog = _process.begin_watchdog(launch.programs, home, launch.dies_on, folder)
    try:
        process = _process.spawn(command, environment, log, home)
    except BaseException:
        _process.end_watchdog(watchdog)
        raise
    return Running(launch, process, log, watchdog)


def wait_ready(running: Running, probe: Callable[[], object], limit_s: float = READY_S) -> None:
    """Wait until `probe` (it asks the server something) raises no `TrialFailed` any more.

    If the server dies or the limit is over, it is killed and the error has its last words. It is
    killed too if we are interrupted: no caller holds it yet.
    """
    try:
        why = _wait_ready(running, probe, limit_s)
    except BaseException:
        kill_server(running)
        raise
    if why:
        kill_server(running)
        raise diagnose_failure(why, read_tail(running.log))


def _wait_ready(running: Running, probe: Callable[[], object], limit_s: float) -> str:
    name, ends_s, heed = running.launch.name, time.monotonic() + limit_s, subprocesses.Heed()
    why = f"{name} did not answer in {limit_s:.0f} s"
    while time.monotonic() < ends_s:
        if (code := running.process.poll()) is not None:
            return f"{name} did not start" + (f" (killed by signal {-code})" if code < 0 else "")
        if running.launch.socket.path.exists():
            try:
                probe()
                return ""
            except TrialFailed as refused:
                why = f"{name} did not answer in {limit_s:.0f} s ({refused.message})"
        heed.pause(PAUSE_S)
    return why


def stop_server(server: Server, limit_s: float = STOP_S) -> None:
    """Stop a server cleanly, and kill what is left of it; a dead one is reaped, a suspended one is
    woken.

    `TrialFailed` if it had to be killed: its data are as after a crash then.
    """
    running: Running = server.handle
    process = running.process
    if process.poll() is None:
        _process.wake_family(running.launch.programs, running.launch.home)
        process.send_signal(running.launch.stops_on)
        with suppress(subprocess.TimeoutExpired):
            process.wait(subprocesses.choose_limit(limit_s))
    late = process.poll() is None
    kill_server(running)
    if late:
        why = f"{running.launch.name} did not stop in {limit_s:.0f} s and was killed"
        raise diagnose_failure(why, read_tail(running.log))


def kill_server(running: Running) -> None:
    """Kill the server and all that belongs to it; remove the folder made for its socket."""
    launch = running.launch
    _process.end_process(running.process, launch.programs, launch.home)
    _process.end_watchdog(running.watchdog)
    launch.socket.remove()


#: sysbench's own defaults of what every driver has.
HOST, USER, DATABASE = "localhost", "sbtest", "sbtest"


def list_connection_options(prefix: str, port: int) -> tuple[Option, ...]:
    """Host, port, user, password and database of a driver; `prefix` is its own (`pgsql`)."""
    return (
        Option(f"{prefix}-host", "STRING", HOST, "the server's host"),
        Option(f"{prefix}-port", "N", str(port), "its port"),
        Option(f"{prefix}-user", "STRING", USER, "who logs in"),
        Option(f"{prefix}-password", "STRING", "", "the user's password"),
        Option(f"{prefix}-db", "STRING", DATABASE, "the database to work in"),
    )


def read_login(prefix: str, given: Mapping[str, str], *, password: str | None) -> Login:
    """The login that `list_connection_options` mean, with `password` where they have none.

    `UsageError` for several hosts or ports, over which sysbench deals its connections.
    """
    for name in ("host", "port"):
        if "," in given[f"{prefix}-{name}"]:
            raise UsageError(
                f"--{prefix}-{name} names several servers", hint="one server is played at a time"
            )
    host = given[f"{prefix}-host"]
    if not given[f"{prefix}-port"].isdigit():
        raise UsageError(f"--{prefix}-port is not a number: {given[f'{prefix}-port']}")
    return Login(
        host,
        given[f"{prefix}-user"],
        given[f"{prefix}-db"],
        int(given[f"{prefix}-port"]),
        given[f"{prefix}-password"] or password,
        "disable" if is_here(host) else "require",
    )
