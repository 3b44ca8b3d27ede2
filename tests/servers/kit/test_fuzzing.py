"""A few seconds of tools/fuzz_kit.py, and that it sees what it is there to see."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

from dyno.servers.kit.library import PARTS

pytestmark = pytest.mark.slow


def fuzzed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tools/fuzz_kit.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(300)
def test_no_function_crashes_loops_or_breaks_the_interface() -> None:
    done = fuzzed("--seconds", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"seed \d+: [\d,]+ cases, 0 findings", done.stdout)
    for part in PARTS.values():
        for function in part.functions:
            assert re.search(rf"^{function.name} ", done.stdout, re.M), function.name


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("body", "told"),
    [("*(volatile char *)1", "SIGSEGV"), ('write(2, "panicked", 8) < 0', "exit code 3: panicked")],
)
def test_a_crash_and_a_panic_are_findings(tmp_path: Path, body: str, told: str) -> None:
    source, library = tmp_path / "made.c", tmp_path / "made.so"
    source.write_text(
        "#include <unistd.h>\n"
        f"_Bool is_uuid_init(void *init, void *args, char *message) {{ return {body}; }}\n"
        "void is_uuid_deinit(void *init) {}\n"
        "long long is_uuid(void *i, void *a, char *n, char *error) { return *error = 1; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    # the number of a case says which function it calls
    names = sorted(f.name for part in PARTS.values() for f in part.functions)
    number = sorted([*names, "dyno_kit_version"]).index("is_uuid")
    done = fuzzed("--library", str(library), "--seed", "1", "--case", str(number))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"case {number} ({told}" in done.stdout
