"""Writes docs/reference/ from the docstrings and the program's own tables: `make docs`.

Pages that a user of the program opens are committed (`COMMITTED`), and tests/test_docs.py compares
them with `pages()`, so that they cannot grow stale. Git ignores the others, which are for who
changes Dyno and are made where they are wanted.
Figures that the code knows are put into the other documents, too (`with_figures`).
"""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Iterable
from pathlib import Path

import click

from dyno import engines, errors
from dyno.cli.judged_run import DOUBTFUL_EXIT, EXITS
from dyno.driver import ask
from dyno.instruments.time.contents import STATEMENT_S, TABLE_ROWS
from dyno.judge.stats.scenarios import ANALYSES
from dyno.plugins import load_modules

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CLI_WIDTH = 100
COMMITTED = (
    "reference/audits.md",
    "reference/cli.md",
    "reference/controls.md",
    "reference/instruments.md",
    "reference/packages.md",
    "evidence/fooled.md",
)


def _package_pages(name: str, *files: str) -> tuple[str, ...]:
    """The package's own page, then those of its files that have something public."""
    return (name, *(f"{name}.{file}" for file in files))


#: Modules whose public names are documented, by page.
PAGES = {
    "record": _package_pages("dyno.record", "run", "trial", "calibration", "verdict", "history"),
    "plan": ("dyno.driver.plan",),
    "interfaces": (
        "dyno.builds",
        "dyno.engines",
        "dyno.host.controls",
        "dyno.host.probes",
        "dyno.judge.analysis.audit",
        "dyno.host.checks",
    ),
    "play": (
        *_package_pages("dyno.runs.experiment", "comparison", "toml_file", "candidates"),
        "dyno.runs.resolve.experiment",
        *_package_pages("dyno.runs.forecast", "estimate", "planner"),
        *_package_pages("dyno.instruments.time", "run", "watch"),
        "dyno.runs.run_folder",
        *_package_pages("dyno.driver", "questions", "process", "events"),
    ),
    "errors": ("dyno.errors",),
}
WHOLE_PACKAGES = ("dyno.judge.stats",)
WORDS_OF_AUDITS = """\
| word | means |
|---|---|
| *sound* | it looked and found nothing wrong |
| *does not apply* | the run has nothing of what the audit judges, by what it was asked for |
| *not checked* | it could not be looked at, for the reason that it gives; it is counted apart |
| *doubtful* | the figures may not say what they seem to; the verdict says so first |
| *invalid* | the figures say nothing, and the comparison is *invalid* |
"""
UNCHECKED = f"""\
## What is not checked, by engine

`contents` compares no table of over {TABLE_ROWS:,} rows, no statement of over 8 KB or with
rows behind it, and none that takes {STATEMENT_S:g} s. What a phase loads in bulk
is compared by sums of all columns (`results`).
`integrity` asks of no key over an expression or a part of a column.
`durability` needs a count of flushes.

| engine | `contents` | `integrity` | flushes for `durability` |
|---|---|---|---|
"""
STRICT = "doubtful where `--strict` asks for it"
#: A function as a default is shown with its place in memory.
FUNCTION_DEFAULT = re.compile(r"<function .*? at 0x[0-9a-f]+>")


#: The table in docs/evidence/disk.md whose first column is `trap`.
TRAP_TABLE = re.compile(r"\| trap \| caught by \|.*\n(?:\|.*\n)+")

#: Documents written by hand, in which the code's own figures stand.
BY_HAND = ("README.md", "CONTRIBUTING.md", "docs/METHOD.md", "docs/guides/README.md")


