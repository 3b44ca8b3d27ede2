"""The host's side of a fleet: `dyno fleet-host` plays shares for whoever holds its channel.

It holds the host's slot, a lock, so that two callers never play there at once. When its input ends,
or nobody has said anything for `SILENCE_S`, it ends what it plays and itself. A share's play is
`dyno shard`, or `dyno resume` of what is there from before; each record goes to the caller as soon
as it is written, and the rest at the end.
"""

from __future__ import annotations

import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import dyno
from dyno import driver, private_files, subprocesses
from dyno.builds import compute_sha256
from dyno.compare.calibration.store import find_slot_folder, find_state_home, find_store
from dyno.compare.experiment import Experiment
from dyno.compare.fleet import ConnectionLost
from dyno.compare.fleet.messages import (
    GREETING,
    PIECE_BYTES,
    SILENCE_S,
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
    is_safe_path,
    make_message,
    send_file,
)
from dyno.compare.resolve.experiment import compute_own_sha256, describe_host, draft_run
from dyno.compare.resolve.preconditions import check_disk_space, check_empty, fit_memory
from dyno.errors import DynoError, UsageError
from dyno.locks import try_lock
from dyno.tails import extract_last_lines

#: An agent whose caller was killed ends its play meanwhile.
SLOT_WAIT_S = 5.0
#: A share that is asked to end writes its torn trial down in this time, or is killed.
STOP_S = 8.0
#: How often records are looked for, and how long an answer to the end may take.
LOOK_S = 0.5
#: Folders of a run that are its engines' and nobody's record.
NOT_RECORDS = {"home", "loaded"}
#: Where a share's folder is among the fleet's on a host.
SHARES, FILES = "shares", "files"

#: Reads an experiment's file under the words of a command line.
ReadExperiment = Callable[[Path, Sequence[str]], Experiment]


@contextmanager
def hold_slot(wait_s: float = SLOT_WAIT_S) -> Iterator[int | None]:
    """The slot as an open file, which a play inherits: it is taken for as long as one of them
    lives. None where another has it.
    """
    folder = find_slot_folder()
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + wait_s
        while not (ours := try_lock(handle)) and time.monotonic() < until:
            time.sleep(0.1)
        yield handle if ours else None
    finally:
        os.close(handle)


class CallerGone(Exception):
    """Nobody holds the other end any more."""


class _Inbox:
    """What the caller says, read by a thread of its own; `gone` once it says nothing any more."""

    def __init__(self, handle: int, silence_s: float) -> None:
        self._handle, self._silence_s = handle, silence_s
        self._queue: queue.Queue[FleetMessage] = queue.Queue()
        self.gone = threading.Event()
        #: Ends the main thread's work where that does not look here.
        self.interrupts = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        reader = MessageReader()
        with suppress(OSError, ConnectionLost):
            while select.select([self._handle], [], [], self._silence_s)[0]:
                data = os.read(self._handle, PIECE_BYTES)
                if not data:
                    break
                for message in reader.cut(data):
                    if message.kind != "ping":
                        self._queue.put(message)
        self.gone.set()
        if self.interrupts:
            os.kill(os.getpid(), signal.SIGTERM)

    def take(self, limit_s: float) -> FleetMessage | None:
        """The next message, None where none comes; `CallerGone` where none will."""
        try:
            return self._queue.get(timeout=limit_s)
        except queue.Empty:
            if self.gone.is_set() and self._queue.empty():
                raise CallerGone from None
            return None


