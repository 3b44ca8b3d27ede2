"""The kills of a run: each on a copy of the same loaded data, under the layer, then the restart.
Several engines are killed in turn, each pair of kills at the same moment.

"Acknowledged" is what the engine's client has told Dyno, another process, by a pipe. The client of
an embedded engine is the engine's process, and dies with it.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dyno import driver, private_files, subprocesses
from dyno.builds import Say, cache
from dyno.driver.conversation import Conversation
from dyno.driver.plan import Session
from dyno.engines import ChecksIntegrity, Engine, Server, WeighsData
from dyno.errors import DynoError, InternalError, TrialFailed
from dyno.host.processes import list_process_family
from dyno.instruments.crash.ledger import SHOWN, CrashLedger, load_tables, read_tables
from dyno.instruments.crash.plan import CrashedEngine
from dyno.instruments.crash.undo_log import UnsyncedLayer
from dyno.instruments.time.evidence import check_engine
from dyno.record.crash import CRASH_RECORD, CrashPlay, CrashRun, CrashSide
from dyno.record.integrity import IntegrityCheck
from dyno.runs.run_folder import RunFolder, write_json

#: What clients may take to their first commits, and to notice that the engine is gone.
FIRST_S, GONE_S = 60.0, 60.0
#: The least that a kill waits after that, in s.
LEAST_S = 0.05
#: What a process shows that writes by ways which the layer does not see.
RING, AIO = "anon_inode:[io_uring]", "/[aio]"


def play_crashes(
    run: CrashRun, engines: Sequence[CrashedEngine], folder: Path, say: Say
) -> CrashRun:
    """Play the kills that are missing; the record in `folder` has each, however we end."""
    made = RunFolder(folder)
    with made.hold_alone(), made.hold_homes() as homes:
        for place, side in enumerate(() if run.is_over else run.sides):
            say(f"loading {side.candidate.name}")
            promised = _load(side, engines[place], homes / f"loaded-{place}")
            run = run.change_side(place, **promised)
        while not run.is_over:
            sides = run.sides
            place = min(range(len(sides)), key=lambda it: len(sides[it].plays))
            side = sides[place]
            kill = _Kill(run, side, engines[place], homes / f"loaded-{place}")
            whose = f" of {side.candidate.name}" if run.others else ""
            say(f"kill {kill.number} of {run.times}{whose}")
            run = run.change_side(place, plays=(*side.plays, kill.play()))
            write_json(folder / CRASH_RECORD, run)
    return run


def _load(side: CrashSide, engine: CrashedEngine, home: Path) -> dict[str, Any]:
    """Make the data that every kill begins with; return what the settings promise then."""
    private_files.make_folder(home)
    server, promised = engine.start(home), {}
    try:
        load_tables(driver.ask, server.session)
        reported = engine.engine.settings(server)
        if isinstance(engine.engine, WeighsData):
            found = engine.engine.weigh(server, side.candidate.settings, reported)
            promised = {"promise": found.survives, "decided_by": found.decided_by}
        engine.engine.settle(server)
    finally:
        engine.engine.stop(server)
    return promised


class _Client(threading.Thread):
    """A connection that plays its transactions one after the other, until it gets no answer."""

    def __init__(
        self, ledger: CrashLedger, number: int, session: Session, environment: Mapping[str, str]
    ) -> None:
        super().__init__(daemon=True)
        self.number, self.acknowledged, self.asked = number, 0, 0
        self.failure: DynoError | None = None
        self.talk = Conversation(GONE_S, environment)
        self._ledger, self._session = ledger, session

    def run(self) -> None:
        for number in count():
            statements = self._ledger.draw(self.number, number).list_statements()
            self.asked = number + 1
            try:
                self.talk(self._session, statements)
            except DynoError as error:
                self.failure = error
                return
            self.acknowledged = number + 1


@dataclass
class _Kill:
    """One kill: the engine on a copy of the loaded data, until the cut, and after it."""

    run: CrashRun
    side: CrashSide
    engine: CrashedEngine
    loaded: Path
    clients: list[_Client] = field(default_factory=list)
    acknowledged: dict[int, int] = field(default_factory=dict)
    rate_per_s: float = 0.0

    @property
    def number(self) -> int:
        return len(self.side.plays) + 1

    def play(self) -> CrashPlay:
        run, home = self.run, self.loaded.with_name(str(self.number))
        seed = f"{run.seed}/{self.number}"
        moment_s = random.Random(seed).uniform(LEAST_S, run.within_s)
        watched = home / self.engine.data
        layer = UnsyncedLayer(home.with_name("layer"), watched, self.engine.no_data, run.silent)
        cache.copy(self.loaded, home)
        try:
            ledger = CrashLedger(run.workload, seed, self.side.clients)
            unseen = self._play_until_cut(ledger, layer, home, moment_s)
            cut = layer.put_back(seed if run.torn else "")
            held = CrashLedger(
                ledger.workload,
                ledger.seed,
                ledger.clients,
                acknowledged=self.acknowledged,
                asked={each.number: each.asked for each in self.clients},
            )
            play = CrashPlay(
                number=self.number,
                moment_s=moment_s,
                acknowledged=sum(held.acknowledged.values()),
                in_doubt=sum(held.asked.values()) - sum(held.acknowledged.values()),
                rate_per_s=self.rate_per_s,
                lost_bytes=cut.lost_bytes,
                files=cut.files,
                kept_sectors=cut.kept_sectors,
                names=cut.names,
                syncs=cut.syncs,
                unseen=(*unseen, *cut.unseen),
            )
            return _restart(play, self.engine, held, home)
        finally:
            private_files.remove_folder(home)
            private_files.remove_folder(layer.folder)

    def _play_until_cut(
        self, ledger: CrashLedger, layer: UnsyncedLayer, home: Path, moment_s: float
    ) -> list[str]:
        """Play until the power is cut and everything has ended; return what the layer missed."""
        environment = layer.lay(lambda _: None)
        engine, heed = self.engine.engine, subprocesses.Heed()
        with ExitStack() as stack:
            server = self.engine.start(home, {} if engine.embedded else environment)
            stack.callback(_end, engine, server)
            own = environment if engine.embedded else {}
            self.clients = [
                _Client(ledger, number, server.session, own) for number in range(self.side.clients)
            ]
            for each in self.clients:
                stack.callback(_end_client, each)
                each.start()
            ends_s = time.monotonic() + FIRST_S
            while not all(each.acknowledged for each in self.clients):
                self._check_clients()
                if time.monotonic() > ends_s:
                    raise TrialFailed(
                        f"no commit in {FIRST_S:.0f} s", cause=self.side.candidate.name
                    )
                heed.pause(0.01)
            began_s, before = time.monotonic(), sum(each.acknowledged for each in self.clients)
            heed.pause(moment_s)
            pids = [each.talk.pid for each in self.clients] if engine.embedded else [server.pid]
            family = list_process_family(*pids)
            unseen = _list_unseen(family, environment["LD_PRELOAD"])
            self._check_clients()
            # an answer that comes while the power goes off may be of a commit that needed no sync
            self.acknowledged = {each.number: each.acknowledged for each in self.clients}
            played_s = time.monotonic() - began_s
            layer.cut()
            for pid in family:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        # on average the cut comes half-way through the next commit
        self.rate_per_s = (sum(self.acknowledged.values()) - before + 0.5) / played_s
        return unseen

    def _check_clients(self) -> None:
        """Raise what a client failed of while the power was on."""
        failed = next((each.failure for each in self.clients if each.failure), None)
        if failed:
            raise TrialFailed("a client failed before the power was cut", cause=failed.sentence)


def _end(engine: Engine, server: Server) -> None:
    for pid in list_process_family(server.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(TrialFailed):  # it is dead: what is left of it goes
        engine.stop(server)


def _end_client(client: _Client) -> None:
    client.talk.abandon()
    client.join(GONE_S)
    client.talk.close()


def _list_unseen(family: Sequence[int], library: str) -> list[str]:
    """How a process writes that the layer does not see, or that it is not in the engine at all."""
    found = set()
    for pid in family:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            maps = (Path("/proc") / str(pid) / "maps").read_text(errors="replace")
            if library not in maps and maps:
                found.add("a process without the layer")
            if AIO in maps:
                found.add("io_submit")
            for each in (Path("/proc") / str(pid) / "fd").iterdir():
                with suppress(FileNotFoundError):
                    if str(each.readlink()) == RING:
                        found.add("io_uring")
    return sorted(found)


def _note_failure(play: CrashPlay, failed: DynoError, home: Path) -> CrashPlay:
    """An engine that does not come back; a fault of ours is raised."""
    if isinstance(failed, InternalError):
        raise failed
    told, words = (str(it or "").replace(f"{home}/", "") for it in (failed.message, failed.cause))
    return replace(play, failure=told, failure_words=words)


def _restart(play: CrashPlay, engine: CrashedEngine, ledger: CrashLedger, home: Path) -> CrashPlay:
    """Start the engine on what the cut left, without the layer, and hold the ledger against it."""
    began_s = time.monotonic()
    try:
        server = engine.start(home)
    except DynoError as failed:
        return _note_failure(play, failed, home)
    try:
        driver.ask(server.session, ["SELECT COUNT(*) FROM crash_ledger"])
        recovery_s = time.monotonic() - began_s
        gaps = ledger.check(*read_tables(driver.ask, server.session))
        checks = [IntegrityCheck("pages and indexes", unchecked="the engine cannot be asked")]
        if isinstance(engine.engine, ChecksIntegrity):
            checks = [*check_engine(driver.ask, server, engine.engine, is_full=True)]
    except DynoError as failed:
        return _note_failure(play, failed, home)
    finally:
        _end(engine.engine, server)
    return replace(
        play,
        recovery_s=recovery_s,
        lost_count=len(gaps.lost),
        torn_count=len(gaps.torn),
        passed_count=gaps.passed_count,
        lost=tuple(gaps.lost[:SHOWN]),
        torn=tuple(gaps.torn[:SHOWN]),
        unknown=tuple(gaps.unknown[:SHOWN]),
        damage=tuple(f"{it.name}: {it.faults[0]}" for it in checks if it.faults),
        unchecked=tuple(it.name for it in checks if it.unchecked),
    )
