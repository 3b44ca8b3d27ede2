"""The engines: every engine does what its interface says."""

from __future__ import annotations

import pytest
from engine_callbacks import ask_nothing

from dyno.engines import Checks, find_engine
from dyno.errors import UsageError
from dyno.plugins import load_modules

PACKAGE = sorted(load_modules("dyno.engines"))
VERBS = ("program", "start", "settings", "settle", "stop")


@pytest.mark.parametrize("name", PACKAGE)
def test_an_engine_has_the_verbs_and_describes_its_options(name: str) -> None:
    engine = find_engine(name, ask_nothing)
    assert all(callable(getattr(engine, verb)) for verb in VERBS)
    assert isinstance(engine.embedded, bool) and isinstance(engine.versions, tuple)
    for default, meaning in (*engine.options.values(), *engine.flags.values()):
        assert isinstance(default, str) and meaning
    assert not set(engine.options) & set(engine.flags)


def test_an_unknown_engine_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="sqlite"):
        find_engine("sqlight", ask_nothing)


@pytest.mark.parametrize(
    ("engine", "build", "flags", "settings"),
    [
        ("null", "soon", {}, {}),
        ("sqlite", "3.99.0", {}, {}),
        ("sqlite", "system", {"cflags": "-O3"}, {}),
        ("sqlite", "3.54.1", {}, {"journal_mode": "wall"}),
        ("duckdb", "1.0.0", {}, {}),
        ("duckdb", "1.4.4", {"cflags": "-O3"}, {}),
        ("duckdb", "1.4.4", {}, {"memory_limit": "much"}),
        ("duckdb", "1.4.4", {}, {"threads": "0"}),
        ("duckdb", "1.4.4", {}, {"preserve_insertion_order": "perhaps"}),
    ],
)
def test_a_wrong_word_is_known_before_anything_is_built(
    engine: str, build: str, flags: dict[str, str], settings: dict[str, str]
) -> None:
    found = find_engine(engine, ask_nothing)
    assert isinstance(found, Checks)
    found.check("", {}, {})
    with pytest.raises(UsageError):
        found.check(build, flags, settings)
