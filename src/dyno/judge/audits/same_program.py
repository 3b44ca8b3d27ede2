"""Audit `same_program`: are two candidates one and the same, and was that meant?

A comparison of a program with itself says how often the method errs, and nothing of an engine. It
is declared (`--aa`; `aa = true` in an experiment): else a path that was mistyped, or a build that
did not change, would be read as "not slower". And what is declared so must be so.

Candidates are the same where nothing of their records differs but the name and a level's: engine,
settings, controls and a cell's own options as asked, and the program's checksum, or, of what has no
file (`null`, a server that runs already), all that is known of it. A setting that was spelled out
on one side though it is the default on both counts as a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from msgspec.structs import replace

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Candidate, Finding, Run, Trial


class SameProgram:
    """Every pair of candidates, by checksum, settings and controls."""

    summary = "candidates differ, unless they were declared to be the same (A/A)"

    def judge(self, view: RunView) -> list[Finding]:
        """One finding: of the pairs that are the same by mistake, or differ by mistake."""
        run, trials = view.run, view.trials
        sides = [_find_identity(run, side) for side in run.candidates]
        pairs = list(combinations(zip(run.candidates, sides, strict=True), 2))
        unknown = [side.name for side, it in zip(run.candidates, sides, strict=True) if it is None]
        if run.design.aa:
            differing = [(a.name, b.name) for (a, it), (b, other) in pairs if it != other]
            return _with_unknown([_make_declared_finding(differing, len(sides))], unknown)
        same = [(a.name, b.name) for (a, it), (b, other) in pairs if it and it == other]
        return _with_unknown([_make_undeclared_finding(same, trials, len(sides))], unknown)


def _with_unknown(found: list[Finding], unknown: list[str]) -> list[Finding]:
    """A finding, but that nothing is sound where no record tells what a candidate ran."""
    faults = [each for each in found if each.soundness != "sound"]
    sound = "" if unknown else found[0].sentence
    unchecked = [Unchecked("no record tells which program it ran", name) for name in unknown]
    return conclude("same_program", faults, sound, unchecked)


def _make_declared_finding(differing: list[tuple[str, str]], sides: int) -> Finding:
    if not differing:
        return Finding("same_program", "sound", f"an A/A comparison of {sides}, as declared")
    a, b = differing[0]
    words = f"declared A/A, but {a} and {b} differ in program, settings or controls"
    return Finding("same_program", "invalid", words)


def _make_undeclared_finding(
    same: list[tuple[str, str]], trials: Sequence[Trial], sides: int
) -> Finding:
    if not same:
        words = f"no two of {sides} candidates are known to be the same"
        return Finding("same_program", "sound", words)
    a, b = same[0]
    words = (
        f"{a} and {b} are the same program with the same settings: an A/A comparison, which was "
        "not declared (--aa, or aa = true)"
    )
    meant = tuple(t.number for t in trials if t.status == "ok" and t.candidate in (a, b))
    return Finding("same_program", "doubtful", words, meant)


def _find_identity(run: Run, side: Candidate) -> Candidate | None:
    """The candidate without its name, and of its build what tells it from another; None where the
    record does not tell.
    """
    build = _identify_program(side.build)
    if not build:
        return None
    controls = run.design.controls | side.controls
    return replace(side, name="", spec="", build=build, controls=controls, levels={})


def _identify_program(build: dict[str, str]) -> dict[str, str]:
    """The checksum; without a file, all facts, if the source is among them."""
    if checksum := build.get("sha256"):
        return {"sha256": checksum}
    return {k: v for k, v in build.items() if k != "name"} if "source" in build else {}


AUDIT = SameProgram()
