"""The blocks of a run of programs: in each, every side is started once, one after the other, in an
order that is drawn and balanced.

A start has a new private folder, which it works in, and leads a process group, which is killed at
its end, and by a shell beside it where Dyno is killed. What left the group, as daemons do, is known
by the folder that it works in, or by a variable of its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

import dyno
from dyno import private_files, subprocesses
from dyno.builds import Say
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.host.checks import FLEETING, read_host_facts
from dyno.instruments.program.program_file import (
    choose_better,
    fill_in,
    measure_programs,
    read_number,
    read_side,
)
from dyno.instruments.program.verdict import is_over
from dyno.instruments.time.blocks import draw_block_order
from dyno.judge.stats.interim_analyses import MAX, choose_analyses_up_to
from dyno.record.program import PROGRAM_RECORD, ProgramPlay, ProgramRun, ProgramSide
from dyno.runs.run_folder import RunFolder, make_run_folder, read_json, write_json
from dyno.tails import extract_last_lines, read_tail

#: What a block of one side alone is repeated.
ALONE = 5
#: The variable by which every process of a start is known, whatever group it leads.
MARK = "DYNO_PROGRAM_FOLDER"
#: As `subprocesses.guard`; and where Dyno is killed, daemons go, too.
GUARD = f"""
exec 3<&0 </dev/null
"$@" 3<&- & program=$!
{{
    cd / && read -r _ <&3
    for each in /proc/[0-9]*; do
        case "$(readlink "$each/cwd")/" in
            "${MARK}"/*) kill -KILL "${{each#/proc/}}" ;;
        esac
    done
    kill -KILL 0
}} >/dev/null 2>&1 &
exec 3<&-
wait $program
"""
#: More than this of a program's words is not searched for its number.
LARGEST_BYTES = 64 << 20
#: What an error shows of a program's last words, and how long processes may take to be gone.
LINES, GONE_S = 10, 10.0


@dataclass(frozen=True)
class ProgramPlan:
    """What is asked for, word by word."""

    words: Sequence[str]
    blocks: int | None = None
    margin_percent: float = 2.0
    seed: int = 1
    is_aa: bool = False
    command: str = ""
    series: str = ""


def plan_program_run(plan: ProgramPlan) -> ProgramRun:
    """The record before its first block; `UsageError` or `HostError` for what cannot be played."""
    read = [read_side(word) for word in plan.words]
    sides = [side for _, side in read]
    if plan.is_aa:
        if len(sides) > 1:
            raise UsageError("--aa plays one file against itself", hint="name one FILE")
        sides += [replace(sides[0], name=f"{sides[0].name} (again)")]
        read += read
    (base, own), *others = read
    for file, side in others:
        for what, ours, theirs in (
            ("unit", base.unit, file.unit),
            ("better", choose_better(base), choose_better(file)),
            ("workload", base.workload, file.workload),
        ):
            if ours != theirs:
                cause = f"'{ours}' of {own.name}, '{theirs}' of {side.name}"
                raise UsageError(f"{what} differs, and nothing can be compared", cause=cause)
        if side.is_like(own) and not plan.is_aa:
            hint = "--aa FILE plays one against itself"
            raise UsageError(f"{own.name} and {side.name} are the same", hint=hint)
    names = [side.name for side in sides]
    if again := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"two sides are called '{again}'", hint=f"NAME={again} names one")
    if len(sides) > 1 and plan.blocks == 1:
        raise UsageError("--blocks is 2 at least where programs are compared (got 1)")
    last = plan.blocks or (MAX if len(sides) > 1 else ALONE)
    return ProgramRun(
        name=" vs ".join(names),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        command=plan.command,
        seed=plan.seed,
        workload=base.workload or Path(own.file).stem,
        unit=base.unit,
        better=choose_better(base),
        sides=tuple(
            replace(side, version=_ask_version(file.version, side))
            for (file, _), side in zip(read, sides, strict=True)
        ),
        plays=(),
        analyses=(last,) if plan.blocks or len(sides) == 1 else choose_analyses_up_to(last),
        margin_percent=plan.margin_percent,
        host=read_host_facts(Path.cwd()),
        is_aa=plan.is_aa,
        dyno=dyno.__version__,
        series=plan.series,
    )


def _ask_version(command: Sequence[str], side: ProgramSide) -> str:
    """The first line that a side's command `version` prints; empty where it has none."""
    if not command:
        return ""
    values = {"here": str(Path(side.file).parent)}
    try:
        done = subprocesses.run_guarded([fill_in(it, values) for it in command], side.timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"cannot ask {side.name} for its version", cause=error) from None
    said = (done.stdout or done.stderr).strip().splitlines()
    if done.returncode or not said:
        cause = extract_last_lines(done.stderr, 2) or "it says nothing"
        raise HostError(f"{side.name} does not tell its version", cause=cause)
    return said[0].strip()


def make_program_folder(runs: Path, run: ProgramRun) -> Path:
    """A new folder for the run, with the record of no block yet."""
    path = make_run_folder(runs, run.created_utc, f"program-{run.name}")
    private_files.make_folder(path / "logs")
    write_json(path / PROGRAM_RECORD, run)
    return path


def reopen_program_run(folder: Path) -> ProgramRun:
    """A run from disk that is to go on; `UsageError` where this host is not what it was."""
    run = read_json(ProgramRun, folder / PROGRAM_RECORD)
    now = read_host_facts(Path.cwd())
    changes = [
        f"{name} was '{was}' and is '{now.get(name, '')}'"
        for name, was in run.host.items()
        if name not in FLEETING and was != now.get(name, "")
    ]
    if changes:
        hint = "start a new run; dyno report shows what this one has"
        raise UsageError("the run cannot be resumed", cause="; ".join(changes), hint=hint)
    return run


def play_programs(run: ProgramRun, folder: Path, say: Say) -> ProgramRun:
    """Plays the blocks that are missing until an interim analysis decides or the last is played;
    the record in `folder` has each whole block, however we end. `UsageError` where another Dyno
    plays it, `TrialFailed` where a program fails.
    """
    made = RunFolder(folder)
    with made.hold_alone(), made.hold_homes() as homes, _leave_no_process(homes):
        for at, side in enumerate(run.sides):
            private_files.make_folder(homes / str(at) / "run")
            if side.setup:
                say(f"{side.name}: setup")
                _Start(side, homes / str(at), run.seed, made.log(0)).run("setup", side.setup)
        while not is_over(run):
            say(f"block {run.blocks + 1} of {run.analyses[-1]}")
            run = _play_block(run, made)
            write_json(folder / PROGRAM_RECORD, run)
    return run


def _play_block(run: ProgramRun, made: RunFolder) -> ProgramRun:
    block, names = run.blocks, [side.name for side in run.sides]
    seed, plays = run.seed + 1000 * block, list(run.plays)
    for name in draw_block_order(run.seed, run.workload, block, names):
        side = run.sides[names.index(name)]
        found = measure_programs(side.command, Path(side.file).parent)
        if changed := [path for path, digest in found.items() if side.programs.get(path) != digest]:
            hint = "start a new run; what was measured of this one stays"
            raise HostError(f"{changed[0]} changed while the run was played", hint=hint)
        number = len(plays) + 1
        start = _Start(side, made.find_homes() / str(names.index(name)), seed, made.log(number))
        value, duration_s = start.measure()
        plays.append(ProgramPlay(number, block, name, seed, value, duration_s))
    return replace(run, plays=tuple(plays))


@dataclass(frozen=True)
class _Start:
    """One start of a side's programs, whose words go to `log`; `home` holds its folders."""

    side: ProgramSide
    home: Path
    seed: int
    log: Path

    def measure(self) -> tuple[float, float]:
        """Return the number that the program printed, and how long it ran, in s."""
        self.log.unlink(missing_ok=True)
        private_files.make_folder(self.home / "start")
        try:
            if self.side.before_each:
                self.run("before_each", self.side.before_each)
            began = self.log.stat().st_size if self.log.exists() else 0
            begun_s = time.monotonic()
            self.run("command", self.side.command)
            duration_s = time.monotonic() - begun_s
        finally:
            end_marked(self.home)
            private_files.remove_folder(self.home / "start")
        with self.log.open("rb") as said:
            said.seek(began)
            text = said.read(LARGEST_BYTES + 1)
        if len(text) > LARGEST_BYTES:
            raise TrialFailed(f"{self.side.name} printed over {LARGEST_BYTES >> 20} MB")
        number = read_number(text.decode(errors="replace"), self.side)
        if isinstance(number, str):
            cause = f"{number}; its last lines:\n{self._extract_last()}"
            raise TrialFailed(f"{self.side.name} has no number", cause=cause)
        return number, duration_s

    def run(self, what: str, words: Sequence[str]) -> None:
        """Runs one of its commands to its end; `TrialFailed` with its last lines where it fails."""
        place = self.home / ("run" if what == "setup" else "start")
        values = {"folder": place, "run_folder": self.home / "run", "seed": self.seed}
        known = {name: str(value) for name, value in values.items()}
        command = [fill_in(word, known) for word in words]
        own = {name: fill_in(text, known) for name, text in self.side.environment.items()}
        environment = os.environ | own | {MARK: str(self.home)}
        try:
            code = _run_to_file(command, place, environment, self.side.timeout_s, self.log)
        except subprocess.TimeoutExpired:
            limit = f"it ran longer than timeout_s = {self.side.timeout_s:g}"
            cause = f"{limit}; its last lines:\n{self._extract_last()}"
            raise TrialFailed(f"{what} of {self.side.name} did not end", cause=cause) from None
        except OSError as error:
            cause = f"{words[0]}: {(error.strerror or '').lower()}"
            raise TrialFailed(f"{what} of {self.side.name} cannot start", cause=cause) from None
        if code:
            ended = f"signal {code - 128}" if code > 128 else f"exit code {code}"
            cause = f"{ended}; its last lines:\n{self._extract_last()}"
            raise TrialFailed(f"{what} of {self.side.name} failed", cause=cause)

    def _extract_last(self) -> str:
        return extract_last_lines(read_tail(self.log), LINES) or "(none)"


@contextmanager
def _leave_no_process(home: Path) -> Iterator[None]:
    """Ends what a killed Dyno left running in `home`, and at the end what we did."""
    end_marked(home)
    try:
        yield
    finally:
        end_marked(home)


def _run_to_file(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit_s: float, log: Path
) -> int:
    """Return the exit code. A file takes its words: a pipe would be open for as long as what the
    program left running has it.
    """
    heed = subprocesses.Heed()
    ours, theirs = os.pipe()
    try:
        with open(log, "ab", opener=private_files.open_private) as out:
            process = subprocess.Popen(
                ["/bin/sh", "-c", GUARD, "guard", *command],
                stdin=ours,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
            try:
                with subprocesses.wait_for(process, heed):
                    return process.wait(subprocesses.choose_limit(limit_s))
            finally:
                # the guard's own: it must not look for daemons when the next start has begun
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    finally:
        os.close(ours)
        os.close(theirs)


def end_marked(home: Path) -> None:
    """Kills every process of a start in `home` or below it; `HostError` where one does not go."""
    ends_s = time.monotonic() + GONE_S
    while left := _find_marked(home):
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > ends_s:
            raise HostError(f"processes {left} do not end", hint="they hang in the kernel")
        time.sleep(0.01)


def _find_marked(home: Path) -> list[int]:
    mark, found = f"{MARK}={home}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            place = (process / "cwd").readlink()
            words = (process / "environ").read_bytes().split(b"\0")
            marked = any(it == mark or it.startswith(mark + b"/") for it in words)
            if marked or place.is_relative_to(home):
                found.append(int(process.name))
    return found
