"""A rehearsal judged: errors, answers, plans, time, class by class; the words:
docs/guides/before-an-upgrade.md.

Answers are those of the trials that played the log in its order (`record/contents.py`). Times are
the means of a class in the timed blocks, block by block, as a comparison has them; Holm counts all
classes. Rates of single statements in a closed loop say nothing of these, and are not looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from msgspec import structs

from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.plans import GENERIC, compare_plans
from dyno.judge.analysis.rows import judge_comparisons
from dyno.judge.analysis.run_view import RunView
from dyno.numbers import format_count, format_interval, format_signed_percent
from dyno.record import (
    KINDS_OF_OURS,
    LESS_GRAVE,
    OF_VALUES,
    Candidate,
    ClassTime,
    ClassVerdict,
    ClassWord,
    ComparedStatement,
    Comparison,
    Design,
    OptionVerdict,
    OptionWord,
    PlanChange,
    Rehearsal,
    Run,
    TimeWord,
    Trial,
    name_contents,
)

#: Of the executions, that may go unjudged before the page opens with them: exit code 2.
UNJUDGED_PERCENT = 5.0
ORDER: tuple[ClassWord, ...] = get_args(ClassWord)
#: What all statements without a time of their own are counted under (`workloads/replay`).
OTHERS = "all other statements"
_WORDS: dict[str, TimeWord] = {
    "slower": "slower",
    "faster": "faster",
    "not slower": "not slower",
    "inconclusive": "not shown",
}


def judge_rehearsal(view: RunView) -> Rehearsal:
    """Every class of the log's statements, judged; and the sentence that says it all."""
    run = view.run
    base, *others = sorted(run.candidates, key=lambda it: it.name != run.design.base)
    own = others[0] if others else base
    named = Rehearsal(shorten_side(base, own), shorten_side(own, base), "", 2)
    left_out = run.design.left_out
    if run.design.hides_literals:
        left_out = tuple(structs.replace(it, where="") for it in left_out)
    named = structs.replace(named, options=judge_options(run.design), left_out=left_out)
    trial = _find_contents(view, own)
    if trial is None or trial.contents is None:
        failed = next((t for t in view.contents if t.failure), None)
        died = failed is not None and failed.candidate == name_contents(own.name)
        side = named.own if died else named.base
        why = f"the log failed on {side}: {failed.why_failed}" if failed else "not played yet"
        sentence = f"Nothing was compared: {why}."
        if failed and failed.failure and failed.upgrade and failed.upgrade.failed:
            why = f"{side} cannot take over the data folder of {named.base}"
            sentence = f"The upgrade fails: {why}: {failed.failure.message.rstrip('.')}."
            named = structs.replace(named, upgrade=failed.upgrade)
        sentence = " ".join(filter(None, (sentence, _describe_options(named))))
        code = 1 if died or _list_failing(named) else 2
        return structs.replace(named, sentence=sentence, failure=why, exit_code=code)
    found = compare_plans(_find_explained(view), own.name)
    values = Counter(_strip_values(name) for name in found.names)
    changed = _group_changes(found.changes, values)
    sent = [it for it in trial.contents.statements if it.kind not in KINDS_OF_OURS]
    calls = Counter[str]()
    for it in sent:
        played = it.same + it.differs + it.undecidable + it.not_compared
        calls[it.name or OTHERS] += it.sent or played
    times = _measure_classes(view, calls)
    own_times = {name: it for name, it in times.items() if name != OTHERS}
    named = structs.replace(
        named,
        upgrade=next((t.upgrade for t in (*view.contents, *view.trials) if t.upgrade), None),
        classes=_sort_classes(
            judge_class(
                it,
                run.design,
                changed.get(it.name),
                own_times.get(it.name),
            )
            for it in sent
        ),
        tables=_sort_classes(
            judge_class(it, run.design)
            for it in trial.contents.statements
            if it.kind in KINDS_OF_OURS
        ),
        others=times.get(OTHERS),
        blocks=min(view.valid_blocks.values(), default=0),
        plans=len(values),
    )
    named = structs.replace(named, exit_code=_choose_exit(named, run))
    return structs.replace(named, sentence=describe_rehearsal(named, run))


#: What stands behind a class in the name of a plan.
_BEHIND = re.compile(rf" (?:{re.escape(GENERIC)}|{re.escape(OF_VALUES.format(0))[:-3]}\d+\))$")


def _strip_values(name: str) -> str:
    return _BEHIND.sub("", name)


