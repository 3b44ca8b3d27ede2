"""CPU seconds of each test, its servers and compilers included, held against cpu_budget.toml.

Each worker of pytest enters a control group of its own (cgroup v2), so whatever a test starts is
charged to it. Where no group can be made (not root, no cgroup v2) nothing is measured, and the
header says so. `DYNO_TEST_CPU=FILE` writes the seconds of each test, the largest first.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest
from tiers import FURTHER, name_folder

BUDGET = Path(__file__).with_name("cpu_budget.toml")
#: CPU seconds of `measure_host_s` where the budget was written.
REFERENCE_S = 0.046
#: A test that takes more names its reason in the budget.
COSTLY_S = 3.0
#: A crowded host, with cold caches, takes so much more.
LEEWAY = 1.6
BEGAN_S = pytest.StashKey[float]()

Key = TypeVar("Key")
Spent = dict[tuple[str, bool], float]


class CpuBudget:
    """Charge tests in the workers; add up and judge in the process above them."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_worker = hasattr(config, "workerinput")
        self.group = enter_group()
        #: Node id, and whether it is of the further tier -> seconds.
        self.spent_s: Spent = defaultdict(float)
        self.faults: list[str] = []

    def pytest_report_header(self) -> str:
        """Say whether CPU time is measured."""
        return "dyno: CPU of tests is " + ("measured" if self.group else "NOT measured: no cgroup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember when the test began."""
        item.stash[BEGAN_S] = self.read_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the seconds along with the report of the teardown."""
        report = yield
        if report.when == "teardown":
            report.user_properties.append(("cpu_s", self.read_s() - item.stash[BEGAN_S]))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what workers sent."""
        if report.when == "teardown":
            spent_s = sum(float(str(it)) for name, it in report.user_properties if name == "cpu_s")
            self.spent_s[report.nodeid, FURTHER in report.keywords] += spent_s

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a session in CI that spent more than the budget."""
        if self.group:
            (self.group.parent / "cgroup.procs").write_text(str(os.getpid()))
            with suppress(OSError):  # what a test left running stays in it
                self.group.rmdir()
        if self.is_worker or not any(self.spent_s.values()):
            return
        if place := os.environ.get("DYNO_TEST_CPU"):
            rows = [f"{spent:.2f} {name}\n" for (name, _), spent in rank(self.spent_s)]
            Path(place).write_text("".join(rows))
        self.faults = judge(self.spent_s, measure_host_s() / REFERENCE_S)
        if self.faults and os.environ.get("CI") and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the seconds by folder, and what is above the budget."""
        write = terminalreporter.write_line
        folders = add_up(self.spent_s)
        if sum(folders.values()):
            rows = (f"{name} {spent:.0f}" for name, spent in rank(folders))
            write(f"CPU s of tests: {sum(folders.values()):.0f} ({', '.join(rows)})")
        for fault in self.faults:
            write(f"CPU budget: {fault}")

    def read_s(self) -> float:
        """Return the CPU seconds of this worker's group so far; 0 where there is none."""
        if self.group is None:
            return 0.0
        words = (self.group / "cpu.stat").read_text().split()
        return int(words[words.index("usage_usec") + 1]) / 1e6


def enter_group() -> Path | None:
    """Enter a control group below the one we are in; None where that cannot be."""
    try:
        mounts = [it.split() for it in Path("/proc/self/mounts").read_text().splitlines()]
        above = Path(next(it[1] for it in mounts if it[2] == "cgroup2"))
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(it.removeprefix("0::") for it in groups if it.startswith("0::"))
        group = above / own.lstrip("/") / f"dyno-tests-{os.getpid()}"
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        (group / "cpu.stat").read_text()
    except (OSError, StopIteration):
        return None
    return group


def rank(seconds: dict[Key, float]) -> list[tuple[Key, float]]:
    """Return the rows, the largest first."""
    return sorted(seconds.items(), key=lambda row: -row[1])


def add_up(spent_s: Spent) -> dict[str, float]:
    """Return seconds by folder; those of the further tier apart."""
    folders: dict[str, float] = defaultdict(float)
    for (name, is_further), spent in spent_s.items():
        folders[name_folder(name) + (f" ({FURTHER})" if is_further else "")] += spent
    return folders


def judge(spent_s: Spent, slowness: float) -> list[str]:
    """Return a sentence for each folder above its budget, and each costly test without a reason.

    `slowness` is this host's time for a fixed work over that of the budget's host.
    """
    with BUDGET.open("rb") as file:
        budget = tomllib.load(file)
    grows = LEEWAY * max(1.0, slowness)
    faults = [
        f"{folder} took {spent:.0f} CPU s, its budget is {limit * grows:.0f}"
        for folder, spent in add_up(spent_s).items()
        if spent > (limit := budget["folders"].get(folder, COSTLY_S)) * grows
    ]
    known = {f"tests/{file}" for entry in budget["costly"] for file in entry["files"]}
    return faults + [
        f"{name} took {spent:.1f} CPU s, and cpu_budget.toml names no reason for its file"
        for (name, _), spent in spent_s.items()
        if spent > COSTLY_S * grows and name.partition("::")[0] not in known
    ]


def measure_host_s() -> float:
    """Return the CPU seconds of a fixed piece of Python's own work, the least of three."""
    taken = []
    for _ in range(3):
        began_s = time.process_time()
        sum(i * i for i in range(1_500_000))
        taken.append(time.process_time() - began_s)
    return min(taken)
