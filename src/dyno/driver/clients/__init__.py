"""Several drivers that play one load together, each on a host of its own: which hosts are meant,
how they are reached, and which driver each has. `drivers` plays a plan from all of them as one, and
`merging` makes one record of theirs.

Hosts are given as `ssh:HOST,HOST…`, or as a TOML file with a `[[host]]` for each. A host is reached
by the system's `ssh` (`ssh = "user@db-client-1"`, `options = ["-p", "2222"]`), or by a command that
stands before a program's words (`command = ["ip", "netns", "exec", "c1"]`).

Before the first trial each host's driver must be ours, by its checksum: over `ssh` it is copied
there, behind a command it is looked for at its path.
"""

from __future__ import annotations

import ipaddress
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from dyno import scratch
from dyno.driver.clients.drivers import ClientDrivers, ClientSeat
from dyno.driver.clients.merging import compute_allowed_ns
from dyno.driver.clients.ssh import SshConnection, extract_cause
from dyno.driver.plan import Plan, Session
from dyno.driver.process import DriverLaunch
from dyno.driver.questions import build_driver_environment, find_driver, identify, run_limited
from dyno.errors import HostError, TrialFailed, UsageError, build_unknown_error
from dyno.record.clients import ClientHost

__all__ = [
    "ClientDrivers",
    "ClientFleet",
    "ReachedHost",
    "parse_client_hosts",
    "reach_hosts",
    "read_client_hosts",
]


#: What a host's driver may take to say which it is.
IDENTIFY_S = 30.0
#: What is kept of the identity of its machine, or network: a record has it.
NAME_LETTERS = 200


@dataclass(frozen=True)
class ReachedHost:
    """A host whose driver is ours: its path there (empty: that of the copy), the `ssh` that leads
    there (None: its command does), and whether its machine has others of the run on it.
    """

    host: ClientHost
    program: str
    ssh: SshConnection | None
    is_shared: bool = False

    def build_command(self, word: str) -> tuple[str, ...]:
        if self.ssh is None:
            return (*self.host.command, self.program, word)
        chosen = [f"{n}={v}" for n, v in build_driver_environment().items() if n != "PATH"]
        program = self.program or self.ssh.program
        return self.ssh.build_command(["env", *chosen, program, word])

    def find_script(self, script: str) -> str:
        return script if self.ssh is None else self.ssh.copy_script(Path(script))


@dataclass(frozen=True)
class ClientFleet:
    """The hosts of a run, reached until it is closed; `network` is Dyno's own."""

    reached: tuple[ReachedHost, ...]
    network: str
    opened: ExitStack

    @property
    def hosts(self) -> tuple[ClientHost, ...]:
        return tuple(each.host for each in self.reached)

    def _check_address(self, session: Session) -> None:
        """Raise `UsageError` if a host would look for the server on itself."""
        address = str(session.get("host", ""))
        is_socket = address.startswith("/")
        if not (is_socket or _is_loopback(address)):
            return
        for each in self.reached:
            here = self.network.partition(" ")[0] if is_socket else self.network
            if here != (each.host.machine if is_socket else each.host.network):
                raise UsageError(
                    f"client host {each.host.name} does not reach the server at {address}",
                    cause="that address means each host itself",
                    hint="name the server by an address that the client hosts reach",
                )

    def drive(
        self,
        plan: Plan,
        launch: DriverLaunch,
        lengths_s: Mapping[str, float],
        allowed: Callable[[int | None, float], int] = compute_allowed_ns,
    ) -> ClientDrivers:
        """Start drivers on all hosts that play `plan` together; `HostError` if a lost connection
        cannot be made anew.
        """
        self._check_address(plan.session)
        for each in self.reached:
            if each.ssh:
                each.ssh.connect_again()
        seats = [
            ClientSeat(
                each.host,
                replace(launch, prefix=(), command=each.build_command("run")),
                each.find_script(plan.script.path),
                each.is_shared,
            )
            for each in self.reached
        ]
        return ClientDrivers(plan, seats, lengths_s, allowed)

    def close(self) -> None:
        """Disconnect from the hosts; remove what was copied there."""
        self.opened.close()

    def __enter__(self) -> ClientFleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def reach_hosts(
    hosts: Sequence[ClientHost], say: Callable[[str], None] = lambda _: None
) -> ClientFleet:
    """Reach all; `HostError` names the host that cannot be reached, or has another driver."""
    ours = identify()
    say(f"asking {len(hosts)} client host{'s' if len(hosts) > 1 else ''} for their driver")
    with ExitStack() as opened:
        folder = None
        if any(host.ssh for host in hosts):
            folder = opened.enter_context(scratch.make_folder("clients"))
        reached = []
        for number, host in enumerate(hosts):
            found = _reach(host, folder / str(number) if folder else None, opened)
            reached.append(_check_driver(found, ours))
        machines = Counter([str(ours["machine"]), *(each.host.machine for each in reached)])
        shared = tuple(replace(r, is_shared=machines[r.host.machine] > 1) for r in reached)
        network = f"{ours['machine']} {ours['network']}"
        return ClientFleet(shared, network, opened.pop_all())


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def _reach(host: ClientHost, control: Path | None, opened: ExitStack) -> ReachedHost:
    if not host.ssh or control is None:
        return ReachedHost(host, host.driver or str(find_driver()), None)
    ssh = SshConnection(host, control, None if host.driver else find_driver())
    opened.callback(ssh.close)
    return ReachedHost(host, host.driver, ssh)


