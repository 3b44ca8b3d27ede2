"""`dyno show`: lists what there is, and shows one thing or one run in detail.

Of a run: what was asked, how much was played, the verdict, and where the spread comes from.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dyno.cli.options import Word
from dyno.cli.runs import find_place, list_other_runs, list_run_names, open_command
from dyno.cli.terminal import screen
from dyno.cli.terminal.announcement import format_cells_comment
from dyno.errors import DynoError, build_unknown_error
from dyno.former_names import AUDITS, find_current_name
from dyno.numbers import format_count
from dyno.plugins import list_modules, load_modules, load_things

if TYPE_CHECKING:
    from pathlib import Path

    from dyno.host.controls import Control, ControlTarget
    from dyno.record import Stop

Rows = list[tuple[str, str]]


def list_names(what: str) -> list[str]:
    """The names in a package, or of the runs and experiments at hand; none where there is no
    such.
    """
    return list(KINDS[what].list_names()) if what in KINDS else []


def list_every_name() -> list[str]:
    return [*KINDS, *(name for what in KINDS for name in list_names(what)), "last"]


def complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    package = ctx.params.get("what")
    return [name for name in list_names(package) if name.startswith(incomplete)] if package else []


@click.command("show")
@click.argument("what", required=False, type=Word("what", list_every_name))
@click.argument("name", required=False, shell_complete=complete_name)
def command(what: str | None, name: str | None) -> None:
    """Show engines, workloads, controls and the like, with their options.

    WHAT is engines, workloads, controls, probes, audits, experiments or runs, and NAME one of
    them: `dyno show engines`, `dyno show workloads insert`. WHAT may also be a name alone:
    `dyno show insert`, `dyno show last`.
    """
    if what is None:
        for package in KINDS:
            print_overview(package)
    elif what in KINDS and name is None:
        print_overview(what)
    elif what in KINDS and name is not None:
        KINDS[what].show(name)
    else:
        KINDS[find_kind(what)].show(what)


def find_kind(word: str) -> str:
    from dyno.runs import experiments

    for package in ("engines", "workloads", "controls", "probes", "audits", "experiments"):
        if word in list_names(package):
            return package
    if word in AUDITS:
        return "audits"
    if word in experiments.read_former_names():
        return "experiments"
    if Path(word).suffix in (".lua", ".sql", ".pgbench"):
        return "workloads"
    if word == "last" or any(name.startswith(word) for name in list_names("runs")) or "/" in word:
        return "runs"
    near = build_unknown_error("thing to show", word, list_every_name())
    if near.hint.startswith("known: "):  # a sorted list would begin with dozens of runs
        near.hint = f"known: {', '.join(KINDS)}, or a name in one of them"
    raise near


def print_overview(package: str) -> None:
    rows = KINDS[package].sum_up()
    screen.print_line(screen.style_bold(package))
    screen.print_table((), [(f"  {name}", said) for name, said in rows] or [("  (none)", "")])
    screen.print_gap()


def extract_first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")


def sum_up_things(package: str, attribute: str) -> Rows:
    return [
        (name, extract_first_sentence(thing.summary))
        for name, thing in load_things(package, attribute).items()
    ]


def list_engines() -> Rows:
    packages = load_modules("dyno.engines").items()
    return [(name, extract_first_sentence(module.__doc__ or "")) for name, module in packages]


def list_workload_names() -> Iterable[str]:
    from dyno.workloads import list_workloads

    return list_workloads()


def list_experiment_names() -> Iterable[str]:
    from dyno.runs.experiments import list_experiments

    return list_experiments()


def list_workloads() -> Rows:
    from dyno import workloads

    return [
        (name, extract_first_sentence(extract_opening_comment(script)))
        for name, script in workloads.list_workloads().items()
    ]


def extract_opening_comment(script: Path) -> str:
    lines: list[str] = []
    for line in script.read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            break
        if not (told := line.lstrip("-").strip()).startswith("title:"):
            lines.append(told)
    return "\n".join(lines)


def list_experiments() -> Rows:
    from dyno.runs import experiments
    from dyno.runs.experiment import read_experiment

    rows = []
    for name, file in experiments.list_experiments().items():
        try:
            said = read_experiment(file).question
        except DynoError as error:
            said = f"({error.message})"
        rows.append((name, " ".join(said.split())))
    return rows


def list_all_runs() -> Rows:
    return sorted([*((name, "") for name in list_run_names()), *list_other_runs()])


def show_run(word: str) -> None:
    """A run of any kind: what was asked, how much of it was played, and the verdict so far."""
    place = find_place(word)
    screen.print_line(screen.style_bold(place.path.name))
    screen.print_gap()
    file = open_command(place.kind)
    if hasattr(file, "show_run"):
        file.show_run(place.path)
        return
    result = place.instrument.read_result(place.path)
    screen.print_line(result.command)
    screen.draw_document(result.document)


def list_controls() -> Rows:
    from dyno.host.controls import load_controls

    return [(name, describe_control(control)) for name, control in load_controls().items()]


def describe_control(control: Control) -> str:
    """What it does; its values; and which of them cannot be held here, by the reason."""
    from dyno.host.controls import NOT_HERE

    others = [value for value in control.values if value != control.default]
    barred: dict[str, list[str]] = {}
    for value in control.values:
        if why := find_refusal(control, value):
            barred.setdefault(why, []).append(value)
    lines = [control.summary, ", ".join([f"{control.default} (default)", *others])]
    for why, values in barred.items():
        which = "" if values == others else f"{', '.join(values)}: "
        lines.append(f"{NOT_HERE}: {which}{why}")
    return "\n".join(lines)


def show_control(name: str) -> None:
    from dyno.host.controls import load_controls

    if name not in load_controls():
        raise build_unknown_error("control", name, load_controls())
    control = load_controls()[name]
    screen.print_line(screen.style_bold(name))
    screen.print_gap()
    screen.print_lines(
        (load_modules("dyno.host.controls")[name].__doc__ or control.summary).strip() + "\n"
    )
    rows = [
        (
            value,
            "default" if value == control.default else "",
            find_refusal(control, value),
            meaning,
        )
        for value, meaning in control.values.items()
    ]
    screen.print_table(("value", "", "not controllable here", "meaning"), rows)
    screen.print_lines(
        f"\nwritten as --control {name}=VALUE for all candidates, as ENGINE@BUILD?{name}=VALUE "
        "for one,\nor under [controls] of an experiment"
    )


def find_refusal(control: Control, value: str) -> str:
    """Why this host cannot hold `value` for an engine that could; empty where it can."""
    return control.find_refusal(value, make_any_engine())


def make_any_engine() -> ControlTarget:
    """An engine of no kind: what a control needs of one is there."""
    from dyno.host.controls import ControlTarget, load_controls
    from dyno.runs.run_folder import make_run_to_come

    home = make_run_to_come().find_homes()
    settings = {
        name: {value: {"": ""} for value in c.values} for name, c in load_controls().items()
    }
    return ControlTarget(embedded=False, home=home, settings=settings, preloads=True)


def find_thing(package: str, attribute: str, kind: str, name: str) -> Any:
    found = load_things(package, attribute)
    if name not in found:
        raise build_unknown_error(kind, name, found)
    return found[name]


def show_engine(name: str) -> None:
    kind = find_thing("dyno.engines", "Engine", "engine", name)
    print_heading(name, load_modules("dyno.engines")[name].__doc__ or "")
    where = "the driver's process" if kind.embedded else "its own process"
    screen.print_lines(f"runs in {where}; written as {name}@BUILD?key=value&key=value\n")
    if kind.versions:
        versions = textwrap.fill(", ".join(kind.versions), 96, break_on_hyphens=False)
        screen.print_lines(f"versions that can be fetched:\n{textwrap.indent(versions, '  ')}\n")
    rows = [("build flag", *format_option(item)) for item in kind.flags.items()]
    if rows := rows + [("engine setting", *format_option(item)) for item in kind.options.items()]:
        screen.print_table(("whose", "key", "default", "meaning"), rows)
    more = "one of the engine's variables, or " if hasattr(kind, "accept") else ""
    screen.print_lines(f"\nA key may also be {more}a control: `dyno show controls`.")


def format_option(item: tuple[str, tuple[str, str]]) -> tuple[str, str, str]:
    key, (default, meaning) = item
    return key, default, meaning


def print_heading(name: str, text: str) -> None:
    screen.print_line(screen.style_bold(name))
    screen.print_gap()
    screen.print_lines(textwrap.dedent(text).strip() + "\n")


def show_workload(name: str) -> None:
    """A workload's phases, primaries and options, as the driver reads them from its script."""
    from dyno import driver
    from dyno.driver.plan import Plan, Script
    from dyno.workloads import find_workload

    script = find_workload(name)
    plan = Plan({"kind": "null", "delay_ns": 0}, Script(str(script)), seed=1)
    said = driver.describe(plan)
    print_heading(name, said.summary)
    screen.print_lines(f"script: {script}\ncommands: {', '.join(said.commands)}\n")
    phases = [
        (
            p.name,
            ", ".join(s.name for s in p.streams),
            describe_stop_rule(p.stop),
            ", ".join(f"{m.stream} {m.metric}" for m in p.primary) or "(explored only)",
        )
        for p in said.phases
    ]
    screen.print_table(("phase", "streams", "stops after", "judged by"), phases)
    screen.print_gap()
    own_first = sorted(said.options, key=lambda o: (o.owner != "script", o.name))
    options = [(o.owner, o.name, o.default, o.help) for o in own_first]
    screen.print_table(("whose", "option", "default", "meaning"), options)


