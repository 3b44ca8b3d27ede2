"""Factors: what a user writes becomes cells; what is no factor is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import UsageError
from dyno.runs import experiment
from dyno.runs.experiment import candidates
from dyno.runs.experiment.candidates import CrossedFactors, cross_factors, list_cells

TEXT = """
candidates = ["old=null@200us", "null@210us"]
{design}
[[factor]]
name = "aslr"
levels = {levels}

[[workload]]
name = "oltp_point_select"
"""


def read(folder: Path, levels: str = '["on", "off"]', design: str = "") -> experiment.Experiment:
    path = folder / "mine.toml"
    path.write_text(TEXT.format(levels=levels, design=design))
    return experiment.read_experiment(path)


def cells(specs: list[str], varied: CrossedFactors) -> list[str]:
    parsed = candidates.make_names_unique([candidates.parse_candidate(text) for text in specs])
    return [cell.name for cell in list_cells(parsed, varied)]


def test_a_factorial_has_every_combination_and_the_base_first() -> None:
    varied = CrossedFactors({"aslr": ("on", "off"), "pinning": ("on", "off", "2")})
    found = cells(["null@1us"], varied)
    assert found[0] == "aslr=on pinning=on"
    assert len(found) == len(set(found)) == 6


def test_one_at_a_time_leaves_the_base_by_one_factor() -> None:
    varied = CrossedFactors({"aslr": ("on", "off"), "pinning": ("on", "off", "2")}, "one at a time")
    assert cells(["null@1us"], varied) == [
        "aslr=on pinning=on",
        "aslr=off pinning=on",
        "aslr=on pinning=off",
        "aslr=on pinning=2",
    ]


def test_several_candidates_are_a_factor_of_their_own() -> None:
    found = cells(["old=null@1us", "null@2us"], CrossedFactors({"aslr": ("on", "off")}))
    assert found == ["old aslr=on", "old aslr=off", "null@2us aslr=on", "null@2us aslr=off"]


def test_an_experiment_names_its_factors_in_toml(tmp_path: Path) -> None:
    assert read(tmp_path).crossed == CrossedFactors({"aslr": ("on", "off")})
    numbers = read(tmp_path, "[1, 20]", 'design = "one at a time"')
    assert numbers.crossed == CrossedFactors({"aslr": ("1", "20")}, "one at a time")


@pytest.mark.parametrize(
    ("levels", "sentence"),
    [
        ('["on"]', r"mine\.toml:5: the factor 'aslr' has 1 level"),
        ("[]", "the factor 'aslr' has no level"),
        ('["on", "ON"]', "the level 'ON' of the factor 'aslr' is given twice"),
        ('["on", ""]', "'' cannot be a level"),
        ('["on", "a&b"]', "'a&b' cannot be a level"),
        ('"on"', "'levels' is not a list"),
    ],
)
def test_what_is_no_factor_is_refused(tmp_path: Path, levels: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read(tmp_path, levels)


def test_an_unknown_design_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine\.toml:3: unknown design 'full'") as raised:
        read(tmp_path, design='design = "full"')
    assert "factorial" in raised.value.hint


def test_a_design_without_a_factor_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('candidates = ["null", "null"]\ndesign = "factorial"\n[[workload]]\nname = "x"')
    with pytest.raises(UsageError, match="a design needs a factor"):
        experiment.read_experiment(path)


def test_a_factor_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="the factor 'aslr' is given twice"):
        cross_factors([("aslr", ("on", "off")), ("aslr", ("on", "off"))], "factorial")


def test_the_candidates_are_the_only_factor_called_so() -> None:
    with pytest.raises(UsageError, match="cannot be called 'candidate'"):
        CrossedFactors({"candidate": ("a", "b")})


def test_too_many_cells_are_refused_with_a_way_out() -> None:
    varied = CrossedFactors(dict.fromkeys("abcdefg", ("on", "off")))
    with pytest.raises(UsageError, match="the factors make 128 cells") as raised:
        cells(["null"], varied)
    assert "one at a time it is 8 cells" in raised.value.hint
    many = CrossedFactors({"a": tuple(map(str, range(70)))}, "one at a time")
    with pytest.raises(UsageError, match="70 cells") as raised:
        cells(["null"], many)
    assert "leave some out" in raised.value.hint


def test_a_factor_that_a_candidate_sets_too_is_refused() -> None:
    with pytest.raises(UsageError, match="'aslr' is a factor and is set in 'null\\?aslr=off' too"):
        cells(["null?aslr=off"], CrossedFactors({"aslr": ("on", "off")}))
