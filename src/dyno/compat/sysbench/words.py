"""sysbench's command line: which option, which script, which command; sysbench's own rules; and
`dyno sysbench --help`, which lists every option of sysbench's in its order.

An option is `--name=value`, or `--name` alone for `on`; dashes and underscores are one. The first
other word is the script, the second the command. An option that sysbench does not know is the
script's, which is asked once it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from dyno.engines import SysbenchDriver
from dyno.engines import SysbenchOption as Option
from dyno.errors import UsageError
from dyno.passwords import mask_password
from dyno.plugins import load_things

GENERAL = (
    Option("threads", "N", "1", "users, each with a connection of its own"),
    Option("events", "N", "0", "events to play in all; 0: no limit"),
    Option("time", "N", "10", "seconds to play; 0: no limit"),
    Option("rate", "N", "0", "events per second of all threads together; 0: no limit"),
    Option("warmup-time", "N", "0", "seconds to play before --time, counted nowhere"),
    Option("report-interval", "N", "0", "seconds between two lines of progress; 0: none"),
    Option("config-file", "FILENAME", "", "a file with an option a line, as name=value"),
    Option("help", "on|off", "off", "print this and exit"),
    Option("version", "on|off", "off", "print the version and exit"),
    Option("validate", "on|off", "off", "read by scripts"),
    Option("tx-rate", "N", "0", "old name of --rate"),
    Option("max-requests", "N", "0", "old name of --events"),
    Option("max-time", "N", "0", "old name of --time"),
    Option("num-threads", "N", "1", "old name of --threads"),
    Option("test", "STRING", "", "old way to name the script"),
    Option("forced-shutdown", "STRING", "off", "not done here"),
    Option("thread-stack-size", "SIZE", "64K", "not done here"),
    Option("report-checkpoints", "LIST,...", "", "not done here"),
    Option("debug", "on|off", "off", "not done here"),
    Option("thread-init-timeout", "N", "30", "not done here"),
    Option("luajit-cmd", "STRING", "", "not done here"),
)
RANDOM = (
    Option("rand-type", "STRING", "special", "uniform, gaussian, special, pareto or zipfian"),
    Option("rand-spec-iter", "N", "12", "numbers averaged for one"),
    Option("rand-spec-pct", "N", "1", "percent of the range that holds the special values"),
    Option("rand-spec-res", "N", "75", "percent of numbers that are special values"),
    Option("rand-seed", "N", "0", "the seed; 0: another one each time"),
    Option("rand-pareto-h", "N", "0.2", "shape of the Pareto distribution"),
    Option("rand-zipfian-exp", "N", "0.8", "exponent of the Zipfian distribution"),
)
LOG = (
    Option("verbosity", "N", "3", "5: all, 3: results, 0: only what ends the program"),
    Option("percentile", "N,...", "95", "which percentiles of latencies are shown; 0: none"),
    Option("histogram", "on|off", "off", "print the histogram of latencies"),
)
DATABASE = (
    Option("db-ps-mode", "STRING", "auto", "auto, or disable to send statements as text"),
    Option("db-debug", "on|off", "off", "not done here"),
)
#: Options that change nothing here unless they are set, and what then stands in their place.
WITHOUT_COUNTERPART = {
    "forced-shutdown": "answers that do not come are cut off ten seconds after the end",
    "thread-stack-size": "the system's default is used",
    "report-checkpoints": "--report-interval tells the progress",
    "debug": "the server's log has the statements",
    "thread-init-timeout": "threads are waited for until they are connected, or cannot be",
    "luajit-cmd": "the script calls `jit` itself",
    "db-debug": "the server's log has the statements",
}
OLD_NAMES = {
    "num-threads": "threads",
    "max-requests": "events",
    "max-time": "time",
    "tx-rate": "rate",
}
#: What sysbench reads as on and off, and nothing else.
SWITCHES = {
    **dict.fromkeys(("on", "true", "1"), "on"),
    **dict.fromkeys(("off", "false", "0"), "off"),
}
#: Tests of sysbench's own that ask no database.
BUILT_IN = ("fileio", "cpu", "memory", "threads", "mutex")


class SysbenchError(Exception):
    """An error in sysbench's own words; the program ends with 1."""


