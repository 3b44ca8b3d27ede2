"""Profiles for other programs, each read back by a reader of its own."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import make_run
from msgspec import structs
from sampled_trials import ENGINE, make_sampled

from dyno.errors import UsageError
from dyno.judge.analysis.judge import judge
from dyno.record.profile import CpuProfile, CpuSampling, ProfiledFunction, ProfiledStack
from dyno.report import Book
from dyno.report.profiles import collapsed, collect_profile, firefox, pprof, write_profiles

LAYERS = {layer for layer, _ in ENGINE}


@pytest.fixture
def book(tmp_path: Path) -> Book:
    run, trials = make_run(analyses=(6,)), make_sampled(ENGINE, ENGINE)
    return Book(tmp_path, run, trials, judge(run, trials, audits={}))


def count_samples(book: Book, candidate: str) -> int:
    profiles = [trial.phases[0].profile for trial in book.trials if trial.candidate == candidate]
    return sum(profile.samples for profile in profiles if profile)


def sample_stacks(book: Book) -> Book:
    """The same book, in whose every trial callers were sampled, too."""
    functions = (
        ProfiledFunction("main", "/usr/bin/engine", 0, "main.c", 0, "commands"),
        ProfiledFunction("parse", "/usr/bin/engine", 16, "parse.c", 4, "parser"),
        ProfiledFunction("", "/usr/lib/libx.so", 32, "", 6, "unknown"),
    )
    stacks = (ProfiledStack((0, 1), 4), ProfiledStack((0, 1, 2), 6))
    profile = CpuProfile(10, 0, 1_000_003, functions, stacks)
    trials = [
        structs.replace(trial, phases=(structs.replace(trial.phases[0], profile=profile),))
        for trial in book.trials
    ]
    return replace(book, trials=trials)


def test_collapsed_stacks_are_lines_of_frames_and_a_count(book: Book) -> None:
    lines = collapsed.encode(collect_profile(book, "old")).decode().splitlines()
    matches = [re.fullmatch(r"([^;]+(?:;[^;]+)*) (\d+)", line) for line in lines]
    assert all(matches)
    counts = {match[1]: int(match[2]) for match in matches if match}
    assert sum(counts.values()) == count_samples(book, "old")
    assert "select, run;parser;yyparse" in counts
    assert "select, run;unknown;(no symbol) engine.so+0x50" in counts


def test_a_name_with_a_semicolon_stays_one_frame(book: Book) -> None:
    profile = collect_profile(book, "old")
    frames = [replace(frame, name="a;b\nc") for frame in next(iter(profile.stacks))]
    line = collapsed.encode(replace(profile, stacks={tuple(frames): 3})).decode()
    assert line == "a:b c;a:b c;a:b c 3\n"


def test_callers_stand_in_their_order_where_they_were_sampled(book: Book) -> None:
    lines = collapsed.encode(collect_profile(sample_stacks(book), "old")).decode().splitlines()
    assert lines == [
        "select, run;main;parse 24",
        "select, run;main;parse;(no symbol) libx.so+0x20 36",
    ]


def test_the_columns_of_a_firefox_profile_agree_and_layers_are_categories(book: Book) -> None:
    found = json.loads(firefox.encode(collect_profile(sample_stacks(book), "old")))
    assert [each["name"] for each in found["meta"]["categories"]] == [
        "Other", "commands", "parser", "unknown",
    ]  # fmt: skip
    (thread,) = found["threads"]
    for table in (each for each in thread.values() if isinstance(each, dict)):
        columns = [column for column in table.values() if isinstance(column, list)]
        assert {len(column) for column in columns} == {table["length"]}
    assert list(walk_stacks(thread)) == [
        (["select, run", "main", "parse"], [0, 1, 2], 24),
        (["select, run", "main", "parse", "(no symbol) libx.so+0x20"], [0, 1, 2, 3], 36),
    ]
    assert [each["name"] for each in found["libs"]] == ["engine", "libx.so"]


def walk_stacks(thread: dict[str, Any]) -> Iterator[tuple[list[str], list[int], int]]:
    """Names, categories and weight of each sample, outermost first."""
    stacks, frames, functions = (thread[f"{name}Table"] for name in ("stack", "frame", "func"))
    for at, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"], strict=True):
        names, categories = [], []
        while at is not None:
            frame = stacks["frame"][at]
            names.append(thread["stringArray"][functions["name"][frames["func"][frame]]])
            categories.append(frames["category"][frame])
            at = stacks["prefix"][at]
        yield names[::-1], categories[::-1], weight


def read_message(data: bytes) -> dict[int, list[Any]]:
    """The fields of a Protocol Buffers message by number."""
    fields: dict[int, list[Any]] = {}
    while data:
        key, data = read_varint(data)
        value: int | bytes
        if key & 7 == 0:
            value, data = read_varint(data)
        else:
            assert key & 7 == 2
            length, data = read_varint(data)
            value, data = data[:length], data[length:]
        fields.setdefault(key >> 3, []).append(value)
    return fields


def read_varint(data: bytes) -> tuple[int, bytes]:
    end = next(at for at, byte in enumerate(data) if byte < 0x80) + 1
    return sum((byte & 0x7F) << 7 * at for at, byte in enumerate(data[:end])), data[end:]


def read_packed(data: bytes) -> list[int]:
    found = []
    while data:
        number, data = read_varint(data)
        found.append(number)
    return found


def test_a_pprof_file_holds_each_stack_with_its_layer_innermost_first(book: Book) -> None:
    message = read_message(
        gzip.decompress(pprof.encode(collect_profile(sample_stacks(book), "old")))
    )
    texts = [text.decode() for text in message[6] if isinstance(text, bytes)]
    functions: dict[int, str] = {}
    for each in map(read_message, message[5]):
        functions[int(each[1][0])] = texts[int(each[2][0])]
    places: dict[int, str] = {}
    for each in map(read_message, message[4]):
        line = read_message(each[4][0])
        places[int(each[1][0])] = functions[int(line[1][0])]
    samples = [read_message(each) for each in message[2]]
    stacks = [[places[at] for at in read_packed(each[1][0])] for each in samples]
    assert stacks == [["parse", "main"], ["(no symbol) libx.so+0x20", "parse", "main"]]
    values = [read_packed(each[2][0]) for each in samples]
    assert values == [[24, 24 * 1_000_003], [36, 36 * 1_000_003]]
    labels = [
        {texts[int(it[1][0])]: texts[int(it[2][0])] for it in map(read_message, each[3])}
        for each in samples
    ]
    assert labels == [
        {"phase": "select, run", "layer": "parser"},
        {"phase": "select, run", "layer": "unknown"},
    ]


def test_each_candidate_has_a_file_of_its_own_even_if_names_are_alike(book: Book) -> None:
    paths = write_profiles(book, (collapsed.encode, collapsed.SUFFIX))
    assert [path.name for path in paths] == [
        "profile-0-old.collapsed.txt", "profile-1-new.collapsed.txt",
    ]  # fmt: skip
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)


def test_a_run_without_samples_says_why_it_has_none(book: Book) -> None:
    trials = [
        structs.replace(trial, phases=(structs.replace(trial.phases[0], profile=None),))
        for trial in book.trials
    ]
    why = "it was not asked for (--no-profile)"
    run = structs.replace(book.run, cpu_sampling=CpuSampling(why))
    with pytest.raises(UsageError) as refused:
        write_profiles(replace(book, run=run, trials=trials), (pprof.encode, pprof.SUFFIX))
    assert refused.value.cause == why


def test_samples_are_counted_once_over_all_trials(book: Book) -> None:
    by_layer: Counter[str] = Counter()
    for stack, samples in collect_profile(book, "new").stacks.items():
        by_layer[stack[-1].layer] += samples
    assert by_layer.total() == count_samples(book, "new")
    assert by_layer.keys() == LAYERS
