"""Audit `debug_build`: is a program fit to be timed?

Assertions, sanitizers, coverage and a missing optimisation make an engine up to ten times slower,
and each of its parts differently: what is true of such a build may be false of the one that people
run. Where only one side carries them, the flags were compared and not the engines: invalid, unless
Dyno compiled it with flags that the user chose, which may be the question.

Told by the build's facts: `assertions` ("on") where an engine knows, `instrumentation` and
`optimisation` where the program's file says so, and the flags (`…cflags`) of those compiled here
or that the server reports. What tells nothing is not blamed, and was *not checked*.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Candidate, Finding, Soundness, Trial

#: Optimisations with which no release is made.
UNOPTIMISED = ("-O0", "-Og")
LEVEL = re.compile(r"(?:^|\s)(-O\S*)")


class DebugBuild:
    """Each candidate's build, by its facts and by what its server says of itself."""

    summary = "no build carries assertions or sanitizers, and all are optimised"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate whose build is not fit; else one that is sound."""
        run, trials = view.run, view.trials
        told = {side.name: _build_facts(side, trials) for side in run.candidates}
        faults = {name: words for name, facts in told.items() if (words := _faults(facts))}
        silent = [name for name, facts in told.items() if not facts]
        known = len(told) - len(silent)
        sentence = f"{known} of {len(told)} builds tell how they were built: for release"
        uneven = len({tuple(faults.get(side.name, ())) for side in run.candidates}) > 1
        found = [
            _finding(side, faults[side.name], uneven, trials)
            for side in run.candidates
            if side.name in faults
        ]
        unchecked = [Unchecked("the build does not tell how it was built", name) for name in silent]
        return conclude("debug_build", found, sentence if known else "", unchecked)


def _finding(side: Candidate, faults: list[str], uneven: bool, trials: Sequence[Trial]) -> Finding:
    chosen = "cflags" in side.build
    soundness: Soundness = "invalid" if uneven and not chosen else "doubtful"
    others = "while others do not" if uneven else "as all others do"
    words = f"{side.name} carries {' and '.join(faults)}, {others}: no release is built so"
    meant = tuple(t.number for t in trials if t.status == "ok" and t.candidate == side.name)
    return Finding("debug_build", soundness, words, meant)


def _build_facts(side: Candidate, trials: Sequence[Trial]) -> dict[str, str]:
    """What is known of how the candidate was built, with `optimisation` from flags if need be."""
    own = next((t.settings for t in trials if t.candidate == side.name and t.settings), {})
    known = own | side.build
    names = ("assertions", "instrumentation", "optimisation")
    told = {name: known[name] for name in names if known.get(name)}
    flags = [v for k, v in known.items() if k.lower().endswith("cflags") and v]
    if flags and "optimisation" not in told:
        told["optimisation"] = (LEVEL.findall(flags[0]) or ["-O0"])[-1]
    return told


def _faults(told: dict[str, str]) -> list[str]:
    faults = ["assertions"] if told.get("assertions") == "on" else []
    faults += [told["instrumentation"]] if told.get("instrumentation") else []
    level = told.get("optimisation", "")
    return faults + ([f"no optimisation ({level})"] if level in UNOPTIMISED else [])


AUDIT = DebugBuild()