def _group_changes(
    changes: Sequence[PlanChange], values: Mapping[str, int]
) -> dict[str, tuple[PlanChange, str]]:
    """By class the change that is told, and for how many of its values it holds, if not for all."""
    found = dict[str, list[PlanChange]]()
    for it in changes:
        if it.kind == "between":
            found.setdefault(_strip_values(it.statement), []).append(it)
    return {
        name: (own[0], f" for {len(own)} of {values[name]} values" * (len(own) < values[name]))
        for name, own in found.items()
    }


def shorten_side(side: Candidate, other: Candidate) -> str:
    """`18` where both are of one engine, and else the candidate's name."""
    engine, at, version = side.name.partition("@")
    plain = engine == side.engine == other.engine and at and "?" not in version
    return version if plain and "/" not in version else side.name


def _find_explained(view: RunView) -> RunView:
    """The trials that explained statements: of a run without blocks those that played the log."""
    if not view.run.design.untimed:
        return view
    names = {name_contents(side.name): side.name for side in view.run.candidates}
    own = [structs.replace(it, candidate=names[it.candidate], block=0) for it in view.contents]
    return RunView(view.run, own)


def _find_contents(view: RunView, side: Candidate) -> Trial | None:
    own = [t for t in view.contents if t.candidate == name_contents(side.name) and t.contents]
    return own[-1] if own else None


def _measure_classes(view: RunView, calls: Mapping[str, int]) -> dict[str, ClassTime]:
    """The time of each class that has a name, by that; none without two blocks that count."""
    analysis = Analysis(view, {})  # what an audit doubts stands on the page, and takes no class off
    lines = [
        replace(line, primary=True)
        for name, valid in view.valid_blocks.items()
        for line in analysis.list_lines(analysis.case.analyses.find_last_reached(valid) or valid)
        if line.metric.workload == name
        and line.metric.name == "latency_ns_mean"
        and line.metric.transaction.partition("/")[2] in calls
    ]
    rows = judge_comparisons(replace(analysis.case, primaries=len(lines)), lines)
    named = {row.metric.transaction.partition("/")[2]: row for row in rows}
    whole_ns = sum(calls[name] * row.base_value for name, row in named.items())
    return {name: _make_time(row, calls[name], whole_ns) for name, row in named.items()}


def _make_time(row: Comparison, calls: int, whole_ns: float) -> ClassTime:
    word = _WORDS.get(row.verdict, "not shown")
    wide = f"the interval reaches past the margin of {row.margin_percent:g} %"
    return ClassTime(
        base_ns=row.base_value,
        own_ns=row.candidate_value,
        change_percent=row.slowdown_percent,
        low_percent=row.low_percent,
        high_percent=row.high_percent,
        cost_ns=calls * row.base_value * row.slowdown_percent / 100,
        share_percent=100 * calls * row.base_value / whole_ns if whole_ns else 0.0,
        word=word,
        why=("; ".join(row.notes) or wide) if word == "not shown" else "",
    )


def judge_class(
    it: ComparedStatement,
    design: Design,
    changed: tuple[PlanChange, str] | None = None,
    time: ClassTime | None = None,
) -> ClassVerdict:
    """The gravest word that holds of a class, and why; a changed plan with the values it is for."""
    word, why = _judge_answers(it, design.accepted)
    plan, of = changed or (None, "")
    if word in ("same", "accepted", "not compared") and plan:
        word, why = "plan changed", f"{plan.step}, not {plan.base_step}{of}"
    if word in ("same", "accepted") and time and time.word in ("slower", "faster"):
        word, why = time.word, ""
    found = ClassVerdict(word, why, it, plan, time)
    return _hide_values(found) if design.hides_literals else found


#: Quoted words, and the values of a key, as servers' errors have them; in plans numbers, too.
_VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|(?<==)\([^)]*\)")
_VALUES_OF_PLANS = re.compile(rf"{_VALUES.pattern}|\b\d[\d.]*")


def _hide_values(it: ClassVerdict) -> ClassVerdict:
    """The class without a value of its executions; quoted names that its text has stay."""

    known = {*re.findall(r"\w+", it.answers.text)}

    def hide(found: re.Match[str]) -> str:
        return found[0] if {*re.findall(r"\w+", found[0])} <= known else "?"

    why = _VALUES.sub(hide, it.why)
    answers = structs.replace(it.answers, why=_VALUES.sub(hide, it.answers.why))
    answers = structs.replace(answers, example="", base=(), own=())
    plan = it.plan
    if plan:
        told = (plan.base_step, plan.step, plan.base_plan, plan.plan)
        one, two, base, own = (_VALUES_OF_PLANS.sub(hide, each) for each in told)
        plan = structs.replace(plan, base_step=one, step=two, base_plan=base, plan=own)
    return structs.replace(it, why=why, answers=answers, plan=plan)


