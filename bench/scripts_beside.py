"""A script as its own tool plays it, sysbench or pgbench, and as Dyno does, on the same server."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from counters import counted, inside, renew
from pgbench import libpq
from sysbench import command as sysbench

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.errors import DynoError, UsageError
from dyno.judge.stats.interval import compute_t_interval
from dyno.record import PhaseRecord

SEED = 20261122
COMMAND_LIMIT_S = 120.0
#: How surely the means of what was counted have to differ: a hundred scripts with a dozen kinds
#: each shall not be called different by chance.
LEVEL = 1e-3
#: How far, relatively, what a command did may lie apart that is played once: a load's random rows.
ONCE = 0.01
#: How much of a tool's last words is kept.
SAID_MAX = 140
#: Kinds that belong to a connection, and not to an event.
OF_CONNECTIONS = re.compile(r"Com_stmt_(prepare|close|reset)|Com_set_option|DEALLOCATE|SET")


class Failed(Exception):
    """A tool gave up on a script; the text is its first sentence."""


class Refused(Failed):
    """Dyno named what it does not do."""


@dataclass(frozen=True)
class Case:
    """One script of a repository, and how it is played: in all `events` by `threads` users.

    `setup` are SQL files of the repository and `made` statements of ours, before the first command;
    `cwd` is the repository's folder in which it is played, its own unless said;
    `runs` are how often each plays its command `run`.
    """

    repository: str
    commit: str
    path: str
    server: str
    options: dict[str, object] = field(default_factory=dict)
    commands: tuple[str, ...] = ("prepare", "run", "cleanup")
    events: int = 40
    threads: int = 2
    setup: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    cwd: str = ""
    runs: int = 6

    @property
    def is_lua(self) -> bool:
        """A script for sysbench, and not for pgbench."""
        return self.path.endswith(".lua")

    @property
    def tool(self) -> str:
        """Whose script it is."""
        return "sysbench" if self.is_lua else "pgbench"

    def root(self, script: Path) -> Path:
        """The repository's folder, of which the script is in."""
        return script.parents[len(Path(self.path).parts) - 1]

    def folder(self, script: Path) -> Path:
        """Where it is played."""
        return self.root(script) / self.cwd if self.cwd else script.parent


@dataclass(frozen=True)
class Result:
    """What became of a script: a word, and what it means here."""

    word: str
    what: str = ""
    statements: dict[str, float] = field(default_factory=dict)


#: Plays a command of a script on a session, with random numbers of its own for each run.
Side = Callable[[Case, Path, Session, str, int], int]


def by_its_tool(case: Case, script: Path, session: Session, word: str, _: int) -> int:
    """Plays by sysbench or pgbench; answers the events that were counted."""
    if not case.is_lua:
        each = case.events // case.threads
        defined = [f"-D{name}={value}" for name, value in case.options.items() if name != "scale"]
        scale = ["-s", str(case.options["scale"])] if "scale" in case.options else []
        clients = ["-n", "-c", case.threads, "-j", 1, "-t", each, *scale]
        line = ["pgbench", *clients, *defined, "-f", script, *libpq(session)]
        said = _said([str(part) for part in line])
        return int(_number(said, r"transactions actually processed: (\d+)"))
    options = {"threads": case.threads, "events": case.events, "time": 0, **case.options}
    said = _said([str(part) for part in sysbench(session, str(script), word, options)])
    found = re.search(r"total number of events: +(\d+)", said)
    return int(found[1]) if found else case.events  # a script may have a report of its own


def by_dyno(case: Case, script: Path, session: Session, word: str, run: int) -> int:
    """Plays by our driver; answers the events that were counted."""
    counts = {"threads": case.threads, "events": case.events, "time": 0, "warmup_time": 0}
    prefix = "" if case.is_lua else ":"  # a variable of pgbench's, as -D sets it
    own = {name if name == "scale" else prefix + name: v for name, v in case.options.items()}
    options = {name: str(value) for name, value in {**counts, **own}.items()}
    plan = Plan(session, Script(str(script), options), SEED + run, (word,), progress_s=0)
    done, failed, why = 0, 0, ""
    try:
        with tempfile.TemporaryDirectory() as home, _started(plan, Path(home)) as process:
            while not isinstance(event := process.read_event(_limit(word)), driver.End):
                if isinstance(event, PhaseRecord):
                    done += sum(stream.done for stream in event.streams)
                    failed += sum(stream.failed for stream in event.streams)
                    why = why or ", ".join(f"{key}" for s in event.streams for key in s.errors)
                process.go()
    except DynoError as error:
        kind = Refused if isinstance(error, UsageError) else Failed
        raise kind(_short(error.sentence.splitlines()[0])) from error
    if failed:
        raise Failed(f"{failed} of {done + failed} events failed: {why}")
    return done


