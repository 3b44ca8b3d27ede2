"""The list of runs: searched, filtered, sorted, a hundred a page, all by the address alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

from dyno.numbers import format_count
from dyno.pages.frame import RUNS, SitePage, quote_key, read_template
from dyno.pages.library import ListedRun
from dyno.record import RunSummary
from dyno.report.html.markup import render
from dyno.report.render.forest import MARKS
from dyno.runs import run_summary

PER_PAGE = 100
#: The columns: the name of one's class, its title, and how its rows are sorted in both directions.
COLUMNS = (
    ("name", "run", ("name", "name-down")),
    ("workload", "workload", ("workload", "workload-down")),
    ("engine", "engine", ("engine", "engine-down")),
    ("kind", "kind", ("kind", "kind-down")),
    ("word", "verdict", ("word", "word-down")),
    ("when", "began (UTC)", ("oldest", "newest")),
)
#: How the rows are sorted: the name in an address, and what a heading says.
SORTS = {"newest": "newest first", "oldest": "oldest first"} | {
    way: f"by {title}{', reversed' * (way != ways[0])}"
    for _, title, ways in COLUMNS[:-1]
    for way in ways
}
PLAYING, DAMAGED, NOT_JUDGED, DOUBTFUL = "playing now", "damaged", "not judged", "doubtful"
#: The label of a candidate from git (`Candidate.label`): its engine or name, and its commit.
LABEL = re.compile(r"(?:(\w+)@source:\S*|([^(]*)) \(([0-9a-f]{8})[0-9a-f]{4}(?:, .*)?\)")
#: The label of any other whose name does not say it: `new (sqlite 3.54.1)`.
BUILD = re.compile(r"[^(]* \((\w+) ([^()]+)\)")
#: The mark of each word of the other kinds of runs: that of the comparison's word it stands for.
LIKENED = {
    **{"heavier": "slower", "not heavier": "not slower", "lighter": "faster"},
    **{"dearer": "slower", "not dearer": "not slower", "cheaper": "faster"},
    **{"less capacity": "slower", "not less capacity": "not slower", "more capacity": "faster"},
    **{"loses": "slower", "loses as permitted": "inconclusive"},
}


@dataclass(frozen=True)
class ListQuery:
    """What an address asks of the list; an empty field asks for nothing."""

    q: str = ""
    kind: str = ""
    workload: str = ""
    engine: str = ""
    word: str = ""
    sort: str = "newest"
    page: int = 1

    @property
    def address(self) -> str:
        """The list with this query."""
        plain = ListQuery()
        asked = {k: v for k, v in asdict(self).items() if v != getattr(plain, k)}
        return f"index.html?{urlencode(asked)}" if asked else "index.html"


def parse_query(words: Mapping[str, str]) -> ListQuery:
    """The query of an address; what it does not know is left out."""
    texts = {name: words.get(name, "") for name in ("q", "kind", "workload", "engine", "word")}
    sort, page = words.get("sort", ""), words.get("page", "")
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1
    return ListQuery(**texts, sort=sort if sort in SORTS else "newest", page=max(number, 1))


def name_word(summary: RunSummary) -> str:
    """The word by which a run is found: its verdict's, or why it has none."""
    if summary.damage:
        return DAMAGED
    if summary.is_playing:
        return PLAYING
    if summary.overall:
        return summary.overall
    return NOT_JUDGED if summary.sentence == run_summary.NOT_JUDGED else "no verdict"


def choose_runs(runs: Sequence[ListedRun], query: ListQuery) -> list[ListedRun]:
    """Those that fit, sorted; `runs` are newest first."""
    words = query.q.lower().split()
    fitting = [run for run in runs if _matches(run, query, words)]
    if query.sort == "oldest":
        fitting.reverse()
    elif query.sort != "newest":
        column, _, down = query.sort.partition("-")
        fitting.sort(key=lambda run: _list_cells(run.summary)[column], reverse=bool(down))
    return fitting


def _list_cells(it: RunSummary) -> dict[str, str]:
    """What the rows are sorted by, by column."""
    return {
        "name": _name_run(it).lower(),
        "workload": ", ".join(it.workloads),
        "engine": ", ".join(it.engines),
        "kind": it.kind,
        "word": name_word(it),
    }


def _matches(run: ListedRun, query: ListQuery, words: Sequence[str]) -> bool:
    it = run.summary
    if words:
        parts = (run.key, it.question, it.sentence, it.damage, it.kind, name_word(it))
        text = " ".join((*parts, *it.candidates, *it.workloads, *it.engines, it.group)).lower()
        if not all(word in text for word in words):
            return False
    is_of_word = query.word in ("", name_word(it)) or (query.word == DOUBTFUL and it.is_doubtful)
    is_of_workload = not query.workload or query.workload in it.workloads
    is_of_engine = not query.engine or query.engine in it.engines
    return query.kind in ("", it.kind) and is_of_word and is_of_workload and is_of_engine


