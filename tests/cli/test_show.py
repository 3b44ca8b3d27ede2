"""`dyno show` knows everything that is in a package, and says whose each word is."""

from __future__ import annotations

import pytest

from dyno.cli import run_words
from dyno.host.controls import load_controls
from dyno.host.probes import load_probes
from dyno.judge.audits import load_audits
from dyno.plugins import load_modules
from dyno.runs.experiments import list_experiments as experiments
from dyno.workloads import list_workloads as workloads

PACKAGES = {
    "engines": list(load_modules("dyno.engines")),
    "workloads": list(workloads()),
    "controls": list(load_controls()),
    "probes": list(load_probes()),
    "audits": list(load_audits()),
    "experiments": list(experiments()),
}
NAMES = [(package, name) for package, names in PACKAGES.items() for name in names]


def shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_words(["show", *words]) == 0
    return capsys.readouterr().out


def test_show_alone_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown([], capsys)
    assert not [name for _, name in NAMES if name not in said]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_is_listed_with_a_word_on_each(
    package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown([package], capsys).splitlines()
    for name in PACKAGES[package]:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert len(line.split()) > 2, f"nothing is said of {name}"


@pytest.mark.parametrize("package,name", NAMES)
def test_each_thing_is_shown_by_its_room_and_by_its_name_alone(
    package: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(shown([package, name], capsys)) > 20
    assert run_words(["show", name]) == 0


def test_a_workload_shows_options_defaults_meanings_and_owners(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = shown(["workloads", "oltp_point_select"], capsys)
    assert "script   table_size" in said
    assert "general  threads" in said
    assert "judged by" in said


def test_an_engine_shows_whose_each_key_is(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(["engines", "sqlite"], capsys)
    assert "build flag      cflags" in said
    assert "engine setting  journal_mode" in said
    assert "3.24.0" in said


def test_an_unknown_thing_offers_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["show", "isnert"]) == 64
    assert "did you mean insert" in capsys.readouterr().err
    assert run_words(["show", "engines", "nul"]) == 64
    assert "did you mean null?" in capsys.readouterr().err
    assert run_words(["show", "."]) == 64
    assert "known: engines, workloads, " in capsys.readouterr().err
