"""Two runs side by side: what differs between them, and their primaries with the intervals of each.

The numbers of two runs are no verdict: nothing in them counts what differs from hour to hour. The
page says so, and which command would make one.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest

from dyno import numbers, workloads
from dyno.errors import UsageError
from dyno.host.controls import load_controls
from dyno.pages.frame import BESIDE, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.pages.reports import read_verdict
from dyno.record import Candidate, Comparison, Metric, Run, Verdict
from dyno.record.build_facts import read_build_facts
from dyno.report.html.markup import render
from dyno.report.names import name_measurements
from dyno.report.render.forest import MARKS
from dyno.report.words import choose_standing, format_verdict
from dyno.runs.run_folder import RunFolder

Facts = dict[str, str]

SAME_BUILDS = "Their builds are alike, so no comparison of builds can tell them apart."
SAME_WORDS = "Another program has the same name in each: compare it with a copy of the old one."


def can_stand_beside(run: ListedRun) -> bool:
    """Is it a comparison that can be read?"""
    return run.place.instrument.has_trials and not run.summary.damage


def list_pairs(runs: Sequence[ListedRun]) -> list[tuple[ListedRun, ListedRun]]:
    """Every two of the runs that have a workload in common."""
    own = [run for run in runs if can_stand_beside(run)]
    shares = ((a, b) for a, b in combinations(own, 2))
    return [(a, b) for a, b in shares if set(a.summary.workloads) & set(b.summary.workloads)]


def build_choice_page(
    runs: Sequence[ListedRun], pairs: Sequence[tuple[ListedRun, ListedRun]] | None = None
) -> SitePage:
    """A page on which two are chosen: by a form, or where a site is in files among its `pairs`."""
    own = [_describe_side(run) for run in runs if can_stand_beside(run)]
    described = [(_describe_side(a), _describe_side(b)) for a, b in pairs or ()]
    told = "Choose two comparisons."
    if len(own) < 2 or (pairs is not None and not pairs):
        told = "Two comparisons are needed, and there are not as many."
    body = render(read_template("choice.html"), told=told, runs=own, pairs=described)
    return SitePage("Two runs side by side", "Two runs side by side", body, here=BESIDE)


def build_beside_page(one: ListedRun, other: ListedRun) -> SitePage:
    """The page; `UsageError` where a run cannot be read, or is no comparison."""
    sides = [_read_side(run) for run in (one, other)]
    runs = [side.run for side in sides]
    facts = [dict(_list_facts(run)) for run in runs]
    names = list(dict.fromkeys((*facts[0], *facts[1])))
    rows = [(name, facts[0].get(name, ""), facts[1].get(name, "")) for name in names]
    commands, why_none = build_commands(*runs)
    body = render(
        read_template("beside.html"),
        sides=[_describe_side(run) for run in (one, other)],
        commands=commands,
        why_none=why_none,
        primaries=list(_match_primaries(*sides)),
        differing=[row for row in rows if row[1] != row[2]],
        alike=[(name, value) for name, value, other_value in rows if value == other_value],
    )
    return SitePage(
        title=f"{one.key} beside {other.key}",
        heading="Two runs side by side",
        body=body,
        here=BESIDE,
        depth=2,
    )


@dataclass(frozen=True)
class RunSide:
    """A run with what is said of it."""

    run: Run
    verdict: Verdict


def _read_side(listed: ListedRun) -> RunSide:
    if not listed.place.instrument.has_trials:
        raise UsageError(
            f"{listed.key} is no comparison", hint="only comparisons stand side by side"
        )
    path = listed.place.path
    return RunSide(RunFolder(path).read_run(), read_verdict(path))


def _describe_side(run: ListedRun) -> dict[str, object]:
    title = " vs ".join(run.summary.candidates) or run.key
    return {"key": run.key, "address": quote_key(run.key), "title": title}


def _list_facts(run: Run) -> Iterator[tuple[str, str]]:
    design = run.design
    yield "question", run.question
    yield "began (UTC)", run.created_utc
    for at, side in enumerate(run.candidates):
        who = "base" if at == 0 else f"candidate {at}"
        yield who, side.spec
        yield f"{who}: version", side.build.get("version", "")
        yield f"{who}: build", str(read_build_facts(side.build))
        yield f"{who}: program", side.build.get("sha256", "")[:12]
        for name, value in {**side.settings, **side.controls, **side.options}.items():
            yield f"{who}: {name}", value
    for workload in run.workloads:
        yield f"script of {workload.name}", workload.script_sha256[:12]
        for name, value in workload.options.items():
            yield f"{workload.name}: {name}", value
    yield "margin", f"{design.margin_percent:g} %"
    yield "error rate", f"{design.alpha:g}"
    yield "interim analyses", ", ".join(map(str, design.analyses))
    yield "shortened (--quick)", "yes" if design.quick else "no"
    yield "interleaved", "yes" if design.interleaving else "no"
    for kind, values in (("control", design.controls), ("host", run.host)):
        for name, value in values.items():
            yield f"{kind}: {name}", value
    yield "Dyno", run.dyno
    yield "driver", run.driver_sha256[:12]


def _match_primaries(one: RunSide, other: RunSide) -> Iterator[dict[str, object]]:
    """A row for each metric and place among the candidates; those of both runs first."""
    found = [_group_by_metric(side) for side in (one, other)]
    titles: dict[Metric, str] = {}
    for side, own in zip((one, other), found, strict=True):
        named = name_measurements(side.run, [row for rows in own.values() for row in rows])
        titles |= {it.row.metric: it.title for it in named}
    for metric in dict.fromkeys((*found[0], *found[1])):
        pairs = zip_longest(*(own.get(metric, []) for own in found))
        for first, second in pairs:
            both = first is not None and second is not None
            yield {
                "title": titles[metric],
                "cells": [_describe_row(row) for row in (first, second)],
                "apart": are_apart(first, second) if both else None,
            }


def _group_by_metric(side: RunSide) -> dict[Metric, list[Comparison]]:
    groups: dict[Metric, list[Comparison]] = {}
    for row in side.verdict.comparisons:
        if row.primary:
            groups.setdefault(row.metric, []).append(row)
    return groups


def are_apart(one: Comparison, other: Comparison) -> bool:
    """Have their intervals nothing in common? Not, where one has no end."""
    ends = (one.low_percent, one.high_percent, other.low_percent, other.high_percent)
    if any(math.isnan(end) for end in ends):
        return False
    return one.low_percent > other.high_percent or other.low_percent > one.high_percent


def _describe_row(row: Comparison | None) -> dict[str, object] | None:
    if row is None:
        return None
    unit = row.metric.unit
    values = (numbers.format_quantity(it, unit) for it in (row.base_value, row.candidate_value))
    return {
        "standing": choose_standing(row).replace(" ", "-"),
        "mark": MARKS[row.verdict],
        "word": format_verdict(row, False),
        "sides": f"{row.candidate} against {row.base}",
        "size": numbers.format_signed_percent(row.slowdown_percent),
        "ends": numbers.format_interval(row.low_percent, row.high_percent),
        "amounts": " → ".join(values),
    }


def build_commands(one: Run, other: Run) -> tuple[list[str], str]:
    """The comparisons that would be a verdict, one for each workload that both have; and where
    there is none, why.
    """
    pair = _choose_pair(one, other)
    if pair is None:
        return [], SAME_WORDS if _has_renamed_program(one, other) else SAME_BUILDS
    theirs = {workload.name for workload in one.workloads}
    shared = [workload for workload in other.workloads if workload.name in theirs]
    if not shared:
        return [], "They have no workload in common."
    commands = []
    for workload in shared:
        words = ["dyno", "compare", *pair, "-w", _name_workload(workload.name, workload.script)]
        words += _list_settings("--set", workload.options)
        known = load_controls()
        changed = {
            name: value
            for name, value in other.design.controls.items()
            if name not in known or value != known[name].default
        }
        commands.append(shlex.join([*words, *_list_settings("--control", changed)]))
    return commands, ""


def _choose_pair(one: Run, other: Run) -> tuple[str, str] | None:
    """The specs of the newest sides that are not the same program with the same settings: the last
    candidates, else the bases.
    """
    for at in (-1, 0):
        sides = one.candidates[at], other.candidates[at]
        if sides[0].spec != sides[1].spec and _identify(sides[0]) != _identify(sides[1]):
            return sides[0].spec, sides[1].spec
    return None


def _has_renamed_program(one: Run, other: Run) -> bool:
    """Do the same words name two programs?"""
    pairs = [(one.candidates[at], other.candidates[at]) for at in (-1, 0)]
    return any(a.spec == b.spec and _identify(a) != _identify(b) for a, b in pairs)


def _identify(side: Candidate) -> tuple[Facts, Facts]:
    build = {name: value for name, value in side.build.items() if name != "program"}
    return build | {"engine": side.engine}, side.settings | side.controls | side.options


def _name_workload(name: str, script: str) -> str:
    own = workloads.list_workloads().get(name.split()[0])
    return own.stem if own and own.name == script.rpartition("/")[2] else script


def _list_settings(option: str, values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]
