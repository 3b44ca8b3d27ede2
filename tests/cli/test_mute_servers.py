"""A server that lets in and never answers again: the first SIGINT ends every command, and so does a
time limit without one.
"""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from processes import driver_below, wait_until_found

from dyno import driver, subprocesses
from dyno.errors import TrialFailed

DYNO = [sys.executable, "-m", "dyno.cli"]
#: Generous beside the second that it takes, and short beside the limits of questions.
SOON_S = 20.0


def _mysql(line: socket.socket) -> None:
    """The server's side of a login: protocol 41, `mysql_native_password`, any password."""
    flags = 0x8820B
    greeting = b"\x0a8.0.33\0" + struct.pack("<I", 1) + b"a" * 8 + b"\0"
    greeting += struct.pack("<HBHHB", flags & 0xFFFF, 33, 2, flags >> 16, 21) + b"\0" * 10
    greeting += b"b" * 12 + b"\0mysql_native_password\0"
    line.sendall(struct.pack("<I", len(greeting)) + greeting)
    line.recv(4096)
    line.sendall(b"\x07\0\0\x02\0\0\0\x02\0\0\0")


def _postgres(line: socket.socket) -> None:
    """AuthenticationOk, BackendKeyData, ReadyForQuery."""
    line.recv(4096)
    line.sendall(b"R" + struct.pack(">II", 8, 0) + b"K" + struct.pack(">III", 12, 1, 2))
    line.sendall(b"Z" + struct.pack(">I", 5) + b"I")


@contextmanager
def mute_server(let_in: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that answers nothing after its login."""

    def serve(line: socket.socket) -> None:
        with suppress(OSError), closing(line):
            let_in(line)
            while line.recv(4096):
                pass

    def listen() -> None:
        with suppress(OSError):
            while True:
                line, _ = server.accept()
                threading.Thread(target=serve, args=(line,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


KINDS = {"mysql": _mysql, "postgres": _postgres}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def port(kind: str) -> Iterator[int]:
    with mute_server(KINDS[kind]) as port:
        yield port


def words_of(command: str, kind: str, port: int) -> list[str]:
    url = f"{kind}://u:p@127.0.0.1:{port}"
    login = ["--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=u"]
    return {
        "compare": ["compare", "null", f"{url}/db", "-w", "oltp_point_select"],
        "play": ["play", f"{url}/db", "-w", "oltp_point_select"],
        "watch": ["watch", "--dsn", f"{url}/db"],
        "kit": ["kit", "status", "--dsn", url],
        "options": ["options", "show", "--dsn", url],
        "sysbench": ["sysbench", "oltp_point_select", *login, "run"],
        "pgbench": ["pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "u", "db"],
    }[command]


def end_by(
    number: signal.Signals, words: list[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """What a command ends with that is sent this signal while it waits for an answer."""
    with subprocess.Popen(
        [*DYNO, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            wait_until_found(lambda: driver_below(process.pid, "answer", "ask", "run"))
            time.sleep(0.5)  # its question is on its way
            process.send_signal(number)
            out, err = process.communicate(timeout=SOON_S)
        finally:
            process.kill()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


COMMON = ("compare", "play", "watch")
OWN = {"mysql": ("kit", "options", "sysbench"), "postgres": ("pgbench",)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "command"),
    [(kind, it) for kind in sorted(KINDS) for it in (*COMMON, *OWN[kind])],
)
def test_the_first_sigint_ends_a_command_that_waits_for_an_answer(
    kind: str, command: str, port: int, tmp_path: Path
) -> None:
    done = end_by(signal.SIGINT, words_of(command, kind, port), tmp_path)
    assert done.returncode == 130, done.stderr
    assert "dyno: interrupted" in done.stderr


@pytest.mark.slow
def test_a_sigterm_does_so_too(port: int, kind: str, tmp_path: Path) -> None:
    done = end_by(signal.SIGTERM, words_of("compare", kind, port), tmp_path)
    assert done.returncode == 130, done.stderr


def test_an_answer_that_does_not_come_is_a_sentence(port: int, kind: str) -> None:
    session = {"kind": kind, "host": "127.0.0.1", "port": port, "user": "u", "password": "p"}
    session |= {"database": "db", "tls": {"mode": "disable", "ca": None}, "settings": []}
    with pytest.raises(TrialFailed, match="did not answer in 1 s"):
        driver.ask(session, ["SELECT VERSION()"], limit_s=1.0)


def test_who_never_let_in_is_given_ten_seconds_by_the_driver(tmp_path: Path) -> None:
    with mute_server(lambda line: None) as port:
        words = words_of("options", "mysql", port)
        done = subprocess.run(
            [*DYNO, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 64
    assert "no answer within 10 s" in done.stderr


def test_a_thread_that_waits_for_a_program_hears_of_an_interrupt(tmp_path: Path) -> None:
    code = """
import signal, sys, threading, time
from dyno import cli, subprocesses
signal.signal(signal.SIGINT, cli.interrupt)
heard = []
def wait():
    try:
        # a child of its own keeps the pipe open
        subprocesses.run(["sh", "-c", "sleep 300 & sleep 300"], 300.0)
    except KeyboardInterrupt:
        heard.append("run")
def poll():
    heed = subprocesses.Heed()
    try:
        while True:
            heed.pause(0.05)
    except KeyboardInterrupt:
        heard.append("pause")
threads = [threading.Thread(target=it) for it in (wait, poll)]
for it in threads: it.start()
print("waits", flush=True)
try:
    for it in threads: it.join()
except KeyboardInterrupt:
    # not join: an interrupted one takes its thread for ended (threading.py, bpo-45274)
    until = time.monotonic() + 5
    while len(heard) < len(threads) and time.monotonic() < until: time.sleep(0.01)
print(sorted(heard))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SOON_S)[0] == "['pause', 'run']\n"


def test_a_program_that_is_late_is_killed_with_all_that_it_started() -> None:
    marked = "sleep 31.4159 & sleep 31.4159"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocesses.run(["sh", "-c", marked], 0.3)
    left = subprocess.run(["pgrep", "-f", "sleep 31.4159"], capture_output=True, text=True)
    assert not left.stdout
