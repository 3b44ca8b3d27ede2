"""What is said before a run: which builds are compared, and how each was made."""

from __future__ import annotations

from pathlib import Path

from fakes import make_candidate, make_run
from msgspec import structs

from dyno.builds import Build
from dyno.cli.terminal.announcement import format_builds
from dyno.runs.resolve.draft import Prepared


def prepared(program: Path, **facts: dict[str, str]) -> Prepared:
    """A run of two candidates whose builds carry these facts."""
    sides = [structs.replace(make_candidate(name), build=it) for name, it in facts.items()]
    builds = {name: Build("real", "", "9.9", program) for name in facts}
    return Prepared(make_run(sides), {}, builds)


def test_each_build_is_announced_with_its_compiler_and_optimisation(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.touch()
    own = {"compiler": "cc (Debian 12.2.0-14+deb12u1) 12.2.0", "cflags": "-O2 -g"}
    suite = {"suite_compiler": "gcc 14", "assertions": "off"}
    assert format_builds(prepared(program, mine=own, debian=suite)) == (
        "(mine is real 9.9 by gcc 12.2.0 -O2; debian is real 9.9 by gcc 14 (its suite's).)"
    )
    named = prepared(program, **{"a@9.9": own, "b@9.9": {}})
    assert format_builds(named) == "(a@9.9 is built by gcc 12.2.0 -O2.)"
    assert format_builds(prepared(program, **{"a@9.9": {}, "b@9.9": {}})) == ""
