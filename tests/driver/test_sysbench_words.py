"""docs/guides/sysbench/{words,ffi,options} say what Dyno does with each word: all are tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from played_scripts import NULL, Player
from repository import ROOT

from dyno import driver
from dyno.driver.plan import Plan, Script
from dyno.errors import DynoError

PAGES = tuple(f"docs/guides/sysbench/{page}.md" for page in ("words", "ffi", "options"))
PAGE = "\n".join((ROOT / page).read_text() for page in PAGES)


def rows(section: str) -> dict[str, tuple[str, str]]:
    """Each word of a section's table: what it is, and the remark."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `([^`]+)` \| (done|refused|same as) \| (.*?) ?\|$", text, re.M)
    assert len(found) > 10, section
    return {word: (what, remark) for word, what, remark in found}


WORDS = {**rows("Lua"), **rows("C, by ffi")}
OPTIONS = rows("General options")


@pytest.fixture
def play(tmp_path: Path) -> Player:
    return Player(tmp_path)


def test_each_word_that_is_done_is_there(play: Player) -> None:
    done = [word for word, (what, _) in WORDS.items() if what == "done"]
    cdef = "ffi.cdef[[int usleep(unsigned); int sleep(unsigned); int nanosleep(void *, void *);]]"
    asserts = "\n".join(f"assert({word} ~= nil, '{word}')" for word in done)
    play(f"{cdef}\nfunction event()\n{asserts}\nend", events=1)


def test_each_word_that_is_anothers_is_the_same(play: Player) -> None:
    pairs = {word: rest.strip("`") for word, (what, rest) in WORDS.items() if what == "same as"}
    asserts = "\n".join(f"assert({one} == {other}, '{one}')" for one, other in pairs.items())
    play(f"function event()\n{asserts}\nend", events=1)


@pytest.mark.parametrize("word", [w for w, (what, _) in WORDS.items() if what == "refused"])
def test_each_word_that_is_refused_is_named(word: str, play: Player) -> None:
    with pytest.raises(DynoError, match=re.escape(word)):
        play(f"function event() {word}() end", events=1)


def described(folder: Path, **options: str) -> dict[str, str]:
    script = folder / "script.lua"
    script.write_text("function event() end")
    said = driver.describe(Plan(NULL, Script(str(script), options), 7))
    return {option.name: option.value for option in said.options}


#: What differs from the defaults of options that are not numbers.
TEXTS = {
    "rand_type": "pareto", "db_driver": "mysql", "db_ps_mode": "disable", "rand_pareto_h": "0.3"
}  # fmt: skip


def test_a_script_that_declares_no_options_finds_each_as_a_global(play: Player) -> None:
    # one of them each time, since what brings a name may be another's word
    for option in OPTIONS:
        if option not in ("debug", "mysql_ignore_errors"):  # LuaJIT's library; a list of numbers
            play(f"function event() assert({option} ~= nil, '{option}') end", events=1)


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_is_what_the_page_says(option: str, tmp_path: Path) -> None:
    what, remark = OPTIONS[option]
    text = TEXTS.get(option, "3")
    if what == "refused":
        with pytest.raises(DynoError, match=f"option {option} of sysbench's cannot be set here"):
            described(tmp_path, **{option: text})
    else:
        name = remark.strip("`") if what == "same as" else option
        assert described(tmp_path)[name] != text
        assert described(tmp_path, **{option: text})[name] == text
