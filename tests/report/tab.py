"""One page of a browser, over Chrome's DevTools Protocol."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from typing import Any

TIMEOUT_S = 30.0


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
        self.connect(False)

    def connect(self, online: bool) -> None:
        """Lets the page reach this host's loopback, and nothing else, or nothing at all."""
        most = -1 if online else 0
        throughput = {"downloadThroughput": most, "uploadThroughput": most}
        self.send("Network.emulateNetworkConditions", offline=not online, latency=0, **throughput)

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
        """Waits until the JavaScript `condition` holds; a page that is just left holds nothing."""
        end = time.monotonic() + TIMEOUT_S
        while not self._holds(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {condition}; events: {self.complaints()}")
            time.sleep(0.05)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.evaluate(condition))
        except RuntimeError as error:
            if "navigated or closed" in str(error):
                return False
            raise

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
