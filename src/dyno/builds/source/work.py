"""The work of a build: the tree's copy, the recipe's steps, remedies, and what was installed.

It lies in a folder that outlives a failure and a kill: `source/` (the copy), `build/`, `build.log`,
and `state.json` with the steps that are done and the remedies that were applied. The next build of
the same goes on there. Each step is guarded: `make` and its compilers are many processes, and none
may outlive who builds.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from dyno import private_files, subprocesses
from dyno.builds import Say, cache
from dyno.builds.loader import list_missing_libraries
from dyno.builds.source.diagnosis import Diagnosis, Failed, Fix, diagnose, list_build_entries
from dyno.builds.source.plan import BUILT, BuildPlan
from dyno.builds.source.recipe import BuildStep, apply_edits
from dyno.builds.source.trees import keep_all
from dyno.errors import HostError, UsageError

#: How cmake's files and ninja tell how far they are.
PERCENT, COUNT = re.compile(r"^\[ *(\d+)%\]"), re.compile(r"^\[(\d+)/(\d+)\]")


@dataclass(frozen=True)
class StepProgress:
    """How far a build is: a step's name, its place among `steps`, and its share done, if known."""

    step: str
    number: int
    steps: int
    share: float | None = None


#: Told of progress, at most once a percent.
Watch = Callable[[StepProgress], None]


@dataclass
class Meter:
    units: int = 0
    lines: int = 0
    share: float = field(default=0.0)

    def add(self, line: str) -> float | None:
        """Return the share after one more line; None if none is known."""
        self.lines += 1
        if found := PERCENT.match(line):
            self.share = int(found[1]) / 100
        elif found := COUNT.match(line):
            self.share = int(found[1]) / max(1, int(found[2]))
        elif self.units:
            self.share = max(self.share, min(0.99, self.lines / self.units))
        else:
            return None
        return self.share


