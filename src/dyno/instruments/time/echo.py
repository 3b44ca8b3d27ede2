"""The echo of a server: what the way there and back takes on this host, without an engine.

After the first block of a workload `dyno-driver echo` is played in the place of each candidate that
is a server on this host; of those alike in engine, place and requests, of the first. It has the
server's cores, as many connections as its closed loops have, and requests and answers of the size
that its own had on average. It is a lower bound: a server reads its socket with more system calls,
and may encrypt. In the place of a server that runs already it stands on the same kind of socket,
and on cores of its own only where the server could be placed.
"""

from __future__ import annotations

import re
import select
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from msgspec import structs

import dyno
from dyno import driver, workloads
from dyno.access import url
from dyno.access.account import place_socket
from dyno.builds import Build, Say
from dyno.engines import NO_CONDITIONS, Server, StartConditions
from dyno.errors import TrialFailed
from dyno.host.controls import load_controls
from dyno.instruments.time.blocks import ATTEMPTS
from dyno.judge.analysis.blocks import is_calm
from dyno.record import (
    Candidate,
    Pace,
    Phase,
    PhaseRecord,
    Stop,
    Stream,
    Tally,
    Trial,
    WorkloadPlan,
    name_echo,
)
from dyno.runs.resolve.draft import Prepared
from dyno.tails import extract_last_lines, read_tail

UNIX, TCP = "unix", "tcp"
#: The loopback device, and any port there.
HERE, ANY = "127.0.0.1", "127.0.0.1:0"
#: What an echo may take until it listens, and to end.
READY_S = 10.0
#: Seconds that are measured altogether, in one phase at the most and at the least; before each a
#: warm-up.
WHOLE_S, LONGEST_S, SHORTEST_S = 2.0, 1.0, 0.2
WARMUP_S = 0.1
#: Where the host was too noisy for a block, an echo is played again after the next one, up to so
#: often: others' work makes the way longer.
ECHOES = 6
#: A request's least size, as the driver's `sessions/echo.rs` has it.
HEADER_BYTES = 8


#: All controls at their defaults but the place, which is the run's.
_PLACED = {name: each.default for name, each in load_controls().items() if name != "pinning"}


