"""Format: Markdown for a pull request, an issue, or `$GITHUB_STEP_SUMMARY`: the verdict and the
next step, what speaks against it, what changed, why, and how many measurements did not change.

Its first line is a comment that GitHub does not show, the same for each run of these workloads: by
it a later run finds the comment that it renews (docs/guides/ci.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.effect_words import is_slight_gain
from dyno.numbers import format_count, format_percent
from dyno.report import words
from dyno.report.accepted import describe_accepted, name_accepted
from dyno.report.document import (
    Block,
    Details,
    Document,
    Forest,
    Heading,
    Items,
    Listing,
    Prose,
    TextSpan,
    Words,
    list_prose,
)
from dyno.report.headline import list_reasons
from dyno.report.names import NamedRow, explain_no_parent
from dyno.report.render.markdown import SIGNS, render_markdown
from dyno.report.result import NO_VERDICT, Holding, Result

#: Rows of what changed, rows of all measurements (GitHub refuses comments of over 64 KB), rows that
#: are named in words, and warnings.
CHANGED, ALL, NAMED, WARNINGS = 12, 100, 3, 6
ACCEPT = "or accept it in .dyno/accepted.toml"
READ_CLASSES = "read the statement classes below before you upgrade"
#: What to do next, by the verdict's word.
STEPS = {
    "invalid": "mend what is named below and run it again",
    "slower": f"see what changed, mend it, {ACCEPT}",
    "inconclusive": "more blocks or a quieter host can tell",
    "doubtful": "read the doubts before you rely on it",
    "not slower": "nothing",
    "faster": "nothing",
    "loses": "see which kill lost what, and report it to the engine's makers",
    "loses as permitted": "choose settings that keep more, or accept it",
}


class _Markdown:
    summary = "Markdown for a pull request or $GITHUB_STEP_SUMMARY"
    reads: tuple[Holding, ...] = ()

    def render(self, result: Result, strict: bool) -> str:
        of = ", ".join((*dict.fromkeys(it.engine for it in result.sides), *result.workloads))
        named = re.sub(r"[^\w., /+-]|-{2,}", "_", f"{result.noun} of {of or result.name}")[:200]
        return f"<!-- dyno: {named} -->\n{render_markdown(_build_document(result))}\n"


def _build_document(result: Result) -> Document:
    verdict, rows = result.verdict, name_accepted(result.losses, result.rows)
    if verdict is NO_VERDICT:
        return [Heading(result.headline), *_link_report(result), *result.body]
    word = "doubtful" if verdict.doubts and result.overall != "invalid" else result.overall
    accepted = "Accepted: " if result.overall != verdict.overall else ""
    step = f" Next: {STEPS[word]}." if word in STEPS else ""
    if verdict.rehearsal:
        step = f" Next: {READ_CLASSES}." if verdict.rehearsal.exit_code else ""
    head = Heading(f"{SIGNS.get(word, '')} {accepted}{result.headline}{step}".strip())
    if verdict.rehearsal or not rows:
        return [head, *_link_report(result), *result.body]
    warnings = list(_list_warnings(result))
    more = len(warnings) - WARNINGS
    cut = [f"and {format_count(more, 'more warning')}, in the report"] if more > 0 else []
    commits = [
        Prose((TextSpan(side.name, "strong"), TextSpan(f": {side.commit}")))
        for side in result.sides
        if side.commit
    ]
    changed, counted = _list_changed(rows), format_count(len(rows), "measurement")
    all_rows = [Forest(result.sides, rows[:ALL], ""), *list_prose([_describe_cut(rows)])]
    again = [Listing(result.command, "to repeat")] if result.command else []
    causes = [
        (TextSpan("What changed", "strong"), f": {it}", *_link(result, " (", "all", "#cause", ")"))
        for it in result.causes
    ]
    return [
        head,
        Items([*warnings[:WARNINGS], *cut]),
        *commits,
        *_tell_worst(changed),
        Forest(result.sides, changed[:CHANGED], ""),
        *list_prose([_describe_others(rows, changed)]),
        Items(causes),
        *([Details(f"All {counted}", all_rows)] if rows != changed else []),
        Details("How it was measured", [Items(list(result.basis)), *again]),
        *_link_report(result),
    ]


def _list_warnings(result: Result) -> Iterator[Words]:
    """What makes the figures less than they seem: audits, what failed, whom the base is not, whom
    nobody accepts any more.
    """
    for it in result.verdict.findings:
        if it.soundness in ("invalid", "doubtful"):
            yield TextSpan(it.soundness, "strong"), f" by `{it.audit}`: {it.sentence}"
    yield from result.warnings
    audits = tuple(f"{it.audit}: " for it in result.verdict.findings)
    reasons = list_reasons(result.verdict, result.rows)
    yield from (it for it in reasons if not it.startswith(audits))
    told = (explain_no_parent(result.sides[0], side) for side in result.sides[1:])
    yield from filter(None, told)
    for row in result.primaries:
        if (over := describe_accepted(result.losses, row)) and not result.is_accepted(row):
            yield TextSpan(f"{words.format_full_metric(row.metric)}: {over}")


def _list_changed(rows: Sequence[NamedRow]) -> list[NamedRow]:
    """What is surely more than its margin in either direction, the worst first."""
    found = [
        it
        for it in rows
        if it.row.verdict in ("slower", "faster", "invalid") and not is_slight_gain(it.row)
    ]
    return sorted(found, key=lambda it: -it.row.slowdown_percent)


def _tell_worst(changed: Sequence[NamedRow]) -> Iterator[Block]:
    """The worst by name, where the table is long."""
    worst = [it.row for it in changed if it.row.verdict == "slower" and not it.word]
    if len(changed) > NAMED and len(worst) > 1:
        told = "; ".join(
            f"{words.format_full_metric(row.metric)} {words.format_size(row)}"
            for row in worst[:NAMED]
        )
        yield Prose((TextSpan("Worst", "strong"), f" of {len(worst)}: {told}."))


def _describe_others(rows: Sequence[NamedRow], changed: Sequence[NamedRow]) -> str:
    """`22 other measurements: 20 not slower (at most 1.1 % worse), 2 inconclusive (…)`."""
    left = len(changed) - CHANGED
    cut = f"{left} more that changed stand below. " if left > 0 else ""
    ends: dict[str, list[float]] = {}
    for row in (it.row for it in rows if not any(it is each for each in changed)):
        word = "not slower" if row.verdict == "faster" else row.verdict
        ends.setdefault(word, []).append(row.high_percent)
    others = sum(map(len, ends.values()))
    if not others:
        return cut.strip()
    told = [
        f"{len(own)} {word} (at most {format_percent(max(*own, 0.0))} worse)"
        for word, own in ends.items()
    ]
    what = format_count(others, "other measurement" if changed else "measurement")
    return f"{cut}{what}: {', '.join(told)}."


def _describe_cut(rows: Sequence[NamedRow]) -> str:
    more = len(rows) - ALL
    return f"… and {more} more, in the report" if more > 0 else ""


def _link_report(result: Result) -> list[Block]:
    return [Prose(_link(result, "", "The whole report", "", ""))] if result.report_url else []


def _link(result: Result, before: str, text: str, anchor: str, after: str) -> list[str | TextSpan]:
    """A link into the report, where one knows where it lies."""
    link = TextSpan(text, link=f"{result.report_url}{anchor}")
    return [before, link, after] if result.report_url else []


FORMAT = _Markdown()
