"""`dyno engines build`: builds an engine from a tree, shows how far it is, and names the build."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.judged_run import print_progress
from dyno.cli.options import Word, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.builds.source.plan import BuildPlan
    from dyno.builds.source.steps import StepProgress, Watch

#: On a pipe a line is printed at every so large a share.
LINE_SHARE = 0.25


def list_engine_names() -> list[str]:
    """Every engine that is built from source."""
    from dyno.engines import BuildsFromSource
    from dyno.plugins import load_things

    kinds = load_things("dyno.engines", "Engine").items()
    return [name for name, kind in kinds if issubclass(kind, BuildsFromSource)]


@click.command("build")
@click.argument("engine", type=Word("engine", list_engine_names))
@click.argument("place", required=False)
@add_option("--source DIR", "A folder that holds the tree.")
@add_option("--git DIR@REF", "A commit, tag or branch of a git repository.")
@add_option("--name NAME", "The name: ENGINE@source:NAME.")
@add_option("--cflags", "Flags of the compilers, instead of the recipe's -O2.", str, default="")
@add_option("--configure", "More words for configure or cmake.", str, default="")
@add_option("--patch FILE", "A patch of git diff, for the copy.", default="")
@add_option("--fix", "Apply safe remedies and continue.")
def command(
    engine: str,
    place: str | None,
    source: str | None,
    git: str | None,
    name: str | None,
    **own: str,
) -> None:
    """Build ENGINE from a source tree; ENGINE@source:NAME is the build from then on.

    `dyno show engines` lists the engines.

    The tree is --source, --git, or PLACE: DIR, DIR@REF or deb:SUITE[:VERSION]. It is only read: the
    build works on a copy in the cache, with frame pointers and symbols. An interrupted or killed
    build continues.
    """
    from dyno.builds.source import names
    from dyno.builds.source.build import build_planned
    from dyno.driver import ask
    from dyno.engines import BuildsFromSource, find_engine

    builder = find_engine(engine, ask)
    if not isinstance(builder, BuildsFromSource):
        hint = f"{', '.join(list_engine_names())} are"
        raise UsageError(f"{engine} is not built from source", hint=hint)
    where = _choose_place(place, source, git)
    if name:
        names.check_name(name)
    fix = bool(own.pop("fix"))
    flags = {key: value for key, value in own.items() if value}
    plan = builder.plan_build(where, flags, print_progress)
    _announce(plan)
    try:
        with show_build() as watch:
            built = build_planned(plan, print_progress, watch, fix=fix)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command continues the build") from None
    called = name or plan.label
    names.name_build(engine, called, names.Named(built.prefix.name, where))
    screen.print_line(f"{engine} {built.version}  {built.prefix}")
    screen.print_line(
        f"compiler {built.facts['compiler']}, flags {built.facts['cflags']} {built.facts['always']}"
    )
    for kind in ("edits", "fixes"):
        if told := built.facts.get(kind):
            screen.print_line(f"{kind}: {told}")
    screen.print_line(f"use it as {engine}@source:{called}")


def _choose_place(place: str | None, source: str | None, git: str | None) -> str:
    given = [each for each in (place, source, git) if each]
    if len(given) != 1:
        hint = "dyno engines build ENGINE --source DIR, or --git DIR@REF, or deb:SUITE"
        what = "no source tree is named" if not given else f"{len(given)} source trees are named"
        raise UsageError(what, hint=hint)
    if git and "@" not in git:
        return f"{git}@HEAD"
    return str(Path(given[0]).expanduser().absolute()) if source else given[0]


def _announce(plan: BuildPlan) -> None:
    """What will be built, with what, and how long that may take, before it starts."""
    if plan.is_cached:
        return
    tools, cost = plan.toolchain, plan.recipe.cost
    ccache = ", ccache" if tools.ccache else ""
    jobs = "1 job" if tools.jobs == 1 else f"{tools.jobs} jobs"
    about, limit = map(screen.format_duration, (plan.alone_s, plan.limit_s))
    time = f"about {about}, beside what runs here up to {limit}" if about != limit else about
    screen.print_line(
        f"building {plan.request.engine} {plan.version} from {plan.tree.source} by the recipe "
        f"{plan.recipe.name}: {tools.compiler}{ccache}, {jobs}, "
        f"{time}, up to {cost.disk_mb} MB",
        err=True,
    )


@contextmanager
def show_build() -> Iterator[Watch]:
    """A bar with the step on a terminal, which only moves where nothing tells how far the step is;
    on a pipe a line at each quarter of a step.
    """
    console = screen.make_console(stderr=True)
    if not console.is_terminal:
        yield _watch_lines()
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %", text_format_no_percentage=""),
    )
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        began_s, kind, task = bar.get_time(), (0, False), bar.add_task("", total=None)

        def show_progress(progress: StepProgress) -> None:
            nonlocal kind, task
            known = progress.share is not None
            if kind != (progress.number, known):  # rich keeps a bar's total, and its end
                bar.remove_task(task)
                words = f"{progress.step} ({progress.number} of {progress.steps})"
                kind, task = (
                    (progress.number, known),
                    bar.add_task(words, total=1.0 if known else None),
                )
                bar.tasks[0].start_time = began_s
            bar.update(task, completed=progress.share or 0.0)

        yield show_progress


def _watch_lines() -> Watch:
    shown = {"at": 0.0}

    def print_step(progress: StepProgress) -> None:
        if progress.share is None or progress.share == 0.0:
            shown["at"] = 0.0
        elif progress.share - shown["at"] >= LINE_SHARE:
            shown["at"] = progress.share
            screen.print_line(f"{progress.step}: {progress.share:.0%}", err=True)

    return print_step
