"""The page's table of client hosts: a row for each phase and host, and none without them."""

from __future__ import annotations

from pathlib import Path

from fakes import make_client_part, make_record, make_run, make_tally, make_trial
from msgspec import structs

from dyno.judge.analysis.judge import judge
from dyno.report import Book
from dyno.report.sections.client_hosts import SECTION
from report.page_text import draw


def make_book(*hosts: str) -> Book:
    run = make_run()
    parts = tuple(make_client_part(host, busiest=97.0) for host in hosts)
    record = structs.replace(make_record([make_tally(100.0)]), clients=parts)
    trials = [
        make_trial(2 * block + at, side.name, block, 100.0, phases=(record,))
        for block in range(6)
        for at, side in enumerate(run.candidates)
    ]
    return Book(Path("run"), run, trials, judge(run, trials))


def test_each_host_has_a_row_with_its_part() -> None:
    html = (draw(SECTION, make_book("c1", "c2"))).replace("\u00a0", " ")
    assert html.count('<tr><th scope="row">select/run</th>') == 2
    assert all(
        f'<td data-label="host">{it}</td><td class="n" data-label="users">4<' in html
        for it in ("c1", "c2")
    )
    for cell in ("97 %", "10 µs", "± 20 µs", "not known"):
        assert f">{cell}</td>" in html


def test_one_driver_has_no_table() -> None:
    assert draw(SECTION, make_book()) == ""
