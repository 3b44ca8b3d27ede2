"""What is compared, on what, and how it is measured: an experiment as data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dyno import candidates, factors
from dyno.candidates import Spec
from dyno.errors import DynoError, UsageError, unknown
from dyno.factors import Crossed

BLOCKS = range(3, 201)
LOADS = range(25)
MARGIN_PERCENT_MAX = 50.0
LIMITS = ("steal_percent", "foreign_percent")
#: What a stream can be judged by.
METRICS = (
    "rate_per_s",
    *(f"latency_ns_{kind}" for kind in ("p50", "p95", "p99", "p99.9", "max", "mean")),
    "failed_percent",
)


@dataclass(frozen=True)
class Workload:
    """A workload's name (or a script's path), the options set for it, as text, and what it is
    judged by, where that is not the script's own choice: ``phase``, ``stream``, ``metric``.

    `sweep` is the option among them, with its value, that tells it from its like in a sweep.
    """

    name: str
    options: dict[str, str] = field(default_factory=dict)
    primary: tuple[dict[str, Any], ...] = ()
    sweep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measuring:
    """How it is measured; None leaves the house's or the workload's own.

    `blocks` is the number at the last look; `fixed` makes it the only look. `limits` are the
    noise limits (`steal_percent`, `foreign_percent`), `controls` those of every candidate. `loads`
    is how many loads of its data each candidate has; 0: every trial loads them anew. `aa` declares
    an A/A comparison: the candidates are the same on purpose.
    """

    margin_percent: float | None = None
    alpha: float = 0.05
    blocks: int | None = None
    fixed: bool = False
    quick: bool = False
    seed: int | None = None
    limits: dict[str, float] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    loads: int | None = None
    aa: bool = False

    def __post_init__(self) -> None:
        """Refuses what no run could be judged by (`UsageError`)."""
        if self.blocks is not None and self.blocks not in BLOCKS:
            hint = f"{BLOCKS[0]} to {BLOCKS[-1]} are fine"
            raise UsageError(f"the number of blocks cannot be {self.blocks}", hint=hint)
        if self.margin_percent is not None and not 0 < self.margin_percent <= MARGIN_PERCENT_MAX:
            hint = f"above 0 % and up to {MARGIN_PERCENT_MAX:g} %"
            raise UsageError(f"a margin cannot be {self.margin_percent:g} %", hint=hint)
        if self.loads is not None and self.loads not in LOADS:
            hint = f"0 (anew in every trial) to {LOADS[-1]}; few loads are few data"
            raise UsageError(f"the number of loads cannot be {self.loads}", hint=hint)
        if not 0.001 <= self.alpha <= 0.2:
            raise UsageError(f"an alpha cannot be {self.alpha:g}", hint="0.001 to 0.2 are fine")
        for name, percent in self.limits.items():
            if name not in LIMITS:
                raise unknown("limit", name, LIMITS)
            if not 0 <= percent <= 100:
                hint = "0 to 100; 100 drops no block"
                raise UsageError(f"the limit '{name}' cannot be {percent:g} %", hint=hint)


@dataclass(frozen=True)
class Experiment:
    """Candidates (the first is the base) under workloads; `command` is how to repeat it.

    Where factors are `crossed`, every candidate is played in every cell.
    """

    name: str
    candidates: tuple[Spec, ...]
    workloads: tuple[Workload, ...]
    measuring: Measuring = Measuring()
    question: str = ""
    published: tuple[dict[str, str], ...] = ()
    command: str = ""
    crossed: Crossed = field(default_factory=Crossed)


def compared(
    specs: Sequence[str],
    workload: str,
    options: Mapping[str, str],
    measuring: Measuring = Measuring(),
    command: str = "",
) -> Experiment:
    """The experiment that `dyno compare` (or `play`, with one spec) asks for."""
    sides = candidates.named_apart([candidates.parse(text) for text in specs])
    chosen = Workload(workload, _with_underscores(options))
    name = f"{Path(workload).stem}-{'-'.join(side.name for side in sides)}"
    return Experiment(name, sides, (chosen,), measuring, command=command)


def every() -> dict[str, Path]:
    """The experiments that come with Dyno (the folder `experiments`), by name."""
    return {path.stem: path for path in sorted(Path("experiments").glob("*.toml"))}


def read(path: Path) -> Experiment:
    """The experiment in a TOML file; `UsageError` with file and line where it is malformed.

    A name without a path is one of those in `experiments/`.
    """
    file = path if path.is_file() else every().get(str(path))
    if file is None:
        raise _missing(path)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not TOML", cause="it is not text in UTF-8") from error
    try:
        return _experiment(_Table(file, text, tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        hint = "strings stand in quotes, lists end with ]; dyno show experiments has examples"
        raise UsageError(f"{file} is not TOML", cause=error, hint=hint) from error


def _missing(path: Path) -> UsageError:
    """A path is told from a name: what is near a mistyped file is no help."""
    if path.suffix == ".toml" or len(path.parts) != 1:
        hint = "a TOML file, or a name that `dyno show experiments` lists"
        return UsageError(f"there is no experiment file '{path}'", hint=hint)
    if not every():
        hint = "names are those of the folder experiments, which is not here; give a file's path"
        return UsageError(f"unknown experiment '{path}'", hint=hint)
    return unknown("experiment", str(path), every())


_KEYS = {"name", "question", "published", "candidates", "workload", "design", "factor"} | {
    each.name for each in fields(Measuring) if each.name not in ("fixed", "quick")
}
_MAX = "max_blocks"
#: TOML's types in TOML's words.
_KINDS: dict[object, str] = {
    str: "a string in quotes",
    int: "a whole number",
    list: "a list ([…], or a table under [[…]])",
    dict: "a table ({ key = value })",
}


@dataclass(frozen=True)
class _Table:
    """A TOML file's table, which knows where its words stand."""

    file: Path
    text: str
    data: dict[str, Any]

    def wrong(self, word: str, error: DynoError) -> UsageError:
        """The error, with the file and the line on which `word` stands."""
        lines = self.text.splitlines()
        found = (i for i, line in enumerate(lines, 1) if _stands(word, line))
        place = f"{self.file}:{next(found, 1)}"
        return UsageError(f"{place}: {error.message}", cause=error.cause, hint=error.hint)

    def only(self, table: Mapping[str, Any], keys: Iterable[str]) -> None:
        """Refuses a key that is not one of `keys`."""
        for key in table:
            if key not in keys:
                raise self.wrong(key, unknown("key", key, keys))

    def get(self, table: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
        """The value of `key`, None where there is none; refuses one of another type."""
        value = table.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.wrong(key, UsageError(f"'{key}' is not {_KINDS.get(kind, 'a number')}"))
        return value

    def flag(self, table: Mapping[str, Any], key: str) -> bool:
        """The value of `key`, false where there is none; refuses all but true and false."""
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, UsageError(f"'{key}' is not true or false"))
        return value


