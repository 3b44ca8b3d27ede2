"""The verdict in words. No sentence here says "no change": that was never shown.

What a reader would tell a colleague comes first: who is faster or slower, in what, by how much. Of
what is only *not slower* the bound is told, and nothing that reads like a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.effect_words import (
    Subjects,
    describe_bound,
    describe_claim,
    describe_loss_rule,
    describe_passed,
    describe_range,
    describe_size,
    is_gain,
)
from dyno.numbers import format_count, format_quantity
from dyno.record import Comparison, Doubt, Run, Saturation, VerdictName, list_share_runs
from dyno.record.verdict import Overall

QUICK = " (QUICK, on a shortened workload)"
WORST_FIRST: tuple[VerdictName, ...] = ("invalid", "slower", "inconclusive", "not slower")
#: Words that leave a comparison open.
OPEN_WORDS = ("inconclusive", "invalid")
#: Audits whose doubt is told before others': of what differs between the candidates.
TOLD_FIRST = ("same_program", "settings", "durability")
#: Effects that a clause names, and candidates that a sentence does; the table has all.
NAMED = 3


def find_worst_verdict(
    primaries: Sequence[Comparison], declared: int, *, invalid: bool
) -> VerdictName:
    """The worst word of the primaries; one that was declared and not measured is inconclusive."""
    words = {"not slower" if c.verdict == "faster" else c.verdict for c in primaries}
    if invalid:
        words.add("invalid")
    if not primaries or len(primaries) < declared:
        words.add("inconclusive")
    return next(word for word in WORST_FIRST if word in words)


def describe_pilot(run: Run) -> list[str]:
    """What the pilot chose, a sentence for each choice."""
    if run.pilot is None:
        return []
    words = [_describe_saturation(each) for each in run.pilot.saturation]
    if run.pilot.empty_ns:
        apart, one = (run.pilot.empty_ns[where] / 1e3 for where in ("apart", "together"))
        took = f"an empty answer takes {apart:.0f} µs between two cores and {one:.0f} µs on one"
        words.append(f"Pinning {run.pilot.pinning}: {took}.")
    if run.pilot.latency_ns_p99 and run.design.interleaving:
        found = {
            name: format_quantity(ns, "ns", 2) for name, ns in run.pilot.latency_ns_p99.items()
        }
        longest = _group_by_workload(run, found)
        words.append(f"Slices of {describe_slices(run)}: 99 of 100 events take {longest} at most.")
        if still := run.design.interleaving.running:
            named = "" if len(still) == len(run.workloads) else f" in {', '.join(still)}"
            words.append(f"Idle engines keep running{named}: no row is changed.")
        if unlike := run.pilot.resting_apart_percent:
            more = _group_by_workload(run, {name: f"{at:.1f} %" for name, at in unlike.items()})
            why = f"at rest one takes {more} of a core more than another"
            words.append(f"Idle engines are suspended: {why}.")
    words += [f"{why}." for why in run.pilot.untried.values()]
    return words


def describe_slices(run: Run) -> str:
    """How long an interleaved run's slices are: `20 ms`, or `20 ms (select), 100 ms (insert)`."""
    if (turns := run.design.interleaving) is None:
        return ""
    if _has_own_slices(run):
        return "each host's own length"
    lengths_s = {plan.name: turns.find_slice(plan.name).length_s for plan in run.workloads}
    return _group_by_workload(run, {name: f"{1e3 * s:g} ms" for name, s in lengths_s.items()})


def _has_own_slices(run: Run) -> bool:
    """Did hosts of a gathered run choose other slices for one workload?"""
    shares = [(own.workloads, own.design.interleaving) for own in list_share_runs(run)]
    return any(
        len({turns and turns.find_slice(plan.name) for plans, turns in shares if plan in plans}) > 1
        for plan in run.workloads
    )


def _group_by_workload(run: Run, told: dict[str, str]) -> str:
    """Each text with its workloads; alone where it is that of all workloads."""
    names: dict[str, list[str]] = {}
    for name, text in told.items():
        names.setdefault(text, []).append(name)
    if len(names) == 1 and len(told) == len(run.workloads):
        return next(iter(names))
    return ", ".join(f"{text} ({', '.join(own)})" for text, own in names.items())


def _describe_saturation(found: Saturation) -> str:
    if found.swept:
        return _describe_sweep(found)
    if not found.connections:
        kept = f"{found.workload} keeps the script's own connections"
        return f"{kept} ({found.why}); threads=N sets them."
    at = format_count(found.connections, "connection")
    idle = f"{found.base} leaves {found.chosen.idle_percent:.0f} % of its cores idle"
    most = found.tried[-1].connections
    more = f", and hardly less at {most}" if most > found.connections else ""
    where = f"{idle}{more}{_describe_doubt(found)}"
    return f"{found.workload} at {at}, where {where}; threads=1 asks for latency."