def figures() -> dict[str, str]:
    """The words around each figure, as a pattern whose one group it is, and what the code says."""
    analyses = [str(blocks) for blocks in ANALYSES.blocks]
    ends = {code: word for word, code in reversed(EXITS.items())}
    return {
        r"(\d+) audits hold the driver's ledger": str(len(load_modules("dyno.judge.audits"))),
        r"[Aa]nalyses at ([\d, and]+) blocks": f"{', '.join(analyses[:-1])} and {analyses[-1]}",
        r"looked at when ([\d, and]+) \(= MAX\)": f"{', '.join(analyses[:-1])} and {analyses[-1]}",
        r"--gate`: (\d [^;]+);": ", ".join(
            [f"{code} {ends[code]}" for code in sorted(ends)] + [f"{DOUBTFUL_EXIT} {STRICT}"]
        ),
        r"(\d+) a mistake that you can mend": str(errors.USAGE_EXIT),
        r"a hint, exit code (\d+)": str(errors.USAGE_EXIT),
        r"(\d+) one of ours": str(errors.INTERNAL_EXIT),
        r"(\d+) interrupted\.": str(errors.INTERRUPTED_EXIT),
    }


def with_figures(text: str) -> str:
    """A document with the code's figures in place of those that stand there."""
    for words, figure in figures().items():
        text = re.sub(words, lambda found, new=figure: found[0].replace(found[1], new), text)
    return text


def pages() -> dict[str, str]:
    """Every page that is made: its place in docs/ to Markdown."""
    made = {f"reference/{name}.md": page(name, names) for name, names in PAGES.items()}
    for package in WHOLE_PACKAGES:
        name = package.rpartition(".")[2]
        made[f"reference/{name}.md"] = page(name, [f"{package}.{m}" for m in load_modules(package)])
    made["reference/audits.md"] = audits()
    made["reference/controls.md"] = controls()
    made["reference/cli.md"] = command_line()
    made["reference/packages.md"] = packages()
    listed = runpy.run_path(str(ROOT / "tests" / "instrument_table.py"))
    made["reference/instruments.md"] = listed["page"]()
    ways = runpy.run_path(str(ROOT / "tests" / "ways_to_be_fooled.py"))
    made["evidence/fooled.md"] = ways["page"]()
    return made


def audits() -> str:
    """The page of the audits: what each catches in a line, then each with its reasons."""
    found = load_modules("dyno.judge.audits")
    rows = "\n".join(f"| `{name}` | {each.AUDIT.summary} |" for name, each in found.items())
    table = f"| audit | is sound where |\n|---|---|\n{rows}\n"
    parts = [f"## {name}\n\n{prose(module)}\n" for name, module in found.items()]
    head = "# audits\n\nMade from the docstrings by `make docs`.\n"
    return "\n".join([head, WORDS_OF_AUDITS, table, unchecked(), *parts])


def unchecked() -> str:
    """What three audits do not look at, by engine, from what each engine offers."""
    rows = []
    for name in load_modules("dyno.engines"):
        kind = engines.find_engine(name, ask)
        if isinstance(kind, engines.ChecksIntegrity):
            # who has no means (DuckDB) does not tell the columns of a foreign key either
            without = f"without `--check full`: {kind.deep}"
            deep = without if kind.deep else "pages, indexes, foreign keys"
            runs = "servers that run already" if isinstance(kind, engines.Attaches) else ""
            cells = (runs or "—", deep, "; ".join(filter(None, ["io_uring", runs])))
            rows.append(f"| {name} | {' | '.join(cells)} |")
    return UNCHECKED + "\n".join(rows) + "\n"


def controls() -> str:
    """The page of the controls: what each holds and the values it takes, then the reasons."""
    found = load_modules("dyno.host.controls")
    rows = "\n".join(
        f"| `{name}` | {each.CONTROL.summary} | {each.CONTROL.default} |"
        for name, each in found.items()
    )
    table = f"| control | what it does | by default |\n|---|---|---|\n{rows}\n"
    parts = [
        f"## {name}\n\n{prose(each)}\n\n{values(each.CONTROL.values)}"
        for name, each in found.items()
    ]
    return "\n".join(["# controls\n\nMade from the docstrings by `make docs`.\n", table, *parts])


