"""An experiment's TOML file: found, read, checked.

Its sections are candidates, factors, workloads and how it is measured. An error names the line that
it is about.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dyno.errors import DynoError, UsageError, build_unknown_error
from dyno.runs.experiment import candidates
from dyno.runs.experiment.candidates import CrossedFactors, Spec, cross_factors
from dyno.runs.experiment.comparison import (
    COMPARISON,
    METRICS,
    Experiment,
    Measuring,
    Workload,
    as_text,
    check_unlike,
    format_options,
    normalize_option_name,
)
from dyno.runs.experiments import find_experiment, list_experiments

#: TOML's types in TOML's words.
_KINDS: dict[object, str] = {
    str: "a string in quotes",
    int: "a whole number",
    list: "a list ([…], or a table under [[…]])",
    dict: "a table ({ key = value })",
}


@dataclass(frozen=True)
class TomlTable:
    """A table of a TOML file, at its top or below, which knows where its words stand."""

    file: Path
    text: str
    data: dict[str, Any]

    def locate_error(self, word: str, error: DynoError) -> UsageError:
        """The error, with the file and the line on which `word` stands."""
        lines = self.text.splitlines()
        found = (i for i, line in enumerate(lines, 1) if _has_word(word, line))
        place = f"{self.file}:{next(found, 1)}"
        return UsageError(f"{place}: {error.message}", cause=error.cause, hint=error.hint)

    def allow_only(self, keys: Iterable[str]) -> None:
        """Refuses a key that is not one of `keys`."""
        for key in self.data:
            if key not in keys:
                raise self.locate_error(key, build_unknown_error("key", key, keys))

    def get(self, key: str, kind: type | tuple[type, ...]) -> Any:
        """The value of `key`, None where there is none; refuses one of another type."""
        value = self.data.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.locate_error(
                key, UsageError(f"'{key}' is not {_KINDS.get(kind, 'a number')}")
            )
        return value

    def read_flag(self, key: str, *, default: bool = False) -> bool:
        """The value of `key`, `default` where there is none; refuses all but true and false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.locate_error(key, UsageError(f"'{key}' must be true or false"))
        return value

    def read_table(self, key: str) -> TomlTable:
        """The table that `key` names, an empty one where there is none."""
        return replace(self, data=self.get(key, dict) or {})

    def read_tables(self, key: str) -> list[TomlTable]:
        """The tables under `[[key]]`; refuses a list of anything else."""
        found = self.get(key, list) or []
        if not all(isinstance(each, dict) for each in found):
            raise self.locate_error(
                key, UsageError(f"'{key}' is not a list of tables under [[{key}]]")
            )
        return [replace(self, data=each) for each in found]