def run_program(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: IO[str],
    heard: Callable[[str], None],
) -> tuple[int, resource.struct_rusage]:
    """Return the exit code of a program in `folder`, and what it used with all that it waited for;
    each line that it writes goes to `log` and `heard`.

    `HostError` if it cannot be started; an interrupt kills it with all that it started.
    """
    heed = subprocesses.Heed()
    try:
        process = subprocess.Popen(
            subprocesses.guard(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as refused:
        raise HostError(f"cannot run {words[0]} in {folder}", cause=refused.strerror) from None
    assert process.stdout is not None and process.stdin is not None
    try:
        with subprocesses.wait_for(process, heed):
            for line in process.stdout:
                log.write(line)
                log.flush()
                heard(line.rstrip("\n"))
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    except BaseException:
        subprocesses.kill(process)
        process.wait()
        raise
    finally:
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()
    return process.returncode, used


#: What is put beside a build: how it was made, and the log; and what was done until now.
FACTS, LOG, STATE = "build.json", "build.log", "state.json"
#: The most of a step's log that a diagnosis looks through, in characters.
LOG_CHARACTERS = 20_000_000
#: How long before a kill a file may have been written in part, in s.
TORN_S = 30.0
#: So many remedies one after the other, and no more.
FIXES_MAX = 12


@dataclass
class WorkState:
    """What was done until now, in which time. Steps that were `interrupted`, so often, were not
    timed; `memory_mb` is that of the largest program, at least ours as it was when it started it.
    """

    done: list[str] = field(default_factory=list)
    fixes: list[str] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    step_began_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_mb: int = 0
    is_running: bool = False
    interrupted: int = 0


class BuildFailed(HostError):
    """A step of a build failed; `diagnosis` says what is known of it."""

    def __init__(self, message: str, diagnosis: Diagnosis, *, cause: str, hint: str) -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.diagnosis = diagnosis


class BuildWork:
    def __init__(self, plan: BuildPlan, folder: Path, say: Say, watch: Watch) -> None:
        self._plan, self._folder, self._say, self._watch = plan, folder, say, watch
        self._source, self._build = folder / "source", folder / "build"
        self._staged = folder / "staged"
        self._state = self._read_state()

    def build(self, target: Path, fix: bool) -> None:
        """Play all steps that are not done, and move what they installed to `target`."""
        self._resume()
        with (self._folder / LOG).open("a", encoding="utf-8", errors="replace") as log:
            if "source" not in self._state.done:
                self._say(f"copying {self._plan.tree.source}")
                for place in (self._source, self._build, self._staged):
                    private_files.remove_all(place)
                self._plan.tree.put(self._source, keep_all)
                self._state.edits = apply_edits(self._plan.recipe.edits, self._source)
                if self._plan.request.patch:
                    self._apply_patch(self._plan.request.patch)
                self._finish_step("source")
            while True:
                try:
                    for number, step in enumerate(self._plan.recipe.steps, 1):
                        if step.name not in self._state.done:
                            self._play(step, number, log)
                    break
                except BuildFailed as failed:
                    if not fix or not self._apply(failed.diagnosis):
                        raise
        self._install(target)

    def _apply_patch(self, patch: Path) -> None:
        said: list[str] = []
        with (self._folder / LOG).open("a", encoding="utf-8") as log:
            command = ["patch", "--batch", "--forward", "-p1", "-i", str(patch.absolute())]
            code, _ = run_program(
                command, self._source, self._plan.toolchain.environment, log, said.append
            )
        if code:
            words = (line for line in said if "FAILED" in line or "***" in line)
            cause = next(words, said[-1] if said else "patch says nothing")
            hint = "make it with git diff, against the tree that is built"
            raise UsageError(f"the patch {patch} does not fit the tree", cause=cause, hint=hint)

    def _play(self, step: BuildStep, number: int, log: IO[str]) -> None:
        plan, count = self._plan, len(self._plan.recipe.steps)
        if step is plan.recipe.steps[0]:
            private_files.remove_all(self._build)
        self._build.mkdir(exist_ok=True)
        self._say(f"{plan.entry}: {step.name} (step {number} of {count})")
        self._state.step_began_s = time.time()
        self._write_state()
        begun, meter, shown = log.tell(), Meter(step.units), [-1.0]

        def note_line(line: str) -> None:
            share = meter.add(line)
            if share is None or share - shown[0] >= 0.01:
                shown[0] = -1.0 if share is None else share
                self._watch(StepProgress(step.name, number, count, share))

        self._watch(StepProgress(step.name, number, count))
        for folder in self._list_folders(step):
            words = [word for each in step.run for word in self._expand(each)]
            log.write(f"\n==== {step.name} in {folder}: {shlex.join(words)}\n")
            began_s, self._state.is_running = time.monotonic(), True
            self._write_state()
            code, used = run_program(words, folder, self._build_environment(), log, note_line)
            self._add_cost(time.monotonic() - began_s, used)
            if code:
                raise self._diagnose(step, code, begun)
        self._finish_step(step.name)

    def _list_folders(self, step: BuildStep) -> list[Path]:
        """Return the folders that a step runs in; a pattern means those that have a Makefile."""
        kept, left_out = list[Path](), list[Path]()
        for place in step.within:
            path = Path(self._expand(place.removeprefix("!"))[0])
            (left_out if place.startswith("!") else kept).append(path)
        found = list[Path]()
        for path in kept:
            if "*" in path.name:
                makefiles = sorted(path.parent.glob(f"{path.name}/Makefile"))
                found += [file.parent for file in makefiles]
            else:
                found.append(path)
        return [path for path in found if not any(path.match(str(it)) for it in left_out)]

    def _add_cost(self, wall_s: float, used: resource.struct_rusage) -> None:
        state = self._state
        state.wall_s += wall_s
        state.cpu_s += used.ru_utime + used.ru_stime
        state.memory_mb = max(state.memory_mb, used.ru_maxrss >> 10)
        state.is_running = False
        self._write_state()

    def _expand(self, word: str) -> list[str]:
        """Return a recipe's word with its places filled in; `{options}` is any number of words."""
        request, recipe = self._plan.request, self._plan.recipe
        fixes = list(self._find_fixes())
        if word == "{options}":
            return [*shlex.split(request.options), *(o for each in fixes for o in each.options)]
        if word == "{defines}":
            return [f"-D{macro}" for macro in shlex.split(request.defines or recipe.defines)]
        flags = [request.cflags or recipe.cflags, recipe.always, *(each.cflags for each in fixes)]
        own = [recipe.cxxflags, *(each.cxxflags for each in fixes)]
        jobs = 1 if any(each.one_job for each in fixes) else self._plan.toolchain.jobs
        places = {
            "source": str(self._source),
            "build": str(self._build),
            "staged": str(self._staged),
            "prefix": str(cache.find_root() / BUILT / self._plan.entry),
            "jobs": str(jobs),
            "cc": self._plan.toolchain.cc,
            "cxx": self._plan.toolchain.cxx,
            "cflags": " ".join(filter(None, [*flags, *(each.c_only for each in fixes)])),
            "cxxflags": " ".join(filter(None, [*flags, *own])),
        }
        if word in ("{cc}", "{cxx}", "{cflags}"):
            return shlex.split(word.format_map(places))
        return [word.format_map(places)]

    def _build_environment(self) -> dict[str, str]:
        environment = dict(self._plan.toolchain.environment)
        for each in self._find_fixes():
            environment |= each.environment
        return environment

    def _find_fixes(self) -> Iterator[Fix]:
        for entry in list_build_entries():
            if entry.fix and entry.name in self._state.fixes:
                yield entry.fix

    def _diagnose(self, step: BuildStep, code: int, begun: int) -> BuildFailed:
        log = self._folder / LOG
        with log.open(encoding="utf-8", errors="replace") as file:
            file.seek(begun)
            output = file.read(LOG_CHARACTERS)
        plan = self._plan
        about = Failed(output, plan.request.engine, plan.version, plan.toolchain.versions)
        found = diagnose(about)
        what = f"{plan.request.engine} {plan.version}"
        message = f"cannot build {what}: the step '{step.name}' failed"
        line = found.line or f"it ended with {code} and no error that is known"
        if found.entry is None:
            hint = f"the whole log is {log}"
            return BuildFailed(message, found, cause=line, hint=hint)
        can = "; --fix does it" if found.entry.fix else ""
        hint = f"{found.entry.remedy}{can} ({found.entry.source}); the whole log is {log}"
        return BuildFailed(message, found, cause=f"{line}: {found.entry.cause}", hint=hint)

    def _apply(self, diagnosis: Diagnosis) -> bool:
        """Apply the remedy of a diagnosis; False if there is none, or it did not help."""
        entry, state = diagnosis.entry, self._state
        if entry is None or entry.fix is None or entry.name in state.fixes:
            return False
        if len(state.fixes) >= FIXES_MAX:
            return False
        made = apply_edits(entry.fix.edits, self._source)
        if entry.fix.edits and not made:
            return False
        self._say(f"{entry.name}: {entry.remedy}")
        state.fixes.append(entry.name)
        state.edits += made
        if entry.fix.again:
            names = [step.name for step in self._plan.recipe.steps]
            again = names.index(entry.fix.again) if entry.fix.again in names else 0
            state.done = [name for name in state.done if name not in names[again:]]
        self._write_state()
        return True

    def _install(self, target: Path) -> None:
        """Move what was installed, without what the recipe drops, and write how it was made."""
        recipe, plan = self._plan.recipe, self._plan
        prefix = cache.find_root() / BUILT / plan.entry
        installed = self._staged / str(prefix).lstrip("/")
        if not (installed / recipe.program).is_file():
            hint = f"the whole log is {self._folder / LOG}"
            self._state.done = []
            self._write_state()
            raise HostError(f"the build made no {recipe.program}", hint=hint)
        # without a library that the build itself made the program cannot start
        for name in list_missing_libraries(installed / recipe.program, {}):
            if made := next(self._build.rglob(name), None):
                hint = "the recipe must install it: tell us, with the log"
                raise HostError(f"the build left {name} behind", cause=f"it is {made}", hint=hint)
        for pattern in recipe.drop:
            for doomed in list(installed.glob(pattern)):
                if doomed.is_dir() and not doomed.is_symlink():
                    shutil.rmtree(doomed)
                else:
                    doomed.unlink(missing_ok=True)
        for each in installed.iterdir():
            each.rename(target / each.name)
        shutil.copy(self._folder / LOG, target / LOG)
        facts = dict(plan.facts) | {"jobs": str(plan.toolchain.jobs)}
        facts["frame_pointers"] = _switch("-fno-omit-frame-pointer", facts)
        facts["symbols"] = _switch("-g", facts)
        facts |= {"edits": "; ".join(self._state.edits)} if self._state.edits else {}
        facts |= {"fixes": ", ".join(self._state.fixes)} if self._state.fixes else {}
        facts["seconds"] = f"{self._state.wall_s:.0f}"
        facts["cpu_seconds"] = f"{self._state.cpu_s:.0f}"
        facts["memory_mb"] = str(self._state.memory_mb)
        facts |= {"interrupted": str(self._state.interrupted)} if self._state.interrupted else {}
        told = {"version": plan.version, "label": plan.tree.label, "facts": facts}
        (target / FACTS).write_text(json.dumps(told, indent=1), encoding="utf-8")

    def _resume(self) -> None:
        """Make anew what a killed build may have written in part."""
        self._state.interrupted += self._state.is_running
        self._state.is_running = False
        if "source" not in self._state.done or not self._build.is_dir():
            return
        if self._plan.recipe.steps[0].name in self._state.done:
            self._say(f"{self._plan.entry}: going on after {', '.join(self._state.done)}")
            drop_torn(self._build, self._state.step_began_s)
            private_files.remove_all(self._staged)
            steps = {step.name for step in self._plan.recipe.steps[-1:]}
            self._state.done = [name for name in self._state.done if name not in steps]

    def _finish_step(self, name: str) -> None:
        self._state.done.append(name)
        self._write_state()

    def _read_state(self) -> WorkState:
        with suppress(OSError, ValueError, TypeError):
            return WorkState(**json.loads((self._folder / STATE).read_text(encoding="utf-8")))
        return WorkState()

    def _write_state(self) -> None:
        private_files.write_whole(self._folder / STATE, json.dumps(asdict(self._state)))


def drop_torn(build: Path, step_began_s: float) -> None:
    """Remove what was written last before a kill: make would take half an object for a whole one.

    Nothing is removed that an earlier step made.
    """
    files = [path for path in build.rglob("*") if path.is_file() and not path.is_symlink()]
    newest_s = max((path.stat().st_mtime for path in files), default=0.0)
    since_s = max(newest_s - TORN_S, step_began_s)
    for path in files:
        if path.stat().st_mtime >= since_s:
            path.unlink()


def _switch(flag: str, facts: Mapping[str, str]) -> str:
    words = f"{facts.get('cflags', '')} {facts.get('always', '')}".split()
    return "on" if flag in words or f"{flag}1" in words else "off"
