"""The verdict in words. No sentence here says "no change": that was never shown."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.record import Comparison, Run, Saturation, VerdictName

QUICK = "QUICK, on this shortened workload: "
WORST_FIRST: tuple[VerdictName, ...] = ("invalid", "slower", "inconclusive", "not slower")


def worst_verdict(primaries: Sequence[Comparison], declared: int, *, invalid: bool) -> VerdictName:
    """The worst word of the primaries; one that was declared and not measured is inconclusive."""
    words = {"not slower" if c.verdict == "faster" else c.verdict for c in primaries}
    if invalid:
        words.add("invalid")
    if not primaries or len(primaries) < declared:
        words.add("inconclusive")
    return next(word for word in WORST_FIRST if word in words)


def pilot_words(run: Run) -> list[str]:
    """What the pilot chose, a sentence for each choice."""
    if run.pilot is None:
        return []
    words = [_saturation(run, each) for each in run.pilot.saturation]
    if run.pilot.empty_ns:
        apart, one = (run.pilot.empty_ns[where] / 1e3 for where in ("apart", "together"))
        took = f"an empty answer takes {apart:.0f} µs between two cores and {one:.0f} µs on one"
        words.append(f"Pinning {run.pilot.pinning}: {took}.")
    return words


def _saturation(run: Run, found: Saturation) -> str:
    if not found.connections:
        kept = f"{found.workload} keeps the script's own connections"
        return f"{kept} ({found.why}); threads=N sets them."
    at = f"{found.connections} connection{'s' * (found.connections > 1)}"
    idle = f"{found.base} leaves {found.chosen.idle_percent:.0f} % of its cores idle"
    most = found.tried[-1].connections
    more = f", and hardly less at {most}" if most > found.connections else ""
    foreign, limit = found.chosen.foreign_percent, run.design.limits.get("foreign_percent", 100.0)
    if foreign > limit:
        more = f"{more} (others took {foreign:.0f} % of the host: not to be relied on)"
    return f"{found.workload} at {at}, where {idle}{more}; threads=1 asks for latency."


def sentence(run: Run, word: VerdictName, primaries: Sequence[Comparison], reason: str) -> str:
    """What the run found, in one sentence.

    `reason` says why it found less than it should have (too noisy, not finished); it stands for
    an inconclusive verdict's own words, and after those of any other.
    """
    if word == "inconclusive" and reason:
        text = f"inconclusive: {reason}"
    else:
        text = _result_clause(run, word, primaries) + (f" ({reason})" if reason else "")
    return f"{QUICK}{text}" if run.design.quick else text


def _result_clause(run: Run, word: VerdictName, primaries: Sequence[Comparison]) -> str:
    meant = [c for c in primaries if c.verdict == word]
    if word == "invalid":
        return f"invalid: {meant[0].notes[0]}" if meant else "invalid: an audit says so"
    if word == "slower":
        return _slower(run, meant, primaries)
    if word == "not slower":
        return _not_slower(run, primaries)
    return _inconclusive(run, meant, primaries) + (
        "" if _names_every_effect(run, primaries) else _count_passed(primaries)
    )


def _slower(run: Run, meant: Sequence[Comparison], primaries: Sequence[Comparison]) -> str:
    worst, of = max(meant, key=lambda c: c.slowdown_percent), len(primaries)
    told = f"{worst.candidate} is slower than {worst.base}: {_figures(run, worst)}"
    holm = f"; p = {worst.p_value:.2g} among {of} (Holm)" if of > 1 else ""
    if _names_every_effect(run, primaries):
        return f"{told}{holm}{_other_effects(worst, primaries)}"
    return f"{told}{_primaries_clause(meant)}{holm}"


def _names_every_effect(run: Run, primaries: Sequence[Comparison]) -> bool:
    """Factors are crossed and one metric is primary, so that every main effect can be named."""
    return bool(run.factors) and len({c.metric for c in primaries}) == 1


def _other_effects(told: Comparison, primaries: Sequence[Comparison]) -> str:
    """What else the factors do: `; beside it threads=2 faster (-50.2 %)`."""
    others = [c for c in primaries if c is not told]
    found = (f"{c.candidate} {c.verdict} ({c.slowdown_percent:+.1f} %)" for c in others)
    return f"; beside it {', '.join(found)}" if others else ""


def _count_passed(primaries: Sequence[Comparison]) -> str:
    """How many would pass, where the suite does not: it passes only if every primary does."""
    passed = sum(c.verdict in ("not slower", "faster") for c in primaries)
    return f"; {passed} of {len(primaries)} primary comparisons are not slower" if passed else ""


def _not_slower(run: Run, primaries: Sequence[Comparison]) -> str:
    margins = " or ".join(sorted({f"{c.margin_percent:g} %" for c in primaries}))
    names = list(dict.fromkeys(c.candidate for c in primaries))
    verb = "is" if len(names) == 1 else "are"
    base = "the first levels of their factors" if run.factors else run.design.base
    held = f"{' and '.join(names)} {verb} not slower than {base} by {margins} or more"
    worst = max(primaries, key=lambda c: c.high_percent - c.margin_percent)
    faster, of = sum(c.verdict == "faster" for c in primaries), len(primaries)
    tail = f"; faster in {faster} of {of} primary comparisons" if faster else ""
    closest = "closest"
    if _names_every_effect(run, primaries):
        tail, closest = _other_effects(worst, primaries), f"closest {worst.candidate}"
    # an intersection-union test: the suite passes as each of its parts does, at the same level
    whole = f", in each of {of} primary comparisons; {closest}" if of > 1 else ""
    return f"{held}{whole}: {_figures(run, worst)}{tail}"


def _inconclusive(run: Run, meant: Sequence[Comparison], primaries: Sequence[Comparison]) -> str:
    if not meant:
        return "inconclusive: a primary metric was not measured, or none was declared"
    widest = max(meant, key=lambda c: c.high_percent - c.low_percent)
    doubt = f"{widest.candidate} may be slower than {widest.base} or not"
    if widest.notes:
        doubt = f"{doubt} ({widest.notes[0]})"
    more = (
        _other_effects(widest, primaries)
        if _names_every_effect(run, primaries)
        else _primaries_clause(meant)
    )
    return f"inconclusive after {widest.blocks} blocks: {doubt}: {_figures(run, widest)}{more}"


def _figures(run: Run, c: Comparison) -> str:
    where = f"{c.metric.workload} / {c.metric.phase} / {c.metric.transaction} {c.metric.name}"
    interval = f"{c.low_percent:+.1f} to {c.high_percent:+.1f} %"
    level = f"{100 * (1 - run.design.alpha):g} %"
    return f"slowdown {c.slowdown_percent:+.1f} % ({level} interval {interval}) in {where}"


def _primaries_clause(meant: Sequence[Comparison]) -> str:
    more = len(meant) - 1
    return f", and {more} more primary comparison{'s' * (more > 1)}" if more else ""
