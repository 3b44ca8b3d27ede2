"""`dyno sysbench --help`: every option that sysbench has, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.compat.sysbench.words import GENERAL, LOG, RANDOM, database_options, drivers
from dyno.engines import SysbenchOption as Option


def help_lines() -> Iterator[str]:
    """The whole text."""
    yield "Usage:"
    yield "  dyno sysbench [options]... SCRIPT [command]"
    yield "  dyno sysbench [options]... SCRIPT run --compare BUILD BUILD"
    yield ""
    yield "Commands implemented by most tests: prepare run cleanup help"
    yield ""
    yield from _block("General options:", GENERAL)
    yield from _block("Pseudo-Random Numbers Generator options:", RANDOM)
    yield from _block("Log options:", LOG)
    yield from _block("General database options:", database_options())
    known = drivers().values()
    yield "Compiled-in database drivers:"
    yield from (f"  {driver.name} - {driver.title}" for driver in known)
    yield ""
    for driver in known:
        yield from _block(f"{driver.name} options:", driver.options)
    yield "See 'dyno sysbench SCRIPT help' for a list of options for each test."
    yield ""


def _block(title: str, options: Sequence[Option]) -> Iterator[str]:
    yield title
    shown = [(shown_option(it.name, it.kind), it) for it in options]
    width = max(len(name) for name, _ in shown)
    for name, option in shown:
        default = f" [{option.default}]" if option.default else ""
        yield f"  {name:<{width}} {option.help}{default}"
    yield ""


def shown_option(name: str, kind: str) -> str:
    """The option as sysbench's help shows it."""
    value = f"[={kind}]" if kind == "on|off" else f"=[{kind}]" if "," in kind else f"={kind}"
    return f"--{name}{value}"
