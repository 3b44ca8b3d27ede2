"""`docs/guides/workloads/pgbench-words.md`: every word of pgbench's manual, as it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pgbench_files import EXPRESSIONS, NULL, play
from repository import ROOT

from dyno.cli import command, pgbench, run_words
from dyno.compat.pgbench import words

DOCS = ROOT / "docs/guides/workloads/pgbench-words.md"
STATES = {
    word: cells[2].strip()
    for line in DOCS.read_text().splitlines()
    if len(cells := line.split("|")) > 4
    for word in re.findall(r"`([^`]+)`", cells[1])
}
#: A line that every command of pgbench's language can be played with.
COMMANDS = {
    "\\set": "\\set x 1",
    "\\if": "\\if 1\n\\endif",
    "\\elif": "\\if 1\n\\elif 2\n\\endif",
    "\\else": "\\if 1\n\\else\n\\endif",
    "\\endif": "\\if 1\n\\endif",
    "\\sleep": "\\sleep 1us",
    "\\gset": "SELECT 1 AS one \\gset",
    "\\aset": "SELECT 1 AS one \\aset",
    "\\;": "SELECT 1 \\; SELECT 2;",
    "\\startpipeline": "\\startpipeline\n\\endpipeline",
    "\\endpipeline": "\\startpipeline\n\\endpipeline",
    "\\syncpipeline": "\\startpipeline\n\\syncpipeline\n\\endpipeline",
    "\\shell": "\\shell true",
    "\\setshell": "\\setshell x echo 1",
}
FUNCTIONS = re.findall(
    r"\S+",
    "abs debug double exp greatest hash hash_fnv1a hash_murmur2 int least ln mod permute pi pow "
    "power random random_exponential random_gaussian random_zipfian sqrt",
)
OPERATORS = re.findall(
    r"\S+", "OR AND NOT IS ISNULL NOTNULL CASE < <= = <> != > >= # & ~ << >> + - * / %"
)
VARIABLES = [":client_id", ":default_seed", ":random_seed", ":scale"]
OPTIONS = re.findall(
    r"\S+",
    "initialize init-steps fillfactor no-vacuum quiet scale foreign-keys index-tablespace "
    "partition-method partitions tablespace unlogged-tables builtin file skip-some-updates "
    "select-only client connect define jobs log latency-limit protocol progress "
    "report-per-command rate transactions time vacuum-all aggregate-interval continue-on-error "
    "exit-on-abort failures-detailed log-prefix max-tries progress-timestamp random-seed "
    "sampling-rate show-script verbose-errors debug host port username version help",
)

#: Options of ours that mean something else to pgbench: a replay's log.
OTHERS = {"--log", "--log-prefix"}


def test_the_table_has_every_word_and_no_other() -> None:
    options = [f"--{name}" for name in OPTIONS]
    known = {*COMMANDS, *FUNCTIONS, *OPERATORS, *VARIABLES, *options}
    assert set(STATES) == known
    assert set(STATES.values()) == {"done", "refused", "same as", "left out"}


def test_the_real_pgbench_has_no_option_that_the_table_lacks() -> None:
    if not shutil.which("pgbench"):
        pytest.skip("needs pgbench: its own list of options")
    said = subprocess.run(["pgbench", "--help"], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", said, re.M)) <= set(STATES)


def test_dyno_pgbench_takes_every_option_as_its_page_says() -> None:
    ours = {"dbname", "percentile"}
    assert {name.rstrip("=") for name in words.OPTIONS} == {*OPTIONS, *ours}


@pytest.mark.parametrize("word", COMMANDS)
def test_every_command_that_is_done_is_played(tmp_path: Path, word: str) -> None:
    assert STATES[word] == "done"
    protocol = "prepared" if "pipeline" in word else "simple"
    if word == "\\gset":  # null answers no row
        return
    text = COMMANDS[word] + "\nSELECT 1;"
    play(NULL, text, tmp_path, protocol=protocol, allow_shell="on")


def test_every_function_and_operator_that_is_done_was_held_against_pgbench() -> None:
    tried = " ".join(expression for expression, value in EXPRESSIONS.items() if value != "refused")
    for name in FUNCTIONS:
        assert STATES[name] == "done" and f"{name}(" in tried, name
    for sign in OPERATORS:
        assert STATES[sign] == "done" and sign.lower() in tried.lower(), sign


def test_every_option_is_played_left_out_or_refused_as_the_table_says() -> None:
    told = {name for name in OPTIONS if STATES[f"--{name}"] == "done"}
    assert told == pgbench.PLAYED
    told = {name for name in OPTIONS if STATES[f"--{name}"] in ("left out", "same as")}
    assert told - {"help", "version"} == pgbench.SILENT


def test_every_option_that_play_does_not_take_is_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    play_command = command.commands["play"]
    taken = {name for it in play_command.params for name in (*it.opts, *it.secondary_opts)}
    assert taken & STATES.keys() == OTHERS | {"--time"}
    for option in (f"--{name}" for name in OPTIONS):
        if option not in taken | {"--help", "--version"}:
            assert run_words(["play", "null", option, "1"]) == 64
            hint = capsys.readouterr().err.partition("hint: ")[2]
            assert hint and "shows what it takes" not in hint, option