def _has_word(word: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", line.split("#")[0]) is not None


MAX_BLOCKS = "max_blocks"
_NUMBER = (int, float)


def read_candidates(top: TomlTable, crossed: CrossedFactors) -> tuple[Spec, ...]:
    """The `candidates`, with unique names; one alone will do where factors are crossed."""
    texts = top.get("candidates", list) or []
    if not texts:
        raise top.locate_error(
            "candidates", UsageError("no candidates", hint='candidates = ["…", "…"]')
        )
    if len(texts) < 2 and not crossed.levels:
        hint = "name a second one (the same again, with aa = true), or use `dyno play`"
        raise top.locate_error(
            "candidates", UsageError("a comparison needs two candidates", hint=hint)
        )
    found = candidates.make_names_unique([_read_spec(top, str(text)) for text in texts])
    if not top.read_flag("aa"):
        try:
            check_unlike(found, "aa = true says that this is meant: an A/A comparison")
        except UsageError as error:
            raise top.locate_error("candidates", error) from error
    return found


def _read_spec(top: TomlTable, text: str) -> Spec:
    try:
        return candidates.parse_candidate(text)
    except UsageError as error:
        raise top.locate_error(text, error) from error


def read_factors(top: TomlTable) -> CrossedFactors:
    """The factors under `[[factor]]`, and how `design` crosses them."""
    found, crossing = top.read_tables("factor"), top.get("design", str)
    if crossing and not found:
        hint = "[[factor]], with name and levels below it"
        raise top.locate_error("design", UsageError("a design needs a factor", hint=hint))
    given = [_read_factor(each) for each in found]
    try:
        return cross_factors(given, crossing or "factorial")
    except UsageError as error:
        named = re.search(r"factor '([^']*)'", error.message)
        raise top.locate_error(named[1] if named else "design", error) from error


def _read_factor(found: TomlTable) -> tuple[str, list[str]]:
    found.allow_only(("name", "levels"))
    return normalize_option_name(_read_name(found, "factor")), _read_values(
        found.get("levels", list)
    )


def read_workloads(top: TomlTable) -> tuple[Workload, ...]:
    """The workloads under `[[workload]]`, a swept one once for each value."""
    found = top.read_tables("workload")
    if not found:
        hint = '[[workload]] and name = "…" below it'
        raise top.locate_error("workload", UsageError("no workload", hint=hint))
    return tuple(one for each in found for one in _sweep_values(each, _read_workload(each)))


def _read_workload(found: TomlTable) -> Workload:
    found.allow_only(("name", "options", "primary", "sweep"))
    name = _read_name(found, "workload")
    primary = found.read_tables("primary")
    for each in primary:
        each.allow_only(("phase", "stream", "metric", "margin_percent"))
        if (metric := each.data.get("metric", METRICS[0])) not in METRICS:
            raise found.locate_error(
                str(metric), build_unknown_error("metric", str(metric), METRICS)
            )
    beside = found.file.parent / name
    script = str(beside) if beside.suffix == ".lua" else name
    options = format_options(found.read_table("options").data)
    return Workload(script, options, tuple(each.data for each in primary))


def _sweep_values(found: TomlTable, workload: Workload) -> list[Workload]:
    """The workload once for each value of the option under `sweep`; as it is without one."""
    sweep = found.read_table("sweep").data
    if not sweep:
        return [workload]
    (option, values), *more = (
        (normalize_option_name(name), _read_values(each)) for name, each in sweep.items()
    )
    if more or len(values) < 2 or len(set(values)) < len(values) or option in workload.options:
        hint = "sweep = { threads = [1, 4, 16] }, and that option nowhere else"
        raise found.locate_error(
            "sweep", UsageError("a sweep needs one option with two or more values", hint=hint)
        )
    return [
        replace(workload, options=workload.options | {option: value}, sweep={option: value})
        for value in values
    ]


def _read_name(found: TomlTable, section: str) -> str:
    name: str | None = found.get("name", str)
    if not name:
        raise found.locate_error(section, UsageError(f"a {section} without a name"))
    return name


def _read_values(found: object) -> list[str]:
    return [as_text(each) for each in found] if isinstance(found, list) else []


def read_measuring(top: TomlTable) -> Measuring:
    """How it is measured; what no run could be judged by is refused with its line."""
    fixed, most = top.get("blocks", int), top.get(MAX_BLOCKS, int)
    if fixed is not None and most is not None:
        both = f"both 'blocks' (fixed) and '{MAX_BLOCKS}' are set"
        raise top.locate_error(MAX_BLOCKS, UsageError(both))
    margin, alpha = top.get("margin_percent", _NUMBER), top.get("alpha", _NUMBER)
    precision = top.get("precision_percent", _NUMBER)
    limits, controls = top.read_table("limits"), top.read_table("controls")
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
            aa=top.read_flag("aa"),
            gate=top.get("gate", str) or "each",
            sequential=top.read_flag("sequential") if "sequential" in top.data else None,
            hold_connections=top.read_flag("hold_connections"),
            precision_percent=None if precision is None else float(precision),
            cpu_profile=top.read_flag("cpu_profile", default=True),
            cpu_stacks=top.read_flag("cpu_stacks"),
            accepted=read_accepted(top),
            check=top.get("check", str) or "quick",
            count_events=top.get("count_events", int) or 0,
            by=top.get("by", str) or "time",
        )
    except UsageError as error:
        raise top.locate_error(_find_blamed_key(error, top), error) from error


