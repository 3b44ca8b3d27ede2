"""A headless Chromium over its debugging pipe (Chrome DevTools Protocol), nothing installed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Chromium rings home when it starts, unless told not to.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
TIMEOUT_S = 30.0
#: Moves both ends out of each other's way first: either may be 3 or 4 itself.
LAUNCHER = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def program() -> str | None:
    """The first Chromium on PATH."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def needed() -> str:
    """The same; without one a test is skipped on a laptop, and fails where `CI=true`."""
    if binary := program():
        return binary
    told = "no Chromium on PATH: the page has NOT been tried in a browser"
    if os.environ.get("CI") == "true":
        pytest.fail(told)
    pytest.skip(told)


class Tab:
    """One page: commands in, answers and events out. Events are kept in `events`."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        """Opens a new tab and listens to its console, its errors and its requests."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        offline = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.send("Network.emulateNetworkConditions", offline=True, **offline)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls `method` and answers its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writes, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; waits for a promise; raises what it throws."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, url: str) -> None:
        """Goes to a page of ours and waits until it says that it is drawn."""
        self.send("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def wait(self, condition: str) -> None:
        """Waits until the JavaScript `condition` holds."""
        end = time.monotonic() + TIMEOUT_S
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {condition}; events: {self.complaints()}")
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Console errors and warnings, uncaught exceptions, and what the page did to log them."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        found = [e for e in self.events if e.get("method") in kinds]
        found += [
            e
            for e in self.events
            if e.get("method") == "Runtime.consoleAPICalled"
            and e["params"]["type"] in ("error", "warning", "assert")
        ]
        return [json.dumps(event["params"]) for event in found]

    def requests(self) -> list[str]:
        """Every address that the page asked for, its own and data inside it aside."""
        asked = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        urls = [event["params"]["request"]["url"] for event in asked]
        return [url for url in urls if not url.startswith(("file:", "data:", "about:", "blob:"))]

    def size(self, width: int, height: int, **features: str) -> None:
        """Sets the window and media features (`prefers_color_scheme="dark"`)."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        media = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        self.send("Emulation.setEmulatedMedia", features=media)

    def picture(self, path: Path) -> None:
        """A PNG of the window."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            received = os.read(self._reads, 1 << 20)
            if not received:
                raise RuntimeError("Chromium has gone")
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextmanager
def browser(binary: str, profile: Path) -> Iterator[Tab]:
    """A Chromium with a new profile; killed at the end.

    It reads its commands from descriptor 3 and answers on 4, hence the launcher.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    ends = (str(theirs_in), str(theirs_out))
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *ends, binary, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        tab = Tab(ours_in, ours_out)
        tab.attach()
        yield tab
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        os.close(ours_in)
        os.close(ours_out)
