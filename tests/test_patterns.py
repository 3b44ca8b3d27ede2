"""Each pattern of the package meets its own worst words, at two sizes: four times the text is at
most about five times the work. A pattern that meets other people's text is linear.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dyno
from dyno import passwords

#: What the engine itself parses a pattern to.
codes, parser = (importlib.import_module(f"re._{name}") for name in ("constants", "parser"))

HOME = Path(dyno.__file__).parent
METHODS = {"match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split"}
SIZES, TIMES = (1_500, 6_000), 4
#: A text of the larger size that takes less is taken for linear, and CPU seconds that none takes;
#: on a slow host one that takes so many times as long as a plain scan of such a text, too.
TELLING_S, TELLING_SCANS, HOPELESS_S = 0.004, 8, 2.0
PLAIN, PLAIN_TEXT = re.compile(r"\w|\W"), "a(" * (SIZES[1] // 2)
RATIO_MAX = 5.5
#: Characters of which one at least is in a class that excludes some.
LETTERS = ["a", "1", " ", "-", ".", ":", '"', "'", "(", ",", "/", "\n", "Z", "é"]
#: Asked with `match`, by a name of their own there.
MATCHED = {f"dyno.sql.lexing.{name}" for name in ("_ESCAPED", "_PLAIN")}

Items = list[tuple[Any, Any]]


class _StillAtIt(Exception):
    pass


def _in_class(parts: Items, which: int) -> str:
    chars = [
        chr(at)
        for code, value in parts
        if code in (codes.LITERAL, codes.RANGE)
        for at in ([value] if code is codes.LITERAL else value)
    ]
    negated = any(code is codes.NEGATE for code, _ in parts)
    compiled = [code for code, _ in parts if code is codes.CATEGORY]
    if negated or compiled:
        one = re.compile(_class_text(parts))
        chars = [char for char in LETTERS if one.fullmatch(char)] or chars
    return str(chars[which % len(chars)]) if chars else "a"


def _class_text(parts: Items) -> str:
    names = {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }
    made = ""
    for code, value in parts:
        if code is codes.LITERAL:
            made += re.escape(chr(value))
        elif code is codes.RANGE:
            made += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif code is codes.CATEGORY:
            made += names[value]
    negated = any(code is codes.NEGATE for code, _ in parts)
    return f"[{'^' if negated else ''}{made}]"


REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def make_sample(items: Items, which: int) -> str:
    """A text that the items match, but for what they look ahead to."""
    return "".join(_make_one(code, value, which) for code, value in items)


def _make_one(code: Any, value: Any, which: int) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if code is codes.IN:
        return _in_class(value, which)
    if code in REPEATS:
        least, most, body = value
        times: int = least if which % 2 else max(least, min(1, most))
        return make_sample(list(body), which) * times
    if code is codes.SUBPATTERN:
        return make_sample(list(value[3]), which)
    if code is codes.ATOMIC_GROUP:
        return make_sample(list(value), which)
    if code is codes.BRANCH:
        return make_sample(list(value[1][which % len(value[1])]), which)
    return "a" if code is codes.ANY else ""


def list_pumps(items: Items, before: Items) -> Iterator[tuple[str, str]]:
    """What begins a text, and what is repeated in it, for each repetition of a pattern: its body
    alone, and with what stands before and behind it.
    """
    for at, (code, value) in enumerate(items):
        if code in REPEATS and value[1] > 20:
            after = items[at + 1 :]
            for which in range(3):
                head, body = make_sample(before, which), make_sample(list(value[2]), which)
                yield head, body
                yield "", head + body
                yield head, body + make_sample(after[:1], which)
                yield "", head + body + make_sample(after[:-1], which)
        inner = {codes.SUBPATTERN: 3, codes.MAX_REPEAT: 2, codes.MIN_REPEAT: 2}.get(code)
        inner = 2 if code is codes.POSSESSIVE_REPEAT else inner
        if inner is not None:
            yield from list_pumps(list(value[inner]), before)
        elif code is codes.ATOMIC_GROUP:
            yield from list_pumps(list(value), before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from list_pumps(list(branch), before)
        before = [*before, (code, value)]


def measure(work: Callable[[Any], object], text: Any, times: int = 1) -> float:
    """The CPU time of doing it so often, in s, the least of three."""
    spent = []
    for _ in range(3):
        began = time.thread_time()
        for _ in range(times):
            work(text)
        spent.append(time.thread_time() - began)
    return min(spent)


def find_worst(
    work: Callable[[Any], object], make: Callable[[int], Any], hopeless_s: float = HOPELESS_S
) -> float:
    """How many times the work four times the text takes; 1 where both take next to nothing."""

    def give_up(*_: object) -> None:
        raise _StillAtIt

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, hopeless_s)
    try:
        work(make(40))
        for _ in range(3):  # another process may have taken the cache meanwhile
            if (long := measure(work, make(SIZES[1]))) < TELLING_S:
                return 1.0
            if long < TELLING_SCANS * measure(lambda it: len(PLAIN.findall(it)), PLAIN_TEXT):
                return 1.0
            short = measure(work, make(SIZES[0]), TIMES) / TIMES
            if (ratio := long / max(short, 1e-9)) <= RATIO_MAX:
                return ratio
        return ratio
    except _StillAtIt:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def list_modules() -> list[Any]:
    """Every module of the package; a library that others load is none."""
    names = [each.name for each in pkgutil.walk_packages([str(HOME)], "dyno.")]
    others = ("__main__", ".dyno_kit", "._flushes", "._lock_calls")
    plain = [name for name in names if not name.endswith(others)]
    return [importlib.import_module(name) for name in plain]


def _walk_values(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _walk_values(each, depth + 1)
    elif depth < 3 and isinstance(value, dict):
        yield from _walk_values([*value.keys(), *value.values()], depth)
    elif depth < 3 and type(value).__module__.startswith("dyno") and hasattr(value, "__dict__"):
        yield from _walk_values(list(vars(value).values()), depth)


@cache
def list_patterns() -> dict[str, tuple[re.Pattern[Any], frozenset[str]]]:
    """Every pattern by its place, and the methods that it is asked with."""
    found: dict[str, tuple[re.Pattern[Any], frozenset[str]]] = {}
    seen: set[tuple[Any, int]] = set()
    for module in list_modules():
        text = Path(module.__file__).read_text()
        for name, value in list(vars(module).items()):
            values = [value]
            if isinstance(value, type) and value.__module__ == module.__name__:
                values = list(vars(value).values())
            for number, pattern in enumerate(it for each in values for it in _walk_values(each)):
                uses = set(re.findall(rf"\b{re.escape(name)}(?:\[\w+\])?\.(\w+)\(", text)) & METHODS
                if uses or (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    place = f"{module.__name__}.{name}"
                    uses = uses or {"match"} & {"match" if place in MATCHED else ""}
                    found[f"{place}{f'-{number}' if number else ''}"] = pattern, frozenset(uses)
        for node in ast.walk(ast.parse(text)):
            if made := _read_call(node, module):
                found[f"{module.__name__}:{getattr(node, 'lineno', 0)}"] = made
    return found


def _read_call(node: ast.AST, module: Any) -> tuple[re.Pattern[Any], frozenset[str]] | None:
    """The pattern that is given to a function of `re`, as far as the module alone knows it."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return None
    if ast.unparse(node.func.value) != "re" or node.func.attr not in METHODS:
        return None
    try:
        flags = [ast.unparse(each) for each in node.args[1:] if "re." in ast.unparse(each)]
        flags += [ast.unparse(each.value) for each in node.keywords if each.arg == "flags"]
        value = eval(ast.unparse(node.args[0]), vars(module))
        flag = eval(flags[-1], {"re": re}) if flags else 0
        return re.compile(value, flag), frozenset({node.func.attr})
    except (NameError, TypeError, AttributeError, re.error):
        return None  # made of what is known only as it runs: the modules' constants are seen above


