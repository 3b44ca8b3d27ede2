"""Section: what others published stands beside what was measured here, or why nothing does."""

from __future__ import annotations

import html
import re
from pathlib import Path

from crossed import SIZES, crossed, played
from judging import judge_unaudited
from msgspec import structs

from dyno.record import Cause, CounterDifference, Reading, WaitDifference
from dyno.record.cause import CpuDifference, LayerDifference
from dyno.report import Book, load_sections
from dyno.report.sections.published import LAYERS
from report.page_text import draw

SECTION = load_sections()["published"]
PLACE = ("select", "run", "aslr=off preload=off")


def render(*figures: dict[str, str]) -> list[str]:
    """What is said in each row of the table, and behind it."""
    host = {"cpu": "Example 9000", "cores": "2", "memory_mb": "24105"}
    run = structs.replace(crossed(SIZES, "factorial"), published=figures, host=host)
    trials = played(run, lambda at: 0.05 * (at["aslr"] == "off"))
    idle = Reading("contention", "index_lock_waits", "waits", "lower", 0.0, per_operation=True)
    phases = tuple(structs.replace(it, readings=(idle,)) for it in trials[0].phases)
    trials[0] = structs.replace(trials[0], phases=phases)
    cause = Cause(
        PLACE[2],
        "",
        counters=(CounterDifference(*PLACE, "page_splits", "splits", 0.5, 0.25, 0, 0, 0, 0, True),),
        waits=(WaitDifference(*PLACE, "latches", 0.1, 40.0, 39.9, 39, 41, 0, True, True),),
        cpu=(
            CpuDifference(
                *PLACE,
                6,
                2.0,
                LayerDifference("all", 1e5, 2e5, 1e5, 9e4, 11e4, 0, "costlier"),
                (
                    LayerDifference("parser", 1e4, 2e4, 1e4, 9e3, 11e3, 0, "costlier"),
                    LayerDifference("kernel", 1e4, 1e5, 9e4, 8e4, 10e4, 0, "costlier"),
                ),
                2,
                0.0,
            ),
        ),
    )
    verdict = structs.replace(judge_unaudited(run, trials), causes=(cause,))
    page = draw(SECTION, Book(Path(), run, trials, verdict))
    rows = page.replace("</tr>", "\n").split("<tbody>")[1]
    plain = html.unescape(re.sub(r"<[^>]+>", " ", rows.replace("\n</", "</")))
    return [each for line in plain.split("\n") if (each := re.sub(r"\s+", " ", line).strip())]


def test_a_figure_stands_beside_the_numbers_of_both_sides_and_of_what_changed() -> None:
    source = {"figure": "f", "source": "an article", "machine": "24 cores"}
    figures = [
        source | {"workload": "select", "candidate": "aslr=off"},
        source | {"metric": "page_splits"},
        source | {"metric": "latches"},
        source | {"metric": LAYERS, "workload": "select"},
        source | {"metric": LAYERS, "workload": "select threads=64"},
        source | {"metric": "fsyncs"},
        source | {"metric": "index_lock_waits"},
    ]
    said = " ".join(render(*figures))
    assert re.search(r"reader rate: [\d.]+ k?/s → [\d.]+ k?/s, slowdown \+5\.\d %", said), said
    assert "select run: 0.500 → 0.250 splits an operation" in said
    assert "0.10 → 40.00 µs an operation, by the engine's own count" in said
    kernel, parser = "kernel +90 µs [80, 100]", "the parser +10 µs [9, 11]"
    assert f"+100 µs [90, 110] of CPU an operation; {kernel}, {parser}" in said, said
    assert "not played: select threads=64" in said
    assert "nothing: not counted here, or in too few blocks" in said
    assert "index_lock_waits 0 on every side" in said
    assert "Measured here on Example 9000, 2 cores, 24.1 GB." in said and "24 cores" in said
