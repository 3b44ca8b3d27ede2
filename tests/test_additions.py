"""What an addition costs: a dummy of each kind is one file, found by whoever needs it.

The package is copied, one file is added to the copy, and a process of its own is asked for it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "dyno"

ENGINE = '''"""Engine `dummy`: nothing."""

from dyno.engines.null import Engine as Engine
'''
PROBE = '''"""Probe `dummy`: nothing."""


class Dummy:
    summary, is_condition, measures = "nothing", False, ()

    def sample(self, watched):
        return {}


PROBE = Dummy()
'''
AUDIT = '''"""Audit `dummy`: is anything wrong? Nothing is."""

from dyno.record import Finding


class Dummy:
    summary = "nothing is wrong"

    def judge(self, view):
        return [Finding("dummy", "sound", "nothing is wrong")]


AUDIT = Dummy()
'''
CONTROL = '''"""Control `dummy`: holds nothing."""

from contextlib import contextmanager

from dyno.host.controls import ControlResult


class Dummy:
    summary, default, values = "nothing", "keep", {"keep": "as it is"}

    def check(self, value):
        pass

    def find_refusal(self, value, subject):
        return ""

    @contextmanager
    def hold(self, value, subject):
        yield ControlResult({"before": "nothing"})


CONTROL = Dummy()
'''
CHECK = '''"""Survey: nothing."""

from dyno.host.checks import make_observation

WEIGHTS = {"dummy": 6}


def observe(machine):
    yield make_observation("dummy", "found", "poor", "why")
'''
SECTION = '''"""Section: nothing."""

from dyno.report import Section
from dyno.report.document import Prose


def build(book):
    return [Prose("dummy")]


SECTION = Section("Dummy", 999, build)
'''
INSTRUMENT = '''"""Instrument `dummy`: measures nothing."""

import json

from msgspec.structs import replace

from dyno.record import Candidate, Metric
from dyno.report.document import Heading
from dyno.report.result import Result
from dyno.runs.run_folder import Instrument, MeasuredPoint, MeasuredRun, RunProgress

METRIC = Metric("w", "p", "", "rate_per_s", "/s", "higher")


class Dummy(Instrument):
    name, noun, said, record = "dummy", "a dummy", "nothing measured", "dummy.json"
    has_history = True

    def summarize(self, plain, path):
        return replace(plain, sentence="nothing is slower", complete=True)

    def read_result(self, path):
        return Result("a dummy", "dummy", "the page of nothing", document=[Heading("It", "it")])

    def read_progress(self, path):
        return RunProgress("nothing so far")

    def read_points(self, path):
        night, value = json.loads((path / "dummy.json").read_text())["night"]
        side = Candidate("a", "null", "null", True, {"version": f"1.{night}"}, {}, {})
        begun = f"2026-01-{night:02}T00:00:00Z"
        return MeasuredRun(begun, 1, "x", [MeasuredPoint(METRIC, side, (value, value + 1.0))])


INSTRUMENT = Dummy()
'''
RUNS_OF_DUMMY = """import os, pathlib, tempfile
home = pathlib.Path(tempfile.mkdtemp())
for night in range(1, 21):
    (home / f"202601{night:02}T000000Z-x").mkdir()
    record = '{"night": [%d, %d]}' % (night, 1000 - 300 * (night > 10) + night % 3)
    (home / f"202601{night:02}T000000Z-x/dummy.json").write_text(record)
os.environ["DYNO_RUNS"] = str(home)
from dyno.cli import run_words
from dyno.pages.reports import read_report
from dyno.runs.run_summary import list_run_places, summarize_run
place, *others = list_run_places(home)
page = read_report(place)
packed, site = str(home / "x.dyno.zip"), str(home / "site")
lines = ["show runs", "clean", "show last", "report last", "report last --format markdown"]
lines += [f"pack last -o {packed}", f"publish {home} {site}", f"history {home} --gate"]
codes = [run_words(line.split()) for line in lines]
os.environ["DYNO_RUNS"] = str(home / "elsewhere")
codes += [run_words(["report", packed]), run_words(["resume", "last"])]
told = summarize_run(place).sentence, "the page of nothing" in page, len(others)
print(*codes, *told, len(os.listdir(site + "/runs")))
"""
WORKLOAD = "-- Dummy: selects one.\nfunction event() con:query('SELECT 1') end\n"
EXPERIMENT = """name = "dummy"
candidates = ["null@1ms", "null@2ms"]
[[workload]]
name = "oltp_point_select"
"""

RECIPE = """engine = "dummy"
title = "nothing"
marks = ["nothing"]
version = [["VERSION", "(.*)"]]
program = "bin/nothing"
always = "-g"
cost = { cpu_s = 1, memory_mb = 1, disk_mb = 1 }
[[steps]]
name = "compile"
run = ["true"]
"""

ADDITIONS = {
    "engines/recipes/dummy.toml": (
        RECIPE,
        "from dyno.engines._builds import RECIPES, read_recipes\n"
        "print(read_recipes(RECIPES, 'dummy')[0].title)",
        "nothing",
    ),
    "engines/dummy.py": (
        ENGINE,
        "from dyno.engines import find_engine; print(find_engine('dummy', None).embedded)",
        "True",
    ),
    "host/probes/dummy.py": (
        PROBE,
        "from dyno.host.probes import load_probes; print('dummy' in load_probes())",
        "True",
    ),
    "judge/audits/dummy.py": (
        AUDIT,
        "from dyno.judge.audits import load_audits; print('dummy' in load_audits())",
        "True",
    ),
    "host/controls/dummy.py": (
        CONTROL,
        "from dyno.host.controls import load_controls; print(load_controls()['dummy'].default)",
        "keep",
    ),
    "host/checks/dummy.py": (
        CHECK,
        "from dyno.host.checks import Machine, survey_host\n"
        "print(*(o.points for o in survey_host(Machine()) if o.name == 'dummy'))",
        "6",
    ),
    "report/sections/dummy.py": (
        SECTION,
        "from dyno.report import load_sections; print(list(load_sections().values())[-1].title)",
        "Dummy",
    ),
    "instruments/dummy.py": (
        INSTRUMENT,
        RUNS_OF_DUMMY,
        "0 0 0 0 0 0 0 2 0 64 nothing is slower True 19 20",
    ),
    "workloads/dummy.lua": (
        WORKLOAD,
        "from dyno.workloads import find_workload; print(find_workload('dummy').stem)",
        "dummy",
    ),
    "runs/experiments/dummy.toml": (
        EXPERIMENT,
        "from dyno.cli import run_words; run_words(['show', 'experiments', 'dummy'])",
        EXPERIMENT.strip(),
    ),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("copied")
    shutil.copytree(PACKAGE, home / "dyno", ignore=shutil.ignore_patterns("__pycache__"))
    return home


@pytest.mark.parametrize("place", ADDITIONS)
def test_an_addition_is_one_file(place: str, copied: Path) -> None:
    text, question, answer = ADDITIONS[place]
    (copied / "dyno" / place).write_text(text)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(copied)!r})\n{question}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert answer in done.stdout, done.stderr
