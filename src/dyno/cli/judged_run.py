"""What `compare`, `run` and `resume` share: announce, play, judge, print the verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyno.cli.exits import write_json_file
from dyno.cli.options import FormatFile
from dyno.cli.runs import find_runs_home, shorten_name
from dyno.cli.terminal import screen
from dyno.cli.terminal.announcement import announce
from dyno.cli.terminal.live import tell_what_stays, watch_live
from dyno.errors import UsageError
from dyno.numbers import format_count

if TYPE_CHECKING:
    from dyno.instruments.time.saved_answers import SavedAnswers
    from dyno.instruments.time.watch import Watch
    from dyno.record import Run, Verdict
    from dyno.report import Book
    from dyno.report.accepted import AcceptedLoss
    from dyno.report.document import Document
    from dyno.report.result import Holding, Result
    from dyno.runs.experiment import Experiment
    from dyno.runs.forecast.estimate import Forecast
    from dyno.runs.run_folder import RunFolder

#: Exit codes of a comparison; those of errors stand in `errors`.
EXITS = {"not slower": 0, "faster": 0, "slower": 1, "inconclusive": 2, "invalid": 3, "measured": 0}
EXITS |= {"loses": 1, "loses as permitted": 2}
#: That of a doubtful one, whatever it says, where `--strict` asks for it.
DOUBTFUL_EXIT = 4


#: What makes a comparison's exit code one for `git bisect run`, and the codes that git reads as
#: "skip this commit" and, above 127, as "stop".
FOR_GIT, SKIP_EXIT, STOP_EXIT = "--exit-for-bisect", 125, 128
#: That of an inconclusive one by `--inconclusive`; where it is not given, as `EXITS` has it.
INCONCLUSIVE_EXITS = {"pass": 0, "fail": 1}


@dataclass(frozen=True)
class RunOptions:
    """What a user asked of a run beside the experiment itself, and of its verdict.

    `inconclusive` is `pass`, `fail`, `retry` or empty. `verbose` prints all that the report has in
    words, `quiet` nothing but formats; `report_url` is where a reader finds the report. `saved` are
    the answers of a base that nobody plays, `losses` those that the repository accepts; with
    `by_cpu` a run is judged anew by CPU time.
    """

    budget_s: float | None = None
    json_file: Path | None = None
    formats: tuple[FormatFile, ...] = ()
    strict: bool = False
    inconclusive: str = ""
    verbose: bool = False
    quiet: bool = False
    report_url: str = ""
    saved: SavedAnswers | None = None
    losses: tuple[AcceptedLoss, ...] = ()
    by_cpu: bool = False

    def choose_exit_code(self, verdict: Verdict) -> int:
        if verdict.rehearsal:
            return verdict.rehearsal.exit_code
        if self.strict and verdict.doubts:
            return DOUBTFUL_EXIT
        from dyno.report.accepted import judge_accepted

        word = judge_accepted(self.losses, verdict)
        code = EXITS[word]
        asked = INCONCLUSIVE_EXITS.get(self.inconclusive, code)
        return asked if word == "inconclusive" else code


def convert_exit_for_git(code: int) -> int:
    """A comparison's exit code as git reads it: 0 good, 1 bad; what could not be told is skipped,
    and a mistake in the command stops the search, where 64 would be one more bad commit.
    """
    if code in (0, 1, SKIP_EXIT):
        return code
    return SKIP_EXIT if code in (*EXITS.values(), DOUBTFUL_EXIT) else max(code, STOP_EXIT)


def read_asked(words: Mapping[str, Any]) -> RunOptions:
    """What a command's words ask for; a command may have some of them."""
    from dyno.report.accepted import read_accepted

    return RunOptions(
        budget_s=words.get("budget"),
        json_file=words.get("json_file"),
        formats=tuple(words.get("formats", ())),
        strict=words.get("strict", False),
        inconclusive=words.get("inconclusive") or "",
        verbose=words.get("verbose", False),
        losses=read_accepted(Path.cwd()),
    )


def read_asked_of_report(words: Mapping[str, Any]) -> RunOptions:
    """The same of `dyno report`: a format that has no file is all that is printed."""
    asked = read_asked(words)
    quiet = any(not wanted.file for wanted in asked.formats)
    by_cpu = words["by"] == "cpu"
    return replace(asked, quiet=quiet, report_url=words["report_url"], by_cpu=by_cpu)


def quote_command() -> str:
    """The command that is being played, as one would type it again, without a password."""
    import shlex

    from dyno.passwords import mask_password

    return shlex.join(["dyno", *map(mask_password, sys.argv[1:])])


