"""`dyno show`: what there is, what it can be told, and what each of its words means."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dyno.cli import screen
from dyno.cli.arguments import Word, run_folder, run_names
from dyno.errors import DynoError, unknown
from dyno.plugins import modules, things

Rows = list[tuple[str, str]]


def names_of(what: str) -> list[str]:
    """The names in a room, or of the runs and experiments at hand; none where there is no such."""
    return [name for name, _ in OVERVIEWS[what]()] if what in OVERVIEWS else []


def anything() -> list[str]:
    """Every word that `dyno show` understands."""
    return [*OVERVIEWS, *(name for what in OVERVIEWS for name in names_of(what)), "last"]


def in_room(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What a shell offers for NAME: the names in the room that was written before it."""
    room = ctx.params.get("what")
    return [name for name in names_of(room) if name.startswith(incomplete)] if room else []


@click.command("show")
@click.argument("what", required=False, type=Word("what", anything))
@click.argument("name", required=False, shell_complete=in_room)
def command(what: str | None, name: str | None) -> None:
    """Show what there is and what it takes.

    WHAT is engines, workloads, controls, probes, audits, experiments or runs, and NAME one of
    them: `dyno show engines`, `dyno show workloads insert`. WHAT may also be a name alone:
    `dyno show insert`, `dyno show last`.
    """
    if what is None:
        for room in OVERVIEWS:
            overview(room)
    elif what in OVERVIEWS and name is None:
        overview(what)
    elif what in OVERVIEWS and name is not None:
        detail(what, name)
    else:
        detail(room_of(what), what)


def room_of(word: str) -> str:
    """The room in which `word` is a name."""
    for room in ("engines", "workloads", "controls", "probes", "audits", "experiments"):
        if word in names_of(room):
            return room
    if word == "last" or any(name.startswith(word) for name in names_of("runs")) or "/" in word:
        return "runs"
    raise unknown("thing to show", word, anything())


def overview(room: str) -> None:
    """A room's names with a line on each."""
    rows = OVERVIEWS[room]()
    click.echo(click.style(room, bold=True))
    screen.table((), [(f"  {name}", said) for name, said in rows] or [("  (none)", "")])
    click.echo()


def detail(room: str, name: str) -> None:
    """All there is to know of one thing."""
    DETAILS[room](name)


def first_sentence(text: str) -> str:
    """What a docstring or comment says first."""
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")


def of_room(room: str, attribute: str) -> Callable[[], Rows]:
    """The overview of a room of things that sum themselves up."""
    return lambda: [
        (name, first_sentence(thing.summary)) for name, thing in things(room, attribute).items()
    ]


def engines() -> Rows:
    """Each engine with what its module says of itself."""
    rooms = modules("dyno.engines").items()
    return [(name, first_sentence(module.__doc__ or "")) for name, module in rooms]


def workloads() -> Rows:
    """Each workload with the first sentence of its script."""
    from dyno.workloads import every

    return [(name, first_sentence(opening(script))) for name, script in every().items()]


def opening(script: Path) -> str:
    """The comment that a Lua script begins with."""
    lines: list[str] = []
    for line in script.read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.lstrip("-").strip())
    return "\n".join(lines)


def thing(room: str, attribute: str, kind: str, name: str) -> Any:
    """The thing `name` of a room, or the error with its neighbours' names."""
    found = things(room, attribute)
    if name not in found:
        raise unknown(kind, name, found)
    return found[name]


def show_engine(name: str) -> None:
    """An engine's versions, build flags and settings, and how they are written."""
    kind = thing("dyno.engines", "Engine", "engine", name)
    heading(name, modules("dyno.engines")[name].__doc__ or "")
    where = "inside the driver's process" if kind.embedded else "in its own process"
    click.echo(f"runs {where}; written as {name}@BUILD?key=value&key=value\n")
    if kind.versions:
        versions = textwrap.fill(", ".join(kind.versions), 96, break_on_hyphens=False)
        click.echo(f"versions that can be fetched:\n{textwrap.indent(versions, '  ')}\n")
    rows = [("build flag", *row(item)) for item in kind.flags.items()]
    rows += [("engine setting", *row(item)) for item in kind.options.items()]
    if rows:
        screen.table(("whose", "key", "default", "meaning"), rows)
    click.echo("\nA key may also be a control: `dyno show controls`.")


def row(item: tuple[str, tuple[str, str]]) -> tuple[str, str, str]:
    """Key, default, meaning."""
    key, (default, meaning) = item
    return key, default, meaning


