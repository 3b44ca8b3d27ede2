"""`dyno engines`: lists builds of engines, fetches and builds them ahead of time, frees them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.judged_run import print_progress
from dyno.cli.options import ENGINE, HeadedGroup, Word, add_option
from dyno.cli.terminal import screen
from dyno.errors import UsageError, build_unknown_error
from dyno.numbers import format_count

if TYPE_CHECKING:
    from dyno.builds.available import AvailableBuild
    from dyno.builds.cache import CacheEntry
    from dyno.builds.source.plan import BuildPlan
    from dyno.builds.source.work import StepProgress, Watch


@click.group("engines", cls=HeadedGroup)
def command() -> None:
    """Fetch and build engines ahead of time, list and remove them."""


@command.command("install")
@click.argument("engines", nargs=-1, required=True, type=ENGINE, metavar="ENGINE@BUILD...")
def install(engines: tuple[str, ...]) -> None:
    """Fetch or compile each ENGINE@BUILD into the cache, as `compare` does when it needs one.

    `dyno engines list` names them.
    """
    from dyno.runs.experiment.candidates import parse_candidate
    from dyno.runs.resolve.candidates import resolve_candidates, resolve_control_values
    from dyno.runs.resolve.workloads import CandidateRequest

    for text in engines:
        ((_, _, build),) = resolve_candidates(
            [CandidateRequest(parse_candidate(text))], resolve_control_values({}), print_progress
        )
        screen.print_line(f"{build.engine} {build.version}  {build.program}")


#: What other tools call it.
fetch = copy(install)
fetch.hidden = True
command.add_command(fetch, "fetch")


#: Kinds of the cache's entries that builds are made of; others belong to workloads and runs.
OF_BUILDS = ("built", "crate", "deb", "deb-src", "library", "maven", "npm", "program")
HEADS = ("engine, line", "ENGINE@…", "source", "newest file", "size", "here")
NUMBERS = (4,)


def list_engine_names() -> list[str]:
    from dyno.builds.available import OffersBuilds
    from dyno.plugins import load_things

    kinds = load_things("dyno.engines", "Engine").items()
    return [name for name, kind in kinds if issubclass(kind, OffersBuilds)]


@command.command("list")
@click.argument("engines", nargs=-1, type=Word("engine", list_engine_names), metavar="[ENGINE]...")
@add_option("--details", "Tell what each cached build lacks, as its server said.")
@add_option("--json", "Print everything as JSON instead.", name="as_json")
def list_(engines: tuple[str, ...], details: bool, as_json: bool) -> None:
    """List the builds of each ENGINE by release line: where each comes from, and what is cached.

    `dyno show engines` lists the engines. A server is asked what it lacks (compiled expressions,
    compression, TLS, …) when it is first started.

    Nothing is fetched. A folder or a program of your own (ENGINE@/path) and the one that this
    system has (ENGINE@system) work too.
    """
    from dyno.builds import cache

    for name in engines:
        if name not in list_engine_names():
            raise build_unknown_error("engine", name, list_engine_names())
    builds = list_builds(engines or list_engine_names())
    if as_json:
        screen.print_verbatim(json.dumps([asdict(build) for build in builds], indent=1))
        return
    if details:
        rows = ((each.candidate, format_lacking(each)) for each in builds if each.cached)
        screen.print_table(("build", "lacks"), rows)
        return
    screen.print_table(HEADS, format_rows(builds), right=NUMBERS)
    if not engines:
        print_cache(cache.list_entries(), builds)


@command.command("settings")
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="CANDIDATE...")
@add_option("--json", "Print everything as JSON instead.", name="as_json")
def settings_(candidates: tuple[str, ...], as_json: bool) -> None:
    """Print all settings that a CANDIDATE runs with; of several, those in which they differ.

    Each is started and asked: `dyno engines settings 'mysql@8.0?profile=stock'
    'mysql@8.0?profile=packaged'` shows what a package sets beside the server's own defaults.
    `dyno engines list` names builds.
    """
    told = [read_settings(text) for text in candidates]
    names = sorted(set().union(*told))
    if len(told) > 1:
        names = [name for name in names if len({each.get(name) for each in told}) > 1]
    if as_json:
        found = {
            text: {n: each.get(n) for n in names}
            for text, each in zip(candidates, told, strict=True)
        }
        screen.print_verbatim(json.dumps(found, indent=1))
        return
    rows = [(name, *(each.get(name, ABSENT) for each in told)) for name in names]
    if rows:
        screen.print_table(("setting", *candidates), rows)
    else:
        screen.print_line(f"all {len(told[0])} settings are alike")


#: How a setting is shown that one of several does not have.
ABSENT = "(absent)"


def read_settings(text: str) -> dict[str, str]:
    """Return what the candidate reports once it runs."""
    from dyno import scratch
    from dyno.runs.experiment.candidates import parse_candidate
    from dyno.runs.resolve.candidates import resolve_candidates, resolve_control_values
    from dyno.runs.resolve.workloads import CandidateRequest

    ((candidate, engine, build),) = resolve_candidates(
        [CandidateRequest(parse_candidate(text))], resolve_control_values({}), print_progress
    )
    with scratch.make_folder("play", scratch.find_temporary_folder()) as home:
        home.chmod(0o711)  # the server's user passes through
        (home / "server").mkdir()
        server = engine.start(build, home / "server", candidate.settings)
        try:
            return engine.settings(server)
        finally:
            engine.stop(server)


def list_plugin_files() -> list[str]:
    from dyno.engines import plugin

    return list(plugin.FILES)


@command.command("plugin")
@click.argument("file", type=Word("file", list_plugin_files), default="dyno_engine.h")
def plugin_(file: str) -> None:
    """Print a FILE of engines of your own: their interface, dyno_engine.h, or lmdb.c, rocksdb.c.

    docs/guides/engines/plugin.md says how a library is made and compared.
    """
    from dyno.engines import plugin

    if file not in plugin.FILES:
        raise build_unknown_error("file", file, plugin.FILES)
    screen.print_verbatim((plugin.FOLDER / file).read_text().rstrip())


def list_builds(engines: Sequence[str]) -> list[AvailableBuild]:
    """All builds of the engines: those to fetch, and those built from source."""
    from dyno.builds.available import OffersBuilds, list_available, list_built
    from dyno.builds.source.build import list_named_builds
    from dyno.driver import ask
    from dyno.engines import find_engine

    found = []
    for name in engines:
        engine = find_engine(name, ask)
        if isinstance(engine, OffersBuilds):
            found += list_available(name, engine.list_offers())
        own = [each for each in list_named_builds() if each[0].partition("@")[0] == name]
        found += [list_built(name, candidate, named) for candidate, named in own]
    return found


def format_rows(builds: Sequence[AvailableBuild]) -> Iterator[tuple[object, ...]]:
    """The table's rows: an engine's name, below it each line, told once, with its builds."""
    for engine, own in groupby(builds, key=lambda build: build.engine):
        yield (engine, *[""] * (len(HEADS) - 1))
        for line, alike in groupby(own, key=lambda build: build.line):
            for at, build in enumerate(alike):
                yield (
                    "" if at else f"  {line}",
                    build.candidate.partition("@")[2],
                    build.source,
                    build.date,
                    screen.format_bytes(build.size_bytes) if build.cached else "",
                    "cached" if build.cached else build.refusal,
                )


def format_lacking(build: AvailableBuild) -> str:
    if build.abilities is None:
        return "not asked: a server is, when it is first started"
    lacking = [name for name, has in build.abilities.items() if not has]
    return ", ".join(lacking) or "nothing that was asked"


def print_cache(entries: Sequence[CacheEntry], builds: Sequence[AvailableBuild]) -> None:
    """What the cache holds beside those builds: what of it may be a build by name, all else by
    kinds.
    """
    from dyno.builds import cache

    listed = {name for build in builds for name in build.entries}
    screen.print_gap()
    if not entries:
        screen.print_line("nothing in the cache yet")
        return
    total = screen.format_bytes(sum(entry.size_bytes for entry in entries))
    screen.print_line(f"in the cache at {cache.find_root()}: {total}; beside the builds above")
    others = sorted((e for e in entries if e.name not in listed), key=lambda e: (e.kind, e.name))
    rows = []
    for kind, each in groupby(others, key=lambda entry: entry.kind):
        alike = list(each)
        if kind in OF_BUILDS:
            rows += [(kind, entry.name, screen.format_bytes(entry.size_bytes)) for entry in alike]
        else:
            size = screen.format_bytes(sum(entry.size_bytes for entry in alike))
            rows.append((kind, f"{len(alike)} of workloads and runs", size))
    screen.print_table(("kind", "name", "size"), rows, right=(2,))


#: On a pipe a line is printed at every so large a share.
LINE_SHARE = 0.25


def list_built_engines() -> list[str]:
    from dyno.engines import BuildsFromSource
    from dyno.plugins import load_things

    kinds = load_things("dyno.engines", "Engine").items()
    return [name for name, kind in kinds if issubclass(kind, BuildsFromSource)]


@command.command("build")
@click.argument("engine", type=Word("engine", list_built_engines))
@click.argument("place", required=False)
@add_option("--source DIR", "A folder that holds the tree.")
@add_option("--git DIR@REF", "A commit, tag or branch of a git repository.")
@add_option("--name NAME", "The name: ENGINE@source:NAME.")
@add_option("--cflags", "Flags of the compilers, instead of the recipe's -O2.", str, default="")
@add_option("--configure", "More words for configure or cmake.", str, default="")
@add_option("--patch FILE", "A patch of git diff, for the copy.", default="")
@add_option("--compiler", "gcc-9 to gcc-15, clang-11, -14, -16, -19, of Debian.", str, default="")
@add_option("--fix", "Apply safe remedies and continue.")
def build(
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
    from dyno.builds.source import build
    from dyno.builds.source.build import build_planned
    from dyno.driver import ask
    from dyno.engines import BuildsFromSource, find_engine

    builder = find_engine(engine, ask)
    if not isinstance(builder, BuildsFromSource):
        hint = f"{', '.join(list_built_engines())} are"
        raise UsageError(f"{engine} is not built from source", hint=hint)
    where = _choose_place(place, source, git)
    if name:
        build.check_name(name)
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
    build.name_build(engine, called, build.Named(built.prefix.name, where))
    screen.print_line(f"{engine} {built.version}  {built.prefix}")
    screen.print_line(
        f"compiler {built.facts['compiler']}, flags {built.facts['cflags']} {built.facts['always']}"
    )
    for kind in ("edits", "fixes"):
        if told := built.facts.get(kind):
            screen.print_line(f"{kind}: {told}")
    screen.print_line(_format_cost(built.facts))
    screen.print_line(f"use it as {engine}@source:{called}")


def _format_cost(facts: Mapping[str, str]) -> str:
    taken, cpu = (screen.format_duration(float(facts[it])) for it in ("seconds", "cpu_seconds"))
    largest = f", {facts['memory_mb']} MB of its largest program" if "memory_mb" in facts else ""
    beside = "; steps that were interrupted are not in it" if "interrupted" in facts else ""
    return f"it took {taken}, {cpu} of processor time{largest}{beside}"


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
    jobs = format_count(tools.jobs, "job")
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


def list_cached_names() -> list[str]:
    from dyno.builds import cache

    return [entry.name for entry in cache.list_entries()]


@command.command("remove")
@click.argument("names", nargs=-1, required=True, type=Word("name", list_cached_names))
def remove(names: tuple[str, ...]) -> None:
    """Remove entries of the cache by the names that `dyno engines list` shows.

    `engine@version` means all builds of a version, with any flags, and their archives.
    """
    from dyno.builds import cache

    found = {entry.name: entry for entry in cache.list_entries()}
    doomed = [name for word in names for name in find_entries(word, list(found))]
    for name in dict.fromkeys(doomed):
        if not cache.remove(found[name]):
            hint = "wait for the end of the run, or interrupt it"
            raise UsageError(f"{name} is used by a run", hint=hint)
        screen.print_line(f"freed {name}, {screen.format_bytes(found[name].size_bytes)}")


def find_entries(word: str, cached: list[str]) -> list[str]:
    """The cache's entries that `word` names: itself, or every build of `engine@version`."""
    if word in cached:
        return [word]
    engine = word.partition("@")[0]
    stem = f"{word.replace('@', '-')}-"
    builds = [name for name in cached if "@" in word and name.startswith(stem)]
    if engine in list_engine_names():
        for build in list_builds([engine]):
            builds += (
                build.entries if word in (build.candidate, f"{engine}@{build.version}") else ()
            )
    if not builds:
        raise build_unknown_error("cached build", word, cached)
    return builds
