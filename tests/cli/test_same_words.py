"""Words that several commands take mean the same in each, and hints name what a command knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from repository import ROOT

from dyno.cli import bisect, command, judged_run, run_words, shard
from dyno.cli.options import Word
from dyno.compare.bisect.points import list_points
from dyno.errors import UsageError
from dyno.servers.kit.library import PARTS

SOURCES = ROOT / "src" / "dyno"
WORDS = ["--time", "2s", "--threads", "3", "--limit", "foreign=40%"]
EXPERIMENT = 'candidates = ["null", "null@1us"]\n[[workload]]\nname = "oltp_point_select"\n'


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The experiments that commands would play."""
    found: list[Any] = []

    def judged(experiment: Any, _: judged_run.RunOptions) -> object:
        found.append(experiment)
        raise UsageError("seen")

    monkeypatch.setattr(judged_run, "play_and_judge", judged)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    return found


@pytest.mark.parametrize(
    "line",
    [
        ["compare", "null", "null@1us", "-w", "oltp_point_select", *WORDS],
        ["run", "x.toml", *WORDS],
        ["sysbench", "oltp_point_select", "--time=2", "--threads=3", "run", *WORDS[-2:]],
        ["pgbench", "-S", "-T", "2", "-c", "3", *WORDS[-2:]],
    ],
)
def test_time_threads_and_limit_mean_the_same_in_every_comparison(
    line: list[str], asked: list[Any]
) -> None:
    shim = line[0] in ("sysbench", "pgbench")
    assert run_words([*line, *(["--compare", "null", "null@1us"] if shim else [])]) == 64
    (experiment,) = asked
    assert experiment.measuring.limits == {"foreign_percent": 40.0}
    (workload,) = experiment.workloads
    chosen = {name: float(workload.options[name]) for name in ("time", "threads")}
    assert chosen == {"time": 2.0, "threads": 3.0}


def test_a_file_of_accepted_answers_is_taken_by_every_command_that_compares(
    asked: list[Any],
) -> None:
    Path("accepted.toml").write_text('[accepted]\n"SELECT ?" = "it is meant"\n')
    words = ["--accept", "accepted.toml"]
    assert run_words(["compare", "null", "null@1us", "-w", "oltp_point_select", *words]) == 64
    span = "sqlite@3.24..3.54"
    context = bisect.command.make_context("bisect", [span, "-w", "oltp_point_select", *words])
    asked.append(bisect.make_experiment(context.params, list_points(span, None)))
    context = shard.command.make_context("shard", ["1/1", "x.toml", *words])
    asked.append(shard.read_share_of("x.toml", context.params))
    assert [it.measuring.accepted for it in asked] == [{"SELECT ?": "it is meant"}] * 3


