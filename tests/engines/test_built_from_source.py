"""A real engine that was built from its source is asked, and is the one that was built."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_callbacks import say_nothing

from dyno.builds import crate
from dyno.driver import ask
from dyno.engines import find_engine
from dyno.engines.sqlite.builds import CRATE, CRATES

pytestmark = pytest.mark.slow

VERSION = "3.24.0"


@pytest.mark.timeout(300)
def test_a_real_amalgamation_is_built_patched_and_asked(tmp_path: Path) -> None:
    """The change of a patch is seen in the answer: it is this build that is asked."""
    tree = crate.fetch(CRATE, CRATES[VERSION], say_nothing) / "sqlite3"
    number = f'"{VERSION}"'
    lines = (tree / "sqlite3.c").read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("#define SQLITE_VERSION "))
    old = lines[at - 1 : at + 2]
    new = [old[0], old[1].replace(number, '"3.24.0 of mine"'), old[2]]
    patch = tmp_path / "mine.diff"
    patch.write_text(
        f"--- a/sqlite3.c\n+++ b/sqlite3.c\n@@ -{at},3 +{at},3 @@\n {old[0]}\n-{old[1]}\n"
        f"+{new[1]}\n {old[2]}\n"
    )
    engine = find_engine("sqlite", ask)
    flags = {"cflags": "-O0", "patch": str(patch)}
    build = engine.program(f"source:{tree}", flags, say_nothing)
    assert build.facts["patch_sha256"] and build.facts["cflags"] == "-O0"
    home = tmp_path / "home"
    home.mkdir()
    server = engine.start(build, home, {})
    ((answer,),) = ask(server.session, ["SELECT sqlite_version()"])
    assert answer == ["3.24.0 of mine"]
