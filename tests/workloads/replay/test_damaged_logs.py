"""Damaged values of logs: told and passed over, and never an error of Dyno's own."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from small_logs import CSV, GENERAL, JSON, OLD_GENERAL, SLOW, STDERR, write

from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.layout import lay_out
from dyno.workloads.replay.logs import ABSURD, NO_TIME

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LOGS = {
    **{"general": GENERAL, "old": OLD_GENERAL, "slow": SLOW},
    **{"stderr": STDERR, "csv": CSV, "json": JSON},
}
#: Of each log a value that stands behind its first statement, and what it is damaged to.
DAMAGED = {
    "general": [("01-01T10:00:00.021", "02-31T10:00:00.021"), ("T10:00:00.021", "T25:61:00.021")],
    "old": [("260101 10:00:02", "260231 10:00:02"), ("260101 10:00:02", "260101 25:61:00")],
    "slow": [("01-01T10:00:00.6", "02-31T10:00:00.6"), ("Query_time: 0.5", "Query_time: 1.2.3")],
    "stderr": [
        ("01-01 10:00:00.020", "02-31 10:00:00.020"),
        ("10:00:00.020", "25:61:00.020"),
        ("LOG:  statement: SELECT name\n", "LOG:  duration: 1.2.3 ms  statement: SELECT name\n"),
    ],
    "csv": [
        ("2026-01-01 10:00:00.020", "2026-02-31 10:00:00.020"),
        ("duration: 5.000 ms", "duration: 1.2.3 ms"),
    ],
    "json": [("01-01 10:00:00.020", "02-31 10:00:00.020"), ("10:00:00.020", "25:61:00.020")],
}


@pytest.mark.parametrize("kind", LOGS)
def test_a_value_that_cannot_be_is_told_and_its_statement_read(kind: str, tmp_path: Path) -> None:
    count = len(list(read_log(LogFile(write(tmp_path, "whole.log", LOGS[kind]))).entries))
    for whole, damaged in DAMAGED[kind]:
        text = LOGS[kind].replace(whole, damaged)
        assert text != LOGS[kind], whole
        log = read_log(LogFile(write(tmp_path, "it.log", text)))
        times = [it.at_s for it in log.entries]
        assert len(times) == count and max(times) - min(times) < 60
        assert log.notes[ABSURD if "1.2.3" in damaged else NO_TIME].count >= 1


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress, zstd.compress])
def test_a_packed_log_that_was_damaged_is_refused_or_read(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path, chance, refused = tmp_path / "it.log", random.Random(3), 0
    packed = pack(GENERAL.encode() * 300)
    for _ in range(12):
        damaged = bytearray(packed)
        damaged[chance.randrange(8, len(packed))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            assert list(read_log(LogFile(path)).entries)
        except UsageError:
            refused += 1
    assert refused


#: What fuzzing puts into a log.
LETTERS = "0123456789.:-+TZ ;'\"`\\{}[],#@%$/*\t\r\n\0\u0661\u00e9\udcff"
WORDS = (*("9" * 400, "1.2.3", "\\ud800", "[" * 3000, "2026-02-31", "25:61:00", "-1", "e9"), "")


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        end = at + chance.choice((0, 1, 1, 2, 10))
        put = chance.choice((*WORDS, *LETTERS))
        text = text[:at] + put + text[end:]
    return text


@pytest.mark.parametrize("kind", LOGS)
def test_no_damage_is_an_error_of_our_own(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    path, chance, played = tmp_path / "it.log", random.Random(kind), 0
    for _ in range(MUTATIONS):
        path.write_text(mutate(LOGS[kind], chance), "utf-8", "surrogateescape")
        try:
            played += lay_out(path, True, lambda _: None).selection.count > 0
        except UsageError:
            continue
    assert played > MUTATIONS / 4


MUTATIONS = 40
