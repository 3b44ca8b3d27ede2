"""`dyno crash`: what an engine keeps of its commits when it is killed and the power is cut; and
`dyno compare --crash`, which is the same of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.judged_run import tell_run as tell_run
from dyno.cli.options import DURATION, ENGINE, PERCENT, add_option
from dyno.cli.runs import find_runs_home, refuse_device
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.instruments.crash.plan import CrashedEngine, CrashPlan
    from dyno.record.crash import CrashRun

#: What is played, how often, and the slowdown that matters, where nothing else is said.
PLAYED, TIMES, MARGIN_PERCENT = "transactions", 20, 10.0
#: What `dyno compare --crash` takes of `dyno compare`'s.
OF_COMPARE = (
    *("candidates", "is_crash", "workloads", "blocks", "margin", "seed"),
    *("strict", "json_file", "formats"),
)


@click.command("crash")
@click.argument("engines", nargs=-1, required=True, type=ENGINE, metavar="ENGINE [CANDIDATE]...")
@add_option(
    "-w, --workload W",
    "What is played: `transactions` (new rows and updates) or `inserts` (one row a commit).",
    default=PLAYED,
)
@add_option("--times N", "Kill each N times.", click.IntRange(1, 10_000), default=TIMES)
@add_option(
    "--clients N", "Connections; an embedded engine has one.", click.IntRange(1, 64), default=4
)
@add_option(
    "--within TIME",
    "The kill comes at a drawn moment so long after the first commits at most.",
    DURATION,
    name="within_s",
    default=2.0,
    show_default="2s",
)
@add_option("--torn", "Of what was not synced, keep each sector of 512 bytes by chance.")
@add_option(
    "--silent-sync",
    "Let every sync answer and do nothing, as a disk that lies: are losses found?",
    name="silent",
)
@add_option(
    "--margin PERCENT",
    "The slowdown that matters, of a CANDIDATE.",
    PERCENT,
    default=MARGIN_PERCENT,
    show_default=f"{MARGIN_PERCENT:g}%",
)
@add_option("--seed N", "Draws moments, transactions and torn sectors.", int, default=1)
@options.STRICT
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Kill ENGINE, lose what it had not synced, restart it, and count its commits.

    A ledger beside the engine has every commit that was acknowledged. After each kill the files are
    put back to their last sync, the engine is started again, and a new connection is asked for each
    commit: lost, torn, or there. ENGINE is one of those of `dyno engines list`. Each CANDIDATE is
    killed in turn with it, and compared: what both keep, the time to recover, and the commits.

    Exits with 0 where nothing is lost, 1 where more is than the engine's settings say, 2 where it
    is no more than that, 3 where the layer did not see all.

    \b
    dyno crash sqlite
    dyno crash 'postgres@18?synchronous_commit=off' --times 100
    dyno crash 'postgres@18?full_page_writes=off&shared_buffers=1MB' --torn
    dyno crash postgres@18 mysql@8.0.33 --times 50
    """
    from dyno.instruments.crash.plan import CrashPlan

    if words["within_s"] <= 0.1:
        raise UsageError(f"--within must be above 0.1s (got {words['within_s']:g}s)")
    names = ("workload", "times", "clients", "within_s", "torn", "silent", "seed")
    own = {name: words[name] for name in names}
    command = judged_run.quote_command()
    plan = CrashPlan(words["engines"], **own, margin_percent=words["margin"], command=command)
    return _plan_and_play(plan, words)


def compare_crashes(words: Mapping[str, Any]) -> int:
    """`dyno compare --crash`: the same as `dyno crash` of several engines, by `compare`'s words."""
    from dyno.instruments.crash.plan import CrashPlan

    context = click.get_current_context()
    for param in context.command.params:
        name = str(param.name)
        is_said = context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        if name not in OF_COMPARE and is_said:
            hint = "`dyno crash A B` has --torn, --within and --clients"
            raise UsageError(f"a comparison of crashes takes no {param.opts[0]}", hint=hint)
    if len(words["candidates"]) < 2 or len(words["workloads"]) > 1:
        hint = "name the base, then candidates, and one of -w transactions and -w inserts"
        raise UsageError("crashes of two candidates are compared, on one workload", hint=hint)
    margin, seed = words["margin"], words["seed"]
    plan = CrashPlan(
        words["candidates"],
        (*words["workloads"], PLAYED)[0],
        words["blocks"] or TIMES,
        seed=1 if seed is None else seed,
        margin_percent=MARGIN_PERCENT if margin is None else margin,
        command=judged_run.quote_command(),
    )
    return _plan_and_play(plan, words)


def _plan_and_play(plan: CrashPlan, words: Mapping[str, Any]) -> int:
    """Play a plan's kills and tell them; `words` say how it is told. Return the exit code."""
    from dyno.instruments.crash.plan import make_crash_folder, plan_crash_run
    from dyno.report.result import COMPARED, MEASURED

    judged_run.sweep()
    holdings = COMPARED if len(plan.words) > 1 else MEASURED
    judged_run.check_formats(judged_run.read_asked(words), "a run of crashes", holdings)
    run, engines = plan_crash_run(plan, judged_run.print_progress)
    return _play_and_tell(run, engines, make_crash_folder(find_runs_home(), run), words)


def _play_and_tell(
    run: CrashRun, engines: Sequence[CrashedEngine], folder: Path, words: Mapping[str, Any]
) -> int:
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.crash.play import play_crashes

    with tell_what_stays(folder):
        play_crashes(run, engines, folder, judged_run.print_progress)
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(tell_run(folder, asked))


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a run that was stopped; one that is over is told again."""
    from dyno.instruments.crash.plan import reopen_crash_run

    refuse_device(words)
    judged_run.sweep()
    run, engines = reopen_crash_run(folder, judged_run.print_progress)
    return _play_and_tell(run, engines, folder, words)