@dataclass(frozen=True)
class Words:
    """A command line of sysbench's, read: `options` are all that it knows, by name with dashes;
    `others` the script's, as given.
    """

    script: str = ""
    command: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    old_names: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()

    def is_on(self, name: str) -> bool:
        return self.options[name] == "on"

    def read_number(self, name: str) -> int:
        """Return an option's whole number; sysbench reads 0 if there is none."""
        try:
            return int(self.options[name] or 0)
        except ValueError:
            refuse(f"invalid value for --{name}: '{self.options[name]}'")

    def read_percentiles(self) -> tuple[int, ...]:
        """Return the percentiles that are shown, none for 0; `UsageError` for several in the line
        of an interval, which has room for one.
        """
        text = self.options["percentile"]
        if "," not in text:
            return (self.read_number("percentile"),) if self.read_number("percentile") else ()
        several = text.split(",")
        if not all(each.isdigit() and 1 <= int(each) <= 100 for each in several):
            refuse(f"invalid value for --percentile: '{text}'")
        if self.read_number("report-interval"):
            raise UsageError(
                f"--percentile={text} does not fit --report-interval",
                cause="sysbench's line of an interval has one percentile",
                hint="leave one of them out",
            )
        return tuple(map(int, several))


def refuse(words: str) -> NoReturn:
    """End as sysbench does."""
    raise SysbenchError(words)


def list_drivers() -> dict[str, SysbenchDriver]:
    """Drivers by sysbench's name for them."""
    return {it.name: it for it in load_things("dyno.engines", "SYSBENCH").values()}


def list_options() -> dict[str, Option]:
    of_drivers = [option for driver in list_drivers().values() for option in driver.options]
    every = (*GENERAL, *RANDOM, *LOG, *list_database_options(), *of_drivers)
    return {it.name: it for it in every}


def list_database_options() -> tuple[Option, ...]:
    """Return what all drivers have; the first driver is the default."""
    first = next(iter(list_drivers()))
    return (Option("db-driver", "STRING", first, "which of the drivers below"), *DATABASE)


def read_words(words: Sequence[str]) -> Words:
    """Return the command line as sysbench reads it; `SysbenchError` for its own errors,
    `UsageError` for an option without a counterpart that would change what is measured.
    """
    known = list_options()
    argv = tuple(map(mask_password, words))
    named = [word for word in words if not word.startswith("--")]
    if len(named) > 2:
        refuse(f"Unrecognized command line argument: {named[2]}")
    given, others = _parse_options([word for word in words if word.startswith("--")], known)
    if file := given.get("config-file"):
        from_file, more = _parse_options(_read_lines(file), known)
        given, others = from_file | given, [*more, *others]
    old = tuple(
        name
        for name in OLD_NAMES
        if _parse_count(given.get(name)) > _parse_count(known[name].default)
    )
    for name in old:
        given[OLD_NAMES[name]] = given[name]
    if given.get("test"):
        named = [given["test"], *named]
    _check(given, known)
    script, command = (*named, "", "")[:2]
    options = {name: option.default for name, option in known.items()} | given
    return Words(script, command, options, frozenset(given), tuple(others), old, argv)


def _parse_count(text: str | None) -> int:
    """A whole number; 0 where there is none."""
    return int(text) if text and text.isdigit() else 0


def _parse_options(
    words: Sequence[str], known: Mapping[str, Option]
) -> tuple[dict[str, str], list[str]]:
    given, others = {}, []
    for word in words:
        name, sign, value = word[2:].partition("=")
        name = name.replace("_", "-")
        if name not in known:
            others.append(word)
            continue
        is_switch = known[name].kind == "on|off"
        if is_switch and sign and value not in SWITCHES:
            refuse(f"invalid option: {word}")
        given[name] = SWITCHES[value if sign else "on"] if is_switch else value
    return given, others


def _read_lines(file: str) -> list[str]:
    try:
        lines = map(str.strip, Path(file).read_text().splitlines())
    except OSError as error:
        refuse(f"Cannot open config file: {file}: {error.strerror}")
    stated = (line for line in lines if line and line[0] not in "#[")
    return [line if line.startswith("--") else f"--{line}" for line in stated]


def _check(given: Mapping[str, str], known: Mapping[str, Option]) -> None:
    for name, least in (("threads", 1), ("warmup-time", 0)):
        value = given.get(name, str(least))
        if value.lstrip("+-").isdigit() and int(value) < least:
            refuse(f"FATAL: Invalid value for --{name}: {value}.\n")
    for name, instead in WITHOUT_COUNTERPART.items():
        if name in given and given[name] not in ("", known[name].default):
            raise UsageError(f"sysbench's --{name} has no counterpart here", hint=instead)


def format_help() -> Iterator[str]:
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
    value = f"[={kind}]" if kind == "on|off" else f"=[{kind}]" if "," in kind else f"={kind}"
    return f"--{name}{value}"
