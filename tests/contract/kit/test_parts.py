"""Parts are found by name; those that are not made are refused by name."""

from __future__ import annotations

import pytest

from dyno.cli import exit_code
from dyno.errors import UsageError
from dyno.kit.parts import PARTS, UNMADE, find_parts


def test_each_part_is_taken_once_in_order() -> None:
    names = [*reversed(PARTS), *PARTS]
    assert [part.name for part in find_parts(names)] == list(reversed(PARTS))


def test_a_mistyped_part_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown part 'jsno'") as caught:
        find_parts(["jsno"])
    assert "json" in caught.value.hint


@pytest.mark.parametrize("name", UNMADE)
def test_what_is_not_made_yet_is_refused_before_any_server_is_asked(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["kit", "install", name, "--dsn", "mysql://nobody@nowhere.invalid"]) == 64
    assert f"the part '{name}' is not made yet" in capsys.readouterr().err


def test_no_function_belongs_to_two_parts() -> None:
    names = [function.name for part in PARTS.values() for function in part.functions]
    assert len(names) == len(set(names))