def _judge_answers(it: ComparedStatement, accepted: Mapping[str, str]) -> tuple[ClassWord, str]:
    if it.differs and it.text in accepted:
        return "accepted", accepted[it.text]
    if it.failed:
        return "fails", it.why
    if it.differs:
        return ("types or warnings" if it.what in LESS_GRAVE else "answers otherwise"), it.why
    if it.same:
        return "same", it.why if it.failed_both else ""
    return "not compared", it.why


def judge_options(design: Design) -> tuple[OptionVerdict, ...]:
    """The settings of the user's file, the gravest first; what is accepted is not judged."""
    words = get_args(OptionWord)
    found = [
        structs.replace(it, word="accepted")
        if it.word in words[:2] and it.name in design.accepted
        else it
        for it in design.options
    ]
    if design.hides_literals:
        found = [it.without_value("?") for it in found]
    return tuple(sorted(found, key=lambda it: words.index(it.word)))


def _list_failing(found: Rehearsal) -> list[OptionVerdict]:
    return [it for it in found.options if it.word == "fails"]


def _sort_classes(found: Iterator[ClassVerdict]) -> tuple[ClassVerdict, ...]:
    """The gravest first; among those of a word what costs most, then those called most often."""

    def rank(it: ClassVerdict) -> tuple[int, float, int]:
        return ORDER.index(it.word), -abs(it.time.cost_ns) if it.time else 0.0, -it.sent

    return tuple(sorted(found, key=rank))


def compute_unjudged_percent(found: Rehearsal) -> float:
    """The share of executions that say nothing of NEW; all where there are none."""
    return 100 * sum(found.unjudged.values()) / found.calls if found.calls else 100.0


def _choose_exit(found: Rehearsal, run: Run) -> int:
    is_slower = found.others is not None and found.others.word == "slower"
    is_grave = any(each.is_grave for each in (*found.classes, *found.tables))
    is_damaged = found.upgrade is not None and bool(found.upgrade.faults)
    if is_slower or is_grave or is_damaged or _list_failing(found):
        return 1
    is_untimed = not found.others and not any(it.time for it in found.classes)
    is_little = compute_unjudged_percent(found) > UNJUDGED_PERCENT
    return 2 if is_little or (is_untimed and not run.design.untimed) else 0


def describe_rehearsal(found: Rehearsal, run: Run) -> str:
    """`Of 310 statement classes 4 fail on 18, …; 287 are the same, 7 were not compared.`"""
    if len(run.candidates) == 1:
        return describe_saved(found)
    if run.design.tried:
        return describe_tried(found, run.design)
    counts = {word: [it for it in found.classes if it.word == word] for word in ORDER}
    told = [
        f"{_count(counts['fails'])} {_agree(counts['fails'], 'fail')} on {found.own}",
        f"{_count(counts['answers otherwise'])} "
        f"{_agree(counts['answers otherwise'], 'answer')} differently",
    ]
    for word, verb, rest in (
        ("types or warnings", "differ", "in types or warnings only"),
        ("plan changed", "change", "plan"),
        ("slower", "get", "slower"),
        ("faster", "get", "faster"),
    ):
        if own := counts[word]:  # type: ignore[index]
            rest = f"{'its' if len(own) == 1 else 'their'} plan" if rest == "plan" else rest
            slower = [it for it in own if it.is_slower and word in ("slower", "plan changed")]
            of = f"{len(slower)} slower, " if word == "plan changed" else ""
            worst = f" ({of}{_describe_worst(slower)})" if slower else ""
            told.append(f"{len(own)} {_agree(own, verb)} {rest}{worst}")
    same = counts["same"]
    rests = [f"{len(same):,} {'is' if len(same) == 1 else 'are'} the same{_describe_open(found)}"]
    for word, phrase in (("accepted", "differ as accepted"), ("not compared", "not compared")):
        if own := counts[word]:  # type: ignore[index]
            was = ("was " if len(own) == 1 else "were ") if word == "not compared" else ""
            phrase = phrase.replace("differ", _agree(own, "differ"))
            rests.append(f"{len(own):,} {was}{phrase}")
    classes = f"{len(found.classes):,} statement class{'es' * (len(found.classes) != 1)}"
    sentence = f"Of {classes} {', '.join(told)}; {', '.join(rests)}."
    return " ".join(filter(None, (_describe_unjudged(found), sentence, _describe_more(found))))