def read_accepted(top: TomlTable) -> dict[str, str]:
    """The table `accepted`: a statement's text, its literals as `?`, and the reason why it may be
    answered otherwise; `UsageError` for one without a reason.
    """
    found = top.read_table("accepted")
    reasons = {text: found.get(text, str) or "" for text in found.data}
    for text, reason in reasons.items():
        if not reason.strip():
            raise found.locate_error(text, UsageError(f"'{text}' is accepted without a reason"))
    return reasons


def _find_blamed_key(error: UsageError, top: TomlTable) -> str:
    """The key that a refusal of `Measuring` is about."""
    words = {"blocks": ("blocks", MAX_BLOCKS), "margin": ("margin_percent",)}
    words |= {"precision": ("precision_percent",)}
    words |= {"count_events": ("count_events",), "word for by": ("by",)}
    words |= {"alpha": ("alpha",), "loads": ("loads",), "gate": ("gate",), "check": ("check",)}
    keys = next((keys for word, keys in words.items() if word in error.message), ())
    named = re.search(r"'(\w+)'", error.message)
    return next((key for key in keys if key in top.data), named[1] if named else "")


_KEYS = {
    *("name", "former_name", "question", "published", "candidates"),
    *("workload", "design", "factor", "like", "client_hosts", "instrument", "series"),
    *(each.name for each in fields(Measuring) if each.name not in ("fixed", "quick")),
    MAX_BLOCKS,
}


def read_experiment(path: Path) -> Experiment:
    """The experiment in a TOML file; `UsageError` with file and line where it is malformed.

    A name without a path is one of those that `experiments.list_experiments` has.
    """
    file = path if path.is_file() else find_experiment(str(path))
    if file is None:
        raise _build_missing_error(path)
    try:
        return _read_experiment(_parse(file), f"dyno run {path}")
    except RecursionError:
        hint = "dyno show experiments has examples"
        raise UsageError(f"{file} is nested too deeply", hint=hint) from None


def read_accepted_file(file: Path) -> dict[str, str]:
    """The table `accepted` of a TOML file that has nothing else; `UsageError` where it is not."""
    try:
        top = _parse(file)
    except OSError as error:
        raise UsageError(f"cannot read {file}", cause=(error.strerror or "").lower()) from None
    top.allow_only(["accepted"])
    return read_accepted(top)


def _parse(file: Path) -> TomlTable:
    try:
        text = file.read_text(encoding="utf-8")
        return TomlTable(file, text, tomllib.loads(text))
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not TOML", cause="it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        hint = "strings stand in quotes, lists end with ]; dyno show experiments has examples"
        raise UsageError(f"{file} is not TOML", cause=error, hint=hint) from error


def _build_missing_error(path: Path) -> UsageError:
    """A path is told from a name: what is near a mistyped file is no help."""
    if path.suffix == ".toml" or len(path.parts) != 1:
        hint = "a TOML file, or a name that `dyno show experiments` lists"
        return UsageError(f"there is no experiment file '{path}'", hint=hint)
    return build_unknown_error("experiment", str(path), list_experiments())


def _read_experiment(top: TomlTable, command: str) -> Experiment:
    top.allow_only(_KEYS)
    crossed, own = read_factors(top), dict(top.read_table("instrument").data)
    return Experiment(
        name=top.get("name", str) or top.file.stem,
        candidates=read_candidates(top, crossed),
        workloads=read_workloads(top),
        measuring=read_measuring(top),
        question=top.get("question", str) or "",
        like=top.get("like", str) or "",
        series=top.get("series", str) or "",
        published=tuple(
            {k: str(v) for k, v in each.data.items()} for each in top.read_tables("published")
        ),
        command=command,
        crossed=crossed,
        client_hosts=top.data.get("client_hosts"),
        instrument=str(own.pop("name", COMPARISON)),
        own=own,
    )
