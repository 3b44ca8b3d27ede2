"""Turns an experiment into a run that can be played: builds, descriptions, keys, host."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import dyno
from dyno import calibration, candidates, driver, engines
from dyno.builds import Build, Say, program, sha256
from dyno.candidates import Owned
from dyno.conduct import attached, cells, controllable, described, host
from dyno.conduct.controllable import Side
from dyno.conduct.described import Entrant
from dyno.controls import controls
from dyno.engines import Engine
from dyno.errors import UsageError, unknown
from dyno.experiment import Experiment, Measuring
from dyno.folder import Folder
from dyno.record import Candidate, Design, Run

#: METHOD.md 4: valid blocks at which a default run looks at its data; the last is MAX.
LOOKS = (6, 10, 14, 18, 24)
#: Beyond the default MAX a third more blocks each time, so that a long run too may end early.
LATER_LOOKS = (32, 42, 56, 75, 100, 133, 177)
#: No look after this part of MAX: it would save next to no time, and cost sight. Of 7 blocks a look
#: at 6 would leave an MDE80 of 3.05 % at sd 2 %, more than the 2.91 % of 6; without it, 2.58 %.
LOOK_LATEST = 0.85
#: METHOD.md 11: the one look of a quick run.
QUICK_LOOKS = (5,)
MARGIN_PERCENT = 2.0
#: METHOD.md 7: what the neighbours may take of all cores' time in a phase, in percent.
LIMITS = {"steal_percent": 2.0, "foreign_percent": 10.0}


@dataclass(frozen=True)
class Prepared:
    """A run with everything in hand to play it; `engines` and `builds` by candidate's name.

    `size_bytes` is the largest data set's, by the scripts' own guess (0: unknown); `progress_s` is
    how often the driver says how a phase goes.
    """

    run: Run
    engines: dict[str, Engine]
    builds: dict[str, Build]
    size_bytes: int = 0
    progress_s: float = 1.0


def resolve(experiment: Experiment, say: Say) -> Prepared:
    """Fetches the builds, asks the scripts for their phases, and sorts out every key.

    `UsageError` for a word that nobody knows, `HostError` where a build cannot be had.
    """
    controllable.recover(say)
    held = _held(experiment.measuring.controls)
    found, asked = cells.crossed(experiment)
    workloads = described.workloads(cells.with_bases(experiment, found), asked)
    sides = _sides(asked, held, say)
    facts_here = here()
    controllable.survey(sides, held, _data(), say)
    run = Run(
        name=experiment.name,
        created_utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        question=experiment.question,
        command=experiment.command,
        seed=_seed(experiment.measuring),
        candidates=tuple(candidate for candidate, _, _ in sides),
        workloads=tuple(plan for plan, _ in workloads),
        design=_design(experiment, sides[0][0].name, held),
        host=facts_here,
        published=experiment.published,
        dyno=dyno.__version__,
        driver_sha256=sha256(driver.locate()),
        calibration=calibration.known(instrument()),
        survey=host.complaints(_data()),
        factors=found,
    )
    return check_empty(_prepared(run, sides, max(size for _, size in workloads)))


def _seed(measuring: Measuring) -> int:
    return secrets.randbelow(1 << 31) if measuring.seed is None else measuring.seed


def sketched(experiment: Experiment) -> Prepared:
    """An experiment as far as a plan needs it: words and phases, and nothing fetched or built."""
    held = _held(experiment.measuring.controls)
    found, entrants = cells.crossed(experiment)
    workloads = described.workloads(cells.with_bases(experiment, found), entrants)
    asked = [_asked(entrant, held) for entrant in entrants]
    sides = [_sketch(words) for words in asked]
    run = Run(
        name=experiment.name,
        created_utc="",
        question=experiment.question,
        command=experiment.command,
        seed=0,
        candidates=tuple(sides),
        workloads=tuple(plan for plan, _ in workloads),
        design=_design(experiment, sides[0].name, held),
        host={},
        factors=found,
    )
    engines = {side.name: engine for side, (_, engine, _) in zip(sides, asked, strict=True)}
    return Prepared(run, engines, {}, max(size for _, size in workloads))


def _sketch(asked: _Asked) -> Candidate:
    """A candidate without its build."""
    entrant, engine, owned = asked
    spec = entrant.spec
    made = Candidate(spec.name, spec.text, spec.engine, engine.embedded, {}, owned.settings, {})
    return replace(made, levels=entrant.levels, options=entrant.options)


def again(run: Run, say: Say) -> Prepared:
    """A run from disk, with its engines and builds at hand again."""
    controllable.recover(say)
    entrants = [Entrant(candidates.parse(side.spec)) for side in run.candidates]
    sides = _sides(entrants, run.design.controls, say)
    return _prepared(run, sides, 0)


def check_empty(prepared: Prepared) -> Prepared:
    """`prepared`; `UsageError` where a script of it would load beside tables of somebody's."""
    sides = ((prepared.engines[name], build) for name, build in prepared.builds.items())
    attached.check_empty(sides, prepared.run.workloads)
    return prepared


