"""Section: the engines' settings as they read back, and what was asked of them."""

from __future__ import annotations

from functools import partial
from itertools import groupby

from dyno.judge.settings import KnownCosts, load_known_costs
from dyno.judge.settings.values import is_same_value
from dyno.numbers import format_count
from dyno.report import Book, Section
from dyno.report import document as doc

#: A table of more settings is searched.
SEARCHED = 12


def build(book: Book) -> doc.Document:
    """Settings that differ first, the dearest class before the others; those alike folded; the
    workloads' options.
    """
    names = book.view.candidates
    read = {name: _read_back(book, name) for name in names}
    costs = load_known_costs(book.run.candidates[0].engine)
    keys = costs.rank({key for found in read.values() for key in found})
    found = [(key, [read[name].get(key, "") for name in names]) for key in keys]
    apart = [row for row in found if not _is_alike(row[1])]
    alike = [row for row in found if _is_alike(row[1])]
    blocks: list[doc.Block] = [doc.Heading("Different between candidates")] if apart else []
    for kind, own in groupby(apart, partial(_find_kind, costs)):
        blocks.append(_build_table(names, list(own), kind))
    if not apart:
        none = "No setting that was read back differs between candidates."
        blocks.append(doc.Prose(none if alike else "No engine reported its settings."))
    if alike:
        summary = f"{format_count(len(alike), 'setting')} alike"
        blocks.append(doc.Details(summary, [_build_table(names, alike)]))
    options = [
        doc.RowTable(
            doc.make_columns("option", after=("value",)),
            [(key, doc.TextSpan(value, code=True)) for key, value in it.options.items()]
            or [("none", "")],
            f"{it.name} {it.script_sha256[:12]}",
        )
        for it in book.run.workloads
    ]
    return [*blocks, doc.Details("Options of the workloads", options)]


def _build_table(
    names: list[str], found: list[tuple[str, list[str]]], title: str = ""
) -> doc.RowTable:
    rows: list[doc.TableRow] = [
        (key, *(doc.TextSpan(value, code=True) for value in values)) for key, values in found
    ]
    columns = doc.make_columns("setting", after=names)
    return doc.RowTable(columns, rows, title, searched=len(rows) > SEARCHED)


def _is_alike(values: list[str]) -> bool:
    return all(is_same_value(values[0], value) for value in values)


def _find_kind(costs: KnownCosts, row: tuple[str, list[str]]) -> str:
    cost = costs.find(row[0])
    return cost.kind if cost else "others"


def _read_back(book: Book, candidate: str) -> dict[str, str]:
    """Each setting's values over the candidate's trials, and the asked ones never read back."""
    found: dict[str, list[str]] = {}
    for trial in book.view.played_trials:
        if trial.candidate == candidate:
            for key, value in trial.settings.items():
                found.setdefault(key, []).append(value)
    told = {key: " or ".join(dict.fromkeys(values)) for key, values in found.items()}
    side = next(c for c in book.run.candidates if c.name == candidate)
    asked = {**side.settings, **{f"control {k}": v for k, v in side.controls.items()}}
    return {**{key: f"{value} (as asked)" for key, value in asked.items()}, **told}


SECTION = Section("Settings", 84, build)
