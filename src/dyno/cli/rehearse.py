"""`dyno rehearse`: an upgrade rehearsed with a copy of the data and a server's log."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import ENGINE, HeadedCommand
from dyno.cli.terminal import screen
from dyno.cli.workload_words import LOG_OPTIONS, choose_log
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.cli.judged_run import RunOptions
    from dyno.cli.workload_words import ChosenLog
    from dyno.instruments.time.saved_answers import SavedAnswers
    from dyno.record import LeftOut, Verdict
    from dyno.runs.experiment import Experiment
    from dyno.runs.experiment.candidates import Spec
    from dyno.workloads.replay.logs import Log

#: Timed blocks, all judged at once: fewer show nothing of one class among many.
BLOCKS = 8


@click.command("rehearse", cls=HeadedCommand)
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="[OLD] [NEW]")
@LOG_OPTIONS["log"]
@LOG_OPTIONS["data"]
@LOG_OPTIONS["log_prefix"]
@click.option(
    "--config",
    metavar="FILE",
    help="Start both servers with the options of your server's own file (my.cnf, …), and tell "
    "those that NEW refuses or warns of.",
)
@click.option(
    "--statements",
    metavar="URL",
    help="In the place of --log: the statements that a running server has counted, with samples "
    "of values where it keeps some. It is only read.",
)
@click.option(
    "--from",
    "source",
    metavar="URL",
    help="In the place of --data: a running server's database, of which the schema and a share of "
    "the rows are copied. It is only read.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    metavar="N",
    help="With --from, rows of a table at most, the last ones by its key.  [default: 100000]",
)
@click.option(
    "--upgrade-folder",
    is_flag=True,
    help="Have NEW take over the data folder that OLD has loaded, by its own means (pg_upgrade, "
    "or its start), and play on that.",
)
@options.SET
@options.ACCEPT
@click.option(
    "--no-time", "untimed", is_flag=True, help="Compare errors, answers and plans, and no time."
)
@click.option(
    "--hide-literals",
    is_flag=True,
    help="Show classes without an example, rows, or values in errors and plans.",
)
@click.option(
    "--blocks", type=int, metavar="N", help=f"Timed blocks, judged at once.  [default: {BLOCKS}]"
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Save OLD's answers and plans for a NEW of another day or host; NEW may be left out.",
)
@click.option(
    "--old-answers",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Hold NEW against what --save wrote, in the place of OLD; the log and the data are those "
    "with which it was saved.",
)
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="SETTING=VALUE",
    help="If classes get slower or change their plan, play again: NEW beside NEW with this "
    "setting, and tell what it wins. May be given several times.",
)
@options.BUDGET
@options.VERBOSE
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Rehearse an upgrade: what fails on NEW, answers differently, changes its plan, gets slower?

    The statements of a server's log are played in their order on fresh copies of the data, on OLD
    and on NEW, writes too; then again in blocks for the time. Your servers are not touched.

    Exits with 1 if anything fails, differs (but for what --accept names) or is slower, with 2 if
    too many executions could not be judged, else with 0.

    \b
    dyno rehearse postgres@13 postgres@18 --log postgresql.log --data dump.sql
    dyno rehearse mysql@8.0.33 mysql@9.7 --log general.log --data dump.sql --no-time
    dyno rehearse postgres@13 --save old.answers --log postgresql.log --data dump.sql
    dyno rehearse --old-answers old.answers postgres@18 --log postgresql.log --data dump.sql
    """
    from dyno.report.result import MEASURED
    from dyno.runs import experiment as experiments
    from dyno.runs.resolve.config_files import apply_config

    _check_words(words)
    copied = _copy_source(words) if words["source"] else ()
    asked = judged_run.read_asked(words)
    judged_run.check_formats(asked, "a rehearsal", MEASURED | {"statement classes"})
    save, old_answers = words["save"], words["old_answers"]
    measuring = experiments.Measuring(
        blocks=words["blocks"] or BLOCKS,
        fixed=True,
        sequential=True,
        accepted=words["accepted"] or {},
        rehearses=True,
        untimed=words["untimed"] or len(words["candidates"]) == 1,
        saves_answers=str(save.absolute()) if save else "",
        old_answers=str(old_answers.absolute()) if old_answers else "",
        hides_literals=words["hide_literals"],
        upgrades_folder=words["upgrade_folder"],
    )
    fixed: dict[str, Any] = {"writes": True, "in_place": False, "repeat": None}
    if words["statements"]:
        fixed["statement_log"] = _read_statements(words["statements"])
    chosen = choose_log(words | fixed)
    assert chosen, "a log is named"
    measuring = replace(measuring, left_out=(*chosen.left_out, *copied))
    options, command = chosen.options, judged_run.quote_command()
    made = experiments.compare_candidates(
        words["candidates"], chosen.script, options, measuring, command
    )
    sides = [side.name for side in made.candidates]
    if words["config"]:
        made = apply_config(made, Path(words["config"]), judged_run.print_progress)
    if old_answers:
        saved = _read_old_answers(old_answers, chosen, sides[0])
        sides, asked = [saved.candidate.name, *sides], replace(asked, saved=saved)
        made = replace(made, name=f"{Path(chosen.script).stem}-{'-'.join(sides)}")
    question = f"What does {sides[0]} answer?"
    if len(sides) == 2:
        question = f"What would an upgrade from {sides[0]} to {sides[1]} change?"
    made = replace(made, question=question)
    remedies = [_make_remedy(made, it) for it in words["tried"]]
    verdict = judged_run.play_and_judge(made, asked)
    _try_remedies(remedies, verdict, asked)
    return asked.choose_exit_code(verdict)