@dataclass
class Agent:
    """A host's side of one channel. `program` is how `dyno` is called here."""

    read_experiment: ReadExperiment
    program: Sequence[str]
    input: int = 0
    output: int = 1
    silence_s: float = SILENCE_S
    _asked: FleetExperiment | None = field(default=None, init=False)

    def serve(self) -> None:
        """Answers until the caller is gone."""
        self._inbox = _Inbox(self.input, self.silence_s)
        with hold_slot() as slot:
            self._slot = slot
            with suppress(CallerGone):
                self._write(GREETING)
                self._send(make_message("hello", read_host_facts(slot is not None)))
                while True:
                    if message := self._inbox.take(1.0):
                        self._answer(message)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.output, view) :]
            except OSError:
                raise CallerGone from None

    def _send(self, message: FleetMessage) -> None:
        self._write(message.encode())

    def _answer(self, message: FleetMessage) -> None:
        try:
            match message.kind:
                case "experiment":
                    self._asked = message.read_as(FleetExperiment)
                    self._receiver = FileReceiver(self._make_home(FILES))
                case "piece":
                    self._receiver.take_piece(message)
                case "check":
                    self._send(make_message("checked", self._check()))
                case "play":
                    self._play(message.read_as(ShareNumber).share)
                case "forget":
                    shutil.rmtree(self._find_home(), ignore_errors=True)
                    self._send(FleetMessage("forgotten"))
        except (DynoError, OSError) as error:
            sentence = error.sentence if isinstance(error, DynoError) else str(error)
            self._send(make_message("refused", Refused(sentence)))

    def _find_home(self) -> Path:
        if self._asked is None or not is_safe_path(self._asked.fleet):
            raise UsageError("no experiment was named")
        return find_state_home() / "fleet" / self._asked.fleet

    def _make_home(self, name: str) -> Path:
        home = self._find_home()
        for folder in (home.parent, home, home / name):
            private_files.make_folder(folder, exist_ok=True)
        return home / name

    def _check(self) -> Checked:
        """What is missing here for the experiment; a build that can be fetched is fetched."""
        asked, files = self._asked, self._find_home() / FILES
        if asked is None:
            return Checked(("no experiment was named",))
        faults = [
            f"{each.path} came with another checksum"
            for each in asked.files
            if not (files / each.path).is_file() or compute_sha256(files / each.path) != each.sha256
        ]
        if faults:
            return Checked(tuple(faults))
        os.chdir(files)
        self._inbox.interrupts = True
        try:
            experiment = self.read_experiment(Path(asked.experiment), asked.words)
            draft = draft_run(experiment, lambda clause: self._tell(f"{clause} …"))
            check_empty(draft)
            check_disk_space(draft)
            fit_memory(draft, lambda clause: self._tell(clause))
        except DynoError as error:
            return Checked((error.sentence,))
        except KeyboardInterrupt:
            raise CallerGone from None
        finally:
            self._inbox.interrupts = False
        programs = {
            f"the program of {side.name}": str(side.build.get("sha256", ""))
            for side in draft.candidates
        }
        programs |= {f"the script of {plan.name}": plan.script_sha256 for plan in draft.workloads}
        return Checked((), programs, tuple(self._list_begun()))

    def _tell(self, text: str) -> None:
        self._send(make_message("line", PlayLine(text)))

    def _list_begun(self) -> list[int]:
        found = (self._find_home() / SHARES).glob("[0-9]*/run.json")
        return sorted(int(file.parent.name) for file in found)

    def _play(self, share: int) -> None:
        """Plays a share, or goes on with it, and sends its records."""
        if self._asked is None:
            raise UsageError("no experiment was named")
        if self._slot is None:
            raise UsageError("another dyno plays on this host")
        folder = self._make_home(SHARES) / f"{share:04}"
        play = SharePlay(self.program, self._asked, share, folder, self._slot)
        sent = _Sent(folder, self._send)
        with play.start(self._find_home() / FILES):
            while play.process.poll() is None:
                for line in play.take_lines():
                    self._tell(line)
                sent.send_new("trials")
                with suppress(CallerGone):
                    message = self._inbox.take(LOOK_S)
                    if message is None or message.kind != "stop":
                        continue
                play.stop()
        for line in play.take_lines():
            self._tell(line)
        sent.send_new()
        self._send(make_message("ended", Ended(play.process.returncode, play.read_errors())))


