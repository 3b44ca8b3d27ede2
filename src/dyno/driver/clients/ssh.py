"""A client host that the system's `ssh` reaches: one connection, and a folder of ours there.

A process keeps the connection and the folder: its end on the host waits for the end of its stdin,
and removes the folder then, however we end. Nothing is asked at a terminal (`BatchMode`).
"""

from __future__ import annotations

import io
import platform
import shlex
import subprocess
import tarfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from dyno import subprocesses
from dyno.driver.process import DriverLines
from dyno.driver.questions import run_limited
from dyno.errors import HostError, TrialFailed
from dyno.record.clients import ClientHost
from dyno.tails import DrainedPipe, extract_last_lines

#: What reaching a host, and copying a driver to it, may take.
REACH_S, COPY_S = 30.0, 120.0
#: What a login shell may print before our line.
GREETING_BYTES = 1 << 20
#: What an error shows of a host's words.
CAUSE_LETTERS = 400
#: Nothing is asked at a terminal, no agent goes along, and a host that is silent is given up.
OPTIONS = (
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ForwardAgent=no"),
    *("-o", "ForwardX11=no"),
    *("-o", "ClearAllForwardings=yes"),
    "-T",
)
#: What a script's folder is copied of, and how much.
SCRIPTS = (".lua", ".sql")
SCRIPTS_BYTES_MOST = 32 << 20
#: Keeps a private folder until its stdin ends.
_KEEPER = (
    'umask 077; d=$(mktemp -d "${TMPDIR:-/tmp}/dyno-driver-XXXXXXXX") || exit 1; '
    "trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM; "
    'printf "%s %s\\n" "$(uname -m)" "$d"; cat >/dev/null'
)