def _make_remedy(made: Experiment, tried: str) -> Experiment:
    """NEW beside itself with another setting; `UsageError` where it takes no such setting."""
    from dyno.runs.experiment.candidates import with_keys
    from dyno.runs.resolve.experiment import draft_run

    new, (name, _, value) = made.candidates[1], tried.partition("=")
    own = with_keys(new, f"{new.name}?{tried}", {name.strip(): value.strip()})
    measuring = replace(made.measuring, tried=tried, saves_answers="", accepted={}, options=())
    remedy = replace(
        made,
        name=f"{made.name}-try-{name.strip()}",
        candidates=(new, own),
        measuring=measuring,
        question=f"What does {tried} win on {new.name}?",
    )
    draft_run(remedy, judged_run.print_progress)
    return remedy


def _try_remedies(remedies: list[Experiment], verdict: Verdict, asked: RunOptions) -> None:
    """Play each where a class needs one; the rehearsal's own files and exit code stay its own."""
    classes = verdict.rehearsal.classes if verdict.rehearsal else ()
    needing = tuple(it.answers.text for it in classes if it.is_slower or it.plan)
    for remedy in remedies:
        screen.print_gap()
        if needing:
            measuring = replace(remedy.measuring, tried_for=needing)
            beside = replace(asked, json_file=None, formats=())
            judged_run.play_and_judge(replace(remedy, measuring=measuring), beside)
        else:
            told = "no class gets slower or changes its plan"
            screen.print_line(f"{remedy.measuring.tried} is not tried: {told}")


def _read_old_answers(file: Path, chosen: ChosenLog, new: str) -> SavedAnswers:
    """The answers in a file; `UsageError` where these are of another log or
    other data, or NEW is that side.
    """
    from dyno.instruments.time.saved_answers import check_same, compute_checksums, read_answers
    from dyno.workloads.replay.order import read_order

    saved, log = read_answers(file), read_order(Path(chosen.script))
    assert log, "a log that is played on builds has an order"
    check_same(saved, compute_checksums(log, Path(chosen.options["setup"])))
    if saved.candidate.name == new:
        hint = f"name another build; a name says that this is meant: new={new}"
        raise UsageError(f"{file} has the answers of {new} itself", hint=hint)
    return saved


def _check_upgradable(old: Spec, new: Spec) -> None:
    """`UsageError` where no release of NEW's engine takes over a folder of OLD's."""
    from dyno import driver
    from dyno.engines import UpgradesFolders, find_engine

    if old.engine != new.engine:
        hint = "leave out --upgrade-folder: the dump is loaded into NEW"
        why = f"{new.engine} takes over no data folder of {old.engine}"
        raise UsageError("--upgrade-folder is for two releases of one engine", cause=why, hint=hint)
    if not isinstance(find_engine(new.engine, driver.ask), UpgradesFolders):
        hint = "leave out --upgrade-folder"
        raise UsageError(f"no upgrade of a data folder is known for {new.engine}", hint=hint)


