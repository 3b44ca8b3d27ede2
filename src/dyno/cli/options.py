"""Options and types of the command line: durations, percentages, settings, engines, runs.

The types are click's, so a wrong word is refused before anything starts, and a shell completes it;
the options are those that two commands or more share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dyno
from dyno import numbers
from dyno.cli.runs import list_run_names
from dyno.errors import DynoError, UsageError
from dyno.former_names import find_current_name
from dyno.printable import escape_line

#: More characters than a first sentence has.
WHOLE = 1000


class HeadedOption(click.Option):
    """An option that a `HeadedCommand` lists below `heading`."""

    def __init__(self, *words: Any, heading: str, **more: Any) -> None:
        super().__init__(*words, **more)
        self.heading = heading


class HeadedCommand(click.Command):
    """A command whose options of a kind stand together, after those without a heading."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                found.setdefault(getattr(param, "heading", "Options"), []).append(record)
        for heading, records in found.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class HeadedGroup(click.Group):
    """A group whose commands stand below headings, whole sentences beside their names.

    `headings` names the commands of each; those of no heading are listed by none.
    """

    headings: Mapping[str, tuple[str, ...]] | None = None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        headings = self.headings or {"Commands": tuple(self.commands)}
        width = max(map(len, self.commands))
        for heading, commands in headings.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (f"{each.name:<{width}}", each.get_short_help_str(WHOLE))
                        for each in map(self.commands.__getitem__, commands)
                        if not each.hidden
                    ]
                )


SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}

Param = click.Parameter | None
Context = click.Context | None


class Parsed(click.ParamType[Any]):
    """A word as a function reads it, which raises `ValueError` with what is wrong with it."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: Param, ctx: Context) -> Any:
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_duration(text: str) -> float:
    """`90`, `90s`, `10m`, `1h30m`: seconds."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?", text.strip())
    spelled = "".join(number + unit for number, unit in parts)
    if not parts or spelled != re.sub(r"\s+", "", text):
        raise ValueError(f"'{text}' is not a duration such as 90s, 10m or 1h30m")
    seconds = sum(float(number) * SECONDS[unit or "s"] for number, unit in parts)
    if seconds <= 0:
        raise ValueError(f"'{text}' is not above 0")
    return seconds


def parse_percent(text: str) -> float:
    """`2%` or `2`; its range is the experiment's affair."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"'{text}' is not a percentage such as 2%") from None


def parse_size(text: str) -> int:
    """`500M`, `2G`: bytes."""
    size = numbers.parse_size_bytes(text)
    if size is None:
        raise ValueError(f"'{text}' is not a size such as 500M or 2G")
    return int(size)


def parse_setting(text: str, form: str = "key=value") -> tuple[str, str]:
    """`key=value`; dashes in the key are underscores, as everywhere."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"'{text}' is not of the form {form}")
    return key.strip().replace("-", "_"), value.strip()


def parse_series(text: str) -> str:
    """The name of a series of runs, in one line."""
    if not text.strip() or text != text.strip() or escape_line(text) != text:
        raise ValueError(f"'{escape_line(text)}' names no series; such a name is nightly")
    return text


def parse_limit(text: str) -> tuple[str, float]:
    """`foreign_percent=30`: a noise limit; `foreign=30%` is the same."""
    name, percent = parse_setting(text)
    return f"{name.removesuffix('_percent')}_percent", parse_percent(percent)


def parse_levels(text: str) -> tuple[str, tuple[str, ...]]:
    """`key=on,off`: a factor with its levels; how many they must be is the experiment's affair."""
    key, levels = parse_setting(text, "key=a,b")
    return key, tuple(each.strip() for each in levels.split(","))


def read_accepted(text: str) -> dict[str, str]:
    """A file of statements that may be answered otherwise, each with its reason."""
    from dyno.runs.experiment import read_accepted_file

    return read_accepted_file(Path(text))


class RenamedChoice(click.Choice[str]):
    """One of some words; `former` are those that another one replaced, taken with a note."""

    def __init__(self, choices: Iterable[str], former: Mapping[str, str]) -> None:
        super().__init__(tuple(choices))
        self.former = former

    def convert(self, value: Any, param: Param, ctx: Context) -> str:
        return super().convert(find_current_name(str(value), self.former), param, ctx)


