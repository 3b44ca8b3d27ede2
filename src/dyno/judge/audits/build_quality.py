"""Audit `build_quality`: is each program fit to be timed, and are they built alike?

Assertions, sanitizers, coverage and a missing optimisation make an engine up to ten times slower,
and each of its parts differently: what is true of such a build may be false of the one that people
run. Where only one side carries them, the flags were compared and not the engines: invalid, unless
Dyno compiled it with flags that the user chose, which may be the question. Optimised for size is
doubtful. So is a comparison of two versions of an engine whose *compiler and flags differ*: what it
finds holds for these two builds, and what the versions do is not told apart from what the compiler
does. Two builds of one version are that question, and no finding. What only some of PostgreSQL's
builds can do (JIT, LZ4, …) is told: a setting that needs it is refused by the server.

Told by the build's facts: `assertions` ("on") where an engine knows, `compiler`, `flags`,
`instrumentation` and `optimisation` where the program's file says so, and the flags (`…cflags`) of
those compiled here or that the server reports; the compiler of its release of Debian where the
program is stripped of it; SQLite's compile-time options, MySQL's `version_compile_machine` and
MariaDB's `version_malloc_library`. What tells nothing is not blamed, and was *not checked*.
`debug_build` is this audit's former name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Candidate, Finding, Soundness, Trial
from dyno.record.build_facts import ABILITIES, BuildFacts, read_build_facts

NAME = "build_quality"
#: Optimisations with which no release is made, and those that give speed away for size.
UNOPTIMISED, SMALL = ("-O0", "-Og"), ("-Os", "-Oz")
FOR_SIZE = "code made for size"
STRIPPED = "the build does not tell its compiler or flags (distributions strip them)"


class BuildQuality:
    """Each candidate's build, by its facts and by what its server says of itself."""

    summary = "all builds are optimised, by like compilers, without assertions or sanitizers"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate whose build is not fit or unlike the base's; else one that
        is sound.
        """
        run, trials = view.run, view.trials
        told = {side.name: _read_facts(side, trials) for side in run.candidates}
        faults = {name: words for name, facts in told.items() if (words := _find_faults(facts))}
        silent = [name for name, facts in told.items() if not facts.tells_how]
        known = len(told) - len(silent)
        sentence = f"{known} of {len(told)} builds tell how they were built: for release"
        sentence += "".join(f"; {each}" for each in _tell_abilities(told))
        uneven = len({tuple(faults.get(side.name, ())) for side in run.candidates}) > 1
        found = [
            _make_finding(side, faults[side.name], uneven, trials)
            for side in run.candidates
            if side.name in faults
        ]
        found += _find_unlike(run.candidates, told, trials)
        unchecked = [Unchecked(STRIPPED, name) for name in silent if name not in faults]
        return conclude(NAME, found, sentence if known else "", unchecked)


def _make_finding(
    side: Candidate, faults: list[str], uneven: bool, trials: Sequence[Trial]
) -> Finding:
    slow = any(not words.startswith(FOR_SIZE) for words in faults)
    invalid = uneven and slow and "cflags" not in side.build
    soundness: Soundness = "invalid" if invalid else "doubtful"
    others = "while others do not" if uneven else "as all others do"
    words = f"{side.name} carries {' and '.join(faults)}, {others}: no release is built so"
    return Finding(NAME, soundness, words, _list_trials(side, trials))


def _tell_abilities(told: Mapping[str, BuildFacts]) -> Iterator[str]:
    """Yield who lacks an ability that others have, with what it is for."""
    asked = {name: facts.abilities for name, facts in told.items() if facts.abilities is not None}
    for ability, (_, purpose) in ABILITIES.items():
        lacking = [name for name, abilities in asked.items() if ability not in abilities]
        if 0 < len(lacking) < len(asked):
            yield f"{' and '.join(lacking)} lacks {ability}, which {purpose}"


def _list_trials(side: Candidate, trials: Sequence[Trial]) -> tuple[int, ...]:
    return tuple(t.number for t in trials if t.status == "ok" and t.candidate == side.name)


def _find_unlike(
    sides: Sequence[Candidate], told: Mapping[str, BuildFacts], trials: Sequence[Trial]
) -> Iterator[Finding]:
    """A finding for each other version of the base's engine that was made otherwise; it doubts
    that candidate, and no other that was made as the base.
    """
    base = sides[0]
    for side in sides[1:]:
        versions = {each.build.get("version", "") for each in (base, side)}
        if side.engine != base.engine or len(versions) == 1:
            continue
        if differ := told[base.name].list_differences(told[side.name]):
            each = "; ".join(f"{it.name}: {told[it.name]}" for it in (base, side))
            verb = "differ" if len(differ) > 1 or differ == ["flags"] else "differs"
            words = f"{' and '.join(differ)} {verb} ({each}), so not only the versions differ"
            yield Finding(NAME, "doubtful", words, _list_trials(side, trials))


def _read_facts(side: Candidate, trials: Sequence[Trial]) -> BuildFacts:
    own = next((t.settings for t in trials if t.candidate == side.name and t.settings), {})
    return read_build_facts(side.build, own)


def _find_faults(told: BuildFacts) -> list[str]:
    faults = ["assertions"] if told.assertions == "on" else []
    faults += [told.instrumentation] if told.instrumentation else []
    faults += [f"no optimisation ({told.level})"] if told.level in UNOPTIMISED else []
    return faults + ([f"{FOR_SIZE} ({told.level})"] if told.level in SMALL else [])


AUDIT = BuildQuality()