def _stands(word: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line.split("#")[0]) is not None


def _experiment(table: _Table) -> Experiment:
    table.only(table.data, _KEYS | {_MAX})
    specs = table.get(table.data, "candidates", list) or []
    if not specs:
        raise table.wrong("candidates", UsageError("no candidates", hint='candidates = ["…", "…"]'))
    crossed = _crossed(table)
    if len(specs) < 2 and not crossed.levels:
        hint = "name a second one (the same again, with aa = true), or use `dyno play`"
        raise table.wrong("candidates", UsageError("one candidate is no comparison", hint=hint))
    published = table.get(table.data, "published", list) or []
    return Experiment(
        name=table.get(table.data, "name", str) or table.file.stem,
        candidates=candidates.named_apart([_spec(table, text) for text in specs]),
        workloads=_workloads(table),
        measuring=_measuring(table),
        question=table.get(table.data, "question", str) or "",
        published=tuple({k: str(v) for k, v in each.items()} for each in published),
        command=f"dyno run {table.file}",
        crossed=crossed,
    )


def _crossed(table: _Table) -> Crossed:
    """The factors under `[[factor]]`, and how `design` crosses them."""
    found = table.get(table.data, "factor", list) or []
    crossing = table.get(table.data, "design", str)
    if crossing and not found:
        hint = "[[factor]], with name and levels below it"
        raise table.wrong("design", UsageError("a design without a factor", hint=hint))
    given = []
    for each in found:
        table.only(each, ("name", "levels"))
        name, levels = table.get(each, "name", str), table.get(each, "levels", list)
        if not name:
            raise table.wrong("factor", UsageError("a factor without a name"))
        given.append((_driven(name), _values(levels)))
    try:
        return factors.crossed(given, crossing or "factorial")
    except UsageError as error:
        named = re.search(r"factor '([^']*)'", error.message)
        raise table.wrong(named[1] if named else "design", error) from error


