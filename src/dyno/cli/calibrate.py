"""`dyno calibrate`: how often the verdict errs on this host, by comparisons of known truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dyno import former_names
from dyno.cli import options
from dyno.cli.judged_run import print_progress, sweep
from dyno.cli.options import DURATION, ENGINE, PERCENT, WORKLOAD, add_option
from dyno.cli.terminal import screen
from dyno.cli.workload_words import prepare_setup_beside
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.compare.calibration import CalibrationEntry
    from dyno.compare.calibration.session import CalibrationOptions
    from dyno.record import Calibration, Score

HEADS = ("what", "engine", "n", "slower", "95 % interval", "open", "invalid", "injected", "held")


def print_known() -> None:
    """Everything that a run would quote now."""
    from dyno.compare import calibration
    from dyno.compare.calibration.session import instrument_here

    known = calibration.find_error_rates(instrument_here())
    if known is None:
        screen.print_line("this host has not been calibrated; run `dyno calibrate`")
        return
    screen.print_table(HEADS, map(format_score_row, known.scores), right=range(2, 9))
    screen.print_gap()
    screen.print_paragraph(describe_known(known))


def format_score_row(score: Score) -> Sequence[object]:
    """A score as a line of the table; `held` is the share of intervals that held the truth."""
    between = f"{score.low_percent:.1f} to {score.high_percent:.1f} %"
    size = "" if score.injected_percent is None else f"{score.injected_percent:.2f} %"
    held = f"{100 * score.covered / score.coverable:.1f} %" if score.coverable else ""
    words = (score.words.get(word, 0) or "" for word in ("inconclusive", "invalid"))
    by = "by CPU time" if score.settings.get("by") == "cpu" else ""
    what = ", ".join(filter(None, (score.what, score.settings.get("design"), by)))
    return (
        *(what, score.engine, f"{score.comparisons:,}", f"{score.slower:,}", between),
        *(*words, size, held),
    )


def describe_known(known: Calibration) -> str:
    """When it was found, how to read it, and why it is stale if it is."""
    dates = f"{known.first_utc[:10]} to {known.last_utc[:10]}"
    reading = (
        "'slower' are false alarms where both are the same build, slowdowns found where one is "
        "injected; 'open' is inconclusive; 'held' are the intervals that held the truth"
    )
    stale = f" STALE: {'; '.join(known.stale)}." if known.stale else ""
    lost = f" {known.passed_over} lines could not be read (torn, or a newer dyno's)."
    passed_over = lost if known.passed_over else ""
    found = f"Found {dates} by dyno {known.dyno}, method {known.method}; {reading}."
    return f"{found}{stale}{passed_over}"


#: So short a delay is spun to its end: no sleep that ends late blurs what is injected.
ENGINES = ("null@70us",)
KINDS = ("synthetic", "aa", "paths", "delay", "p99", "noise", "delay-noise")


@click.command("calibrate")
@add_option(
    "--engine ENGINE ...",
    "An engine to calibrate on; may be repeated.  [default: null@70us; none by CPU time]",
    ENGINE,
    name="engines",
)
@add_option(
    "--kind ...",
    "Only these kinds; may be repeated.  [default: all]",
    options.RenamedChoice(KINDS, former_names.KINDS),
    name="kinds",
)
@add_option(
    "--times N",
    "Comparisons of each kind.  [default: 20 A/A, 10 at two paths, 10 of each delay, 5 p99, "
    "10 noise, 5 of each delay beside noise]",
    click.IntRange(1, 10_000),
)
@add_option(
    "--inject PERCENT ...",
    "A slowdown to inject; may be repeated.  [default: 5%, 2% and 1%]",
    PERCENT,
    name="injected",
)
@add_option("--margin PERCENT", "The margin of all.  [default: 2%]", PERCENT)
@add_option(
    "--by",
    "What the verdicts rest on: rates and latencies, or CPU time (`dyno compare --by cpu`), of "
    "which there is no p99, and none of null.",
    click.Choice(["time", "cpu"]),
    default="time",
)
@add_option("--quick", "A few comparisons of each kind.")
@add_option("--blocks MAX", "Blocks at the last analysis.  [default: 12]", int)
@add_option(
    "--workload W",
    "What is played; longer statements make a server's noise smaller.",
    WORKLOAD,
    default="oltp_point_select",
)
@options.SET
@add_option(
    "--budget TIME",
    "Begin no comparison that would end after this time, e.g. 30m.",
    DURATION,
    name="budget",
)
@add_option("--show", "Only show what is known; play nothing.")
def command(**words: Any) -> None:
    """Measure how often the verdict errs on this host, and how small a slowdown it finds.

    A build is compared with itself, with itself plus an injected delay, and with itself beside a
    CPU hog, in short trials. The results are stored for this host, and later runs quote them. If it
    is interrupted or killed, the same command continues.

    \b
    dyno calibrate --engine sqlite --kind aa --times 40
    dyno calibrate --engine postgres@18 --kind delay --inject 1% --margin 0.5% --set time=4
    dyno calibrate --budget 30m
    dyno calibrate --show
    """
    if not words["show"]:
        play_missing(read_options(**words))
    print_known()


def read_options(**words: Any) -> CalibrationOptions:
    from dyno.compare.calibration.cases import GOALS, INJECTED_PERCENT, QUICK
    from dyno.compare.calibration.pilot import Shape
    from dyno.compare.calibration.session import CalibrationOptions

    by, kinds = words["by"], words["kinds"] or KINDS
    if by == "cpu":
        if not words["engines"]:
            hint = "--engine, as you compare it"
            raise UsageError("--by cpu needs an engine", cause="null does no work", hint=hint)
        if words["kinds"] and "p99" in kinds:
            hint = "leave out --kind p99: a percentile is one of latencies"
            raise UsageError("CPU time has no p99", hint=hint)
        kinds = tuple(kind for kind in kinds if kind != "p99")
    goals = QUICK if words["quick"] else GOALS
    goals = {kind: words["times"] or goal for kind, goal in goals.items() if kind in kinds}
    shape = Shape(words["workload"])
    options = shape.options | dict(words["settings"])
    engines = (words["engines"] or ENGINES) if goals else ()
    if setup := options.get("setup"):
        options |= prepare_setup_beside(setup, words["workload"], engines)
    blocks = words["blocks"] or shape.blocks
    return CalibrationOptions(
        engines=engines,
        goals=goals,
        shape=replace(shape, options=options, blocks=blocks, margin_percent=words["margin"], by=by),
        budget_s=words["budget"],
        made_up="synthetic" in kinds,
        injected_percent=words["injected"] or INJECTED_PERCENT,
    )


def play_missing(wanted: CalibrationOptions) -> None:
    """Plays what is missing; whatever stops it, what was found stays."""
    from dyno.compare.calibration.session import CalibrationSession

    sweep()
    session = CalibrationSession(wanted, print_progress, print_entry)
    screen.print_line(
        f"{len(session.find_current())} comparisons of this host are stored ({session.file})"
    )
    try:
        done = session.play()
    except KeyboardInterrupt:
        hint = "what was found is stored; run the same command to continue"
        raise KeyboardInterrupt(hint) from None
    screen.print_lines("" if done else "\nthe budget is spent; run the same command to continue\n")


def print_entry(entry: CalibrationEntry, done: int, of: int) -> None:
    words = ", ".join(f"{word} {count:,}" for word, count in entry.words.items() if count)
    if entry.kind == "synthetic":
        screen.print_line(f"{entry.kind}  {entry.what}: {words}")
        return
    (word,) = entry.words
    found = f"{word}  {describe_interval(entry)}{describe_size(entry)}  {entry.seconds:.0f} s"
    screen.print_line(f"{entry.engine}  {entry.what}  {done}/{of}  {found}")


def describe_interval(entry: CalibrationEntry) -> str:
    """The slowdown found, with its bounds; without them, why there are none."""
    if entry.low_percent == entry.high_percent:
        return f"no interval: {entry.dropped_blocks} blocks were dropped for noise"
    return f"{entry.slowdown_percent:+.1f} % [{entry.low_percent:+.1f}, {entry.high_percent:+.1f}]"


def describe_size(entry: CalibrationEntry) -> str:
    """What was really injected, and that it is not what was asked for, if it is not."""
    from dyno.compare.calibration.comparison import is_other_size

    size = entry.injected_percent
    if size is None:
        return ""
    off = f", not {entry.effect_percent:g} %" if is_other_size(entry.effect_percent, size) else ""
    return f"  injected {size:.2f} %{off}"