class EchoEngine:
    """`dyno-driver echo` as an engine: started under the same controls, but for what these preload
    into an engine. Its builds are `unix`, on a private socket, and `tcp`, on the loopback device.
    """

    embedded: ClassVar[bool] = False
    options: ClassVar[dict[str, tuple[str, str]]] = {}
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = ()

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The driver itself, listening on that kind of socket."""
        del flags, say
        return Build("echo", build, dyno.__version__, driver.find_driver())

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        """Starts it; `TrialFailed` where it does not listen soon."""
        del settings
        placed = place_socket(home, "echo.sock") if build.name == UNIX else None
        log = home / "echo.log"
        with log.open("ab") as words:
            process = subprocess.Popen(
                [*under.prefix, str(build.program), "echo", str(placed.path if placed else ANY)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                env=driver.build_driver_environment(),
                start_new_session=True,
            )
        port = _find_port(process)
        session = {"kind": "echo", "host": str(placed.path if placed else HERE), "port": port or 0}
        server = Server(session, home, process.pid, log, (process, placed))
        if port is None:
            self.stop(server)
            said = extract_last_lines(read_tail(log), 1)
            raise TrialFailed("dyno-driver echo does not listen", cause=said)
        return server

    def settings(self, server: Server) -> dict[str, str]:
        """It has none."""
        del server
        return {}

    def settle(self, server: Server) -> None:
        """Nothing to settle."""

    def stop(self, server: Server) -> None:
        """Kills it: it holds nothing."""
        process, placed = server.handle
        process.kill()
        process.wait(READY_S)
        process.stdout.close()
        if placed:
            placed.remove()


def _find_port(process: subprocess.Popen[bytes]) -> int | None:
    """The port that it listens on, 0 on a socket of its own; None where it soon says none."""
    if process.stdout is None:
        return None
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    said = process.stdout.readline() if poll.poll(READY_S * 1000) else b""
    found = re.fullmatch(rb'\{"port":(\d+)\}\n', said)
    return int(found[1]) if found else None


def find_echo_build(build: Build) -> Build | None:
    """The echo that can stand in for a server; None for one that runs on another host."""
    kind = UNIX
    if build.attached:
        host = url.parse_url(build.facts["address"], 0).host
        if not url.is_here(host):
            return None
        kind = UNIX if host.startswith("/") else TCP
    return replace(EchoEngine().program(kind, {}, lambda _: None), attached=build.attached)


def make_echo_plan(
    name: str,
    phases: Iterable[tuple[str, int, int, int]],
    length_s: float,
    warmup_s: float = WARMUP_S,
) -> WorkloadPlan:
    """A workload called `name` of requests to an echo.

    `phases` are name, connections, bytes of a request and of its answer; each lasts `length_s`.
    """
    script = workloads.find_workload(str(Path(workloads.__file__).with_name("_echo.lua")))
    made, words = [], []
    for phase, connections, request, answer in phases:
        stream = Stream("echo", "echo", connections, Pace(), "reader", "event", 1)
        stop = Stop("time", duration_s=length_s)
        made.append(Phase(phase, (stream,), stop, warmup_s=warmup_s))
        words.append(f"{connections} {max(request, HEADER_BYTES)} {max(answer, 1)} {phase}")
    options = {"phases": ";".join(words), "time": f"{length_s:g}", "warmup_time": f"{warmup_s:g}"}
    return WorkloadPlan(
        name,
        str(script),
        workloads.compute_checksum(script),
        options,
        tuple(made),
        (),
        commands=("run",),
    )


def list_due_echoes(
    prepared: Prepared, workload: WorkloadPlan, played: Sequence[Trial]
) -> Iterator[tuple[WorkloadPlan, Candidate, Build, int]]:
    """What to play as the echo of each candidate of a workload that lacks one: its requests, in
    whose place, by which build, and for the nth time. Candidates without a good trial have to wait.
    """
    limits = prepared.run.design.limits
    for side in prepared.run.candidates:
        name, ours = name_echo(side.name), [t for t in played if t.workload == workload.name]
        good = [t for t in ours if t.candidate == side.name and t.status == "ok"]
        shares = side.embedded or prepared.run.find_echo_stand(side) != side
        build = None if shares else find_echo_build(prepared.builds[side.name])
        if build is None or not good:
            continue
        phases = list(_count_exchanges(workload.with_options(side.options), good[-1]))
        attempt = _choose_attempt([t for t in ours if t.candidate == name], limits)
        if phases and attempt:
            length_s = max(SHORTEST_S, min(LONGEST_S, WHOLE_S / len(phases)))
            plan = make_echo_plan(workload.name, phases, length_s)
            echo = structs.replace(
                side, name=name, spec="echo", engine="echo", settings={}, options={}
            )
            # a server that ran already could be placed, and no more
            if build.attached and good[-1].conditions.engine_cores:
                build, echo = (
                    replace(build, attached=False),
                    structs.replace(echo, controls=_PLACED),
                )
            yield plan, echo, build, attempt


def _choose_attempt(echoes: Sequence[Trial], limits: Mapping[str, float]) -> int | None:
    """The next attempt at an echo; None where there is a calm one, or no hope of one."""
    good = [trial for trial in echoes if trial.status == "ok"]
    failed = sum(trial.status == "failed" for trial in echoes)
    if failed >= ATTEMPTS or len(good) >= ECHOES or any(is_calm(t, limits) for t in good):
        return None
    return len(echoes) + 1


def _count_exchanges(workload: WorkloadPlan, trial: Trial) -> Iterator[tuple[str, int, int, int]]:
    """Each phase with a primary metric: how many waited for answers at once, and the bytes of a
    request and of its answer on average.
    """
    judged = {phase.name for phase in workload.phases if phase.primary}
    for record in trial.phases:
        streams = _find_closed_loops(record) if record.phase in judged else []
        if trips := sum(tally.round_trips for tally in streams):
            connections = sum(tally.connections for tally in streams)
            sent = sum(tally.sent_bytes for tally in streams)
            received = sum(tally.received_bytes for tally in streams)
            yield record.phase, connections, round(sent / trips), round(received / trips)


def _find_closed_loops(record: PhaseRecord) -> list[Tally]:
    """The closed loops: of an open one the latency is mostly what its schedule makes it."""
    return [tally for tally in record.streams if not tally.paced]
