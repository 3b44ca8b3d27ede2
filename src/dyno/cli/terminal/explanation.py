"""A statement's path on the terminal: its stages, the plan that was executed, what is not told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from dyno import numbers
from dyno.answers import Sameness
from dyno.cli.terminal import screen
from dyno.numbers import format_count
from dyno.record.explanation import REST, Explanation, NodeReading, PathStage, PlanNode
from dyno.servers.explain.differences import (
    CONFIDENCE,
    MATTERS,
    StageDifference,
    compare_bare,
    compare_stages,
    compute_median,
    find_first,
    find_middle,
)

#: Letters of a statement inside a function; of a node, which may hold a list of values.
SHOWN, NODE_SHOWN = 70, 200
#: Percent of the bare time that a part of a stage (JIT compilation, a trigger) is told from.
PART_LEAST = 1.0


def print_explanation(it: Explanation) -> None:
    screen.print_paragraph(describe_runs(it))
    if it.unfinished:
        screen.print_paragraph(f"The statement was {it.unfinished}.")
    screen.print_gap()
    if it.bare_us:
        _print_stages(it)
    _print_nodes(it)
    _print_inner(it)
    _print_waits(it)
    for remark in it.remarks:
        screen.print_paragraph(f"- {remark}")
    _print_switches(it)


def _print_switches(it: Explanation) -> None:
    half = len(it.switches) // 2
    for words, told in (
        ("To have the stages told, its owner may switch on, for all sessions:", it.switches[:half]),
        ("and, once dyno explain was played again, put back:", it.switches[half:]),
    ):
        if told:
            screen.print_paragraph(words)
            screen.print_lines("\n".join(f"{each};" for each in told))


def describe_runs(it: Explanation) -> str:
    where = f"{it.engine} {it.version} at {unquote(it.server)}"
    if not it.bare_us:
        return f"{where}: no run ended."
    runs, told = (len(them) * it.repeats for them in (it.bare_us, it.instrumented_us))
    count, what = (it.changed, " changed") if it.changed else (it.rows, "")
    rolled = ", each rolled back" if it.rolled_back else ""
    over = format_count(len(set(it.sessions)), "connection")
    return (
        f"{where}: {format_count(count, 'row')}{what}; run {format_count(runs, 'time')} bare"
        f" and {format_count(told, 'time')} instrumented, over {over}{rolled}."
        f" {describe_spread(it)}"
    )


def describe_spread(it: Explanation) -> str:
    several = f", each the median of {it.repeats} runs" if it.repeats > 1 else ""
    if len(it.bare_us) == 1:
        return f"Times are of one round{several}, in µs."
    return f"Times are medians of {len(it.bare_us)} rounds{several}, in µs."


def _print_stages(it: Explanation) -> None:
    bare_us = compute_median(it.bare_us)
    rows = [row for stage in it.stages if _is_shown(stage) for row in _list_stage(stage, bare_us)]
    rows.append(("bare time", *format_spread(it.bare_us), "100 %", "the client", ""))
    for name, us, what in (
        ("instrumented", it.instrumented_us, "the client"),
        ("reading the clock", it.clock_us, "clock on, less off"),
        ("transaction's end", it.end_us, it.end_source),
        ("new connection", it.connect_us, "the client"),
        ("first run", (it.first_us,), "the client"),
    ):
        if us:
            rows.append((name, *format_spread(us), "", what, ""))
    heads = ("stage", "µs", "half of the rounds", "share", "told by", "")
    screen.print_table(heads, rows, right=(1, 2, 3))
    if compute_median(it.stages[-1].us) < 0:
        screen.print_paragraph(
            "Not attributed is negative: the runs that told the stages were slower than the bare "
            "ones, by so much."
        )
    screen.print_gap()


def _is_shown(stage: PathStage) -> bool:
    """Not where it is told and nothing: nobody waited."""
    return any(stage.us) or bool(stage.facts) or stage.name == REST


def _format_stage(stage: PathStage, bare_us: float) -> tuple[str, ...]:
    facts = ", ".join(stage.facts)
    if not stage.us:
        return stage.name, numbers.DASH, "", "", stage.source, facts
    share = f"{100 * compute_median(stage.us) / bare_us:.0f} %" if bare_us else ""
    return stage.name, *format_spread(stage.us), share, stage.source, facts


def _list_stage(stage: PathStage, bare_us: float) -> Iterator[tuple[str, ...]]:
    """A stage, and below it the parts that took a share of the time."""
    yield _format_stage(stage, bare_us)
    for part in stage.parts:
        if (percent := 100 * compute_median(part.us) / bare_us if bare_us else 0) >= PART_LEAST:
            yield f"  {part.name}", *format_spread(part.us), f"{percent:.0f} %", "", ""


def format_us(us: float) -> str:
    return f"{us:,.0f}" if abs(us) >= 100 else numbers.format_digits(us)


def format_spread(us: Sequence[float]) -> tuple[str, str]:
    low, high = find_middle(us)
    return format_us(compute_median(us)), f"{format_us(low)}–{format_us(high)}"


def _print_nodes(it: Explanation) -> None:
    if not it.nodes and not it.shape:
        return
    if not it.nodes:
        screen.print_lines("\n".join(_cut(line, NODE_SHOWN) for line in it.shape.splitlines()))
        screen.print_gap()
        return
    rows = [
        _format_node(node, compute_median(node.us) if node.us else None, node.depth)
        for node in it.nodes
    ]
    heads = ("plan node, without its children", "µs", "rows", "loops", "pages", "")
    screen.print_table(heads, rows, right=(1, 2, 3, 4))
    screen.print_gap()


def _format_node(node: PlanNode | NodeReading, us: float | None, depth: int) -> tuple[str, ...]:
    return (
        f"{'  ' * depth}{_cut(node.name, NODE_SHOWN)}",
        numbers.DASH if us is None else format_us(us),
        *(_format_count(it) for it in (node.rows, node.loops, node.pages)),
        ", ".join(node.facts),
    )


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _print_inner(it: Explanation) -> None:
    rows: list[tuple[str, ...]] = []
    for inner in it.inner:
        what = ", ".join(filter(None, (inner.place, *inner.facts)))
        told = (_format_count(inner.rows), _format_count(inner.runs), "")
        rows.append((_cut(inner.sql, SHOWN), format_us(inner.us), *told, what))
        rows += [_format_node(node, node.us, node.depth + 1) for node in inner.nodes]
    if rows:
        heads = ("inside functions, longest first", "µs", "rows", "runs")
        screen.print_table((*heads, "pages", ""), rows, right=(1, 2, 3, 4))
        screen.print_gap()


def _format_count(value: float | None) -> str:
    return numbers.DASH if value is None else f"{value:,.10g}"


def _print_waits(it: Explanation) -> None:
    if not it.wait_samples:
        return
    shares = [
        f"{100 * state.sessions / it.wait_samples:.0f} % {state.event or state.kind}"
        + (f" ({state.kind})" if state.event else "")
        for state in it.waits
    ]
    screen.print_paragraph(f"Sampled while it ran, {it.wait_samples} times: {', '.join(shares)}.")


def print_comparison(
    first: Explanation, second: Explanation, answers: Sameness, *, is_paired: bool
) -> None:
    """Two side by side: whether they answer the same, and the first stage that differs."""
    for name, it in (("A", first), ("B", second)):
        screen.print_paragraph(f"{name}: {describe_runs(it)}")
        if it.unfinished:
            screen.print_paragraph(f"{name} was {it.unfinished}.")
    if first.sql.split() != second.sql.split():
        screen.print_paragraph("note: A and B are different statements")
    screen.print_gap()
    why = f": {answers.why}" if answers.why else ""
    screen.print_paragraph(f"The answers: {answers.word}{why}.")
    for name, rows in (("A", answers.ours), ("B", answers.theirs)):
        for row in rows:
            screen.print_line(f"  {name}: {row}")
    screen.print_gap()
    if first.bare_us and second.bare_us:
        _print_differences(first, second, is_paired)
    for name, it in (("A", first), ("B", second)):
        screen.print_line(screen.style_bold(f"{name}: {it.engine} {it.version}"))
        _print_nodes(it)
        _print_inner(it)
        _print_waits(it)
    for name, it, other in (("A", first, second), ("B", second, first)):
        for remark in it.remarks:
            if remark not in other.remarks:
                screen.print_paragraph(f"- {name}: {remark}")
            elif name == "A":
                screen.print_paragraph(f"- {remark}")


def _print_differences(first: Explanation, second: Explanation, is_paired: bool) -> None:
    rows = compare_stages(first, second, is_paired=is_paired)
    whole = compare_bare(first, second, is_paired=is_paired)
    shown = [row for row in rows if _is_shown(row.first) or _is_shown(row.second)]
    lines = [_format_difference(row.name, row) for row in shown]
    heads = ("stage", "A µs", "B µs", "B − A µs", f"{100 * CONFIDENCE:.1f} % interval", "", "A, B")
    screen.print_table(heads, [*lines, _format_difference("bare time", whole)], right=(1, 2, 3, 4))
    screen.print_gap()
    screen.print_paragraph(describe_first(rows, whole))
    if first.shape != second.shape:
        screen.print_paragraph("The plans differ.")
    screen.print_gap()


def _format_difference(name: str, row: StageDifference) -> tuple[str, ...]:
    sides = [format_us(compute_median(it.us)) if it.us else numbers.DASH for it in _list_sides(row)]
    difference = numbers.DASH if row.difference_us is None else format_us(row.difference_us)
    interval = ""
    if row.low_us is not None and row.high_us is not None:
        interval = f"{format_us(row.low_us)} to {format_us(row.high_us)}"
    facts = " | ".join(", ".join(it.facts) or numbers.DASH for it in _list_sides(row))
    has_facts = row.first.facts or row.second.facts
    return (
        name,
        *sides,
        difference,
        interval,
        "differs" if row.matters else "",
        (facts if has_facts else ""),
    )


def _list_sides(row: StageDifference) -> tuple[PathStage, PathStage]:
    return row.first, row.second


def describe_first(rows: Sequence[StageDifference], whole: StageDifference) -> str:
    first = find_first(rows)
    if all(row.low_us is None for row in rows):
        return "Too few rounds for an interval: --runs or --for says how many are played."
    if first is None:
        if whole.matters:
            told = "The bare times differ, and no stage that both tell is shown to"
            return f"{told}: see what neither tells."
        return f"No stage is shown to differ by {100 * MATTERS:.0f} % of the bare time or more."
    assert first.difference_us is not None
    side = "B" if first.difference_us > 0 else "A"
    return (
        f"The first stage that differs is {first.name}: {side} takes"
        f" {format_us(abs(first.difference_us))} µs more.{_describe_largest(rows, first)}"
    )


def _describe_largest(rows: Sequence[StageDifference], first: StageDifference) -> str:
    largest = max(rows, key=lambda row: abs(row.difference_us or 0.0) if row.matters else 0.0)
    return "" if largest in (first, rows[-1]) else f" {largest.name.capitalize()} differs most."