def describe_tried(found: Rehearsal, design: Design) -> str:
    """What a remedy wins for the classes that it was tried for, and what it costs others."""
    own = [it for it in found.classes if it.answers.text in design.tried_for]
    others = [it for it in found.classes if it not in own]
    times = [it.time for it in own if it.time]
    faster, slower = ([it for it in times if it.word == word] for word in ("faster", "slower"))
    won = f"{len(faster):,} {'gets' if len(faster) == 1 else 'get'} faster"
    if faster:
        best = min(faster, key=lambda it: it.change_percent)
        change = format_signed_percent(best.change_percent)
        bounds = format_interval(best.low_percent, best.high_percent)
        won += f" ({change} % {bounds}{' the most' * (len(faster) > 1)})"
    told = [won if faster else "none is shown to get faster"]
    told += [f"{len(slower):,} slower"] * bool(slower)
    if left := len(own) - len(times):
        told.append(f"{left:,} not timed by itself")
    worse = [it for it in others if it.is_slower]
    cost = f"{_count(worse)} gets slower" if len(worse) < 2 else f"{len(worse):,} get slower"
    cost += f" ({_describe_worst(worse)})" if worse else ""
    classes = f"{len(own):,} class{'es' * (len(own) != 1)}"
    was = "was slower or had another plan" if len(own) == 1 else "were slower or had other plans"
    sentence = f"With {design.tried}, of {classes} that {was} {', '.join(told)};"
    sentence += f" of {format_count(len(others), 'other')} {cost}."
    words = ("fails", "answers otherwise", "types or warnings")
    if other := sum(it.word in words for it in found.classes):
        sentence += f" {other:,} of all {'answers' if other == 1 else 'answer'} otherwise with it."
    return " ".join(filter(None, (_describe_unjudged(found), sentence)))


def describe_saved(found: Rehearsal) -> str:
    """What stands in a file of OLD's answers."""
    classes = f"{len(found.classes):,} statement class{'es' * (len(found.classes) != 1)}"
    sentence = f"{found.base} was asked {found.calls:,} executions of {classes}, twice"
    left = ", ".join(f"{count:,} {name}" for name, count in found.unjudged.items())
    return f"{sentence}: {left}." if left else f"{sentence}, and answers all of them alike."


def _count(own: Sequence[ClassVerdict]) -> str:
    return f"{len(own):,}" if own else "none"


def _agree(own: Sequence[ClassVerdict], verb: str) -> str:
    return f"{verb}s" if len(own) < 2 else verb


def _describe_worst(own: Sequence[ClassVerdict]) -> str:
    worst = max(each.time.change_percent for each in own if each.time)
    change = f"+{worst:,.0f}" if worst >= 100 else format_signed_percent(worst)
    return f"{change} %" + (" the worst" if len(own) > 1 else "")


def _describe_open(found: Rehearsal) -> str:
    """What the time of the classes that are the same is not known to be."""
    same = [it for it in found.classes if it.word == "same"]
    shown = [it for it in same if it.time and it.time.word == "not slower"]
    if len(shown) == len(same):
        return ""
    if not found.blocks or not any(it.time for it in found.classes):
        return " (time was not compared)"
    return f" (the time of {len(same) - len(shown):,} is open)"


def _describe_unjudged(found: Rehearsal) -> str:
    """What the page opens with where too much was not judged."""
    percent = compute_unjudged_percent(found)
    if percent <= UNJUDGED_PERCENT:
        return ""
    if not found.calls:
        return "Nothing was compared: the log has no statement."
    parts = (f"{count:,} {name}" for name, count in found.unjudged.items())
    return f"Too little was judged: of {found.calls:,} executions {', '.join(parts)}."


def _describe_more(found: Rehearsal) -> str:
    """What no class tells: tables in the end, and the time of those that have none of their own."""
    told = [*filter(None, [_describe_options(found)])]
    if found.upgrade and (faults := len(found.upgrade.faults)):
        noun, verb = ("check", "finds") if faults == 1 else ("checks", "find")
        told.append(f"{faults:,} {noun} of the upgraded folder {verb} faults.")
    tables = [it for it in found.tables if it.answers.kind == "table"]
    if other := [it for it in tables if it.is_grave]:
        noun = format_count(len(tables), "table")
        told.append(f"{len(other):,} of {noun} {_agree(other, 'hold')} other rows in the end.")
    if found.others and found.others.word == "slower":
        change = format_signed_percent(found.others.change_percent)
        told.append(f"The classes that are timed together get slower ({change} %).")
    return " ".join(told)


def _describe_options(found: Rehearsal) -> str:
    """How many settings of the user's file NEW refuses; empty where it takes all."""
    failing = _list_failing(found)
    if not failing:
        return ""
    verb = "fails" if len(failing) == 1 else "fail"
    return f"{len(failing):,} of your {len(found.options):,} options {verb} on {found.own}."
