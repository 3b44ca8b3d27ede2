"""Profiles of servers in use: their layers, waits and statements with intervals over slices, and
two profiles beside each other.

The unit is a batch of slices of one server's time. Two profiles are two stretches of time, under
whatever load there was, and no restarts: a row *differs* or is *not shown to*, and that is no
verdict. p values are adjusted by Holm's method within each table, functions' by Benjamini and
Hochberg's.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dyno.judge.analysis.cpu_samples import CodePlace, name_place
from dyno.judge.stats.batch_means import (
    ALPHA,
    SeriesMean,
    compute_p_value,
    estimate_series_mean,
    subtract_means,
)
from dyno.judge.stats.verdict import adjust_benjamini_hochberg, adjust_holm
from dyno.record.server_profile import ServerProfile, StatementTime

#: What the row of all CPU time is called.
WHOLE = "all CPU time"
#: Of the whole, that a row must hold on one side to be tested.
TESTED_LEAST = 0.005
#: A last slice shorter than this part of the others is in no series.
SLICE_PART_LEAST = 0.5
NS = 1e9

Word = Literal["differs", "not shown to differ", "not tested", "too few slices", "on one side only"]


@dataclass(frozen=True)
class ProfileRow:
    """A layer, function, wait or statement: its mean on one side or two, and the ends of the mean
    or, of two sides, of the difference; NaN where slices are too few for an interval.

    CPU time is a share of one core, waits are sessions on average, statements ns.
    """

    name: str
    group: str
    value: float
    other: float | None = None
    low: float = math.nan
    high: float = math.nan
    word: Word | None = None

    @property
    def difference(self) -> float:
        """Of two sides, the other's less the first's."""
        return (self.other or 0.0) - self.value


Series = Mapping[CodePlace, Sequence[float]]


def list_cpu_series(profile: ServerProfile) -> dict[CodePlace, list[float]]:
    """Each function's share of a core, by slice; empty where CPU time was not sampled."""
    cpu = profile.cpu
    if cpu is None:
        return {}
    places = [name_place(each) for each in cpu.profile.functions]
    least_ns = SLICE_PART_LEAST * profile.slice_s * NS
    slices = [each for each in cpu.slices if each.elapsed_ns >= least_ns] or list(cpu.slices)
    found: dict[CodePlace, list[float]] = defaultdict(lambda: [0.0] * len(slices))
    for at, each in enumerate(slices):
        for function, samples in each.functions:
            found[places[function]][at] += samples * cpu.sample_ns / each.elapsed_ns
    return dict(found)


def sum_by_layer(series: Series) -> dict[CodePlace, list[float]]:
    """The layers' series, and the whole's first."""
    layers: dict[CodePlace, np.ndarray] = {}
    whole = np.zeros(len(next(iter(series.values()), [])))
    for place, values in series.items():
        whole += np.asarray(values)
        key = CodePlace(place.layer, place.layer)
        layers[key] = layers.get(key, np.zeros(len(whole))) + np.asarray(values)
    ordered = sorted(layers, key=lambda key: -float(layers[key].sum()))
    return {
        CodePlace("", WHOLE): whole.tolist(),
        **{key: layers[key].tolist() for key in ordered},
    }


def list_wait_series(profile: ServerProfile) -> dict[CodePlace, list[float]]:
    """How many sessions were in a state on average, by its kind and slice."""
    slices = profile.waits
    found: dict[CodePlace, list[float]] = defaultdict(lambda: [0.0] * len(slices))
    for at, each in enumerate(slices):
        for state in each.states:
            found[CodePlace("", state.kind)][at] += state.sessions / each.samples
    return dict(sorted(found.items(), key=lambda pair: -sum(pair[1])))


def list_wait_events(profile: ServerProfile) -> dict[str, Counter[str]]:
    """Of each kind, in which samples' sessions it was which event."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in profile.waits:
        for state in each.states:
            found[state.kind][state.event] += state.sessions
    return dict(found)


def tell_rows(series: Series) -> list[ProfileRow]:
    """One profile's rows, each with the interval of its mean."""
    rows = []
    for place, values in series.items():
        mean = estimate_series_mean(values)
        rows.append(ProfileRow(place.name, place.layer, mean.mean, None, *mean.compute_ends()))
    return rows


Adjust = Callable[[np.ndarray], np.ndarray]


def compare_rows(base: Series, other: Series, adjust: Adjust = adjust_holm) -> list[ProfileRow]:
    """Two profiles' rows, the largest difference first; those that hold little are not tested."""
    slices = [len(next(iter(side.values()), [])) for side in (base, other)]
    names = list(dict.fromkeys((*base, *other)))
    pairs = [
        tuple(
            estimate_series_mean(side.get(name) or [0.0] * count)
            for side, count in zip((base, other), slices, strict=True)
        )
        for name in names
    ]
    whole = max((max(a.mean, b.mean) for a, b in pairs), default=0.0)
    rows = []
    for name, (first, second) in zip(names, pairs, strict=True):
        row = _make_row(name, first, second)
        rows.append((row, first, second, max(first.mean, second.mean) >= TESTED_LEAST * whole))
    return _choose_words(rows, adjust)


