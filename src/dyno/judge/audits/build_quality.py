"""Audit `build_quality`: is each program fit to be timed, and are they built alike?

Assertions, sanitizers, coverage and a missing optimisation make an engine up to ten times slower,
and each of its parts differently: what is true of such a build may be false of the one that people
run. Where only one side carries them, the flags were compared and not the engines: invalid, unless
Dyno compiled it with flags that the user chose, which may be the question. Optimised for size is
doubtful. So is a comparison of two versions of an engine whose *compiler and flags differ*: what it
finds holds for these two builds, and what the versions do is not told apart from what the compiler
does. Two builds of one version are that question, and no finding.

Told by the build's facts: `assertions` ("on") where an engine knows, `compiler`, `flags`,
`instrumentation` and `optimisation` where the program's file says so, and the flags (`…cflags`) of
those compiled here or that the server reports. What tells nothing is not blamed, and was *not
checked*. `debug_build` is this audit's former name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Candidate, Finding, Soundness, Trial

NAME = "build_quality"
#: Optimisations with which no release is made, and those that give speed away for size.
UNOPTIMISED, SMALL = ("-O0", "-Og"), ("-Os", "-Oz")
FOR_SIZE = "code made for size"
LEVEL = re.compile(r"(?:^|\s)(-O\S*)")
#: Flags that change what is said of a program and not the program.
SILENT = re.compile(r"-W.*|-g\d?|-f(?:debug|file|macro)-prefix-map=.*|-D.*|-I.*|-pipe")
#: Compilers' names and releases, without who packed them.
COMPILER = re.compile(r"(gcc|g\+\+|clang|cc)\b[^\d]*?(?:\([^)]*\)\s*)?(\d+(?:\.\d+)*)", re.I)


@dataclass(frozen=True)
class Making:
    """How a program was made, as far as is known: `compiler` by name and release, `flags` those
    that change the program.
    """

    compiler: str
    flags: frozenset[str]

    def differences(self, other: Making) -> list[str]:
        """What of both is known and differs."""
        kinds = {"compiler": (self.compiler, other.compiler), "flags": (self.flags, other.flags)}
        return [kind for kind, (one, two) in kinds.items() if one and two and one != two]

    def __str__(self) -> str:
        level = sorted(flag for flag in self.flags if LEVEL.match(flag))
        return " ".join(filter(None, (self.compiler, *level)))


class BuildQuality:
    """Each candidate's build, by its facts and by what its server says of itself."""

    summary = "all builds are optimised, by like compilers, without assertions or sanitizers"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate whose build is not fit or unlike the base's; else one that
        is sound.
        """
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
        found += _unlike(run.candidates, told)
        unchecked = [Unchecked("the build does not tell how it was built", name) for name in silent]
        return conclude(NAME, found, sentence if known else "", unchecked)


def _finding(side: Candidate, faults: list[str], uneven: bool, trials: Sequence[Trial]) -> Finding:
    slow = any(not words.startswith(FOR_SIZE) for words in faults)
    invalid = uneven and slow and "cflags" not in side.build
    soundness: Soundness = "invalid" if invalid else "doubtful"
    others = "while others do not" if uneven else "as all others do"
    words = f"{side.name} carries {' and '.join(faults)}, {others}: no release is built so"
    meant = tuple(t.number for t in trials if t.status == "ok" and t.candidate == side.name)
    return Finding(NAME, soundness, words, meant)


def _unlike(sides: Sequence[Candidate], told: Mapping[str, dict[str, str]]) -> Iterator[Finding]:
    """A finding for each other version of the base's engine that was made otherwise."""
    base = sides[0]
    for side in sides[1:]:
        versions = {each.build.get("version", "") for each in (base, side)}
        if side.engine != base.engine or len(versions) == 1:
            continue
        made = {each.name: _making(told[each.name]) for each in (base, side)}
        if differ := made[base.name].differences(made[side.name]):
            each = "; ".join(f"{name}: {making}" for name, making in made.items())
            verb = "differ" if differ[-1] == "flags" else "differs"
            words = f"{' and '.join(differ)} {verb} ({each}), so not only the versions differ"
            yield Finding(NAME, "doubtful", words)


def _making(told: Mapping[str, str]) -> Making:
    found = COMPILER.search(told.get("compiler", ""))
    # Debian's `cc` is gcc, and so is the C++ compiler of the same release
    name = f"{'clang' if 'clang' in found[1].lower() else 'gcc'} {found[2]}" if found else ""
    flags = frozenset(it for it in told.get("flags", "").split() if not SILENT.fullmatch(it))
    level = told.get("optimisation")
    return Making(name, flags or frozenset({level} if level else ()))


def _build_facts(side: Candidate, trials: Sequence[Trial]) -> dict[str, str]:
    """What is known of how the candidate was built, with `optimisation` from flags if need be."""
    own = next((t.settings for t in trials if t.candidate == side.name and t.settings), {})
    known = own | side.build
    names = ("assertions", "instrumentation", "optimisation", "compiler", "flags")
    told = {name: known[name] for name in names if known.get(name)}
    flags = [v for k, v in known.items() if k.lower().endswith("cflags") and v]
    if flags:
        told["optimisation"] = told.get("optimisation") or (LEVEL.findall(flags[0]) or ["-O0"])[-1]
        told["flags"] = told.get("flags") or flags[0]
    return told


def _faults(told: dict[str, str]) -> list[str]:
    faults = ["assertions"] if told.get("assertions") == "on" else []
    faults += [told["instrumentation"]] if told.get("instrumentation") else []
    level = told.get("optimisation", "")
    faults += [f"no optimisation ({level})"] if level in UNOPTIMISED else []
    return faults + ([f"{FOR_SIZE} ({level})"] if level in SMALL else [])


AUDIT = BuildQuality()
