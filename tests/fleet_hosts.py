"""Hosts for tests of client hosts: on one machine, each in namespaces of its own where root makes
them, with another machine-id, and an sshd that is an ordinary process with keys made for it."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privileges import need_root

from dyno.builds import deb

PACKAGE, BESIDE = "openssh-server", ("libwrap0",)
#: Of 10.213.0.0/16, two for each host; other tests of the machine may have taken some.
NETWORK = "10.213"

#: Of the hosts of this process.
_NUMBERS = itertools.count()

#: What a host is made of: its own identity, accounts and /run, and the network that comes.
HOST_SCRIPT = """
set -e
mount --make-rprivate /
mount --bind {home}/machine-id /etc/machine-id
mount --bind {home}/passwd /etc/passwd
mount --bind {home}/shadow /etc/shadow
mount -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip addr add {address}/30 dev eth0
ip link set eth0 up
export LD_LIBRARY_PATH={libraries}
exec {sshd} -D -e -f {home}/sshd_config
"""

SSHD_CONFIG = """
Port 22
ListenAddress {address}
HostKey {home}/host_key
AuthorizedKeysFile {keys}/client.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PermitUserEnvironment no
"""


def find_sshd() -> Path:
    """Debian's sshd, unpacked and not installed."""
    tree = deb.fetch(PACKAGE, deb.find_installable_version(PACKAGE), lambda _: None, BESIDE)
    return tree / "usr" / "sbin" / "sshd"


def make_key(file: Path) -> None:
    """A key without a passphrase, and its public half beside it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)]
    subprocess.run(command, check=True, timeout=20, capture_output=True)


@dataclass
class FakeHost:
    """A host: its address, its folder, and the first process of its namespaces."""

    name: str
    address: str
    home: Path
    process: subprocess.Popen[bytes]
    init: int
    link: str

    def list_programs(self) -> list[str]:
        """The names of what runs there beside the sshd that listens."""
        found = []
        for folder in self._list_processes():
            with suppress(OSError):
                found.append((folder / "comm").read_text().strip())
        return found

    def end_connections(self) -> None:
        """Ends all connections to it, as a fault of the network does; what they started sees the
        end of its stdin.
        """
        # All are found first: what a killed sshd leaves is a child of the host's first process.
        sessions = []
        for folder in self._list_processes():
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == self.init:
                    sessions.append(int(folder.name))
        for pid in sessions:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _list_processes(self) -> list[Path]:
        own = Path(f"/proc/{self.init}/ns/pid").readlink()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (folder / "ns" / "pid").readlink() == own and folder.name != str(self.init):
                    found.append(folder)
        return found

    def kill(self) -> None:
        """As a power cut does: all that runs there, and its network."""
        with suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        self.process.wait(10)


@dataclass
class SshFleet:
    """Hosts, and the caller's own keys."""

    home: Path
    hosts: list[FakeHost] = field(default_factory=list)

    def write_clients(self, changed: Mapping[str, Mapping[str, Any]] | None = None) -> Path:
        """A file of all hosts as client hosts, with keys of some replaced."""
        lines = []
        for host in self.hosts:
            options = ["-F", "none", "-i", str(self.home / "client")]
            options += ["-o", f"UserKnownHostsFile={self.home / 'known_hosts'}"]
            keys: dict[str, Any] = {
                "name": host.name,
                "ssh": f"root@{host.address}",
                "options": options,
            }
            keys |= (changed or {}).get(host.name, {})
            lines += ["[[host]]", *(f"{key} = {value!r}" for key, value in keys.items()), ""]
        file = self.home / "clients.toml"
        file.write_text("\n".join(lines))
        return file


@contextmanager
def serving_hosts(home: Path, names: tuple[str, ...]) -> Iterator[SshFleet]:
    """Hosts that are reached by ssh; all that runs on them has ended in the end."""
    need_root("hosts in namespaces of their own")
    fleet, sshd = SshFleet(home), find_sshd()
    make_key(home / "client")
    try:
        for name in names:
            fleet.hosts.append(_start_host(home, name, sshd))
        known = [
            f"{host.address} {(host.home / 'host_key.pub').read_text().strip()}"
            for host in fleet.hosts
        ]
        (home / "known_hosts").write_text("\n".join(known) + "\n")
        yield fleet
    finally:
        for host in fleet.hosts:
            host.kill()


def _start_host(home: Path, name: str, sshd: Path) -> FakeHost:
    own = home / name
    for folder in (own, own / "state", own / "tmp"):
        folder.mkdir()
    (own / "machine-id").write_text(uuid.uuid4().hex + "\n")
    (own / "passwd").write_text(
        Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    )
    (own / "shadow").write_text("root:*:20000:0:99999:7:::\nsshd:!:20000::::::\n")
    make_key(own / "host_key")
    number = (os.getpid() * 8 + next(_NUMBERS)) % 16000
    network = f"{NETWORK}.{number // 64}.{number % 64 * 4}"
    base, last = network.rpartition(".")[::2]
    outer, address = f"{base}.{int(last) + 1}", f"{base}.{int(last) + 2}"
    config = SSHD_CONFIG.format(address=address, home=own, keys=home)
    (own / "sshd_config").write_text(config)
    libraries = ":".join(map(str, sshd.parent.parent.glob("lib/*-linux-gnu")))
    script = HOST_SCRIPT.format(home=own, sshd=sshd, libraries=libraries, address=address)
    alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    log = (own / "sshd.log").open("wb")
    process = subprocess.Popen([*alone, "sh", "-c", script], stdin=subprocess.DEVNULL, stderr=log)
    log.close()
    try:
        init = _find_child(process.pid)
        link = f"dy{number}"
        for words in (
            f"link add {link} type veth peer name eth0 netns {init}",
            f"addr add {outer}/30 dev {link}",
            f"link set {link} up",
        ):
            command = ["ip", *words.split()]
            done = subprocess.run(command, timeout=10, capture_output=True, text=True)
            assert not done.returncode, f"ip {words}: {done.stderr}"
        host = FakeHost(name, address, own, process, init, link)
        _wait_for_port(host)
    except BaseException:
        process.kill()  # and its namespaces with it
        process.wait(10)
        raise
    return host


def _find_child(pid: int) -> int:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    return int(folder.name)
        time.sleep(0.02)
    raise AssertionError("the namespaces were not made")


def _wait_for_port(host: FakeHost) -> None:
    until = time.monotonic() + 15
    while time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection((host.address, 22), timeout=1).close()
            return
        time.sleep(0.05)
    raise AssertionError((host.home / "sshd.log").read_text())