def _describe_sweep(found: Saturation) -> str:
    *fewer, most = map(str, found.swept)
    swept = f"{found.workload} is swept over {', '.join(fewer)} and {most} connections"
    idle = f"one client leaves {found.tried[0].idle_percent:.0f} % of {found.base}'s cores idle"
    return f"{swept}: {found.why}, and {idle}{_describe_doubt(found)}; threads=N plays one."


def _describe_doubt(found: Saturation) -> str:
    if (noisy := found.doubted) is None:
        return ""
    return f" (others took {noisy.foreign_percent:.0f} % of the host: not to be relied on)"


def describe_conditions(run: Run) -> str:
    """What the pilot chose, for the verdict's own sentence: ` (8 connections, at saturation)`;
    empty where it chose nothing.
    """
    if run.pilot is None:
        return ""
    found = [each for each in run.pilot.saturation if each.connections]
    parts = [_describe_connections(found, len(run.workloads))] if found else []
    if run.pilot.empty_ns:
        one = run.pilot.pinning == "together"
        parts.append(f"driver and server on {'one core' if one else 'cores of their own'}")
    return f" ({'; '.join(parts)})" if parts else ""


def _describe_connections(found: Sequence[Saturation], workloads: int) -> str:
    """`4 to 8 connections, at saturation`; with the workloads where not all were tried."""
    fewest, *_, most = sorted([each.connections for each in found] * 2)
    told = format_count(most, "connection") if fewest == most else f"{fewest} to {most} connections"
    where = "" if len(found) == workloads else f" on {', '.join(w.workload for w in found)}"
    if any(each.doubted for each in found):
        return f"{told}, chosen beside others' work{where}"
    reached = all(each.is_reached for each in found)
    return f"{told}, {'at saturation' if reached else 'where more do no more'}{where}"


def build_sentence(
    run: Run, word: VerdictName, primaries: Sequence[Comparison], reason: str
) -> str:
    """What the run found, in one sentence.

    `reason` says why it found less than it should have (too noisy, not finished); it stands for
    an inconclusive verdict's own words, and after those of any other.
    """
    if word == "inconclusive" and reason:
        text = f"inconclusive: {reason}"
    else:
        told = build_result_clause(word, primaries) + describe_conditions(run)
        text = told + (f" ({reason})" if reason else "")
    return f"{text}{QUICK}" if run.design.quick else text


def choose_leading_doubt(doubts: Sequence[Doubt]) -> Doubt:
    """The doubt that the verdict's sentence tells; of the others it names the audits."""
    return min(doubts, key=lambda doubt: doubt.audit not in TOLD_FIRST)


def put_doubt_first(told: str, doubts: Sequence[Doubt]) -> str:
    """The sentence with word and reason: `Doubtful: B is faster than A: …, in doubt because …`."""
    if not doubts:
        return told
    first = choose_leading_doubt(doubts)
    others = dict.fromkeys(each.audit for each in doubts if each.audit != first.audit)
    also = f"; {' and '.join(others)} {'doubts' if len(others) == 1 else 'doubt'} it too"
    return f"Doubtful: {told}, in doubt because {first.sentence}{also if others else ''}"


def build_result_clause(word: Overall, primaries: Sequence[Comparison]) -> str:
    """What the run says of each candidate, by the worst word of all."""
    meant = [c for c in primaries if c.verdict == word]
    if word == "invalid":
        return f"invalid: {meant[0].notes[0]}" if meant else "invalid: an audit says so"
    if word == "inconclusive" and not meant:
        return "inconclusive: a primary metric was not measured, or none was declared"
    subjects = Subjects(primaries)
    sides: dict[str, list[Comparison]] = {}
    for c in primaries:
        sides.setdefault(c.candidate, []).append(c)
    in_order = sorted(sides.values(), key=lambda own: WORST_FIRST.index(_choose_word(own)))
    clauses = [_build_candidate_clause(subjects, own) for own in in_order]
    more = len(clauses) - NAMED
    told = "; ".join(clauses[:NAMED]) + (
        f"; and {format_count(more, 'candidate')} more" * (more > 0)
    )
    if word == "inconclusive":
        told = f"inconclusive after {max(c.blocks for c in meant)} blocks: {told}"
        return "; ".join([*_describe_settled(subjects, in_order), told])
    return told


def _describe_settled(subjects: Subjects, sides: Sequence[Sequence[Comparison]]) -> list[str]:
    """What is settled of candidates that are open in something else: it is told first."""
    found = [
        (own, [c for c in own if is_gain(c)]) for own in sides if _choose_word(own) in OPEN_WORDS
    ]
    return [
        f"{own[0].candidate} {describe_claim(gains, 'faster', own[0].base)} in part: "
        f"{_describe_effects(subjects, gains)}"
        for own, gains in found
        if gains
    ][:NAMED]


