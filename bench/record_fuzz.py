"""Records of every kind with odd values, opened by the commands that read them, a process each.

A record of a home with a run of each kind is mutated, and one command or page reads the home. What
counts is told by kind: faults of Dyno's own (exit code 70, or told so on a page), reads that took
over 10 s of CPU or 256 MB, and refusals that name no file or no field. With any, it ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from dyno.record.decode import encode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from mixed_runs import write_home  # noqa: E402
from mutated_records import mutate  # noqa: E402

from dyno.cli import run_words  # noqa: E402
from dyno.compare.fleet import FleetPlan  # noqa: E402
from dyno.pages.history import HistoryShelf, build_history_page, list_links  # noqa: E402
from dyno.pages.library import Library  # noqa: E402
from dyno.pages.reports import read_report  # noqa: E402
from dyno.runs.run_summary import RunPlace, list_run_places  # noqa: E402

HANG_S, WAIT_S, MEMORY_MB = 10, 120, 256
#: How often the plan of a run is mutated, and not a trial; seconds of `--quick`.
PLANS, QUICK_S = 0.4, 3
EXAMPLE = ROOT / "docs" / "example-run"
#: What a refusal must hold beside the file's name: a record's field, or that it is another's.
FIELD = re.compile(
    r"[A-Z][A-Za-z]+[\w()\[\] .@-]*: |[A-Z][A-Za-z]+\.[\w.]+ must"
    r"|is not in run\.json|of schema|newer dyno"
)
FAULT = re.compile(r"internal error|fault of Dyno's own|records make no sense|Traceback")
#: Told of records that are as they should be: there is nothing, or too little, to say.
NOTHING = re.compile(
    r"no run|no share|no point|nothing|not enough|too few|no series|has no block yet"
)


def prepare(home: Path) -> None:
    """A run of each kind, a comparison as it was played, and one over a cluster."""
    write_home(home)
    shutil.copytree(EXAMPLE, home / "20260120T000000Z-example")
    fleet = home / "20260121T000000Z-fleet"
    fleet.mkdir()
    plan = FleetPlan(
        "over a cluster", "ray:auto", "dyno run x --on ray:auto", "x.toml", (), 2,
        created_utc="2026-01-21T00:00:00Z",
    )  # fmt: skip
    (fleet / "fleet.json").write_text(json.dumps(encode(plan)))


def find_run(file: Path, home: Path) -> Path:
    """The folder, or the profile's file, that a record belongs to."""
    if file.parent.name == "server-profiles":
        return file
    return home / file.relative_to(home).parts[0]


def read_page(run: Path) -> int:
    """The page of a run as it is served or published, without a process that listens."""
    kinds = {each.path: each.kind for each in list_run_places(run.parent)}
    if run in kinds:
        sys.stdout.write(read_report(RunPlace(kinds[run], run))[:0])
    return 0


def read_lists(run: Path) -> int:
    """The list and the history of a home, as they are served."""
    library = Library([run.parent])
    runs = library.list_runs()
    for each in runs:
        if each.summary.damage:
            print(each.summary.damage, file=sys.stderr)
    build_history_page(HistoryShelf().read(runs), list_links(runs), served=False)
    return 0


def make_commands(run: Path, out: Path) -> dict[str, Callable[[], int]]:
    """What reads a run, by its name."""

    def play(*words: object) -> Callable[[], int]:
        return lambda: run_words([str(word) for word in words])

    if run.suffix == ".json":
        return {"page": lambda: read_page(run), "lists": lambda: read_lists(run)}
    return {
        "report": play("report", run),
        "show": play("show", run),
        "results": play("show", "results", run),
        "history": play("history", run.parent),
        "publish": play("publish", run.parent, out / "site"),
        "pack": play("pack", run, "--output", out / "packed.zip"),
        "gather": play("gather", run, run, "--out", out / "gathered"),
        "page": lambda: read_page(run),
        "lists": lambda: read_lists(run),
    }