def _spec(table: _Table, text: object) -> Spec:
    try:
        return candidates.parse(str(text))
    except UsageError as error:
        raise table.wrong(str(text), error) from error


def _workloads(table: _Table) -> tuple[Workload, ...]:
    found = table.get(table.data, "workload", list) or []
    if not found:
        hint = '[[workload]] and name = "…" below it'
        raise table.wrong("workload", UsageError("no workload", hint=hint))
    return tuple(one for each in found for one in _swept(table, each, _workload(table, each)))


def _swept(table: _Table, found: dict[str, Any], workload: Workload) -> list[Workload]:
    """The workload once for each value of the option under `sweep`; as it is without one."""
    sweep = table.get(found, "sweep", dict)
    if not sweep:
        return [workload]
    (option, values), *more = ((_driven(name), _values(each)) for name, each in sweep.items())
    if more or len(values) < 2 or len(set(values)) < len(values) or option in workload.options:
        hint = "sweep = { threads = [1, 4, 16] }, and that option nowhere else"
        raise table.wrong("sweep", UsageError("a sweep is one option with its values", hint=hint))
    return [
        replace(workload, options=workload.options | {option: value}, sweep={option: value})
        for value in values
    ]


def _values(found: object) -> list[str]:
    return [_text(each) for each in found] if isinstance(found, list) else []


def _workload(table: _Table, found: dict[str, Any]) -> Workload:
    table.only(found, ("name", "options", "primary", "sweep"))
    name = table.get(found, "name", str)
    if not name:
        raise table.wrong("workload", UsageError("a workload without a name"))
    beside = table.file.parent / name
    options = table.get(found, "options", dict) or {}
    primary = table.get(found, "primary", list) or []
    for each in primary:
        table.only(each, ("phase", "stream", "metric", "margin_percent"))
        if (metric := each.get("metric", METRICS[0])) not in METRICS:
            raise table.wrong(str(metric), unknown("metric", str(metric), METRICS))
    script = str(beside) if beside.suffix == ".lua" else name
    return Workload(script, _with_underscores(options), tuple(primary))


def _measuring(table: _Table) -> Measuring:
    number = (int, float)
    fixed, most = (table.get(table.data, key, int) for key in ("blocks", _MAX))
    if fixed is not None and most is not None:
        raise table.wrong(_MAX, UsageError(f"both 'blocks' (fixed) and '{_MAX}' are set"))
    margin = table.get(table.data, "margin_percent", number)
    alpha, seed = table.get(table.data, "alpha", number), table.get(table.data, "seed", int)
    limits = table.get(table.data, "limits", dict) or {}
    for name in limits:
        table.get(limits, name, number)
    controls = table.get(table.data, "controls", dict) or {}
    try:
        return Measuring(
            margin_percent=None if margin is None else float(margin),
            alpha=0.05 if alpha is None else float(alpha),
            blocks=most if fixed is None else fixed,
            fixed=fixed is not None,
            seed=seed,
            limits={name: float(value) for name, value in limits.items()},
            controls={name: _text(value) for name, value in controls.items()},
            loads=table.get(table.data, "loads", int),
            aa=table.flag(table.data, "aa"),
        )
    except UsageError as error:
        raise table.wrong(_blamed(error, table.data), error) from error


def _blamed(error: UsageError, data: Mapping[str, Any]) -> str:
    """The key that a refusal of `Measuring` is about."""
    words = {"blocks": ("blocks", _MAX), "margin": ("margin_percent",)}
    words |= {"alpha": ("alpha",), "loads": ("loads",)}
    keys = next((keys for word, keys in words.items() if word in error.message), ())
    named = re.search(r"'(\w+)'", error.message)
    return next((key for key in keys if key in data), named[1] if named else "")


def _with_underscores(options: Mapping[str, Any]) -> dict[str, str]:
    """Options by the driver's names: sysbench writes ``table-size`` and ``table_size``."""
    return {_driven(name): _text(value) for name, value in options.items()}


def _driven(name: str) -> str:
    return name.replace("-", "_")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
