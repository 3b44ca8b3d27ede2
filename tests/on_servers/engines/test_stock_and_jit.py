"""PostgreSQL as its vendor starts it, and expressions that a build cannot compile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import processes
import pytest
from private_servers import started

from dyno import driver
from dyno.builds import cache
from dyno.builds.abilities import read_abilities
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment.candidates import parse_candidate


def test_stock_is_what_initdb_wrote_and_says_that_nothing_is_compiled() -> None:
    """Cases 25 and 26 from the field."""
    engine: Any = find_engine("postgres", driver.ask)
    spec = parse_candidate("postgres@14?profile=stock")
    build = engine.program(spec.with_password, {}, lambda _: None)
    with started("postgres@14?profile=stock") as server:
        told = engine.settings(server)
    assert told["shared_buffers"].startswith("128MB")
    assert told["max_wal_size"].startswith("1GB")
    assert "without effect: pg_jit_available() is false" in told["jit"]
    assert any("jit is on by default" in it for it in engine.list_remarks(build, spec.keys))
    with pytest.raises(UsageError, match="cannot compile expressions"):
        engine.accept(build, {"jit": "on"})
    lacking = r"default_toast_compression=lz4 needs a build with LZ4, which postgres 14.\d+ lacks"
    with pytest.raises(UsageError, match=lacking):
        engine.accept(build, {"default_toast_compression": "lz4"})
    place = build.program.resolve().relative_to(cache.find_root().resolve())
    told = read_abilities(place.parts[1])
    assert told is not None and not told["JIT"] and not told["LZ4"] and told["ICU"] and told["TLS"]


def test_a_compiler_that_does_not_load_is_refused_before_anything_is_played(home: Path) -> None:
    """As of a cached tree of 13.16, whose LLVM wants the system's libraries."""

    def ask(session: Session, statements: Sequence[str], *more: Any) -> Any:
        if "SELECT pg_jit_available()" in statements:
            raise TrialFailed("could not load library llvmjit.so: GLIBC_2.33 not found")
        return driver.ask(session, statements, *more)

    engine: Any = find_engine("postgres", ask)
    build = engine.program("18", {}, lambda _: None)
    with pytest.raises(UsageError, match="could not load library"):
        engine.start(build, home, {"jit": "on"})
    assert not processes.processes_left_in(home, patience_s=20)
    engine.stop(engine.start(build, home, {"jit": "off"}))
