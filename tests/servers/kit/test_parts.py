"""Parts are found by name; a name that is none is refused."""

from __future__ import annotations

import pytest

from dyno.errors import UsageError
from dyno.servers.kit.library import PARTS, find_parts


def test_each_part_is_taken_once_in_order() -> None:
    names = [*reversed(PARTS), *PARTS]
    assert [part.name for part in find_parts(names)] == list(reversed(PARTS))


def test_a_mistyped_part_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown part 'jsno'") as caught:
        find_parts(["jsno"])
    assert "json" in caught.value.hint


def test_no_function_belongs_to_two_parts() -> None:
    names = [function.name for part in PARTS.values() for function in part.functions]
    assert len(names) == len(set(names))