@dataclass
class SharePlay:
    """A share's play as a program of its own, which ends with the agent."""

    program: Sequence[str]
    asked: FleetExperiment
    share: int
    folder: Path
    slot: int
    _lines: queue.Queue[str] = field(default_factory=queue.Queue, init=False)
    _errors: deque[str] = field(default_factory=lambda: deque(maxlen=20), init=False)

    def choose_words(self) -> list[str]:
        """The command's words: it goes on with what is there."""
        words = ["shard", f"{self.share}/{self.asked.shares}", self.asked.experiment]
        return [*words, "--dir", str(self.folder), "--host", self.asked.host, *self.asked.words]

    @contextmanager
    def start(self, files: Path) -> Iterator[None]:
        """While it plays; whatever is raised, it has ended then."""
        ends_with_us = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        group = {"DYNO_HOST_GROUP": self.asked.group} if self.asked.group else {}
        self.process = subprocess.Popen(
            [*ends_with_us, *self.program, *self.choose_words()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=files,
            env=os.environ | group,
            start_new_session=True,
            pass_fds=(self.slot,),
        )
        threads = [
            threading.Thread(target=self._read, args=args, daemon=True)
            for args in ((self.process.stdout, False), (self.process.stderr, True))
        ]
        try:
            for thread in threads:
                thread.start()
            yield
        finally:
            self.stop()
            for thread in threads:
                thread.join(1.0)
            for stream in (self.process.stdout, self.process.stderr):
                # a grandchild that holds the other end has its reader wait on
                if stream and not any(thread.is_alive() for thread in threads):
                    stream.close()

    def _read(self, stream: Iterator[str], is_error: bool) -> None:
        for line in stream:
            if line.strip():
                self._lines.put(line.rstrip()[:500])
                if is_error:
                    self._errors.append(line.rstrip()[:500])

    def take_lines(self) -> Iterator[str]:
        """What it has printed since."""
        with suppress(queue.Empty):
            while True:
                yield self._lines.get_nowait()

    def read_errors(self) -> str:
        """The last lines of its errors."""
        return extract_last_lines("\n".join(self._errors), 6)

    def stop(self) -> None:
        """Ends it as an interrupt does, and by force where that takes too long."""
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
            subprocesses.kill(self.process)
            self.process.wait()


class _Sent:
    """The files of a share that the caller has, as they were when they were sent."""

    def __init__(self, folder: Path, send: Callable[[FleetMessage], None]) -> None:
        self._folder, self._send = folder, send
        self._seen: dict[str, tuple[int, int]] = {}

    def send_new(self, only: str = "") -> None:
        """Sends what is new; `only` names a folder whose files are written whole at once, with the
        run's own record.
        """
        if not self._folder.is_dir():
            return
        files = [self._folder / "run.json", *sorted((self._folder / only).rglob("*"))]
        for file in files:
            path = file.relative_to(self._folder)
            if path.parts[0] in NOT_RECORDS or file.is_symlink() or not file.is_file():
                continue
            name, found = path.as_posix(), file.stat()
            state = (found.st_size, found.st_mtime_ns)
            if is_safe_path(name) and self._seen.get(name) != state:
                send_file(file, name, self._send)
                self._seen[name] = state


def read_host_facts(slot: bool) -> HostFacts:
    """What this host is and has."""
    facts, driver_sha256 = describe_host(), compute_sha256(driver.find_driver())
    home = find_state_home()
    there = next(path for path in (home, *home.parents) if path.is_dir())
    return HostFacts(
        dyno=dyno.__version__,
        sources_sha256=compute_own_sha256(),
        driver_sha256=driver_sha256,
        machine=facts.get("id", ""),
        slot=slot,
        cores=int(facts.get("cores", "0")),
        memory_available_mb=int(facts.get("memory_available_mb", "0")),
        disk_free_mb=shutil.disk_usage(there).free >> 20,
        calibrated=find_store(facts).is_file(),
    )


def serve_caller(read_experiment: ReadExperiment) -> None:
    """Serves the caller at the other end of stdin and stdout; what else is printed goes to stderr,
    where it spoils nothing.
    """
    output = os.dup(1)
    os.dup2(2, 1)
    program = [sys.executable, "-m", "dyno.cli"]
    Agent(read_experiment, program, 0, output).serve()
