"""The sections of an experiment's file: candidates, factors, workloads, how it is measured."""

from __future__ import annotations

import re
from dataclasses import replace

from dyno import candidates, factors
from dyno.candidates import Spec
from dyno.errors import UsageError, unknown
from dyno.experiment.measuring import Measuring
from dyno.experiment.table import Table
from dyno.experiment.workload import METRICS, Workload, as_text, option_name, options_as_text
from dyno.factors import Crossed

MAX_BLOCKS = "max_blocks"
_NUMBER = (int, float)


def sides(top: Table, crossed: Crossed) -> tuple[Spec, ...]:
    """The `candidates`, with unique names; one alone will do where factors are crossed."""
    texts = top.get("candidates", list) or []
    if not texts:
        raise top.wrong("candidates", UsageError("no candidates", hint='candidates = ["…", "…"]'))
    if len(texts) < 2 and not crossed.levels:
        hint = "name a second one (the same again, with aa = true), or use `dyno play`"
        raise top.wrong("candidates", UsageError("one candidate is no comparison", hint=hint))
    return candidates.named_apart([_spec(top, str(text)) for text in texts])


def _spec(top: Table, text: str) -> Spec:
    try:
        return candidates.parse(text)
    except UsageError as error:
        raise top.wrong(text, error) from error


def crossed(top: Table) -> Crossed:
    """The factors under `[[factor]]`, and how `design` crosses them."""
    found, crossing = top.tables("factor"), top.get("design", str)
    if crossing and not found:
        hint = "[[factor]], with name and levels below it"
        raise top.wrong("design", UsageError("a design without a factor", hint=hint))
    given = [_factor(each) for each in found]
    try:
        return factors.crossed(given, crossing or "factorial")
    except UsageError as error:
        named = re.search(r"factor '([^']*)'", error.message)
        raise top.wrong(named[1] if named else "design", error) from error


def _factor(found: Table) -> tuple[str, list[str]]:
    found.only(("name", "levels"))
    return option_name(_name(found, "factor")), _values(found.get("levels", list))


def workloads(top: Table) -> tuple[Workload, ...]:
    """The workloads under `[[workload]]`, a swept one once for each value."""
    found = top.tables("workload")
    if not found:
        hint = '[[workload]] and name = "…" below it'
        raise top.wrong("workload", UsageError("no workload", hint=hint))
    return tuple(one for each in found for one in _swept(each, _workload(each)))


def _workload(found: Table) -> Workload:
    found.only(("name", "options", "primary", "sweep"))
    name = _name(found, "workload")
    primary = found.tables("primary")
    for each in primary:
        each.only(("phase", "stream", "metric", "margin_percent"))
        if (metric := each.data.get("metric", METRICS[0])) not in METRICS:
            raise found.wrong(str(metric), unknown("metric", str(metric), METRICS))
    beside = found.file.parent / name
    script = str(beside) if beside.suffix == ".lua" else name
    options = options_as_text(found.table("options").data)
    return Workload(script, options, tuple(each.data for each in primary))


def _swept(found: Table, workload: Workload) -> list[Workload]:
    """The workload once for each value of the option under `sweep`; as it is without one."""
    sweep = found.table("sweep").data
    if not sweep:
        return [workload]
    (option, values), *more = ((option_name(name), _values(each)) for name, each in sweep.items())
    if more or len(values) < 2 or len(set(values)) < len(values) or option in workload.options:
        hint = "sweep = { threads = [1, 4, 16] }, and that option nowhere else"
        raise found.wrong("sweep", UsageError("a sweep is one option with its values", hint=hint))
    return [
        replace(workload, options=workload.options | {option: value}, sweep={option: value})
        for value in values
    ]


def _name(found: Table, section: str) -> str:
    name: str | None = found.get("name", str)
    if not name:
        raise found.wrong(section, UsageError(f"a {section} without a name"))
    return name


def _values(found: object) -> list[str]:
    return [as_text(each) for each in found] if isinstance(found, list) else []


def measuring(top: Table) -> Measuring:
    """How it is measured; what no run could be judged by is refused with its line."""
    fixed, most = top.get("blocks", int), top.get(MAX_BLOCKS, int)
    if fixed is not None and most is not None:
        both = f"both 'blocks' (fixed) and '{MAX_BLOCKS}' are set"
        raise top.wrong(MAX_BLOCKS, UsageError(both))
    margin, alpha = top.get("margin_percent", _NUMBER), top.get("alpha", _NUMBER)
    limits, controls = top.table("limits"), top.table("controls")
    try:
        return Measuring(
            margin_percent=None if margin is None else float(margin),
            alpha=0.05 if alpha is None else float(alpha),
            blocks=most if fixed is None else fixed,
            fixed=fixed is not None,
            seed=top.get("seed", int),
            limits={name: float(limits.get(name, _NUMBER)) for name in limits.data},
            controls={name: as_text(value) for name, value in controls.data.items()},
            loads=top.get("loads", int),
            aa=top.flag("aa"),
        )
    except UsageError as error:
        raise top.wrong(_blamed(error, top), error) from error


def _blamed(error: UsageError, top: Table) -> str:
    """The key that a refusal of `Measuring` is about."""
    words = {"blocks": ("blocks", MAX_BLOCKS), "margin": ("margin_percent",)}
    words |= {"alpha": ("alpha",), "loads": ("loads",)}
    keys = next((keys for word, keys in words.items() if word in error.message), ())
    named = re.search(r"'(\w+)'", error.message)
    return next((key for key in keys if key in top.data), named[1] if named else "")
