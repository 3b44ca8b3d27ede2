"""The section "What changed" of a run whose CPU time was sampled: sentence, tables, flame graph."""

from __future__ import annotations

import dataclasses
import gzip
import html as html_module
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from dyno.driver.sampler import CpuSampler
from dyno.errors import HostError
from dyno.judge.analysis.judge import judge
from dyno.record import Verdict
from dyno.record.decode import decode, encode
from dyno.record.profile import CpuSampling
from dyno.report import Book, export
from dyno.report.html import page
from dyno.report.sections import cause
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.design import NOT_OURS, choose_cpu_sampling
from report.page_text import draw, format_verdict
from report.sampled_book import make_sampled_book


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return make_sampled_book(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def html(book: Book) -> str:
    return page.build_run_page(book)


def read_flame(html: str) -> dict[str, Any]:
    """What the page's only flame graph is drawn from."""
    figure = html.split('<figure class="flame"')[1]
    packed = re.search(r'<script type="application/gzip">(.+?)</script>', figure)
    assert packed
    found: dict[str, Any] = json.loads(gzip.decompress(b64decode(packed[1])))
    return found


def list_frames(frame: list[Any]) -> Iterator[list[Any]]:
    yield frame
    for child in frame[7]:
        yield from list_frames(child)


def test_each_part_of_the_sentence_links_to_a_table_that_is_there(html: str) -> None:
    sentence = html.split('<section id="cause"')[1].split("<p>")[1].split("</p>")[0]
    links = re.findall(r'href="#([^"]+)"', sentence)
    assert links and set(links) == {"layers-1"}
    assert 'id="layers-1"' in html
    assert "in the tokenizer and parser" in sentence


def test_the_section_is_the_first_under_the_verdict(html: str) -> None:
    sections = re.findall(r'<section id="(\w+)"', html)
    assert sections[:2] == ["verdict", "cause"]


def test_the_table_has_the_whole_first_and_then_every_layer(html: str, book: Book) -> None:
    table = html.split('<table id="layers-1">')[1].split("</table>")[0]
    rows = re.findall(r'<th scope="row">(?:<b class="strong">)?([^<]+)<', table)
    (cpu,) = book.verdict.causes[0].cpu
    assert rows == ["all CPU time", *(row.layer for row in cpu.layers)]
    assert table.index("tokenizer and parser") < table.index("costlier", table.index("tokenizer"))
    assert "machineRewritten" in html, "a function that is new stands under its layer"


def test_the_flame_graph_has_what_vanished_and_colours_only_what_surely_differs(html: str) -> None:
    frames = {frame[0]: frame for frame in list_frames(read_flame(html)["frames"])}
    gone, new = frames["machinePut2"], frames["machineRewritten"]
    assert gone[3] == 0 < gone[2] and new[2] == 0 < new[3]
    sure = {name for name, frame in frames.items() if frame[6]}
    assert {"machinePut2", "machineRewritten", "parserFind0", "pagerFind0"} <= sure
    assert all(frame[4] > 0 or frame[5] < 0 for frame in frames.values() if frame[6])
    assert len(sure) < 20 < len(frames)


@pytest.mark.slow
def test_a_page_of_many_functions_stays_small_and_says_what_was_left_out(tmp_path: Path) -> None:
    large = page.build_run_page(make_sampled_book(tmp_path, functions=1_000))
    assert len(large.encode()) <= 500_000
    left_out = re.search(r"([\d,]+) frames of at most (\S+ ns) an operation are left out", large)
    assert left_out
    drawn = sum(1 for _ in list_frames(read_flame(large)["frames"]))
    assert drawn + int(left_out[1].replace(",", "")) == 10_000 + 1 + 10 + 1


def test_a_hostile_name_of_a_function_stays_text(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    book = make_sampled_book(tmp_path, functions=10)
    trials = []
    for trial in book.trials:
        profile = trial.phases[0].profile
        assert profile
        first = structs.replace(profile.functions[0], name=hostile)
        named = structs.replace(profile, functions=(first, *profile.functions[1:]))
        phase = structs.replace(trial.phases[0], profile=named)
        trials.append(structs.replace(trial, phases=(phase,)))
    verdict = judge(book.run, trials, audits={})
    html = page.build_run_page(dataclasses.replace(book, trials=trials, verdict=verdict))
    assert hostile not in html and "onerror=alert(1)&gt;" in html
    assert hostile in {frame[0] for frame in list_frames(read_flame(html)["frames"])}


def test_the_page_fetches_nothing(html: str) -> None:
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//|@import|fetch\(|XMLHttp""", html)


def test_the_terminal_has_the_sentence(book: Book) -> None:
    told = " ".join(format_verdict(book.run, book.verdict, width=200).split())
    assert f"what changed: {book.verdict.causes[0].sentence}" in told


def test_json_rows_have_the_layers_of_their_phase_and_the_whole_first(book: Book) -> None:
    row = export.to_json_rows(book.verdict)[0]
    whole, first, *_ = row["layers"]
    assert whole["layer"] == "all CPU time" and whole["word"] == "costlier"
    assert first["layer"] == "tokenizer and parser" and 3_800 < first["difference_ns"] < 4_200
    assert "functions" not in first


def test_a_verdict_with_layers_is_read_back_as_it_was(book: Book) -> None:
    plain = json.loads(json.dumps(encode(book.verdict)))
    assert decode(Verdict, plain).causes == book.verdict.causes


def refuse(sentence: str) -> CpuSampler:
    raise HostError(sentence)


@pytest.mark.parametrize(
    "why",
    [
        "this kernel has no perf events",
        "perf_event_paranoid is 3, which leaves sampling to root",
        "perf_event_open is refused: a container's seccomp profile forbids it",
        "cannot start dyno-driver: exec format error",
    ],
)
def test_why_cpu_time_was_not_sampled_is_a_sentence_of_the_page_with_what_still_tells(
    book: Book, why: str
) -> None:
    sampling = choose_cpu_sampling(Measuring(), book.run.candidates, lambda: refuse(why))
    page = build_section(book, sampling)
    assert f"CPU time is not sampled: {why}" in page and "still tell of causes" in page
    assert "is not sampled" not in build_section(book, book.run.cpu_sampling)


def test_servers_that_run_already_and_the_kernels_time_are_said_not_to_be_sampled(
    book: Book,
) -> None:
    attached = [structs.replace(side, build={"address": "db"}) for side in book.run.candidates]
    sampling = choose_cpu_sampling(Measuring(), attached)
    assert f"CPU time is not sampled: {NOT_OURS}" in build_section(book, sampling)
    half = CpuSampling("", "cpu-clock", "threads", False, 1_000_000)
    assert "without the kernel's, since perf_event_paranoid is 2" in build_section(book, half)


def build_section(book: Book, sampling: CpuSampling | None) -> str:
    run = structs.replace(book.run, cpu_sampling=sampling)
    section = draw(cause.SECTION, dataclasses.replace(book, run=run))
    assert section
    return html_module.unescape(" ".join(section.split())).replace("<code>", "")
