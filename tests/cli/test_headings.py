"""Help in parts: nothing is listed twice or left out, and no sentence is cut."""

from __future__ import annotations

import re

import click
import pytest

from dyno.cli import command as program
from dyno.cli import run_words
from dyno.errors import build_unknown_error


def _read_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_words([*words, "--help"]) == 0
    return capsys.readouterr().out


def _list_first_words(text: str) -> list[str]:
    return re.findall(r"^  ([a-z][a-z-]*)\b {2,}[A-Z]", text, re.MULTILINE)


def test_every_command_stands_once_below_a_heading_with_its_whole_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    groups = {name: it for name, it in program.commands.items() if isinstance(it, click.Group)}
    assert len(groups) > 2
    for words, group in (([], program), *(([name], it) for name, it in groups.items())):
        text = _read_help(words, capsys)
        listed = _list_first_words(text)
        shown = {it.name for it in group.commands.values() if not it.hidden}
        assert sorted(listed) == sorted(filter(None, shown))
        assert "..." not in text.replace("[ARGS]...", "")
    assert _read_help([], capsys).count("\nMeasure and compare:\n") == 1


@pytest.mark.parametrize("name", ["compare", "play", "run"])
def test_options_of_a_kind_stand_together_and_each_once(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _read_help([name], capsys)
    for option in program.commands[name].params:
        if isinstance(option, click.Option) and not option.hidden:
            lines = re.findall(rf"^  .*{option.opts[0]}(?![\w-])", text, re.MULTILINE)
            assert [line for line in lines if line.startswith("  -")], option.opts
    heads = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert heads[0] == "Options"
    assert len(set(heads)) == len(heads)
    if name != "run":
        assert text.index("To replay a server's log:") < text.index("--log FILE ")


def test_a_name_in_other_case_is_known_again_and_a_long_list_says_that_it_is_cut() -> None:
    assert build_unknown_error("engine", "MySQL", ["mysql", "null"]).hint == "did you mean mysql?"
    names = [f"x{number:02}" for number in range(14)]
    hint = build_unknown_error("thing", "nothing-like-it", names).hint
    assert hint.endswith("x11, … and 2 more")
    assert build_unknown_error("thing", "q", names[:12]).hint.endswith("x11")


def test_a_run_that_is_not_named_is_answered_with_the_word_for_the_newest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("resume", "report", "pack"):
        assert run_words([name]) == 64
        assert "hint: `last` is the newest run" in capsys.readouterr().err
