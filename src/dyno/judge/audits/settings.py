"""Audit `settings`: does every engine run with what was asked of it, and with nothing else?

- Asked one number and reported another: invalid, since something else was measured. (Engines fail
  such a trial themselves; this holds for the record, whoever made it.) Other words: doubtful, since
  an engine may spell a value in its own way. A value of -1 leaves the choice to the engine.
- Another value in another restart of the same candidate: doubtful.
- The same program with the same settings and controls asked of it, and another value: doubtful,
  since neither the version nor the user made the difference.
- A server that runs already, and another value on the other side of a setting that is known to cost
  time (`src/dyno/judge/settings`: durability, logging, memory, parallelism, checks): doubtful,
  since nobody chose it for this comparison. `--like` starts the others with its settings.
- Defaults that differ between versions belong to them: told, the dearest first, and sound.

Sizes, times and switches are compared as numbers, however they are spelled, and without the place
that they came from; where one side only has a unit, the two are not compared (8192 pages and 64MB
may be the same).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.judge.settings import Cost, load_known_costs
from dyno.judge.settings.values import is_same_value, parse_quantity, strip_source
from dyno.record import Candidate, Finding, Soundness, Trial

#: Reported sizes are rounded by some.
ROUNDED = 0.01
#: Names of what tells a version from another, and is no setting.
TOLD = re.compile(r"version|^built with|^assertions$", re.IGNORECASE)
SHOWN = 5
#: Classes of settings that cost enough to explain a difference.
COSTLY = ("durability", "logging", "memory", "parallelism", "checks")
#: Classes of which a sentence tells a setting's values and reason; of others the names.
EXPLAINED = 3


class SettingsAudit:
    """Settings asked, reported, and reported by the others."""

    summary = "engines run with the settings asked of them, the same in every restart"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each setting that is wrong; else one with what differs by default."""
        run, trials = view.run, view.trials
        good = [trial for trial in trials if trial.status == "ok" and trial.settings]
        own = {side.name: [t for t in good if t.candidate == side.name] for side in run.candidates}
        findings = [each for side in run.candidates for each in _find_faults(side, own[side.name])]
        base = next((s for s in run.candidates if s.name == run.design.base), run.candidates[0])
        differing: set[str] = set()
        for side in run.candidates:
            if names := _list_differences(base, side, own):
                differing |= set(names)
                findings += _find_unexplained_differences(base, side, names, own[side.name])
                findings += _find_unchosen_costs(base, side, names, own)
        ranked = load_known_costs(base.engine).rank(differing)
        silent = [side.name for side in run.candidates if not own[side.name]]
        unchecked = [Unchecked("the engine did not report its settings", name) for name in silent]
        return conclude("settings", findings, _describe_sound(len(good), ranked), unchecked)


def _find_unexplained_differences(
    base: Candidate, side: Candidate, names: Sequence[str], own: Sequence[Trial]
) -> Iterator[Finding]:
    """Where neither the version nor the user made the difference."""
    program = base.build.get("sha256")
    asked = (base.settings, base.controls) == (side.settings, side.controls)
    if program and program == side.build.get("sha256") and asked:
        other = f"{side.name} runs with another {_format_names(names)} than {base.name}"
        words = f"{other}, though nobody asked for it"
        yield _make_finding("doubtful", words, own)


def _find_unchosen_costs(
    base: Candidate, side: Candidate, names: Sequence[str], own: dict[str, list[Trial]]
) -> Iterator[Finding]:
    """Beside a server that runs already: what differs and is known to cost time."""
    if not (base.attached or side.attached):
        return
    known = load_known_costs(side.engine)
    costly = [(name, cost) for name in names if (cost := known.find(name)) and cost.kind in COSTLY]
    if not costly:
        return
    values = [_read_values(own[each.name][-1]) for each in (base, side)]
    dearest = {cost.kind: name for name, cost in reversed(costly)}
    explained = [each for each in costly if each[0] in dearest.values()][:EXPLAINED]
    told = [_explain(name, cost, *values) for name, cost in explained]
    others = [name for name, cost in costly if (name, cost) not in explained]
    more = f"; also {_format_names(others)}" if others else ""
    words = f"{base.name} and {side.name} differ in settings that cost time, which nobody asked for"
    yield _make_finding("doubtful", f"{words}: {'; '.join(told)}{more}", own[side.name])


