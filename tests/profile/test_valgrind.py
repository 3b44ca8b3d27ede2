"""Where valgrind comes from, and what is said where it is not to be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.errors import HostError
from dyno.profile.valgrind import find_valgrind


def test_without_valgrind_one_sentence_says_why_and_what_to_do(tmp_path: Path) -> None:
    def refuse(*_: object) -> str:
        raise HostError("apt cannot be reached")

    with pytest.raises(HostError) as refused:
        find_valgrind(lambda _: None, root=tmp_path, find_version=refuse)
    assert refused.value.sentence == "there is no valgrind: apt cannot be reached"
    assert "install valgrind" in refused.value.hint