def build_list_page(runs: Sequence[ListedRun], query: ListQuery, served: bool = True) -> SitePage:
    """The page of the runs that fit; all on one page where it is not served."""
    fitting = choose_runs(runs, query)
    size = PER_PAGE if served else max(len(fitting), 1)
    last = max(1, -(-len(fitting) // size))
    query = replace(query, page=min(query.page, last))
    shown = fitting[(query.page - 1) * size : query.page * size]
    caption = format_count(len(fitting), "run")
    if len(fitting) != len(runs):
        caption += f" of {len(runs)}"
    body = render(
        read_template("run_list.html"),
        rows=[_describe_row(run) for run in shown],
        query=query,
        chosen=asdict(query),
        choices=_list_choices(runs),
        sorts=SORTS,
        heads=[_describe_head(query, *column) for column in COLUMNS],
        served=served,
        caption=f"{caption}, {SORTS[query.sort]}",
        filtered=query.address != "index.html",
        playing=[run for run in runs if run.summary.is_playing],
        total=len(runs),
        last=last,
        earlier=replace(query, page=query.page - 1).address,
        later=replace(query, page=query.page + 1).address,
    )
    return SitePage(title=f"Runs: {caption}", heading=caption, body=body, here=RUNS)


def _describe_head(
    query: ListQuery, name: str, title: str, ways: tuple[str, str]
) -> tuple[str, str, str, str]:
    """The class and title of a column, the list sorted by it, and how it is sorted by it now."""
    at = ways.index(query.sort) if query.sort in ways else None
    first = 1 if name == "when" else 0  # dates, the newest first
    way = ways[first if at is None else 1 - at]
    order = "" if at is None else ("ascending", "descending")[at]
    return name, title, replace(query, sort=way, page=1).address, order


def _list_choices(runs: Sequence[ListedRun]) -> list[tuple[str, str, list[str]]]:
    every = [run.summary for run in runs]
    words = {name_word(it) for it in every} | {DOUBTFUL for it in every if it.is_doubtful}
    return [
        ("workload", "Workload", sorted({name for it in every for name in it.workloads})),
        ("engine", "Engine", sorted({name for it in every for name in it.engines})),
        ("word", "Verdict", sorted(words)),
        ("kind", "Kind", sorted({str(it.kind) for it in every})),
    ]


def shorten_labels(labels: Sequence[str]) -> list[str]:
    """`new 1a2b3c4d` of `new (1a2b3c4d5e6f, subject)`, `sqlite 1a2b3c4d` of a spec of a commit.

    Commits alone, or engines with their versions (`sqlite 3.53.1`, `3.54.1`), where these tell the
    sides apart.
    """
    found = [LABEL.fullmatch(label) for label in labels]
    commits = [it[3] for it in found if it]
    if len({*commits}) == len(labels) > 1:
        return commits
    short = [
        f"{it[1] or it[2]} {it[3]}" if it else label
        for it, label in zip(found, labels, strict=True)
    ]
    builds = [(it[1], it[2]) for label in labels if (it := BUILD.fullmatch(label))]
    if len({*builds}) < len(labels) or any(found):
        return short
    is_one = len({engine for engine, _ in builds}) == 1
    return [it[1] if at and is_one else " ".join(it) for at, it in enumerate(builds)]


def _name_run(it: RunSummary) -> str:
    return " vs ".join(it.candidates) or it.name


def choose_mark(it: RunSummary) -> tuple[str, str]:
    """The shape beside the word, and the class of its colour."""
    word = name_word(it)
    if word in (PLAYING, DAMAGED, NOT_JUDGED, "no verdict"):
        shapes = {PLAYING: "▶", DAMAGED: "✕", NOT_JUDGED: "○", "no verdict": "·"}
        classes = {PLAYING: "playing", DAMAGED: "damaged"}
        return shapes[word], classes.get(word, "unjudged")
    standing = DOUBTFUL if it.is_doubtful else word
    return MARKS.get(LIKENED.get(word, word), "◆"), standing.replace(" ", "-")


def _describe_row(run: ListedRun) -> dict[str, object]:
    it = run.summary
    mark, standing = choose_mark(it)
    word = name_word(it)
    told = it.damage or it.sentence.removeprefix("Doubtful: ").removeprefix(f"{word} ")
    return {
        "key": run.key,
        "address": quote_key(run.key),
        "title": " vs ".join(shorten_labels(it.candidates)) or it.name,
        "compared": _name_run(it),
        "kind": it.kind,
        "question": it.question,
        "workloads": it.workloads,
        "engines": it.engines,
        "words": (word, DOUBTFUL) if it.is_doubtful else (word,),
        "word": f"{DOUBTFUL}: {word}" if it.is_doubtful else word,
        "mark": mark,
        "standing": standing,
        "sentence": told,
        "created": it.created_utc,
        "when": it.created_utc[:16].replace("T", " "),
        "group": it.group,
        "pairs": run.place.instrument.has_trials and not it.damage,
        "playing": it.is_playing,
    }
