"""The candidates of a run: whose each key is, and the build of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from dyno import candidates, driver, engines
from dyno.builds import Build, Say, program, sha256
from dyno.candidates import Owned
from dyno.conduct import controllable
from dyno.conduct.controllable import Side
from dyno.conduct.described import Entrant
from dyno.controls import controls
from dyno.engines import Engine
from dyno.errors import UsageError, unknown
from dyno.record import Candidate

#: Who enters, its engine, and whose each of its keys is.
Asked = tuple[Entrant, Engine, Owned]


def held(chosen: Mapping[str, str]) -> dict[str, str]:
    """Every control's value for the whole run."""
    for name in chosen:
        if name not in controls():
            raise unknown("control", name, controls())
    _known_values(chosen)
    return {name: chosen.get(name, control.default) for name, control in controls().items()}


def _known_values(chosen: Mapping[str, str]) -> None:
    for name, value in chosen.items():
        controls()[name].check(value)


def checked(entrant: Entrant, held: dict[str, str]) -> Asked:
    """All words of an entrant checked; nothing is fetched yet."""
    spec = entrant.spec
    engine = engines.find(spec.engine, driver.ask)
    options = engines.settings_of(engine)
    owned = candidates.owned(spec.keys, flags=engine.flags, options=options, controls=controls())
    _known_values(owned.controls)
    owned = replace(owned, settings=controllable.settings(spec, engine, owned, held))
    if isinstance(engine, engines.Checks):
        engine.check(spec.build, owned.flags, owned.settings)
    return entrant, engine, owned


def built(entrants: Sequence[Entrant], held: dict[str, str], say: Say) -> list[Side]:
    """The candidates with their builds: all words are checked first, since a build may take long;
    then one thread for each, since a compiler keeps one core busy.
    """
    asked = [checked(entrant, held) for entrant in entrants]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        found = list(threads.map(lambda words: _side(words, say), asked))
    _check_apart([candidate for candidate, _, _ in found if candidate.levels])
    return found


def _side(asked: Asked, say: Say) -> Side:
    """One candidate with its engine and build."""
    entrant, engine, owned = asked
    build = engine.program(entrant.spec.given, owned.flags, say)
    if isinstance(engine, engines.Accepts):
        engine.accept(build, owned.settings)
    return replace(sketch(asked), build=facts(build), controls=owned.controls), engine, build


def sketch(asked: Asked) -> Candidate:
    """A candidate without its build."""
    entrant, engine, owned = asked
    spec = entrant.spec
    made = Candidate(spec.name, spec.text, spec.engine, engine.embedded, {}, owned.settings, {})
    return replace(made, levels=entrant.levels, options=entrant.options)


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