def _check_words(words: dict[str, Any]) -> None:
    """`UsageError` where a log, its copy, or one of the two sides is missing, or is no build."""
    from dyno.runs.experiment.candidates import parse_candidate

    sides = words["candidates"]
    if words["save"] and words["old_answers"]:
        raise UsageError("--save and --old-answers cannot be combined", hint="leave out one")
    if words["old_answers"] and len(sides) != 1:
        hint = "dyno rehearse --old-answers FILE NEW"
        raise UsageError(f"--old-answers is OLD, and NEW is one (got {len(sides)})", hint=hint)
    if len(sides) != 2 and not (len(sides) == 1 and (words["save"] or words["old_answers"])):
        hint = "rehearse one upgrade at a time: dyno rehearse OLD NEW"
        raise UsageError(f"a rehearsal has two sides (got {len(sides)})", hint=hint)
    of_both = ("blocks", "budget", "config", "upgrade_folder")
    if len(sides) == 1 and (found := next((it for it in of_both if words[it]), "")):
        word = f"--{found.replace('_', '-')}"
        hint = f"leave out {word}; it is for both sides on one host"
        raise UsageError(f"{word} does not apply to one side", hint=hint)
    for each in map(parse_candidate, sides):
        if each.is_url:
            raise UsageError(
                "a server that runs already is not rehearsed on",
                cause="statements that write are played, and each side needs a fresh copy",
                hint="name a build, ENGINE@VERSION; --data FILE makes the copy",
            )
    if words["upgrade_folder"]:
        _check_upgradable(*map(parse_candidate, sides))
    if words["statements"]:
        _check_statements(words)
    elif not words["log"]:
        hint = "--log FILE, a server's log of statements, or --statements URL"
        raise UsageError("a rehearsal needs a log", hint=hint)
    _check_data(words)
    if words["untimed"] and (words["blocks"] or words["budget"]):
        word = "--blocks" if words["blocks"] else "--budget"
        raise UsageError(f"{word} and --no-time cannot be combined", hint=f"leave out {word}")
    if words["tried"]:
        _check_tried(words)
    if words["save"]:
        _check_saved(words)


def _check_tried(words: dict[str, Any]) -> None:
    """`UsageError` for what is no setting, and where nothing would be timed."""
    for text in words["tried"]:
        if re.match(r"\s*(create|alter|analyze|set)\b", text, re.IGNORECASE) or "=" not in text:
            cause = "an index or a hint is not tried by itself"
            hint = "--try SETTING=VALUE; with an index in it, another --data is another rehearsal"
            raise UsageError(
                f"--try takes a setting of NEW's (got '{text}')", cause=cause, hint=hint
            )
    for name in ("untimed", "old_answers", "upgrade_folder"):
        if words[name] or len(words["candidates"]) < 2:
            hint = "what a remedy wins is a time, on data that both sides load"
            option = {"untimed": "--no-time"}.get(name, f"--{name.replace('_', '-')}")
            what = option if words[name] else "one side alone"
            raise UsageError(f"--try and {what} cannot be combined", hint=hint)


def _check_data(words: dict[str, Any]) -> None:
    """`UsageError` where nothing makes the copy, or two things do."""
    source = words["source"]
    if not (words["data"] or source):
        hint = "--data FILE, a dump of OLD; or --from URL, a running server"
        raise UsageError("a rehearsal needs a copy of the data", hint=hint)
    if words["rows"] and not source:
        raise UsageError("--rows needs --from", hint="name the server: --from URL")
    for name in ("data", "old_answers"):
        if source and words[name]:
            option = f"--{name.replace('_', '-')}"
            hint = "leave out one; a copy that was made can be named again: --data FILE"
            raise UsageError(f"--from and {option} cannot be combined", hint=hint)


def _copy_source(words: dict[str, Any]) -> tuple[LeftOut, ...]:
    """Make the data of a running server's database; answer what of it is left out, told."""
    from dyno import driver
    from dyno.servers.copy import MOST_ROWS, copy_database

    most = words["rows"] or MOST_ROWS
    say = judged_run.print_progress
    made = copy_database(driver.ask, words["source"], words["candidates"], most, say)
    for it in made.left_out:
        screen.print_line(f"not copied: {it.count:,} {it.why} ({it.where})", err=True)
    screen.print_line(f"copied; to play on the same again: --data {made.path}", err=True)
    words["data"] = str(made.path)
    return made.left_out


def _check_saved(words: dict[str, Any]) -> None:
    """`UsageError` where the answers would replace what is read, or have no folder."""
    file = words["save"].resolve()
    for name in ("log", "data", "config", "json_file"):
        if words[name] and file == Path(words[name]).resolve():
            word = f"--{name.removesuffix('_file')}"
            raise UsageError(f"--save and {word} name one file", hint="name another one to --save")
    if not (file.parent.is_dir() and os.access(file.parent, os.W_OK)):
        raise UsageError(
            f"cannot write {words['save']}", cause="no folder to write to", hint="--save FILE"
        )


def _check_statements(words: dict[str, Any]) -> None:
    """`UsageError` for what does not go with the statements of a running server."""
    for name in ("log", "log_prefix", "save", "old_answers"):
        if words[name]:
            option = f"--{name.replace('_', '-')}"
            hint = f"leave out {option}"
            if name in ("save", "old_answers"):
                hint = "the server has counted others by then: use its log"
            raise UsageError(f"{option} and --statements cannot be combined", hint=hint)


def _read_statements(url: str) -> Log:
    """What a running server has counted, told."""
    from dyno import driver
    from dyno.servers.profile.target import read_statement_log

    found = read_statement_log(driver.ask, url)
    for why, count in Counter(it.why for it in found.unplayed).most_common():
        screen.print_line(f"not played: {count:,}, since {why}", err=True)
    return found