def here() -> dict[str, str]:
    """The facts of this host, with the file system that the data will lie on."""
    return host.facts(_data())


def instrument() -> dict[str, str]:
    """This host and this driver, as a calibration speaks for them."""
    return calibration.instrument(here(), sha256(driver.locate()))


def _data() -> Path:
    """Where the engines' data will lie."""
    return Folder(Path(os.environ.get("DYNO_RUNS") or "runs") / "any").homes()


def _prepared(run: Run, sides: Sequence[Side], size_bytes: int) -> Prepared:
    names = [candidate.name for candidate in run.candidates]
    found = dict(zip(names, (engine for _, engine, _ in sides), strict=True))
    builds = dict(zip(names, (build for _, _, build in sides), strict=True))
    return Prepared(run, found, builds, size_bytes)


def _sides(entrants: Sequence[Entrant], held: dict[str, str], say: Say) -> list[Side]:
    """The candidates with their builds: all words are checked first, since a build may take long;
    then one thread for each, since a compiler keeps one core busy.
    """
    asked = [_asked(entrant, held) for entrant in entrants]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        found = list(threads.map(lambda words: _side(words, say), asked))
    _check_apart([candidate for candidate, _, _ in found if candidate.levels])
    return found


_Asked = tuple[Entrant, Engine, Owned]


def _asked(entrant: Entrant, held: dict[str, str]) -> _Asked:
    """Who enters, its engine, and whose each of its keys is."""
    spec = entrant.spec
    engine = engines.find(spec.engine, driver.ask)
    options = engines.settings_of(engine)
    owned = candidates.owned(spec.keys, flags=engine.flags, options=options, controls=controls())
    _known_values(owned.controls)
    owned = replace(owned, settings=controllable.settings(spec, engine, owned, held))
    if isinstance(engine, engines.Checks):
        engine.check(spec.build, owned.flags, owned.settings)
    return entrant, engine, owned


def _side(asked: _Asked, say: Say) -> Side:
    """One candidate with its engine and build."""
    entrant, engine, owned = asked
    spec = entrant.spec
    build = engine.program(spec.given, owned.flags, say)
    if isinstance(engine, engines.Accepts):
        engine.accept(build, owned.settings)
    candidate = Candidate(
        name=spec.name,
        spec=spec.text,
        engine=spec.engine,
        embedded=engine.embedded,
        build=facts(build),
        settings=owned.settings,
        controls=owned.controls,
        levels=entrant.levels,
        options=entrant.options,
    )
    return candidate, engine, build


def _check_apart(cells: Sequence[Candidate]) -> None:
    """Refuses a factor that changes nothing: two cells that are one and the same."""
    seen: dict[str, str] = {}
    for candidate in cells:
        build = candidate.build.get("sha256") or {**candidate.build, "name": ""}
        what = str((build, candidate.settings, candidate.controls, candidate.options))
        if what in seen:
            cause = f"'{seen[what]}' and '{candidate.name}' are the same program and settings"
            hint = "give it levels that differ, or name each candidate once"
            raise UsageError("a factor changes nothing", cause=cause, hint=hint)
        seen[what] = candidate.name


def facts(build: Build) -> dict[str, str]:
    """The build as a record: its own facts, and where its program is a file, the checksum and what
    the file tells of how it was built.
    """
    told = {"name": build.name, "version": build.version, "program": str(build.program)}
    if build.program.is_file():
        told |= program.facts(build.program) | {"sha256": sha256(build.program)}
    return build.facts | told


def _design(experiment: Experiment, base: str, held: dict[str, str]) -> Design:
    measuring, own = experiment.measuring, experiment.measuring.margin_percent
    return Design(
        base=base,
        looks=_looks(measuring),
        margin_percent=MARGIN_PERCENT if own is None else own,
        alpha=measuring.alpha,
        quick=measuring.quick,
        limits=LIMITS | measuring.limits,
        controls=held,
        loads=measuring.loads,
        crossing=experiment.crossed.crossing if experiment.crossed.levels else None,
        aa=measuring.aa,
    )


def _looks(measuring: Measuring) -> tuple[int, ...]:
    if measuring.quick:
        if measuring.blocks is not None:
            raise UsageError(f"a quick run has {QUICK_LOOKS[-1]} blocks", hint="leave one out")
        return QUICK_LOOKS
    most = measuring.blocks or LOOKS[-1]
    return (most,) if measuring.fixed else looks_up_to(most)


def looks_up_to(most: int) -> tuple[int, ...]:
    """The default looks well before `most` blocks, and `most` itself."""
    every = (*LOOKS, *LATER_LOOKS)
    return (*(look for look in every if look <= LOOK_LATEST * most), most)


def _held(chosen: Mapping[str, str]) -> dict[str, str]:
    """Every control's value for the whole run."""
    for name in chosen:
        if name not in controls():
            raise unknown("control", name, controls())
    _known_values(chosen)
    return {name: chosen.get(name, control.default) for name, control in controls().items()}


def _known_values(chosen: Mapping[str, str]) -> None:
    for name, value in chosen.items():
        controls()[name].check(value)