def play_and_judge(experiment: Experiment, asked: RunOptions) -> Verdict:
    """Resolves, announces, plays and judges `experiment`; once more where that is asked for.

    A second play is judged by itself, so a *slower* by chance is at most twice as likely.
    """
    from dyno.compare.calibration.store import quote_error_rates
    from dyno.compare.pilot.prepare import prepare
    from dyno.instruments.time.run import play_run
    from dyno.runs.forecast.estimate import forecast_run
    from dyno.runs.resolve.experiment import draft_run
    from dyno.runs.run_folder import create_run

    sweep()
    draft = draft_run(experiment, print_progress)
    counted = None
    if experiment.measuring.count_events:
        from dyno.instruments.instructions.run import plan_count_beside

        counted = plan_count_beside(experiment, draft.run.seed, print_progress)
    quote_error_rates(draft)
    with draft.clients or nullcontext():
        prepared = prepare(draft, print_progress, asked.budget_s)
        forecast = forecast_run(prepared)
        if asked.saved:
            prepared = asked.saved.join(prepared)
        folder = create_run(prepared.run, find_runs_home())
        announce(prepared, forecast, folder, asked.verbose)
        if counted:
            with tell_what_stays(folder.path):
                counted.count(folder, print_progress)
        with show_progress(folder, forecast, asked.verbose) as watch:
            play_run(prepared, folder, watch, budget_s=asked.budget_s)
    verdict = tell_verdict(folder, asked)
    if verdict.overall == "inconclusive" and asked.inconclusive == "retry":
        screen.print_gap()
        screen.print_line("inconclusive: played once more (--inconclusive=retry)")
        return play_and_judge(experiment, replace(asked, inconclusive=""))
    return verdict


def sweep() -> None:
    """Removes what killed runs left, and says so in a line on stderr, and what it cannot remove."""
    from dyno.instruments.time.leftovers import sweep_leftovers

    swept = sweep_leftovers(find_runs_home())
    for sentence in swept.left:
        screen.print_line(f"note: a killed run's {sentence}", err=True)
    if swept.count:
        things = format_count(swept.count, "folder")
        size = screen.format_bytes(swept.size_bytes)
        screen.print_line(f"note: {things} of killed runs removed, {size}", err=True)


def print_progress(clause: str) -> None:
    """Prints a step of the preparation to stderr, so that stdout holds results only."""
    screen.print_line(f"{clause} …", err=True)


@contextmanager
def show_progress(
    folder: RunFolder, forecast: Forecast | None, verbose: bool = False
) -> Iterator[Watch]:
    """The live display of a run; whatever stops it, what was measured stays and can go on."""
    with tell_what_stays(folder.path), watch_live(forecast, verbose) as watch:
        yield watch


def tell_verdict(folder: RunFolder, asked: RunOptions) -> Verdict:
    from dyno.report.accepted import list_accepted
    from dyno.report.export import build_result, to_json_result
    from dyno.report.rehearsal import build_first_rows
    from dyno.report.sections import verdict

    book = derive_files(folder, asked.losses, asked.by_cpu)
    if asked.json_file:  # before a reader of what is printed may go away
        write_json_file(asked.json_file, to_json_result(book.verdict, asked.losses))
    if not asked.quiet:
        if book.verdict.rehearsal:
            screen.draw_document(build_first_rows(book), screen.choose_screen_columns())
        elif asked.verbose:
            screen.draw_document(verdict.build_whole(book))
        else:
            screen.draw_document(verdict.build_first_screen(book), screen.choose_screen_columns())
        for line in list_accepted(asked.losses, book.verdict):
            screen.print_line(line)
        for name, said in _list_further(folder, book, asked.strict):
            screen.print_line(f"{name:<8}{said}")
    write_formats(asked, lambda: build_result(book))
    return book.verdict


def _list_further(folder: RunFolder, book: Book, strict: bool) -> Iterator[tuple[str, str]]:
    """Where to go on: the page, the rest of the words, and the command that plays on or again."""
    yield "report", str(folder.path / book.page)
    if (saved := book.run.design.saves_answers) and Path(saved).exists():
        yield "saved", saved
    name = shorten_name(folder.path)
    yield "more", f"dyno show {name}"
    if not book.verdict.complete:
        yield "go on", f"dyno resume {name}"
    elif book.run.command:
        yield "again", build_repeat_command(book.run)
    if book.verdict.doubts and not strict:
        yield "strict", "exit code 4 for a doubtful verdict, with --strict"


