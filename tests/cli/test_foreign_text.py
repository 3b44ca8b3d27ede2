"""What is foreign in what Dyno prints: a terminal obeys none of it, and no line of it is forged."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.console import Console

from dyno.cli import exits, run_words
from dyno.cli.terminal import screen
from dyno.errors import UsageError
from dyno.printable import escape_line, escape_text

#: Colours, a title, a link, the clipboard, a cleared screen; 8-bit CSI; DEL; text turned round;
#: a separator of lines; half a character.
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x1b]8;;http://x\x1b\\\x1b]52;c;eA==\x07\x1b[2J"
HOSTILE += "\x9b31m\x7f\r\b\u202egnp.exe\u2066\u2028\udcff"
FORGED = "t\ndyno: all is well\nhint: run this"


#: Characters that turn text round, by Unicode's names of their classes.
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def controls_in(text: str) -> set[str]:
    """Characters that a terminal might obey, newlines and tabs aside."""
    return {it for it in set(text) if is_obeyed(it)} - {"\n", "\t"}


def is_obeyed(character: str) -> bool:
    kinds = {"Cc", "Cs", "Zl", "Zp"}
    turns = unicodedata.bidirectional(character) in TURNING
    return turns or unicodedata.category(character) in kinds


def test_nothing_that_a_terminal_obeys_is_left_of_any_character() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(controls_in(every)) > 2000
    assert not controls_in(escape_text(every))
    assert "\n" not in escape_line(every)
    assert escape_text(escape_text(every)) == escape_text(every)


def test_text_without_control_characters_is_printed_as_it_is() -> None:
    fine = "SELECT 'größer' → 𝄞 👩‍🚀\n\tα ≤ 5 %\\x1b[31m"
    assert escape_text(fine) == fine


@pytest.mark.parametrize("err", [False, True])
def test_every_way_to_print_shows_codes(err: bool, capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_line(HOSTILE, screen.style_bold(HOSTILE), err=err)
    screen.print_lines(f"a\n{HOSTILE}", err=err)
    if not err:
        screen.print_paragraph(HOSTILE)
        screen.print_table(("a", HOSTILE), [(HOSTILE, HOSTILE)])
        screen.draw(HOSTILE)
    said = capsys.readouterr()
    text = said.err if err else said.out
    assert not controls_in(text)
    assert r"\x1b[31mred" in text


def test_what_rich_would_take_for_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_table(("[red]a[/]", "b"), [("[link=http://x]c[/]", ":smiley:")])
    screen.draw("[blink]d[/]")
    said = capsys.readouterr().out
    assert all(it in said for it in ("[red]a[/]", "[link=http://x]c[/]", ":smiley:", "[blink]d[/]"))


def test_a_name_with_newlines_begins_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_line(f"{FORGED}: the index is dropped")
    screen.print_table(("name", "x"), [(FORGED, "1")])
    exits.print_error(UsageError(f"unknown table '{FORGED}'", hint=FORGED))
    said = capsys.readouterr()
    assert not [it for it in said.out.splitlines() if it.startswith(("dyno", "hint"))]
    assert [it[:5] for it in said.err.splitlines() if it[0] != " "] == ["dyno:", "hint:"]


def test_an_error_of_a_command_shows_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["show", HOSTILE]) == 64
    assert run_words([HOSTILE]) == 64
    assert not controls_in(capsys.readouterr().err)


def test_rich_keeps_its_own_control_characters_and_obeys_no_other() -> None:
    out = screen.make_console()
    out.file = drawn = io.StringIO()
    assert isinstance(out, Console)
    out.print(HOSTILE, style="bold")
    assert not controls_in(drawn.getvalue())


def on_a_terminal(code: str, cwd: Path) -> str:
    """What a program of Python's writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=theirs, stderr=theirs, stdin=theirs, cwd=cwd
    ) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                chunk = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            said += chunk
    os.close(ours)
    assert process.returncode == 0, said
    return said.decode()


def test_a_scripts_own_output_is_kept_byte_for_byte_but_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\x1b]0;title\x07\x1b[2Jdone"
    screen.print_verbatim(text)
    assert capsys.readouterr().out == f"{text}\n"
    code = f"from dyno.cli.terminal import screen; screen.print_verbatim({text!r})"
    assert on_a_terminal(code, tmp_path).strip() == r"\x1b]0;title\x07\x1b[2Jdone"
