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
that they came from; where one side only has a unit, the two are *not checked* (8192 pages and 64MB
may be the same), and neither is a setting that no trial reports. Of flags (`mrr=on`) those asked
for must be on; a list must hold what was asked for and nothing else, but that a group of modes and
`all` or `full` may stand for several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.judge.settings import Cost, load_known_costs
from dyno.judge.settings.values import is_same_value, parse_quantity, strip_source
from dyno.record import Candidate, Finding, Soundness, Trial

#: Reported sizes and times are rounded by some.
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
        unchecked += [
            each for side in run.candidates for each in _list_unread(side, own[side.name])
        ]
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
        for value in sorted(_collect_told(own, name)):
            soundness = _judge_mismatch(asked, value)
            if soundness and soundness != "not checked":
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


def _collect_told(own: Sequence[Trial], name: str) -> set[str]:
    return {trial.settings[name] for trial in own if name in trial.settings}


def _list_unread(side: Candidate, own: Sequence[Trial]) -> Iterator[Unchecked]:
    """What was asked for and cannot be held against what is reported."""
    for name, asked in side.settings.items() if own else ():
        told = _collect_told(own, name)
        if not told:
            yield Unchecked("the engine does not report it", f"{name} of {side.name}")
        elif any(_judge_mismatch(asked, value) == "not checked" for value in told):
            yield Unchecked("one of asked and told alone has a unit", f"{name} of {side.name}")


def _make_finding(soundness: Soundness, words: str, own: Sequence[Trial]) -> Finding:
    return Finding("settings", soundness, words, tuple(trial.number for trial in own))


def _judge_mismatch(asked: str, told: str) -> Soundness | None:
    """How wrong the value is; None where it is right."""
    told = strip_source(told)
    if asked == "-1" or is_same_value(asked, told):
        return None
    wanted, found = parse_quantity(asked), parse_quantity(told)
    if wanted and found:
        (kind, number), (other, value) = wanted, found
        if kind != other and not (kind and other):
            return None if number == value else "not checked"
        near = kind and abs(number - value) <= ROUNDED * max(abs(number), abs(value))
        return None if kind == other and near else "invalid"
    return None if _holds_words(_split_words(asked), _split_words(told)) else "doubtful"


def _holds_words(asked: set[str], told: set[str]) -> bool:
    """Is a list what was asked for? Words of `_EVERYTHING` may be told as all that they stand for,
    which are several, and those of `_GROUPS` along with it.
    """
    if asked & _EVERYTHING and len(told) > 1:
        return True
    named = {word for word in asked if not word.endswith("default")}
    if asked & _GROUPS or (asked and all("=" in word for word in named)):
        return named <= told
    return asked == told


_EVERYTHING = {"all", "full"}
_GROUPS = {"ansi", "db2", "maxdb", "mssql", "oracle", "traditional"}


def _split_words(text: str) -> set[str]:
    return {word for word in re.split(r"[,\s'\"]+", text.casefold()) if word}


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