_Drafts = Sequence[tuple[ProfileRow, SeriesMean, SeriesMean, bool]]


def _make_row(name: CodePlace, first: SeriesMean, second: SeriesMean) -> ProfileRow:
    difference = subtract_means(first, second)
    ends = difference.compute_ends()
    return ProfileRow(name.name, name.layer, first.mean, second.mean, *ends)


def _choose_words(drafts: _Drafts, adjust: Adjust) -> list[ProfileRow]:
    p_values = np.array([compute_p_value(subtract_means(a, b)) for _, a, b, _ in drafts])
    tested = np.array([is_tested for *_, is_tested in drafts], dtype=bool)
    tested &= ~np.isnan(p_values)
    adjusted = np.ones(len(drafts))
    if tested.any():
        adjusted[tested] = adjust(p_values[tested])
    rows = []
    for (row, *_), p_value, is_tested, adjusted_p in zip(
        drafts, p_values, tested, adjusted, strict=True
    ):
        word: Word = "differs" if adjusted_p <= ALPHA else "not shown to differ"
        if not is_tested:
            word = "too few slices" if math.isnan(p_value) else "not tested"
        rows.append(replace(row, word=word))
    return sorted(rows, key=lambda row: (row.name != WHOLE, -abs(row.difference)))


def compare_functions_of_profiles(base: Series, other: Series) -> list[ProfileRow]:
    """Functions, of which a share of those that differ is expected to be chance."""
    return compare_rows(base, other, adjust_benjamini_hochberg)


def estimate_statement(statement: StatementTime, slices_ns: Sequence[int]) -> SeriesMean:
    """Its time a call in ns; by sampled sessions its time in a second."""
    if statement.slices_calls:
        return estimate_series_mean(statement.slices_ns, statement.slices_calls)
    rates = [ns * NS / of for ns, of in zip(statement.slices_ns, slices_ns, strict=True)]
    return estimate_series_mean(rates)


def compare_statements(base: ServerProfile, other: ServerProfile) -> list[ProfileRow]:
    """The statements of two profiles by their time a call, those that took most first. Those of
    servers that tell them otherwise are not compared.
    """
    if base.statement_source != other.statement_source:
        return []
    sides = [{each.key: each for each in profile.statements} for profile in (base, other)]
    drafts, alone = [], []
    for key in dict.fromkeys((*sides[0], *sides[1])):
        both = [side.get(key) for side in sides]
        told = next(each for each in both if each)
        name = CodePlace(told.database, told.text)
        if both[0] is None or both[1] is None:
            first, second = (
                estimate_statement(each, profile.statement_slices_ns).mean if each else 0.0
                for each, profile in zip(both, (base, other), strict=True)
            )
            row = ProfileRow(name.name, name.layer, first, second, word="on one side only")
            alone.append(row)
            continue
        means = (
            estimate_statement(both[0], base.statement_slices_ns),
            estimate_statement(both[1], other.statement_slices_ns),
        )
        drafts.append((_make_row(name, *means), *means, True))
    return [*_choose_words(drafts, adjust_holm), *alone]


def list_unlike(base: ServerProfile, other: ServerProfile) -> list[str]:
    """How two profiles were taken otherwise, in sentences: a difference may come from that."""
    said = []
    if base.name != other.name:
        said.append(f"The earlier profile is of {base.name}.")
    if base.version != other.version:
        said.append(f"The versions differ: {base.version or '?'}, then {other.version or '?'}.")
    if base.cores != other.cores:
        said.append(f"The hosts differ: {base.cores} cores, then {other.cores}.")
    if bool(base.cpu) != bool(other.cpu):
        said.append("CPU time was sampled in one of the two only.")
    elif base.cpu and other.cpu:
        first, second = base.cpu.profile, other.cpu.profile
        if first.kernel != second.kernel:
            said.append("The time inside the kernel was seen in one of the two only.")
        if first.scope != second.scope:
            said.append("One sampled all CPUs, the other each thread.")
        if (base.cpu.charged_ns is None) != (other.cpu.charged_ns is None):
            said.append("CPU time is told by what the kernel charged in one of the two only.")
    if base.statement_source != other.statement_source:
        sources = (base.statement_source or "nothing", other.statement_source or "nothing")
        said.append(f"Statements are told by {sources[0]}, then {sources[1]}: not compared.")
    return said
