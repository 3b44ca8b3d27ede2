"""A `dyno serve` of its own for a test, and plain requests to it."""

from __future__ import annotations

import http.client
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from threading import Timer

import pytest

WAIT_S = 60


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Message
    text: str


@dataclass(frozen=True)
class Served:
    """A server: where it listens, the token it printed (empty without one), its process."""

    host: str
    port: int
    token: str
    process: subprocess.Popen[str]

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        """The answer to a path that is sent as it is."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=WAIT_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in ({"Host": f"127.0.0.1:{self.port}"} | (headers or {})).items():
            connection.putheader(name, value)
        connection.endheaders()
        got = connection.getresponse()
        answer = Answer(got.status, got.headers, got.read().decode())
        connection.close()
        return answer

    def read(self, path: str) -> str:
        """The text of a page that is there."""
        answer = self.ask(path)
        assert answer.status == 200, answer.text
        return answer.text


def need_server() -> None:
    """Skips the test on a laptop without what serves, and fails it where `CI=true`."""
    if importlib.util.find_spec("uvicorn") and importlib.util.find_spec("starlette"):
        return
    told = "starlette or uvicorn is missing: no page has been served"
    if os.environ.get("CI") == "true":
        pytest.fail(told)
    pytest.skip(told)


@contextmanager
def serving(*words: str | Path) -> Iterator[Served]:
    """A server of these words on any port that is free; killed at the end."""
    need_server()
    line = [sys.executable, "-P", "-m", "dyno.cli", "serve", *map(str, words), "--port", "0"]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    late = Timer(WAIT_S, process.kill)
    late.start()
    try:
        assert process.stdout and process.stderr
        told = process.stdout.readline()
        found = re.search(r"serving http://([^/]+):(\d+)/(?:\?token=(\S+))?", told)
        assert found, told + process.stderr.read()
        yield Served(found[1].strip("[]"), int(found[2]), found[3] or "", process)
    finally:
        late.cancel()
        process.kill()
        process.wait(10)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