def test_a_count_takes_no_accepted_answers(
    asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("accepted.toml").write_text('[accepted]\n"SELECT ?" = "it is meant"\n')
    line = ["bisect", "sqlite@3.24..3.54", "-w", "insert", "--count", "--accept", "accepted.toml"]
    assert run_words(line) == 64 and not asked
    assert "a count takes no accepted answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["compare", "null", "null@1us", "--set", "time=1"], "--time and --set time are the same"),
        (["play", "null", "--set", "threads=1"], "--threads and --set threads are the same"),
        (["run", "x.toml", "--set", "time=1"], "--time and --set time are the same"),
    ],
)
def test_an_option_in_two_ways_is_refused(
    line: list[str], said: str, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    workload = [] if line[0] == "run" else ["-w", "oltp_point_select"]
    assert run_words([*line, *workload, *WORDS[:4]]) == 64
    assert said in capsys.readouterr().err and not asked


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (["play", "null", "-w", "insert", "--limit", "foreign=40%"], "dyno compare"),
        (["play", "null", "-w", "insert", "--blocks", "3"], "dyno compare"),
        (["run", "x.toml", "--log", "a.log"], "`dyno compare` takes --log"),
        (["run", "x.toml", "--aa"], "aa = true"),
        (["pgbench", "-S", "--log", "--compare", "null", "null@1us"], "trial's record"),
        (["sysbench", "insert", "run", "--compare", "null", "null"], "--aa"),
        (["compare", "null@1us", "null@1us", "-w", "insert"], "--aa"),
    ],
)
def test_what_a_command_does_not_take_is_refused_with_what_does_it(
    line: list[str], hint: str, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(line) == 64
    assert hint in capsys.readouterr().err.splitlines()[-1] and not asked


def test_the_same_text_twice_is_compared_where_that_is_declared(asked: list[Any]) -> None:
    for line in (["compare", "null", "null", "-w", "insert"], ["sysbench", "insert", "run"]):
        more = ["--compare", "null", "null"] if line[0] == "sysbench" else []
        assert run_words([*line, *more, "--aa"]) == 64
    assert [each.measuring.aa for each in asked] == [True, True]


SETTINGS = [
    ("--gate", 'gate = "mean"', "gate", "mean"),
    ("--hold-connections", "hold_connections = true", "hold_connections", True),
    ("--count-events", "count_events = 2000", "count_events", 2000),
    ("--one-at-a-time", 'design = "one at a time"', "", ""),
]


@pytest.mark.parametrize(("option", "line", "name", "value"), SETTINGS)
def test_an_option_that_left_is_a_setting_of_an_experiments_file_and_says_so(
    option: str,
    line: str,
    name: str,
    value: object,
    asked: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["compare", "null", "null@1us", "-w", "insert", option]) == 64
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"a setting of an experiment's file: {line.split('=')[0]}" in said and not asked
    factor = '[[factor]]\nname = "aslr"\nlevels = ["on", "off"]\n' if not name else ""
    Path("x.toml").write_text(f"{line}\n{EXPERIMENT}{factor}")
    assert run_words(["run", "x.toml"]) == 64 and asked
    made = asked[0]
    assert getattr(made.measuring, name) == value if name else made.crossed.crossing in line


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (["compare", "null", "null@1us", "-w", "insert", "--stacks"], "--profile stacks"),
        (["compare", "null", "null@1us", "-w", "insert", "--no-profile"], "--profile off"),
        (["play", "null", "--log", "a.log", "--statement-limit", "1M"], "--set statement_limit="),
        (["run", "x.toml", "--host-group", "ci"], "DYNO_HOST_GROUP=NAME"),
        (["count", "null", "null@1us", "-w", "insert", "--host-group=ci"], "DYNO_HOST_GROUP=NAME"),
    ],
)
def test_an_option_that_another_word_replaced_says_which(
    line: list[str], hint: str, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(line) == 64 and not asked
    assert hint in capsys.readouterr().err.splitlines()[-1]


def test_where_cpu_time_goes_is_sampled_flat_with_callers_or_not_at_all(asked: list[Any]) -> None:
    for words in ([], ["--profile", "off"], ["--profile", "stacks"]):
        assert run_words(["compare", "null", "null@1us", "-w", "insert", *words]) == 64
    chosen = [(it.measuring.cpu_profile, it.measuring.cpu_stacks) for it in asked]
    assert chosen == [(True, False), (False, False), (True, True)]


def test_a_share_counts_no_instructions(
    asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("x.toml").write_text(f"count_events = 2000\n{EXPERIMENT}")
    assert run_words(["shard", "1/2", "x.toml"]) == 64
    assert "a share of x counts nothing" in capsys.readouterr().err and not asked


#: What a person can choose from.
OPTIONS_MOST = {"compare": 40, "play": 20}


@pytest.mark.parametrize("name", OPTIONS_MOST)
def test_a_command_has_no_more_options_than_a_person_reads(name: str) -> None:
    found = [it.name for it in command.commands[name].params if isinstance(it, click.Option)]
    assert 10 < len(found) <= OPTIONS_MOST[name], found


def _list_options(group: click.Command, name: str = "") -> Iterator[tuple[str, set[str]]]:
    if isinstance(group, click.Group):
        for each, below in group.commands.items():
            yield from _list_options(below, f"{name} {each}".strip())
    yield name, {word for it in group.params for word in (*it.opts, *it.secondary_opts)}


OPTIONS = dict(_list_options(command))
#: Whose commands a module's hints are read by, where it is not everybody's who compares.
READERS = {
    "compare/calibration": ("calibrate",),
    "instruments/capacity": ("capacity",),
    "instruments/instructions": ("count",),
    "compare/bisect": ("bisect",),
    "runs/forecast": ("plan",),
    "compare/shards/gathering": ("gather",),
    "compare/shards/share_run": ("shard",),
    "instruments/time/saved_answers": ("rehearse",),
    "runs/resolve/config_files": ("rehearse",),
    "runs/resolve/candidates": ("compare",),
    "runs/resolve/copies": ("compare", "play"),
    "engines/_statements": ("explain",),
    "engines/mysql/in_place": ("compare", "play"),
    "engines/mysql/attached": ("compare", "play"),
    "engines/postgres/config_file": ("rehearse",),
    "engines/postgres/in_place": ("compare", "play"),
    "instruments/disk": ("disk",),
    "instruments/crash": ("crash",),
    "instruments/program": ("program",),
    "instruments/scale": ("scale",),
    "servers/explain": ("explain",),
    # a rehearsal reads what a server has counted
    "servers/profile/mysql": ("rehearse",),
    "servers/profile/postgres": ("rehearse",),
    "servers/profile": ("profile",),
    "servers/watch": ("watch",),
    "servers/kit": ("kit install",),
    "workloads/replay": ("compare", "play"),
    "cli/workload_words": ("compare", "play"),
}
#: Programs of others, whose own options a hint may spell out.
OTHERS = re.compile(r"\b(npm|git|ray|mydumper|numactl|losetup|ps|docker|systemctl|pgbench's)\b")
#: Options of the shims, which are no options of click's.
SHIMS = {"--compare", "--help"}


def _list_hints() -> Iterator[tuple[str, int, str]]:
    """File, line and text of every hint of the package; what is put in stands as `{}`."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            named = isinstance(node, ast.keyword) and node.arg == "hint"
            named |= isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "hint"
            if named and isinstance(node, ast.keyword | ast.Assign):
                value = node.value
                parts = value.values if isinstance(value, ast.JoinedStr) else [value]
                texts = [it.value if isinstance(it, ast.Constant) else "{}" for it in parts]
                yield str(path.relative_to(SOURCES)), value.lineno, "".join(map(str, texts))


def _find_readers(file: str) -> tuple[str, ...]:
    for part, readers in READERS.items():
        if file.startswith(part):
            return readers
    stem = Path(file).stem.split("_")[0]
    if file.startswith("cli/"):
        own = tuple(name for name in OPTIONS if name.split(" ")[0] == stem)
        return own or ("compare",)
    return ("compare", "run")


def test_a_hint_names_no_option_that_its_command_refuses() -> None:
    wrong, seen = [], 0
    for file, line, hint in _list_hints():
        for found in re.finditer(r"(?<![\w-])--[a-z][\w-]+", hint):
            before = hint[: found.start()]
            named = re.findall(r"dyno ([a-z-]+)", before)
            readers = tuple(n for n in OPTIONS if named and n.split(" ")[0] == named[-1])
            readers = readers or _find_readers(file)
            known = [OPTIONS.get(reader, set()) for reader in readers]
            # a group's hints are read by one of its commands, everything else by each reader
            grouped = len({reader.split(" ")[0] for reader in readers}) == 1
            fits = any if grouped else all
            seen += 1
            if found[0] in SHIMS or OTHERS.search(before):
                continue
            if not fits(found[0] in options for options in known):
                wrong.append(f"{file}:{line}: {found[0]} ({', '.join(readers)}): {hint}")
    assert seen > 60
    assert not wrong, "\n".join(wrong)


#: Names that are so few that a command's help lists them.
FEW = 12


def _list_words(group: click.Command, name: str = "") -> Iterator[tuple[str, str, click.Parameter]]:
    """Every word of a set: the command, its help, the parameter."""
    if isinstance(group, click.Group):
        for each, below in group.commands.items():
            yield from _list_words(below, f"{name} {each}".strip())
    help_text = " ".join(group.get_help(click.Context(group, info_name=name)).split())
    for parameter in group.params:
        if isinstance(parameter.type, Word):
            yield name, help_text, parameter


def test_the_help_of_a_command_lists_the_words_that_it_takes_or_says_what_does() -> None:
    silent, seen = [], 0
    for name, help_text, parameter in _list_words(command):
        assert isinstance(parameter.type, Word)
        known = sorted(parameter.type.known())
        listed = 0 < len(known) <= FEW and all(re.search(rf"\b{it}\b", help_text) for it in known)
        lists = re.search(r"`dyno (show|engines list|kit status|clean)\b", help_text)
        seen += 1
        if not (listed or lists):
            silent.append(f"{name}: {parameter.name}")
    assert seen > 20
    assert not silent, silent


def test_every_part_of_the_kit_stands_in_the_help_of_install_and_uninstall() -> None:
    for verb in ("install", "uninstall"):
        told = {name: text for name, text, _ in _list_words(command)}[f"kit {verb}"]
        assert all(re.search(rf"\b{part}\b", told) for part in PARTS)