class Word(click.ParamType[str]):
    """A word that is checked later, by its reader; `known` serves the shell's completion."""

    def __init__(self, name: str, known: Callable[[], Iterable[str]]) -> None:
        self.name, self.known = name, known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """What begins so; a file where nothing does."""
        try:
            names = sorted(self.known())
        except (DynoError, OSError, ImportError):
            return []
        names = [
            name for name in names if escape_line(name) == name
        ]  # a shell would obey the others
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def list_engine_names() -> list[str]:
    from dyno.engines import Engine
    from dyno.plugins import load_things

    packages: dict[str, type[Engine]] = load_things("dyno.engines", "Engine")
    numbered = [f"{name}@{version}" for name, kind in packages.items() for version in kind.versions]
    return [*packages, *numbered]


def list_workload_names() -> list[str]:
    from dyno import workloads

    return list(workloads.list_workloads())


def list_experiment_names() -> list[str]:
    from dyno.runs import experiments

    return list(experiments.list_experiments())


DURATION, PERCENT = Parsed("duration", parse_duration), Parsed("percent", parse_percent)
SIZE, SETTING = Parsed("size", parse_size), Parsed("key=value", parse_setting)
LEVELS, LIMIT_VALUE = Parsed("key=a,b", parse_levels), Parsed("name=value", parse_limit)
ENGINE = Word("engine@build", list_engine_names)
WORKLOAD = Word("workload", list_workload_names)
EXPERIMENT = Word("experiment.toml", list_experiment_names)
RUN = Word("run", lambda: [*list_run_names(), "last"])


class OutputFile(click.Path):
    """A file to be written at the end of a long run: its folder must be there at the start."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if not path.absolute().parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        self._try(path, param, ctx)
        return path

    def _try(self, path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
        """Opens it as it will be opened: modes say too little (root, /proc, a full quota)."""
        try:
            was_there = path.exists()
            path.open("a").close()
        except OSError as error:
            self.fail(f"cannot write {path}: {(error.strerror or '').lower()}", param, ctx)
        if not was_there:
            path.resolve().unlink()  # a link that leads nowhere yet is the user's: it stays


#: The formats of `--format`, by their files: reading these would load all of the report.
FORMATS = sorted(
    file.stem.replace("_", "-")
    for file in (Path(dyno.__file__).parent / "report" / "formats").glob("[a-z]*.py")
)


@dataclass(frozen=True)
class FormatFile:
    """A format, and the file that it is written to; without one it is printed."""

    name: str
    file: Path | None


class FormatType(click.ParamType[FormatFile]):
    """`markdown`, or `junit=results.xml`."""

    name = "format"

    def convert(self, value: Any, param: Param, ctx: Context) -> FormatFile:
        if isinstance(value, FormatFile):
            return value
        name, equals, path = str(value).partition("=")
        if name not in FORMATS:
            self.fail(f"there is no format '{name}'; there are {', '.join(FORMATS)}", param, ctx)
        if not equals:
            return FormatFile(name, None)
        output = OutputFile(dir_okay=False, writable=True)
        return FormatFile(name, output.convert(path, param, ctx))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The formats' names."""
        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
TOLD = "How the result is told"


def add_option(
    words: str, help: str, kind: Any = None, *, name: str = "", heading: str = "", **more: Any
) -> Decorator:
    """An option as its help shows it: `-o, --output FILE`, a flag where nothing stands behind it,
    repeated where ` ...` does; below a heading where one is given.
    """
    *others, last = words.removesuffix(" ...").split(", ")
    word, _, metavar = last.partition(" ")
    is_many = words.endswith(" ...")
    more |= {"multiple": True} if is_many else {}
    more |= {"is_flag": True} if not (metavar or kind or is_many) else {}
    more = {"show_default": any(it for key, it in more.items() if key == "default"), **more}
    more |= {"cls": HeadedOption, "heading": heading} if heading else {}
    names = (*others, word, name) if name else (*others, word)
    return click.option(*names, type=kind, metavar=metavar or None, help=help, **more)


def add_workload(*, required: bool = False) -> Decorator:
    return add_option(
        "-w, --workload W",
        "What is played: a workload's name, a Lua script, or a script file of pgbench.",
        WORKLOAD,
        required=required,
    )