def describe_stop_rule(stop: Stop) -> str:
    if stop.kind == "time":
        return screen.format_duration(stop.duration_s or 0.0)
    events = stop.events or 0
    if stop.kind == "stream":
        return f"{events:,} events of {stop.stream}"
    return format_count(events, "event") if events else "its last event"


def show_probe(name: str) -> None:
    probe = find_thing("dyno.host.probes", "PROBE", "probe", name)
    print_heading(name, probe.summary)
    rows = [
        (m.name, m.unit, m.better, "per operation" if m.per_operation else "")
        for m in probe.measures
    ]
    screen.print_table(("number", "unit", "better", ""), rows)


def show_audit(name: str) -> None:
    name = find_current_name(name, AUDITS)
    print_heading(name, find_thing("dyno.judge.audits", "AUDIT", "audit", name).summary)


def show_experiment(name: str) -> None:
    """An experiment's file, as it is; where factors are crossed, how many cells that makes."""
    from dyno.runs import experiments

    file = experiments.find_experiment(name)
    if file is None:
        raise build_unknown_error("experiment", name, experiments.list_experiments())
    text = file.read_text(encoding="utf-8") + format_cells_comment(file)
    screen.print_verbatim(text, newline=False)


class Kind(NamedTuple):
    """A kind of thing to show: its names, which load nothing; a line on each; all of one."""

    list_names: Callable[[], Iterable[str]]
    sum_up: Callable[[], Rows]
    show: Callable[[str], None]


def list_all_run_names() -> list[str]:
    return [name for name, _ in list_all_runs()]


KINDS = {
    "engines": Kind(partial(list_modules, "dyno.engines"), list_engines, show_engine),
    "workloads": Kind(list_workload_names, list_workloads, show_workload),
    "controls": Kind(partial(list_modules, "dyno.host.controls"), list_controls, show_control),
    "probes": Kind(
        partial(list_modules, "dyno.host.probes"),
        partial(sum_up_things, "dyno.host.probes", "PROBE"),
        show_probe,
    ),
    "audits": Kind(
        partial(list_modules, "dyno.judge.audits"),
        partial(sum_up_things, "dyno.judge.audits", "AUDIT"),
        show_audit,
    ),
    "experiments": Kind(list_experiment_names, list_experiments, show_experiment),
    "runs": Kind(list_all_run_names, list_all_runs, show_run),
}