def judge(case: Case, script: Path, session: Session) -> Result:
    """Plays a script by both, and says whether the server counted the same."""
    with contextlib.chdir(case.folder(script)):  # where sysbench looks for what a script requires
        try:
            theirs = _counts(by_its_tool, case, script, session)
        except Failed as failed:
            try:
                _counts(by_dyno, case, script, session)
            except Failed as own:
                return Result(f"{case.tool} fails", f"{failed}; Dyno: {own}")
            return Result(f"{case.tool} fails", f"{failed}; Dyno plays it")
        try:
            ours = _counts(by_dyno, case, script, session)
        except Refused as failed:
            return Result("refused", str(failed))
        except Failed as failed:
            return Result("fails", str(failed))
    runs = [counts for word, counts in theirs if word == "run"]
    events, statements = sum(counts["events"] for counts in runs), sum(runs, Counter[str]())
    each = {kind: n / events for kind, n in sorted(statements.items()) if events and n}
    gaps, different = compared(theirs, ours)
    if different:
        return Result("differs", "; ".join(different), each)
    return Result("same on average" if gaps else "same", statements=each)


@contextlib.contextmanager
def prepared(case: Case, script: Path, session: Session) -> Iterator[Session]:
    """A database in which a script's tables are made, by its own tool; we are in its folder."""
    with contextlib.chdir(case.folder(script)):
        renew(session)
        _set_up(case, script, inside(session))
        for word in case.commands[: case.commands.index("run")] if case.is_lua else ():
            by_its_tool(case, script, inside(session), word, 0)
        yield inside(session)


#: What the server counted during each command, in order.
Counts = list[tuple[str, Counter[str]]]


def compared(theirs: Counts, ours: Counts) -> tuple[bool, list[str]]:
    """Is there any gap between the two, and where it is more than a script's own random numbers."""
    any_gap, different = False, []
    for word in dict.fromkeys(word for word, _ in theirs):
        sides = [[counts for each, counts in side if each == word] for side in (theirs, ours)]
        for kind in sorted({kind for side in sides for counts in side for kind in counts}):
            a, b = (np.asarray([counts[kind] for counts in side], np.float64) for side in sides)
            if OF_CONNECTIONS.fullmatch(kind) or not (a - b).any():
                continue
            any_gap = True
            if len(a) > 1:
                found = compute_t_interval(b - a, LEVEL)
                alike = found.low <= 0 <= found.high
            else:
                alike = abs(b[0] - a[0]) <= ONCE * a[0]
            if not alike:
                different.append(f"{word} {kind}: {a.mean():g} by its tool, {b.mean():g} by Dyno")
    return any_gap, different


def _counts(side: Side, case: Case, script: Path, session: Session) -> Counts:
    """All commands of a script, in a database of its own; `run` some times."""
    renew(session)
    at = inside(session)
    try:
        _set_up(case, script, at)
    except DynoError as error:
        raise Failed(f"its tables cannot be made: {_short(error.sentence)}") from error
    counts: Counts = []
    for word in case.commands if case.is_lua else ("run",):
        for run in range(case.runs if word == "run" else 1):
            before = counted(session)
            events = side(case, script, at, word, run)
            after = counted(session)
            after.subtract(before)
            after["events"] = (word == "run" and events) or 0
            counts.append((word, Counter({kind: n for kind, n in after.items() if n})))
    return counts


def _set_up(case: Case, script: Path, session: Session) -> None:
    """Makes what a script expects to find: pgbench's tables, the repository's SQL files, ours."""
    if not case.is_lua and "prepare" in case.commands:
        _said(["pgbench", "-i", "-q", *libpq(session)])
    given = [f"-v{name}={value}" for name, value in case.options.items()]
    for file in case.setup:
        if session["kind"] == "postgres":
            stop = ["-v", "ON_ERROR_STOP=1", *given]
            _said(["psql", "-qX", *stop, "-f", str(case.root(script) / file), *libpq(session)])
        else:
            text = re.sub(
                r"(?m)^\s*(--|#).*$", "", (case.root(script) / file).read_text("utf-8", "replace")
            )
            driver.ask(session, [one for one in re.split(r";\s*(?:\n|$)", text) if one.strip()])
    if case.made:
        driver.ask(session, list(case.made))


def _started(plan: Plan, home: Path) -> driver.DriverProcess:
    return driver.DriverProcess(plan, driver.DriverLaunch(home / "driver.log"))


def _limit(word: str) -> driver.Limit:
    return driver.Limit(f"the command {word}", COMMAND_LIMIT_S)


def _said(line: list[str]) -> str:
    """What a tool says; `Failed` with the sentence in which it gave up."""
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no end after {COMMAND_LIMIT_S:.0f} s") from error
    # sysbench exits with 0 after a thread of it has failed
    if done.returncode or "FATAL" in done.stdout + done.stderr:
        lines = (done.stdout + done.stderr).splitlines()
        fatal = [each for each in lines if re.search(r"FATAL|ERROR|error:|PANIC", each)]
        why = (fatal or lines or ["nothing said"])[0].strip()
        raise Failed(_short(why) + (" (killed)" if done.returncode < 0 else ""))
    return done.stdout


def _short(sentence: str) -> str:
    """A sentence with the files of the user's machine by their names alone, not too long."""
    plain = re.sub(r"[^\s'(]+/(?=[\w.-]+\.(lua|sql|pgbench|bench)\b)", "", sentence)
    return plain if len(plain) <= SAID_MAX else plain[: SAID_MAX - 1] + "…"


def _number(said: str, pattern: str) -> float:
    found = re.search(pattern, said)
    if found is None:
        raise Failed(f"no '{pattern}' in its report")
    return float(found[1])
