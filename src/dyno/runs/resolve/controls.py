"""Prepares the controls before a run: restores what a killed run left, names what it cannot set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dyno.builds import Build, Say
from dyno.engines import Attaches, Engine, Knobs, Preloads, Remarks
from dyno.errors import DynoError, UsageError
from dyno.host.controls import NOT_HERE, ControlTarget, load_controls, put_back
from dyno.record import Candidate
from dyno.runs.experiment.candidates import OwnedKeys, Spec

ResolvedCandidate = tuple[Candidate, Engine, Build]


def recover_knobs(say: Say) -> None:
    """Puts back the knobs of the host that a run which was killed has left.

    What cannot be put back is said, and stops nobody: the run may not touch that knob at all.
    """
    try:
        for outcome in put_back():
            if outcome.state != "in use":
                say(f"left by a run that was killed: {outcome}")
    except DynoError as error:
        say(f"could not put back what a killed run left: {error.message}: {error.cause}")


def make_control_target(engine: Engine, build: Build, home: Path) -> ControlTarget:
    """What the controls are held for."""
    found = build.attached and isinstance(engine, Attaches)
    return ControlTarget(
        embedded=engine.embedded,
        attached=build.attached,
        # of a server that runs already nothing is started: it is found
        pid=engine.start(build, home, {}).pid if found else None,
        home=home,
        settings=engine.knobs if isinstance(engine, Knobs) else {},
        preloads=isinstance(engine, Preloads),
    )


def tell_refusals(
    sides: Iterable[ResolvedCandidate], run_controls: dict[str, str], home: Path, say: Say
) -> None:
    """Says which of the chosen controls cannot be held for data in `home`, as every trial will."""
    refusals = {
        f"{NOT_HERE}: {name}={value}: {why}"
        for side, engine, build in sides
        for name, value in (run_controls | side.controls).items()
        if value != load_controls()[name].default
        if (
            why := load_controls()[name].find_refusal(
                value, make_control_target(engine, build, home)
            )
        )
    }
    for sentence in sorted(refusals):
        say(sentence)


def tell_remarks(sides: Iterable[ResolvedCandidate], say: Say) -> None:
    """Says which keys of the candidates can have no effect, and what a bare number amounts to."""
    told = {
        f"note: {remark}"
        for side, engine, build in sides
        if isinstance(engine, Remarks) and not build.attached
        for remark in engine.list_remarks(build, side.settings)
    }
    for sentence in sorted(told):
        say(sentence)


def find_settings_of_controls(
    spec: Spec, engine: Engine, owned: OwnedKeys, run_controls: dict[str, str]
) -> dict[str, str]:
    """The candidate's settings, those among them that its controls are called in this engine.

    `UsageError` where one is also set by hand, to something else. A server that runs already is
    not set.
    """
    knobs = engine.knobs if isinstance(engine, Knobs) and not spec.is_url else {}
    wanted: dict[str, str] = {}
    for name, value in (run_controls | owned.controls).items():
        for setting, text in knobs.get(name, {}).get(value, {}).items():
            if owned.settings.get(setting, text).lower() != text.lower():
                message = f"{spec.name} has both {name}={value} and {setting}"
                raise UsageError(message, hint="both set the same thing: leave one out")
            wanted[setting] = text
    return owned.settings | wanted