def tell_result(
    folder: Path,
    result: Result,
    asked: RunOptions,
    shown: Document,
    told: Callable[[], dict[str, Any]],
) -> Verdict:
    """Make the page of any other kind of run, print `shown`, and write what was asked for; `told`
    is for `--json`.
    """
    from dyno.compare.history.homes import LocalHome, read_home
    from dyno.report.accepted import list_accepted
    from dyno.report.html.page import render_result, replace_file

    text = render_result(replace(result, losses=asked.losses))
    page = replace_file(folder / "report.html", text)
    with suppress(UsageError):  # it has no history
        read_home(LocalHome(folder))  # which keeps its points
    if asked.json_file:
        write_json_file(asked.json_file, told())
    if not asked.quiet:
        is_whole = shown is result.document
        screen.draw_document(shown, None if is_whole else screen.choose_screen_columns())
        for line in list_accepted(asked.losses, result.verdict):
            screen.print_line(line)
        screen.print_line(f"report  {page}")
        screen.print_line(f"more    dyno show {folder.name}")
        is_over = result.verdict.complete
        again = f"again   {result.command}" if is_over else f"go on   dyno resume {folder.name}"
        if result.command or not is_over:
            screen.print_line(again)
    write_formats(asked, lambda: result)
    return result.verdict


def refuse_repeats(asked: RunOptions, noun: str) -> None:
    """Raise `UsageError` for options of plays that go on until they are decided."""
    if asked.budget_s:
        raise UsageError(f"{noun} takes no budget", hint="fewer blocks or events take less time")
    if asked.inconclusive == "retry":
        raise UsageError(f"{noun} is not played once more", hint="--inconclusive=pass, or fail")


def tell_run(folder: Path, asked: RunOptions) -> Verdict:
    """Tell a run of an instrument that has no command of its own."""
    from dyno.report.export import to_json_result
    from dyno.runs.run_folder import RunFolder

    result: Result = RunFolder(folder).instrument.read_result(folder)
    return tell_result(
        folder, result, asked, result.document, lambda: to_json_result(result.verdict)
    )


def check_formats(asked: RunOptions, noun: str, holdings: Set[Holding]) -> None:
    """Raise `UsageError` for a format that tells nothing of such a run, before it is played."""
    from dyno.report.formats import check_format

    for wanted in asked.formats:
        check_format(wanted.name, noun, holdings)


def write_formats(asked: RunOptions, build: Callable[[], Result]) -> None:
    """Write each format that was asked for to its file, or print it."""
    from dyno.report.formats import write_format

    if not asked.formats:
        return
    result = replace(build(), losses=asked.losses, report_url=asked.report_url)
    for wanted in asked.formats:
        if text := write_format(wanted.name, result, asked.strict, wanted.file):
            screen.print_verbatim(text, newline=False)


def build_repeat_command(run: Run) -> str:
    """The command that plays a run once more: the same seed, and as many connections as its pilot
    chose, which in another hour may choose others and so ask another question.
    """
    if not run.command.startswith("dyno compare"):
        return run.command
    words = [run.command]
    chosen = run.pilot.saturation if run.pilot else ()
    numbers = {each.connections for each in chosen}
    if len(chosen) == len(run.workloads) and len(numbers) == 1 and 0 not in numbers:
        words.append(f"--set threads={min(numbers)}")
    if "--seed" not in run.command:
        words.append(f"--seed {run.seed}")
    return " ".join(words)


def derive_files(
    folder: RunFolder, losses: tuple[AcceptedLoss, ...] = (), by_cpu: bool = False
) -> Book:
    """Makes verdict.json, points.json, report.html and trials.csv anew from what was measured; the
    page says which `losses` are accepted. Of a run judged anew by CPU time a page of its own alone.
    """
    from dyno.compare.history.homes import LocalHome, read_home
    from dyno.judge.analysis.cpu_time import judge_by_cpu
    from dyno.judge.analysis.judge import judge
    from dyno.report import Book, export
    from dyno.report.html import page

    run, played, profiles = folder.read_run(), folder.read_trials(), folder.read_profiles()
    is_other = by_cpu and run.design.by != "cpu"
    run = judge_by_cpu(run, played) if is_other else run
    verdict = judge(run, played, counts=folder.read_counts())
    book = Book(folder.path, run, played, verdict, profiles, losses)
    if is_other:
        book = replace(book, page="report-cpu.html")
        page.write_page(book)
        return book
    folder.write_verdict(verdict)
    export.write_csv(book)
    page.write_page(book)
    read_home(LocalHome(folder.path))
    return book
