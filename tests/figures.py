"""Figures in comments and docstrings: a number with a unit that is no limit, name or example.

A measurement grows old where it stands beside code, and is not seen to. It belongs to a page of
`docs/evidence/`, with its machine and command; a comment says which way is better and links there.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

UNIT = r"(?:ns|µs|us|ms|s|%|percent|[kMG]i?B|events/s|requests/s|rows/s)"
FIGURE = re.compile(rf"(?<![\w.−-])\d[\d,.]*(?: to \d[\d,.]*)?\s?{UNIT}(?:/s)?(?![\w/])")
#: Code and quoted text in a comment is an example of a format.
EXAMPLE = re.compile(r"`[^`]*`|\"[^\"]*\"")
COMMENT = {
    ".rs": re.compile(r"//.*"),
    ".c": re.compile(r"//.*|/\*.*|^ \*.*"),
    ".lua": re.compile(r"--.*"),
    ".sql": re.compile(r"-- .*"),
}


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Each line of comments and docstrings of a file, with its number."""
    text = path.read_text()
    if path.suffix == ".py":
        yield from _python_comments(text)
    elif path.suffix in COMMENT:
        for number, line in enumerate(text.splitlines(), start=1):
            found = COMMENT[path.suffix].search(line)
            if found:
                yield number, found[0]


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    # to read a file's tokens is slow, and few files have such a comment
    if any("#" in line and FIGURE.search(line) for line in text.splitlines()):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            lines = str(first.value.value).splitlines()
            yield from enumerate(lines, start=first.lineno)


def figures(text: str) -> list[str]:
    """The figures of a comment."""
    return [found[0].strip() for found in FIGURE.finditer(EXAMPLE.sub("", text))]


#: Where a figure is no measurement, and why: the figures by file.
ALLOWED: dict[str, dict[str, tuple[str, ...]]] = {
    "a limit that the code beside it sets or refuses by": {
        "crates/driver/src/script/shared.rs": ("20 ms",),
        "crates/driver/src/wire/line.rs": ("10 s",),
        "crates/driver/src/wire/thread.rs": ("20 ms",),
        "crates/kit/src/bounds.rs": ("1 GiB", "64 MiB"),
        "src/dyno/builds/cache.py": ("20 GB",),
        "src/dyno/cli/plan.py": ("5 %",),
        "src/dyno/engines/postgres/session_words.py": ("1 GB",),
        "src/dyno/host/controls/_inject.c": ("5 us",),
        "src/dyno/record/run.py": ("10 ms",),
        "src/dyno/sql/tokens.py": ("16 MB",),
    },
    "what a protocol, file format, kernel or specification lays down": {
        "crates/driver/src/plan/event.rs": ("1 ns",),
        "crates/driver/src/tally/histogram.rs": ("1 ns",),
        "crates/driver/src/tally/live.rs": ("1 µs", "100 s"),
        "crates/driver/src/sessions/mysql/packet.rs": ("16 MB",),
        "src/dyno/instruments/time/brief_play.py": ("10 ms",),
        "src/dyno/driver/questions.py": ("16 MB",),
        "src/dyno/engines/mysql/data.py": ("1 %", "60 s"),
        "src/dyno/engines/postgres/evidence.py": ("500 ms",),
        "src/dyno/engines/postgres/config_file.py": ("8 kB",),
        "src/dyno/engines/postgres/settle.py": ("256 kB",),
        "src/dyno/host/controls/thp.py": ("2 MB", "4 kB"),
        "src/dyno/host/processes.py": ("10 ms",),
        "src/dyno/host/probes/clock.py": ("1 µs",),
        "src/dyno/host/probes/host.py": ("10 ms", "1 s"),
        "src/dyno/host/probes/process.py": ("10 ms",),
        "src/dyno/workloads/_answers.lua": ("1 %",),
        "src/dyno/workloads/_tpcc_input.lua": ("45 %", "43 %", "4 %"),
    },
    "an example that explains a rule by numbers made up": {
        "crates/driver/src/schedule/timeline.rs": ("5.1 ms", "20 ms"),
        "src/dyno/judge/settings/values.py": ("64MB",),
        "src/dyno/judge/stats/interval.py": ("210 µs", "200 µs", "5 %"),
        "src/dyno/judge/stats/scenarios.py": ("2 %", "22 %"),
        "src/dyno/judge/stats/verdict.py": ("39 %", "26 %", "12 %"),
    },
}
#: Levels of confidence and power, and the share of a target that a paced writer has to meet.
LEVELS = ("80 %", "95 %", "98 %", "99 %")
#: An audit's docstring states the limits by which it judges; the reference is made of it.
AUDITS = "src/dyno/judge/audits/"
#: A line of a command's help that shows how it is called.
COMMAND = "dyno "


def measurements(name: str, text: str) -> list[str]:
    """The figures of a comment of the file `name` (from the root) that nothing allows."""
    if name.startswith(AUDITS) or text.lstrip().startswith(COMMAND):
        return []
    allowed = {it for files in ALLOWED.values() for it in files.get(name, ())}
    return [it for it in figures(text) if it not in allowed and it not in LEVELS]


def unused(seen: dict[str, set[str]]) -> list[str]:
    """What `ALLOWED` allows and no file has: it is to be taken out. `seen`: figures by file."""
    return [
        f"{name}: {it}"
        for files in ALLOWED.values()
        for name, these in files.items()
        for it in these
        if it not in seen.get(name, set())
    ]