def load_modules(runs: list[Path], out: Path) -> None:
    """Opens each sound run once, so that what a process of its own does is to read."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for run in runs:
            make_commands(run, out)["page"]()
    for name in ("report", "show", "history", "publish", "pack", "gather"):
        import_module(f"dyno.cli.{name}")


def open_aside(command: Callable[[], int], said: Path) -> tuple[int, float]:
    """Runs it in a process of its own: its exit code (of a signal: too long), and MB at most."""
    child = os.fork()
    if child == 0:
        with said.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.environ["DYNO_TRACEBACK"] = "1"
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (HANG_S, HANG_S))
        code = 71
        try:
            code = command()
        except BaseException:
            from dyno.cli.exits import report_failure

            error = sys.exc_info()[1]
            code = report_failure(error) if isinstance(error, Exception) else 71
        sys.stdout.flush()
        os._exit(code)
    watched = os.pidfd_open(child)
    ready, _, _ = select.select([watched], [], [], WAIT_S)
    os.close(watched)
    if not ready:
        os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    return (os.waitstatus_to_exitcode(status), used.ru_maxrss / 1024)


def find_fault(code: int, used_mb: float, said: str, file: Path) -> str:
    """What is wrong with how a command ended, with the place in our code; empty: nothing."""
    places = re.findall(r'File "[^"]*src/(dyno/[^"]+)", line (\d+)', said)
    last = ":".join(places[-1]) if places else ""
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "hang"
    if used_mb > MEMORY_MB:
        return f"memory {used_mb:.0f} MB"
    if code in (70, 71) or FAULT.search(said):
        found = FAULT.search(said)
        at = said.find("make no sense")
        told = said.strip().splitlines()[-3:] if at < 0 else [said[at : at + 150]]
        return f"fault {code} {last} {' '.join(told)[:300] if found or last else said[-300:]}"
    if code == 64 and file.name not in said and not NOTHING.search(said):
        return f"names no file: {said[:200]}"
    if code == 64 and file.name in said and not FIELD.search(said):
        return f"names no field: {said[:200]}"
    return "" if code in (0, 1, 2, 3, 4, 64) else f"exit code {code}: {said[-200:]}"


def words() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run record-fuzz")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=53)
    parser.add_argument("--only", default="", metavar="COMMAND", help="this command alone")
    return parser.parse_args()


def choose_record(draw: random.Random, records: list[Path], home: Path) -> Path:
    """One of a run that was drawn first, since trials are many; often its `run.json`."""
    run = draw.choice(sorted({find_run(file, home) for file in records}))
    own = [file for file in records if find_run(file, home) == run]
    plans = [file for file in own if file.name == "run.json"]
    return draw.choice(plans if plans and draw.random() < PLANS else own)


def open_mutated(scratch: Path, asked: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    """What was opened, its exit code, and what is wrong with that, until the time is over."""
    draw = random.Random(asked.seed)
    end = time.monotonic() + (QUICK_S if asked.quick else asked.minutes * 60)
    home, sound, out, said = (scratch / name for name in ("runs", "sound", "out", "said"))
    os.environ["DYNO_STATE"] = os.environ["DYNO_CACHE"] = str(scratch / "state")
    prepare(home)
    shutil.copytree(home, sound)
    records = sorted(home.rglob("*.json"))
    load_modules(sorted({find_run(file, home) for file in records}), out)
    while time.monotonic() < end:
        file = choose_record(draw, records, home)
        record = json.loads(file.read_text())
        for _ in range(draw.choice([1, 1, 1, 2])):
            record = mutate(record, draw)
        file.write_text(json.dumps(record))
        out.mkdir(exist_ok=True)
        commands = make_commands(find_run(file, home), out)
        name = asked.only if asked.only in commands else draw.choice(list(commands))
        code, used_mb = open_aside(commands[name], said)
        fault = find_fault(code, used_mb, said.read_text(errors="replace"), file)
        yield f"{name} {file.relative_to(home)}", code, fault
        shutil.copy(sound / file.relative_to(home), file)
        shutil.rmtree(out)


def main() -> None:
    asked = words()
    finds: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    with tempfile.TemporaryDirectory(prefix="dyno-fuzz-") as scratch:
        for opened, code, fault in open_mutated(Path(scratch), asked):
            codes[code] += 1
            if fault and not finds[fault]:
                print(f"{opened}: {fault}", flush=True)
            finds.update([fault] if fault else [])
    print(f"{codes.total()} mutations, {finds.total()} finds of {len(finds)} kinds")
    figures = {"codes": dict(codes), "finds": dict(finds), "seed": asked.seed}
    print(json.dumps({"bench": "record-fuzz", "rows": [figures]}))
    sys.exit(bool(finds))


if __name__ == "__main__":
    main()