class SshConnection:
    """A connection to a host, with a folder of ours there; trials of a block, in threads, share it.

    `control` begins the paths of its socket here, and `driver` is copied there (None: nothing is);
    its path there is `program`.
    """

    def __init__(self, host: ClientHost, control: Path, driver: Path | None) -> None:
        """Connect; `HostError` if that fails, with what `ssh` said."""
        self._host, self._driver = host, driver
        self._name = host.name if host.name == host.ssh else f"{host.name} ({host.ssh})"
        self._sockets = (control.with_name(f"{control.name}-{number}") for number in count())
        self._lock, self.program = threading.Lock(), ""
        self._connect()

    def connect_again(self) -> None:
        """Connect again if the connection has ended: what was copied there is gone."""
        with self._lock:
            if self._keeper.poll() is not None:
                self.close()
                self._connect()

    def _connect(self) -> None:
        self._control, self._shipped = next(self._sockets), dict[Path, str]()
        self._keeper = self._start_keeper()
        assert self._keeper.stderr
        self._words = DrainedPipe(self._keeper.stderr)
        try:
            self.folder = self._read_folder()
            self.program = self._copy_driver(self._driver) if self._driver else ""
        except BaseException:
            self.close()
            raise

    def build_command(self, words: Sequence[str]) -> tuple[str, ...]:
        return self._build((), f"exec {shlex.join(words)}")

    def _copy_driver(self, program: Path) -> str:
        path = f"{self.folder}/dyno-driver"
        quoted = shlex.quote(path)
        self._copy(f"cat >{quoted} && chmod 700 {quoted}", program.read_bytes(), str(program))
        return path

    def copy_script(self, script: Path) -> str:
        """Copies the scripts of a script's folder there, once; the script's path there."""
        folder = script.absolute().parent
        with self._lock:
            if folder not in self._shipped:
                there = f"{self.folder}/scripts-{len(self._shipped)}"
                quoted = shlex.quote(there)
                archive = _pack_scripts(folder, script)
                self._copy(f"mkdir {quoted} && tar -xf - -C {quoted}", archive, str(folder))
                self._shipped[folder] = there
            return f"{self._shipped[folder]}/{script.name}"

    def close(self) -> None:
        """End the connection and remove the folder."""
        if self._keeper.stdin:
            with suppress(OSError):
                self._keeper.stdin.close()
        try:
            self._keeper.wait(5)
        except subprocess.TimeoutExpired:
            subprocesses.kill(self._keeper)
            self._keeper.wait()
        if self._keeper.stdout:
            self._keeper.stdout.close()

    def _build(self, options: Sequence[str], remote: str) -> tuple[str, ...]:
        control = ("-o", f"ControlPath={self._control}", "-o", "ControlPersist=no")
        words = (*self._host.options, *OPTIONS, *control, *options)
        return ("ssh", *words, "--", self._host.ssh, remote)

    def _start_keeper(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._build(("-M",), _KEEPER),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
                bufsize=0,
            )
        except OSError as error:
            hint = "install the system's ssh (Debian: openssh-client)"
            raise HostError("cannot start ssh", cause=error.strerror, hint=hint) from None

    def _read_folder(self) -> str:
        until_s, line = time.monotonic() + REACH_S, b""
        lines = DriverLines(self._keeper)
        try:
            while b"/dyno-driver-" not in line:
                line = lines.read(until_s, GREETING_BYTES)
                if time.monotonic() > until_s:
                    raise TimeoutError
        except (TimeoutError, EOFError, OverflowError) as error:
            subprocesses.kill(self._keeper)
            words = self._words.read_words()
            cause = extract_cause(words) or f"no answer in {REACH_S:.0f} s"
            if isinstance(error, OverflowError):
                cause = f"its login shell prints more than {GREETING_BYTES >> 20} MB"
            message = f"cannot reach client host {self._name}"
            hint = _choose_hint(words, self._host.ssh)
            raise HostError(message, cause=cause, hint=hint) from None
        machine, _, folder = line.decode(errors="replace").partition(" ")
        if machine != platform.machine():
            cause = f"its processor is {machine[:40]}, and this host's is {platform.machine()}"
            hint = "name client hosts with processors of this host's kind"
            message = f"client host {self._name} cannot run dyno-driver"
            raise HostError(message, cause=cause, hint=hint)
        return folder

    def _copy(self, remote: str, content: bytes, what: str) -> None:
        try:
            done = run_limited(self._build((), remote), content, "it", COPY_S)
            if done.returncode == 0:
                return
            cause = extract_cause(done.stderr)
        except TrialFailed as error:
            cause = error.message
        if self._keeper.poll() is not None:  # and what was copied there is gone with it
            message = f"the connection to client host {self._name} has ended"
            raise TrialFailed(message, cause=cause)
        hint = f"look at what `ssh {self._host.ssh} true` prints, and at the space there"
        raise HostError(f"cannot copy {what} to client host {self._name}", cause=cause, hint=hint)


def extract_cause(words: str) -> str:
    """Return the last line of what a host has said, as much as an error shows."""
    return extract_last_lines(words, 1)[-CAUSE_LETTERS:]


def _choose_hint(words: str, destination: str) -> str:
    known = (
        ("IDENTIFICATION HAS CHANGED", "if the host was set up anew, `ssh-keygen -R` its old key"),
        ("Host key verification", f"its key is not known here: call `ssh {destination}` once"),
        ("Permission denied", "it lets no key of yours in: `ssh-copy-id`, or options = ['-i', …]"),
    )
    found = [hint for part, hint in known if part in words]
    return found[0] if found else f"ssh {destination} must work without a password or a question"


def _pack_scripts(folder: Path, script: Path) -> bytes:
    """Return the scripts of a folder as a tar archive; `HostError` if they are more than
    scripts.
    """
    files = [file for file in sorted(folder.iterdir()) if file.suffix in SCRIPTS or file == script]
    size_bytes = sum(file.stat().st_size for file in files)
    if size_bytes > SCRIPTS_BYTES_MOST:
        cause = f"{size_bytes >> 20} MB, and {SCRIPTS_BYTES_MOST >> 20} MB are copied at most"
        raise HostError(f"the scripts in {folder} are large", cause=cause)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for file in files:
            if file.is_file():
                archive.add(file, file.name)
    return packed.getvalue()