def _choose_word(own: Sequence[Comparison]) -> VerdictName:
    return find_worst_verdict(own, len(own), invalid=False)


def _build_candidate_clause(subjects: Subjects, own: Sequence[Comparison]) -> str:
    """What the run says of one candidate, by the worst of its comparisons."""
    who, whom, word = own[0].candidate, own[0].base, _choose_word(own)
    gains = [c for c in own if is_gain(c)]
    rest = [c for c in own if c not in gains and c.verdict in ("faster", "not slower")]
    if word == "slower":
        losses = [c for c in own if c.verdict == "slower"]
        effects = _describe_effects(subjects, losses) + _describe_rule(losses)
        told = f"{who} {describe_claim(losses, 'slower', whom)}: {effects}"
        if gains:
            told = f"{told}; but {_describe_effects(subjects, gains)}"
        return told + _describe_passed(rest, own)
    if word in OPEN_WORDS:
        told = f"{who} {describe_guess(own, whom)}: {_describe_open(subjects, own)}"
        return told + _describe_passed(rest, own)
    if gains:
        told = f"{who} {describe_claim(gains, 'faster', whom)}: "
        told += _describe_effects(subjects, gains) + _describe_rule(gains)
        return told + _describe_bound_of_rest(subjects, rest)
    return f"{who} {describe_claim(own, 'not slower', whom)}: {_describe_bound(subjects, own)}"


def _describe_effects(subjects: Subjects, found: Sequence[Comparison]) -> str:
    """The largest effects: `l.i0 takes 45 % less time [43, 47], l.i1 takes 3 % less time …`."""
    largest = sorted(found, key=lambda c: -abs(c.slowdown_percent))
    told = [f"{subjects.format_name(c.metric)} {describe_size(c)}" for c in largest[:NAMED]]
    more = len(found) - NAMED
    return ", ".join(told) + (f", and {format_count(more, 'comparison')} more" * (more > 0))


def _describe_rule(losses: Sequence[Comparison]) -> str:
    """The rule of the word, or how it is bounded, where one of those that are named needs it."""
    largest = sorted(losses, key=lambda c: -abs(c.slowdown_percent))[:NAMED]
    rule = next(filter(None, (c.bound or describe_loss_rule(c) for c in largest)), "")
    return f" ({rule})" if rule else ""


def _describe_passed(rest: Sequence[Comparison], own: Sequence[Comparison]) -> str:
    """How many pass, where the candidate as a whole does not."""
    if not rest:
        return ""
    verb = "is" if len(rest) == 1 else "are"
    return f"; {len(rest)} of its {len(own)} primary comparisons {verb} {describe_passed(rest)}"


def describe_guess(own: Sequence[Comparison], whom: str) -> str:
    """`may be slower than X or not`; without `or not` where every open interval leans so."""
    meant = [c for c in own if c.verdict in OPEN_WORDS]
    if all(c.high_percent < 0.0 for c in meant):
        return describe_claim(meant, "maybe faster", whom)
    leans = all(c.low_percent > 0.0 for c in meant)
    return describe_claim(meant, "maybe slower", whom) + ("" if leans else " or not")


def _describe_open(subjects: Subjects, own: Sequence[Comparison]) -> str:
    """The widest interval that is open, and how many others are."""
    meant = [c for c in own if c.verdict in OPEN_WORDS]
    widest = max(meant, key=lambda c: c.high_percent - c.low_percent)
    why = f" ({widest.notes[0]})" if widest.notes else ""
    more = f", and {format_count(len(meant) - 1, 'comparison')} more" if len(meant) > 1 else ""
    told = f"{subjects.format_name(widest.metric)} {describe_range(widest)}"
    return f"{told}; margin {widest.margin_percent:g} %{why}{more}"


def _describe_bound_of_rest(subjects: Subjects, rest: Sequence[Comparison]) -> str:
    if not rest:
        return ""
    if len(rest) == 1:
        return f"; {_describe_bound(subjects, rest)}"
    return f"; nothing else is worse by its margin: {_describe_bound(subjects, rest)}"


def _describe_bound(subjects: Subjects, rest: Sequence[Comparison]) -> str:
    """`l.i1 is at most 1.8 % slower (margin 5 %)`, of the one that is nearest to its margin."""
    nearest = max(rest, key=lambda c: c.high_percent - c.margin_percent)
    also = "; the others by less" if len({c.margin_percent for c in rest}) == 1 else ""
    most = max(rest, key=lambda c: c.high_percent)
    others = also if len(rest) > 1 and most is nearest else ""
    told = f"{subjects.format_name(nearest.metric)} {describe_bound(nearest)}"
    return f"{told} (margin {nearest.margin_percent:g} %{others})"
