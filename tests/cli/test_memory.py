"""Under a limit on memory, what cannot be loaded is the limit's doing: exit 64, and no verdict."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from dyno.cli import exits
from dyno.errors import HostError


@pytest.mark.parametrize("limit_kb", [60_000, 100_000, 150_000, 200_000, 262_144, 300_000])
def test_a_library_that_cannot_be_loaded_is_the_limits_doing(limit_kb: int, tmp_path: Path) -> None:
    limited = ["sh", "-c", f'ulimit -v {limit_kb} && exec "$@"', "sh"]
    history = [sys.executable, "-m", "dyno.cli", "history", str(tmp_path)]
    done = subprocess.run([*limited, *history], capture_output=True, text=True)
    said = done.stderr
    assert done.returncode == 64, said
    assert said.startswith("dyno: ") and "Traceback" not in said
    assert f"memory is limited to {limit_kb >> 10} MB (ulimit -v)\nhint: raise it" in said


def test_what_fails_for_want_of_memory_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    torn = ImportError("libgfortran.so.5: failed to map segment from shared object")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (300 << 20, resource.RLIM_INFINITY))
    for error in (torn, MemoryError(), OSError(12, "Cannot allocate memory")):
        found = exits.as_memory_limit(error)
        assert isinstance(found, HostError)
        assert found.cause == "memory is limited to 300 MB (ulimit -v)" and found.hint
    assert exits.as_memory_limit(KeyError("x")) is None
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert exits.as_memory_limit(torn) is None
    assert isinstance(exits.as_memory_limit(MemoryError()), HostError)
