"""The TOML file of a program, and the number that is found in what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import DynoError
from dyno.instruments.program.program_file import fill_in, read_number, read_side
from dyno.record.program import ProgramSide

SIDE = ProgramSide("a", "a", "a.toml", ("true",), r"^rate: (\S+)$")


@pytest.mark.parametrize(
    ("text", "number"),
    [("x\nrate: 12.5\n", 12.5), ("rate: 1,234,567.8\n", 1_234_567.8), ("rate: 1e3\n", 1000.0)],
)
def test_the_one_group_of_the_expression_is_the_number(text: str, number: float) -> None:
    assert read_number(text, SIDE) == number


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Rate: 5\n", "printed nothing that matches"),
        ("rate: 1\nrate: 2\n", "matches 2 times (1, 2)"),
        ("rate: 12.3k\n", "'12.3k' is no number"),
        ("rate: 1,5\n", "'1,5' is no number"),
        ("rate: 0\n", "is not above 0"),
        ("rate: nan\n", "is not above 0"),
        ("rate: inf\n", "is not above 0"),
    ],
)
def test_a_number_that_cannot_be_believed_is_refused_by_what_was_printed(
    text: str, why: str
) -> None:
    assert why in str(read_number(text, SIDE))


def test_the_last_of_several_matches_is_taken_where_the_file_says_so() -> None:
    side = ProgramSide("a", "a", "a.toml", ("true",), r"^rate: (\S+)$", last=True)
    assert read_number("rate: 1\nrate: 2\n", side) == 2.0


def test_words_are_filled_in_once_and_braces_of_others_stay() -> None:
    assert fill_in("{folder}/x ${HOME} {{print}} {}", {"folder": "/f"}) == "/f/x ${HOME} {print} {}"


def test_a_candidate_names_a_file_and_sets_its_variables(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    script = tmp_path / "run.sh"
    script.write_text("echo 1")
    file.write_text(
        'command = ["sh", "{here}/run.sh", "{size}", "{folder}", "{seed}"]\nrate = "(.*)"\n'
        'variables = { size = "1" }\n'
    )
    _, side = read_side(f"big={file}?size=8")
    assert side.name == "big"
    assert side.command == ("sh", str(script), "8", "{folder}", "{seed}")
    assert str(script) in side.programs, "its checksum is kept"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rate = '(.*)'", "missing required field `command`"),
        ("command = 'true'\nrate = '(.*)'", "Expected `array`"),
        ("command = ['true']\nrate = '(.*'", "is no regular expression"),
        ("command = ['true']\nrate = '(.)(.)'", "has 2 groups"),
        ("command = ['true']\nrate = '(.*)'\nspeed = 1", "unknown key of"),
        ("command = ['true']\nrate = '(.*)'\nunit = 'MB'", "does not say whether less 'MB'"),
        ("command = ['true']\nrate = '(.*)'\nunit = 'MB'\nbetter = 'higher'", "cannot be better"),
        ("command = ['true', '{x}']\nrate = '(.*)'", "unknown placeholder {x}"),
        ("command = ['nosuchprogram']\nrate = '(.*)'", "there is no program nosuchprogram"),
        ("command = ['true']\nrate = '(.*)'\ntimeout_s = 0", "timeout_s of"),
        ("command = ['true']\nrate = '(.*)'\nvariables = {seed = '1'}", "it is a placeholder"),
        ("command = [", "is no TOML"),
    ],
)
def test_what_a_file_cannot_say_is_refused_before_anything_is_played(
    text: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(DynoError) as refused:
        read_side(str(file))
    assert why in str(refused.value)