def _check_driver(reached: ReachedHost, ours: Mapping[str, Any]) -> ReachedHost:
    """The host with what its driver said of it; `HostError` where that is not our driver."""
    host, told = reached.host, _ask_identity(reached)
    if told.get("sha256") != ours["sha256"]:
        driver, checksum = str(told.get("driver", "unknown"))[:40], str(told.get("sha256"))[:12]
        cause = f"it is {driver} ({checksum}), ours is "
        cause += f"{ours['driver']} ({ours['sha256'][:12]})"
        hint = f"copy {find_driver()} to {reached.program} there"
        message = f"client host {host.name} has another dyno-driver"
        raise HostError(message, cause=cause, hint=hint)
    known = structs.replace(
        host,
        cores=told["cores"],
        machine=str(told["machine"])[:NAME_LETTERS],
        network=f"{told['machine']} {told['network']}"[:NAME_LETTERS],
    )
    return replace(reached, host=known)


def _ask_identity(reached: ReachedHost) -> dict[str, Any]:
    name, command = reached.host.name, reached.build_command("identify")
    message = f"client host {name} cannot run dyno-driver"
    hint = "the driver must be there at the path of ours, or at that of the key `driver`"
    try:
        done = run_limited(command, b"", "it", IDENTIFY_S, build_driver_environment())
    except OSError as error:
        cause = f"{command[0]}: {(error.strerror or str(error)).lower()}"
        raise UsageError(message, cause=cause, hint=hint) from None
    except TrialFailed as error:
        raise HostError(message, cause=error.message, hint=hint) from None
    try:
        told: dict[str, Any] = json.loads(done.stdout)
        return told | {"cores": int(told["cores"])}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        cause = extract_cause(done.stderr or done.stdout) or f"exit code {done.returncode}"
        if "GLIBC" in cause:
            hint = "its C library is older than this host's: name a host of a newer system"
        raise HostError(message, cause=cause, hint=hint) from None


SSH = "ssh:"
KEYS = ("name", "command", "ssh", "options", "driver")
#: More hosts than that are a mistake, and more drivers than most servers have cores.
HOSTS_MOST = 256
_HINT = 'a file with [[host]] and command = ["ip", "netns", "exec", "c1"], or ssh:HOST,HOST'


def read_client_hosts(words: object) -> tuple[ClientHost, ...]:
    """The hosts of an option's words, or of the tables or words of an experiment's `client_hosts`;
    `UsageError` for what is neither.
    """
    if isinstance(words, str):
        return parse_client_hosts(words)
    return read_host_tables(words, "client_hosts")


def parse_client_hosts(text: str) -> tuple[ClientHost, ...]:
    """The hosts of `ssh:HOST,…` or of a TOML file; `UsageError` for what is neither."""
    if text.startswith(SSH):
        names = [name.strip() for name in text.removeprefix(SSH).split(",")]
        return _check_hosts([{"ssh": name} for name in names], text)
    file = Path(text)
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot read the client hosts '{text}'", cause=cause, hint=_HINT
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{text} is not TOML", cause=error, hint=_HINT) from None
    if unknown := tables.keys() - {"host"}:
        raise build_unknown_error("key", sorted(unknown)[0], ["host"])
    return read_host_tables(tables.get("host"), text)


def read_host_tables(tables: object, place: str) -> tuple[ClientHost, ...]:
    """The hosts of a list of tables, as TOML gives it; `place` is where they stand."""
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UsageError(f"{place} has no list of client hosts", hint=_HINT)
    return _check_hosts(tables, place)


def _check_hosts(tables: Sequence[Mapping[str, Any]], place: str) -> tuple[ClientHost, ...]:
    hosts = tuple(_read_host(each, place) for each in tables)
    if not 1 <= len(hosts) <= HOSTS_MOST:
        message = f"{place} names {len(hosts)} client hosts"
        raise UsageError(message, hint=f"1 to {HOSTS_MOST}")
    names = [host.name for host in hosts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        hint = "one driver plays as many users as its host can; two on one host need two names"
        raise UsageError(f"client host '{twice[0]}' is named twice in {place}", hint=hint)
    return hosts


def _read_host(table: Mapping[str, Any], place: str) -> ClientHost:
    for key in table:
        if key not in KEYS:
            raise build_unknown_error("key of a client host", key, KEYS)
    ssh = table.get("ssh", "")
    texts = [table.get("name", ssh), ssh, table.get("driver", "")]
    words, options = _read_words(table, "command"), _read_words(table, "options")
    if not all(isinstance(each, str) for each in (*texts, *words)) or bool(words) == bool(ssh):
        message = f"a client host in {place} has neither one 'ssh' nor one 'command'"
        raise UsageError(message, hint=_HINT)
    name, ssh, driver = texts
    if options and not (ssh and all(isinstance(each, str) for each in options)):
        message = f"the 'options' of client host {name} in {place} are not words for its 'ssh'"
        raise UsageError(message, hint='options = ["-p", "2222", "-i", "keys/bench"]')
    if not name or not name.isprintable() or ssh.startswith("-") or not all(words):
        message = f"a client host in {place} has no usable name"
        raise UsageError(message, cause=repr(name), hint='name = "c1"')
    ways = {"command": tuple(words), "ssh": ssh, "options": tuple(options), "driver": driver}
    return structs.replace(ClientHost(name), **ways)


def _read_words(table: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of the table's; anything else is an invalid list."""
    words = table.get(key, [])
    return words if isinstance(words, list) else [None]
