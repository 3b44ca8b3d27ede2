"""Engine `redis`: Redis servers, each started on a private socket. They know keys and values and no
SQL, and play the workload `kv`.

What stands after the `@` is a version (`7.0`: Debian's), a suite of Debian's (`bookworm`), a
program's path, or `system`; nothing stands for the newest version. Every directive of the server's
configuration is a key (`appendonly=yes&appendfsync=always`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from dyno import scratch
from dyno.access.account import place_socket
from dyno.access.url import Login
from dyno.builds import Build, Say, compute_sha256
from dyno.builds.available import Offer
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.engines import (
    NO_CONDITIONS,
    SURVIVES,
    Ask,
    Server,
    StartConditions,
    _builds,
    _server,
)
from dyno.engines._builds import Releases
from dyno.engines._server import process
from dyno.errors import HostError, TrialFailed, UsageError, build_unknown_error
from dyno.record import DataCondition

#: What a commit survives, by `appendfsync`, with the log of commands on.
LOGGED = {"no": SURVIVES[1], "everysec": SURVIVES[2], "always": SURVIVES[3]}
#: Each setting's default here, and what it means. Background saves would fork a server that is
#: measured, so that none is made unless asked for.
OPTIONS = {
    "appendonly": ("no", "yes: a log of all commands that write, which survives a crash"),
    "appendfsync": ("everysec", "always, everysec or no: when that log is flushed"),
    "save": ("", "seconds and changes after which all is saved by a fork; empty: never"),
    "io-threads": ("1", "threads that read and write for connections"),
    "maxmemory": ("0", "bytes that the data may take; 0: all there is"),
}
#: Directives that say where the server is and works: ours.
OWN = ("port", "unixsocket", "dir", "daemonize", "include", "logfile", "pidfile", "bind")
#: What directives of sizes are counted in.
UNITS = {"k": 1000, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30, "b": 1}
#: An own word of a driver's session: the rest is sent as it is.
SENT = "RESP "
SOCKET = "s.sock"


class Engine:
    """A server of keys and values in a process of its own, whose settings are those of `OPTIONS`,
    yours, and its own defaults. Its data live in memory: `settle` waits for its log alone.
    """

    name: ClassVar[str] = "redis"
    embedded: ClassVar[bool] = False
    session_kind: ClassVar[str] = "resp"
    tables_sql: ClassVar[str] = "SHOW TABLES"
    own_databases: ClassVar[frozenset[str]] = frozenset()
    has_use: ClassVar[bool] = False
    options: ClassVar[dict[str, tuple[str, str]]] = OPTIONS
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    releases: ClassVar[Releases] = Releases(
        "redis",
        {},
        {
            "6.0.16": SuiteProgram(
                "bullseye", ("redis-server", "redis-tools"), ("usr/bin/redis-server",)
            ),
            "7.0.15": SuiteProgram(
                "bookworm", ("redis-server", "redis-tools"), ("usr/bin/redis-server",)
            ),
            "8.0.2": SuiteProgram(
                "trixie", ("redis-server", "redis-tools"), ("usr/bin/redis-server",)
            ),
        },
    )
    versions: ClassVar[tuple[str, ...]] = releases.versions

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        _builds.refuse_flags(build, flags)
        if "://" in build or build.startswith("//"):
            hint = f"name a version, or a program: {self.name}@/usr/bin/{self.name}-server"
            raise UsageError(f"{self.name} attaches to no server that runs already", hint=hint)
        for name, value in settings.items():
            if name in OWN:
                raise UsageError(f"'{name}' is set by dyno: the server is private")
            if "\n" in value or "\r" in value:
                raise UsageError(f"the value of '{name}' has several lines")
        if build != "system" and "/" not in build:
            self.releases.list_choices(build)

    def list_offers(self) -> list[Offer]:
        return self.releases.list_offers(lambda _: (), frozenset())

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        if build == "system":
            found = shutil.which(f"{self.name}-server")
            if found is None:
                raise HostError(f"this system has no {self.name}-server", hint="name a version")
            return self._describe(build, Path(found), "the system's own")
        if "/" in build:
            program = Path(build).expanduser().absolute()
            if not program.is_file():
                raise UsageError(f"there is no program at {build}", hint="name the server's file")
            return self._describe(build, program, "its own path")

        def make_from_suite(tree: Tree, wanted: SuiteProgram) -> Build:
            program = tree.folder / wanted.programs[0]
            made = self._describe(build, program, tree.describe_source(wanted))
            return replace(made, facts=made.facts | tree.list_facts())

        def refuse_number(version: str) -> Build:
            raise HostError(f"no registry has {self.name} {version}")

        return self.releases.fetch(build, say, make_from_suite, refuse_number)

    def _describe(self, build: str, program: Path, source: str) -> Build:
        said = process.ask_program([str(program), "--version"])
        found = re.match(rf"{self.name.capitalize()} server v=(\d[\w.]*)", said)
        if found is None:
            cause = f"it says '{said.strip().partition(chr(10))[0]}'"
            raise UsageError(f"{program} is not a {self.name} server", cause=cause)
        facts = {"source": source, "sha256": compute_sha256(program)}
        return Build(self.name, build or found[1], found[1], program, facts)

    def accept(self, build: Build, settings: dict[str, str], others: Iterable[str] = ()) -> None:
        """`UsageError` where the server does not take a line: it is given one more that ends it,
        once all before that one were read.
        """
        lines = [f"{name} {_quote(value)}" for name, value in settings.items()]
        text = "\n".join([*lines, "include /nonexistent/dyno"])
        with scratch.make_folder("ask") as place:
            try:
                said = process.run_tool([str(build.program), "-"], place, given=text)
            except TrialFailed as failed:
                said = failed.cause
        if refused := re.search(r"^>>> '(.*)'\n(.*)", said, re.M):
            name, cause = refused[1].partition(" ")[0].strip("\"'"), refused[2].strip()
            if re.search("bad directive|unknown", cause, re.I):
                raise build_unknown_error(f"{self.name} setting", name, {*OPTIONS, *others})
            raise UsageError(f"{self.name} does not take {name}={settings.get(name)}", cause=cause)

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        data, socket = home / "data", place_socket(home, SOCKET)
        data.mkdir(exist_ok=True)
        asked = {name: default for name, (default, _) in OPTIONS.items()} | settings
        own = {"port": "0", "unixsocket": str(socket.path), "dir": str(data), "daemonize": "no"}
        config = home / "dyno.conf"
        lines = [f"{name} {_quote(value)}\n" for name, value in (own | asked).items()]
        config.write_text("".join(lines))
        running = _server.start_server(
            _server.ServerLaunch(
                f"{self.name} {build.version}",
                (str(build.program), str(config)),
                home,
                socket,
                under,
                asked=asked,
            )
        )
        session = Login(str(socket.path), "", "").to_session("resp")
        _server.wait_ready(running, lambda: self._ask(session, [f"{SENT}PING"]))
        return Server(session, home, running.process.pid, running.log, running)

    def settings(self, server: Server) -> dict[str, str]:
        """Every directive as the server reports it, but for its places, and its version.

        `TrialFailed` where it runs with another value than it was asked for.
        """
        told, info = self._ask(server.session, [f"{SENT}CONFIG GET *", f"{SENT}INFO server"])
        words = [str(row[0] or "") for row in told]
        found = dict(zip(words[::2], words[1::2], strict=True))
        for name, value in server.handle.launch.asked.items():
            held = found.get(name)
            if held is not None and _normalize(held) != _normalize(value):
                raise TrialFailed(f"{self.name} runs with {name}={held}, and not {value}")
        version = re.search(rf"^{self.name}_version:(\S+)", str(info[0][0]), re.M)
        places = (str(server.home), str(server.handle.launch.socket.path.parent))
        kept = {k: v for k, v in found.items() if not any(place in v for place in places)}
        return kept | ({"version": version[1]} if version else {})

    def settle(self, server: Server) -> None:
        """Nothing is put off: keys are in memory, and the log is written as they come."""

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """What its allocator gave the data, and what its log survives."""
        ((row,),) = self._ask(server.session, [f"{SENT}INFO memory"])
        used = re.search(r"^used_memory_dataset:(\d+)", str(row[0]), re.M)
        names = ("appendonly", "appendfsync")
        is_logged = reported.get("appendonly") == "yes"
        return DataCondition(
            size_bytes=int(used[1]) if used else None,
            survives=LOGGED.get(reported.get("appendfsync", ""), "") if is_logged else SURVIVES[0],
            decided_by={name: reported[name] for name in names if name in reported},
            autocommits=True,
        )

    def stop(self, server: Server) -> None:
        """Ends it; what its settings keep is on disk."""
        _server.stop_server(server)


def _quote(value: str) -> str:
    return value or '""'


def _normalize(value: str) -> str:
    """One spelling of a size or a word."""
    size = re.fullmatch(rf"(\d+)({'|'.join(UNITS)})?", value.strip().lower())
    return str(int(size[1]) * UNITS[size[2] or "b"]) if size else value.strip().lower()
