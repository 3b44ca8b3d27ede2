"""Hosts that are reached by the system's `ssh`: one connection each, which carries everything.

`ssh` never asks for anything (BatchMode): keys, agents and known hosts are the user's own. A user's
shared connection is not used, so that ending ours ends what it plays and nothing of theirs.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO

from dyno import subprocesses
from dyno.compare.fleet import ConnectionLost, FleetHost
from dyno.compare.fleet.hosts_file import ListedHost, read_hosts
from dyno.compare.fleet.messages import PIECE_BYTES
from dyno.driver.clients.ssh import OPTIONS
from dyno.driver.lines import SAY_S
from dyno.errors import HostError
from dyno.tails import LOG_BYTES, DrainedPipe, extract_last_lines

#: How long ssh has to end by itself.
END_S = 3.0
#: What is shown of a host's errors.
ERROR_LINES = 6


class SshBackend:
    """The hosts of a file."""

    def __init__(self, file: str) -> None:
        self._hosts = {host.name: host for host in read_hosts(Path(file))}
        if shutil.which("ssh") is None:
            raise HostError("there is no ssh on this machine", hint="install openssh-client")

    def list_hosts(self) -> list[FleetHost]:
        """Those of the file, in its order."""
        return list(self._hosts.values())

    def open_channel(self, host: FleetHost) -> SshChannel:
        """Starts `dyno fleet-host` there."""
        return SshChannel(build_command(self._hosts[host.name]))

    def close(self) -> bool:
        """Nothing is left: each connection is a channel's."""
        return True


def build_command(host: ListedHost) -> list[str]:
    """The words that start the agent on a host."""
    alone = ("-o", "ControlMaster=no", "-o", "ControlPath=none")
    words = ["ssh", *host.options, *OPTIONS, *alone]
    words += ["-p", str(host.port)] if host.port else []
    words += ["-l", host.user] if host.user else []
    return [*words, "--", host.address, f"{host.dyno} fleet-host"]


class SshChannel:
    """One connection, in a session of its own: an interrupt of the terminal does not reach it."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._in: IO[bytes] = _require(self._process.stdin)
        os.set_blocking(self._in.fileno(), False)
        self._out: IO[bytes] = _require(self._process.stdout)
        self._errors = DrainedPipe(_require(self._process.stderr))

    def write(self, data: bytes) -> None:
        """Sends all of it."""
        view = memoryview(data)
        try:
            while view:
                select.select([], [self._in], [], SAY_S)
                view = view[os.write(self._in.fileno(), view) :]
        except (OSError, ValueError) as error:
            raise ConnectionLost("the connection has ended", cause=self.read_errors()) from error

    def read(self, limit_s: float) -> bytes | None:
        """What has come."""
        try:
            if not select.select([self._out], [], [], limit_s)[0]:
                return None
            return os.read(self._out.fileno(), PIECE_BYTES)
        except (OSError, ValueError):
            return b""

    def read_errors(self) -> str:
        """What ssh said, or the host's dyno."""
        return extract_last_lines(self._errors.read_words()[-LOG_BYTES:], ERROR_LINES)

    def close(self) -> None:
        """Ends the connection: the host's side sees its input end."""
        with suppress(OSError):
            self._in.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        subprocesses.kill(self._process)
        self._process.wait()
        self._out.close()


def _require(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
