"""The caller's side of one host: what it is asked, and what it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dyno.compare.fleet import Backend, Channel, ConnectionLost, FleetHost
from dyno.compare.fleet.messages import (
    GREETING,
    GREETING_MAX_BYTES,
    PING_S,
    Checked,
    Ended,
    FileReceiver,
    FleetExperiment,
    FleetMessage,
    HostFacts,
    MessageReader,
    PlayLine,
    Refused,
    ShareNumber,
    make_message,
    send_file,
)
from dyno.errors import HostError

#: How long a host may take to greet, to check an experiment (its builds may be fetched or made),
#: and to end a share when it is told to.
GREET_S, CHECK_S, STOP_S = 40.0, 7200.0, 20.0
#: How often the caller looks whether it should stop.
LOOK_S = 0.5


class HostLink:
    """A conversation with one host; closing it ends what the host plays."""

    def __init__(self, backend: Backend, host: FleetHost) -> None:
        """`ConnectionLost` where the host cannot be reached, or its dyno does not greet."""
        self.host = host
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._reader = MessageReader()
        self._read: list[FleetMessage] = []
        self._sent_bytes = self._received_bytes = 0
        self._channel: Channel = backend.open_channel(host)
        try:
            self.facts = self._read_greeting()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def _read_greeting(self) -> HostFacts:
        held, until = b"", time.monotonic() + GREET_S
        while GREETING not in held:
            data = self._channel.read(LOOK_S)
            if data == b"" or len(held) > GREETING_MAX_BYTES or time.monotonic() > until:
                raise ConnectionLost("dyno does not answer there", cause=self._read_errors())
            held += data or b""
        self._read += self._reader.cut(held.partition(GREETING)[2])
        return self._wait_for("hello", GREET_S).read_as(HostFacts)

    def _read_errors(self) -> str:
        """The end of what the host said on stderr, in one line."""
        time.sleep(0.1)  # what was written at the end
        lines = self._channel.read_errors().splitlines()
        return "; ".join(line.strip() for line in lines if line.strip()) or "it said nothing"

    def _keep_alive(self) -> None:
        while not self._over.wait(PING_S):
            with suppress(ConnectionLost):
                self._send(FleetMessage("ping"))

    def _send(self, message: FleetMessage) -> None:
        data = message.encode()
        with self._lock:
            self._channel.write(data)
            self._sent_bytes += len(data)

    def _read_messages(self, limit_s: float) -> Iterator[FleetMessage]:
        """What comes in that time; `ConnectionLost` at the end."""
        if not self._read:
            data = self._channel.read(limit_s)
            if data == b"":
                raise ConnectionLost("the connection has ended", cause=self._read_errors())
            self._received_bytes += len(data or b"")
            self._read += self._reader.cut(data or b"")
        while self._read:
            yield self._read.pop(0)

    def _wait_for(
        self, kind: str, limit_s: float, tell: Callable[[str], None] = lambda _: None
    ) -> FleetMessage:
        """The next message of that kind; lines are told. `HostError` where the host refuses."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until and not self._over.is_set():
            for message in self._read_messages(LOOK_S):
                if message.kind == kind:
                    return message
                if message.kind == "line":
                    tell(message.read_as(PlayLine).text)
                if message.kind == "refused":
                    raise HostError(message.read_as(Refused).sentence)
        raise ConnectionLost("the host does not answer", cause=f"{limit_s:g} s without '{kind}'")

    def send_experiment(
        self,
        experiment: FleetExperiment,
        files: Mapping[str, Path],
        tell: Callable[[str], None] = lambda _: None,
    ) -> Checked:
        """Sends the experiment with its files, and answers whether it can be played there."""
        self._send(make_message("experiment", experiment))
        for each in experiment.files:
            send_file(files[each.path], each.path, self._send)
        self._send(FleetMessage("check"))
        return self._wait_for("checked", CHECK_S, tell).read_as(Checked)

    def play(
        self,
        share: int,
        receiver: FileReceiver,
        stop: threading.Event,
        tell: Callable[[str], None],
    ) -> Ended:
        """Plays a share there, or goes on with it; its records come into the receiver's folder.

        Where `stop` is set meanwhile the host ends it, and what it measured comes too.
        """
        self._send(make_message("play", ShareNumber(share)))
        until = float("inf")
        while time.monotonic() < until:
            if stop.is_set() and until == float("inf"):
                until = time.monotonic() + STOP_S
                self._send(FleetMessage("stop"))
            for message in self._read_messages(LOOK_S):
                match message.kind:
                    case "piece":
                        receiver.take_piece(message)
                    case "line":
                        tell(message.read_as(PlayLine).text)
                    case "refused":
                        raise HostError(message.read_as(Refused).sentence)
                    case "ended":
                        return message.read_as(Ended)
        raise ConnectionLost("the host does not end its play", cause=f"{STOP_S:g} s")

    def count_bytes(self) -> tuple[int, int]:
        """How many bytes were sent there, and came back."""
        return self._sent_bytes, self._received_bytes

    def forget(self) -> None:
        """Has the host remove all that it holds of this fleet's run."""
        self._send(FleetMessage("forget"))
        self._wait_for("forgotten", STOP_S)

    def close(self) -> None:
        """Ends the conversation."""
        self._over.set()
        self._channel.close()


def open_links(
    backend: Backend, hosts: Sequence[FleetHost]
) -> tuple[dict[str, HostLink], dict[str, str]]:
    """Links to the hosts, all at once; and for those that cannot be reached, why."""
    links: dict[str, HostLink] = {}
    faults: dict[str, str] = {}

    def open_one(host: FleetHost) -> None:
        try:
            links[host.name] = HostLink(backend, host)
        except HostError as error:
            faults[host.name] = error.sentence

    threads = [threading.Thread(target=open_one, args=(host,), daemon=True) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return links, faults
