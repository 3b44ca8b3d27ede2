"""Which tests meet on one worker."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import defaultdict

import pytest
from repository import ROOT
from tiers import LONG, group_of


def test_a_group_is_the_server_that_a_test_names_or_else_its_file() -> None:
    file = "tests/on_servers/kit/test_kit.py"
    assert group_of(f"{file}::test_a[mysql-8.0]") == group_of(f"{file}::test_b[x-mysql@8.0.33-y]")
    assert group_of(f"{file}::test_a[postgres@18]") == "postgres-18"
    assert group_of(f"{file}::test_a[some words]") == group_of(f"{file}::test_b") == file
    assert group_of("tests/cli/test_a.py::test_a[mysql@8.0]") == "tests/cli/test_a.py"
    assert group_of("tests/test_tidy.py::test_a") == group_of("tests/test_words.py::test_b")


def test_what_catches_the_injected_faults_is_played_by_make_test() -> None:
    mutations = tomllib.loads((ROOT / "tools/mutations.toml").read_text())["mutation"]
    names = {name for it in mutations for name in it.get("tests", ())}
    files = {str(file.relative_to(ROOT)) for it in names for file in (ROOT / "tests").rglob(it)}
    assert len(files) >= len(names) > 30
    # of what stands there, a part by its build is of the further tier
    assert not [it for it in files if LONG.match(it) or "/on_servers/" in it]


@pytest.mark.slow
def test_the_tests_of_a_file_are_played_by_one_worker() -> None:
    files = ["tests/test_cpu_budget.py", "tests/test_disk_use.py"]
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    workers = defaultdict(set)
    played = re.findall(r"^\[(gw\d)\].* PASSED ([^:]+)::", done.stdout, re.M)
    for worker, file in played:
        workers[file].add(worker)
    assert len(played) > len(files), done.stdout
    assert [len(workers[file]) for file in files] == [1, 1], done.stdout
