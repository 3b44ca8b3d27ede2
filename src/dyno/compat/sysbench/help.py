"""`dyno sysbench --help`: every option that sysbench has, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.compat.sysbench.words import GENERAL, LOG, RANDOM, list_database_options, list_drivers
from dyno.engines import SysbenchOption as Option


def format_help() -> Iterator[str]:
    """The whole text."""
    yield "Usage:"
    yield "  dyno sysbench [options]... SCRIPT [command]"
    yield "  dyno sysbench [options]... SCRIPT run --compare BUILD BUILD"
    yield ""
    yield "Commands implemented by most tests: prepare run cleanup help"
    yield ""
    yield from _format_block("General options:", GENERAL)
    yield from _format_block("Pseudo-Random Numbers Generator options:", RANDOM)
    yield from _format_block("Log options:", LOG)
    yield from _format_block("General database options:", list_database_options())
    known = list_drivers().values()
    yield "Compiled-in database drivers:"
    yield from (f"  {driver.name} - {driver.title}" for driver in known)
    yield ""
    for driver in known:
        yield from _format_block(f"{driver.name} options:", driver.options)
    yield "See 'dyno sysbench SCRIPT help' for a list of options for each test."
    yield ""


def _format_block(title: str, options: Sequence[Option]) -> Iterator[str]:
    yield title
    shown = [(format_option(it.name, it.kind), it) for it in options]
    width = max(len(name) for name, _ in shown)
    for name, option in shown:
        default = f" [{option.default}]" if option.default else ""
        yield f"  {name:<{width}} {option.help}{default}"
    yield ""


def format_option(name: str, kind: str) -> str:
    """The option as sysbench's help shows it."""
    value = f"[={kind}]" if kind == "on|off" else f"=[{kind}]" if "," in kind else f"={kind}"
    return f"--{name}{value}"