def _explain(name: str, cost: Cost, theirs: dict[str, str], ours: dict[str, str]) -> str:
    """`log_statement is none and all (logging: statements are logged)`, the base's value first."""
    values = " and ".join(each[name] or "empty" for each in (theirs, ours))
    return f"{name} is {values} ({cost.kind}: {cost.why})"


def _find_faults(side: Candidate, own: Sequence[Trial]) -> Iterator[Finding]:
    for name, asked in side.settings.items():
        told = {trial.settings[name] for trial in own if name in trial.settings}
        for value in sorted(told):
            if soundness := _judge_mismatch(asked, value):
                words = f"{side.name} was asked for {name}={asked} and runs with {value}"
                yield _make_finding(soundness, words, own)
    seen: dict[str, set[str]] = {}
    for trial in own:
        for name, value in trial.settings.items():
            seen.setdefault(name, set()).add(strip_source(value))
    changed = load_known_costs(side.engine).rank(
        name for name, values in seen.items() if len(values) > 1
    )
    if changed:
        first = f"{changed[0]} is {' or '.join(sorted(seen[changed[0]])[:3])}"
        differ = f"{side.name} runs with different settings in its restarts"
        words = f"{differ}: {_format_names(changed)} ({first})"
        yield _make_finding("doubtful", words, own)


def _make_finding(soundness: Soundness, words: str, own: Sequence[Trial]) -> Finding:
    return Finding("settings", soundness, words, tuple(trial.number for trial in own))


def _judge_mismatch(asked: str, told: str) -> Soundness | None:
    """How wrong the value is; None where it is right, or cannot be compared."""
    wanted, found = parse_quantity(asked), parse_quantity(strip_source(told))
    if asked == "-1":
        return None
    if wanted and found:
        (kind, number), (other, value) = wanted, found
        near = abs(number - value) <= ROUNDED * max(abs(number), abs(value))
        return None if kind != other or near else "invalid"
    spelled = strip_source(told).casefold()
    wanted_words = {word for word in _split_words(asked) if not word.endswith("default")}
    return None if wanted_words <= {*_split_words(spelled)} | _EVERYTHING else "doubtful"


#: Words that stand for all that a list may hold.
_EVERYTHING = {"all", "full"}


def _split_words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s']+", text.casefold()) if word]


def _list_differences(base: Candidate, side: Candidate, own: dict[str, list[Trial]]) -> list[str]:
    """Settings that both report, with other values, though neither was asked for them; the dearest
    first. Places of files are the build's, and no choice.
    """
    if not own[base.name] or not own[side.name]:
        return []
    ours, theirs = (_read_values(own[each.name][-1]) for each in (side, base))
    asked = {*base.settings, *side.settings}
    shared = (name for name in set(ours) & set(theirs) - asked if not TOLD.search(name))
    differing = (name for name in shared if not is_same_value(ours[name], theirs[name]))
    return load_known_costs(side.engine).rank(differing)


def _read_values(trial: Trial) -> dict[str, str]:
    told = {name: strip_source(value) for name, value in trial.settings.items()}
    return {name: value for name, value in told.items() if not value.startswith("/")}


def _format_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _describe_sound(trials: int, differing: list[str]) -> str:
    if not trials:
        return ""
    words = f"{trials} trials ran with what was asked"
    if not differing:
        return f"{words}; nothing else differs between candidates"
    return f"{words}; by default also differ: {_format_names(differing)}"


AUDIT = SettingsAudit()