SET: Decorator = add_option(
    "--set KEY=VALUE ...",
    "An option of the workload (`dyno show W` lists them); may be repeated.",
    SETTING,
    name="settings",
)
CONTROL: Decorator = add_option(
    "--control NAME=VALUE ...",
    "A control of every candidate (`dyno show controls` lists them); may be repeated.",
    SETTING,
    name="controls",
)
LIMIT: Decorator = add_option(
    "--limit NAME=PERCENT ...",
    "Drop a block if others used more of the CPU than this: foreign_percent "
    "(processes beside the trial; 30 by default interleaved, else 10), steal_percent (the "
    "hypervisor; 15 interleaved, else 2); 100 drops none; may be repeated.",
    LIMIT_VALUE,
    name="limits",
)
TIME: Decorator = add_option("-T, --time TIME", "Short for --set time=SECONDS.", DURATION)
THREADS: Decorator = add_option("--threads N", "Short for --set threads=N.", click.IntRange(1))
FACTOR: Decorator = add_option(
    "--factor KEY=A,B ...",
    "Vary KEY (a build flag, an engine setting, a control, or an option of the workload) and "
    "say what it does; may be repeated: every combination is played. The first level is the base.",
    LEVELS,
    name="factors",
)


def _refuse_client_hosts(
    context: click.Context, option: click.Parameter, words: str | None
) -> None:
    """`UsageError` where a command starts its servers itself."""
    del option
    if words is not None:
        raise UsageError(
            f"dyno {context.info_name} takes no --client-hosts",
            cause="it starts its servers itself, and they listen on this machine only",
            hint="compare servers that run already: dyno compare URL URL --client-hosts …",
        )


ACCEPT: Decorator = add_option(
    "--accept FILE",
    "Statements that may be answered otherwise, each with its reason: a TOML table "
    "`accepted`; they are counted and not judged.",
    Parsed("file", read_accepted),
    name="accepted",
)
BY: Decorator = add_option(
    "--by",
    "What the verdict rests on: the metrics of the workload, or the engine's CPU time of an "
    "operation, which a busy host changes less, and which knows no waits.",
    click.Choice(["time", "cpu"]),
    default="time",
)
CHECK: Decorator = add_option(
    "--check",
    "How each engine's data are looked at after the first block, untimed: structure and keys, "
    "or with `full` every page and index by the engine's own means.",
    click.Choice(["quick", "full"]),
    default="quick",
)
CLIENT_HOSTS: Decorator = add_option(
    "--client-hosts FILE|ssh:HOST,...",
    "Play the load from these hosts together, each with a part of the users; the candidates "
    "are servers that run already (URLs).",
)
NO_CLIENT_HOSTS: Decorator = click.option(
    "--client-hosts", hidden=True, expose_value=False, callback=_refuse_client_hosts
)
BUDGET: Decorator = add_option("--budget TIME", "Fit the blocks to a time, e.g. 10m.", DURATION)
QUICK: Decorator = add_option(
    "--quick", "One analysis at 5 blocks of a shortened workload; marked QUICK."
)
BLOCKS: Decorator = add_option("--blocks MAX", "Blocks at the last analysis.  [default: 24]", int)
SERIES: Decorator = add_option(
    "--series NAME",
    "Keep this run in a series of its own in histories, such as a branch's nights, apart from "
    "what is tried by hand.",
    Parsed("name", parse_series),
)
STRICT: Decorator = add_option(
    "--strict", "Exit with 4 if an audit doubts the result.", heading=TOLD
)
VERBOSE: Decorator = add_option(
    "--verbose",
    "Print how it is measured, a line per trial, and all that the verdict rests on.",
    heading=TOLD,
)
FORMAT: Decorator = add_option(
    "--format NAME[=FILE] ...",
    f"Write the verdict for another program, without FILE to stdout: {', '.join(FORMATS)}; "
    "may be repeated.",
    FormatType(),
    name="formats",
    heading=TOLD,
)
EVENTS: Decorator = add_option(
    "--events N", "How many events are counted.", click.IntRange(1), default=10_000
)


def _keep_failure(
    context: click.Context, option: click.Parameter, file: Path | None
) -> Path | None:
    """Has the file say so where the command fails, instead of what an earlier one wrote there."""
    del option
    if file:
        from dyno.cli.exits import write_failure

        context.with_resource(write_failure(file))
    return file


INCONCLUSIVE: Decorator = add_option(
    "--inconclusive",
    "Exit of an inconclusive comparison: 0, 1, or that of a second play.  [default: 2]",
    click.Choice(["pass", "fail", "retry"]),
    heading=TOLD,
)
JSON: Decorator = add_option(
    "--json FILE",
    "Write the verdict and a row per comparison, or why the run failed.",
    OutputFile(dir_okay=False, writable=True),
    name="json_file",
    callback=_keep_failure,
    heading=TOLD,
)