def heading(name: str, text: str) -> None:
    """A name and what it says of itself."""
    click.echo(click.style(name, bold=True) + "\n")
    click.echo(textwrap.dedent(text).strip() + "\n")


def show_workload(name: str) -> None:
    """A workload's phases, primaries and options, as the driver reads them from its script."""
    from dyno import driver
    from dyno.plan import Plan, Script
    from dyno.workloads import find

    script = find(name)
    plan = Plan({"kind": "null", "delay_ns": 0}, Script(str(script)), seed=1)
    said = driver.describe(plan)
    heading(name, said.summary)
    click.echo(f"script: {script}\ncommands: {', '.join(said.commands)}\n")
    phases = [
        (p.name, ", ".join(s.name for s in p.streams), spelled_stop(p.stop), primaries(p))
        for p in said.phases
    ]
    screen.table(("phase", "streams", "stops after", "judged by"), phases)
    click.echo()
    own_first = sorted(said.options, key=lambda o: (o.owner != "script", o.name))
    options = [(o.owner, o.name, o.default, o.help) for o in own_first]
    screen.table(("whose", "option", "default", "meaning"), options)


def primaries(phase: Any) -> str:
    """The metrics that a verdict on a phase rests on."""
    return ", ".join(f"{p.stream} {p.metric}" for p in phase.primary) or "(explored only)"


def spelled_stop(stop: dict[str, Any]) -> str:
    """A stop rule in words."""
    if stop["kind"] == "time":
        return screen.spelled_duration(stop["duration_s"])
    if stop["kind"] == "stream":
        return f"{stop['events']:,} events of {stop['stream']}"
    return f"{stop['events']:,} events" if stop["events"] else "its last event"


def show_control(name: str) -> None:
    """A control's values."""
    control = thing("dyno.controls", "CONTROL", "control", name)
    heading(name, control.summary)
    rows = [
        (value, "default" if value == control.default else "", meaning)
        for value, meaning in control.values.items()
    ]
    screen.table(("value", "", "meaning"), rows)
    click.echo(f"\nwritten as ENGINE@BUILD?{name}=VALUE, or under [controls] of an experiment")


def show_probe(name: str) -> None:
    """A probe's numbers."""
    probe = thing("dyno.probes", "PROBE", "probe", name)
    heading(name, probe.summary)
    rows = [
        (m.name, m.unit, m.better, "per operation" if m.per_operation else "")
        for m in probe.measures
    ]
    screen.table(("number", "unit", "better", ""), rows)


def show_audit(name: str) -> None:
    """What an audit catches."""
    heading(name, thing("dyno.audits", "AUDIT", "audit", name).summary)


def experiments() -> Rows:
    """Each experiment with its question."""
    from dyno.experiment import every, read

    rows = []
    for name, file in every().items():
        try:
            said = read(file).question
        except DynoError as error:
            said = f"({error.message})"
        rows.append((name, " ".join(said.split())))
    return rows


def show_experiment(name: str) -> None:
    """An experiment's file, as it is."""
    from dyno.experiment import every

    found = every()
    if name not in found:
        raise unknown("experiment", name, found)
    click.echo(found[name].read_text(encoding="utf-8"), nl=False)


def show_run(word: str) -> None:
    """A run: what was asked, how much of it was played, and the verdict so far."""
    from dyno.judge import judge
    from dyno.report import text

    made = run_folder(word)
    run, trials = made.run(), made.trials()
    heading(made.path.name, run.question or run.command)
    rows = [(c.name, c.engine, c.build.get("version", ""), c.spec) for c in run.candidates]
    screen.table(("candidate", "engine", "version", "as written"), rows)
    click.echo(f"\n{len(trials)} trials on {', '.join(w.name for w in run.workloads)}\n")
    screen.console().print(text.table(run, judge(run, trials), everything=True))


OVERVIEWS: dict[str, Callable[[], Rows]] = {
    "engines": engines,
    "workloads": workloads,
    "controls": of_room("dyno.controls", "CONTROL"),
    "probes": of_room("dyno.probes", "PROBE"),
    "audits": of_room("dyno.audits", "AUDIT"),
    "experiments": experiments,
    "runs": lambda: [(name, "") for name in run_names()],
}
DETAILS: dict[str, Callable[[str], None]] = {
    "engines": show_engine,
    "workloads": show_workload,
    "controls": show_control,
    "probes": show_probe,
    "audits": show_audit,
    "experiments": show_experiment,
    "runs": show_run,
}