def find_slow(
    pattern: re.Pattern[Any], uses: frozenset[str], hopeless_s: float = HOPELESS_S
) -> str:
    """The worst of a pattern's own words, if four times of it take far more; else empty."""
    is_bytes = isinstance(pattern.pattern, bytes)
    tree = list(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    works: dict[str, Callable[[Any], object]] = {}
    if uses & {"match", "fullmatch"}:
        works |= {name: getattr(pattern, name) for name in uses & {"match", "fullmatch"}}
    if not works or uses - {"match", "fullmatch"}:
        works["search"] = lambda text: sum(1 for _ in pattern.finditer(text))
    for head, pump in dict.fromkeys(list_pumps(tree, [])):
        for end in ("", "\0", "!"):
            if not pump:
                continue

            def make(size: int, head: str = head, pump: str = pump, end: str = end) -> Any:
                text = head + pump * max(1, size // len(pump)) + end
                return text.encode("latin-1", "replace") if is_bytes else text

            for name, work in works.items():
                if (ratio := find_worst(work, make, hopeless_s)) > RATIO_MAX:
                    told = f"{name}({head!r} + {pump!r} * n + {end!r})"
                    return f"{told}: {ratio:.0f} times for 4 times the text"
    return ""


def test_every_pattern_of_the_package_is_found() -> None:
    found = list_patterns()
    assert len(found) > 300
    assert "dyno.passwords.IN_KEYS" in found and "dyno.builds.source.diagnosis.ERRORS" in found


@pytest.mark.parametrize("part", range(8))
def test_four_times_the_text_is_about_four_times_the_work(part: int) -> None:
    slow = {}
    for place, (pattern, uses) in list(list_patterns().items())[part::8]:
        if told := find_slow(pattern, uses):
            slow[place] = told
    assert not slow, slow


@pytest.mark.parametrize(
    ("pattern", "uses"),
    [
        (r"\s+x", "search"),
        (r"(?:a|b|ab)*c", "match"),
        (r"(?:\w+\s?)*!", "match"),
        (r"'.*?'.*?;", "search"),
    ],
)
def test_a_pattern_that_is_not_linear_is_found(pattern: str, uses: str) -> None:
    # found either way: by its ratio, or as it does not end
    assert find_slow(re.compile(pattern), frozenset({uses}), hopeless_s=0.4)
    assert not find_slow(re.compile("a+b"), frozenset({"match"}), hopeless_s=0.4)


@pytest.mark.parametrize(
    "word",
    ["a", "a:", "://a:", "://a:@?", "a ", "a:/", ":/a:", "?password=", "'", "(", "1:", "@:a"],
)
@pytest.mark.parametrize("mask", [passwords.mask_sentence, passwords.mask_word])
def test_passwords_are_masked_in_text_of_any_length(mask: Callable[[str], str], word: str) -> None:
    assert find_worst(mask, lambda size: word * (4 * size // len(word))) <= RATIO_MAX