def values(taken: dict[str, str]) -> str:
    """The values that a control takes, and what each means."""
    return "".join(f"- `{value}`: {meaning}\n" for value, meaning in taken.items())


def page(title: str, names: Iterable[str]) -> str:
    """One page: each module's docstring, then its public classes and functions."""
    parts = [f"# {title}\n\nMade from the docstrings by `make docs`.\n"]
    for name in names:
        module = __import__(name, fromlist=["_"])
        parts.append(f"## {name}\n\n{prose(module)}\n")
        parts += [entry(thing) for thing in public(module)]
    return "\n".join(parts)


def public(module: object) -> list[type]:
    """The classes and functions that a module itself defines for others, in its own order."""
    name = getattr(module, "__name__", "")
    found = [
        thing
        for key, thing in vars(module).items()
        if key[0] != "_"
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == name
    ]
    return sorted(found, key=lambda thing: inspect.getsourcelines(thing)[1])


def entry(thing: type) -> str:
    """A class or function: its signature and its docstring."""
    kind = "class " if inspect.isclass(thing) else ""
    return f"### {kind}{thing.__name__}{signature(thing)}\n\n{prose(thing)}\n"


def signature(thing: type) -> str:
    """The parameters as written; nothing for classes that are not called by hand."""
    if inspect.isclass(thing):
        return ""
    return f"`{FUNCTION_DEFAULT.sub('...', str(inspect.signature(thing)))}`"


def prose(thing: object) -> str:
    """The docstring, indented blocks kept as they are."""
    return inspect.getdoc(thing) or ""


def command_line() -> str:
    """docs/reference/cli.md: each command's usage, words and options, as `--help` says them."""
    from dyno.cli import command

    return "\n".join(
        ["# dyno\n", "Made from the commands by `make docs`.\n", *build_page(command, "dyno")]
    )


def build_page(command: click.Command, name: str, parent: click.Context | None = None) -> list[str]:
    """A command's help, and that of the commands under it."""
    context = command.make_context(
        name,
        [],
        parent,
        resilient_parsing=True,
        terminal_width=CLI_WIDTH,
        max_content_width=CLI_WIDTH,
    )
    parts = [f"## {context.command_path}\n", f"```\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            if not command.commands[child].hidden:
                parts += build_page(command.commands[child], child, context)
    return parts


def packages() -> str:
    """docs/reference/packages.md: the packages as `tests/packages.py` has them."""
    listed = runpy.run_path(str(ROOT / "tests" / "packages.py"))
    rows = [f"| `{name}.py` | {what} | |" for name, what in listed["SHARED"].items()]
    for name, package in listed["PACKAGES"].items():
        place = f"{name}.py" if (ROOT / "src" / "dyno" / f"{name}.py").is_file() else name
        everything = len(package.knows) == len(listed["PACKAGES"]) - 1
        knows = ["all"] if everything else [it for it in listed["PACKAGES"] if it in package.knows]
        slash = "" if place.endswith(".py") else "/"
        rows.append(f"| `{place}{slash}` | {package.what} | {', '.join(knows)} |")
    head = [
        "# The packages of `src/dyno`\n",
        "Made from `tests/packages.py` by `make docs`. A package knows only those above it in this"
        " table: `tests/test_tidy.py` holds that.\n",
        "| package | is | knows |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def with_traps(text: str) -> str:
    """The evidence on disks with the table of `tests/disk_traps.py`."""
    listed = runpy.run_path(str(ROOT / "tests" / "disk_traps.py"))
    return TRAP_TABLE.sub(lambda _: listed["make_table"](), text, count=1)


def main() -> None:
    """Writes every page, and what the code knows into the documents written by hand."""
    disk = DOCS / "evidence" / "disk.md"
    disk.write_text(with_traps(disk.read_text()))
    for name, text in pages().items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text)
    for name in BY_HAND:
        (ROOT / name).write_text(with_figures((ROOT / name).read_text()))


if __name__ == "__main__":
    main()
