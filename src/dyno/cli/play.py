"""`dyno play`: one trial of one engine, rate and latency as they come; no verdict."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import options
from dyno.cli.judged_run import print_progress, quote_command, sweep
from dyno.cli.options import ENGINE, HeadedCommand, add_option
from dyno.cli.terminal import screen
from dyno.cli.terminal.live import format_stream
from dyno.cli.workload_words import SQL, add_replay_options, choose_scripts, rewrite_candidates
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.instruments.time.watch import Event
    from dyno.record import Latency, Trial

PERCENTILES = ("50", "95", "99", "99.9")


@click.command("play", cls=HeadedCommand)
@click.argument("engine", type=ENGINE, metavar="ENGINE")
@options.add_workload()
@options.SET
@options.CONTROL
@options.TIME
@options.THREADS
@options.CHECK
@options.CLIENT_HOSTS
@add_option(
    "--command NAME ...",
    "A command of the script, instead of prepare and run; may be repeated.",
    name="commands",
)
@SQL
@add_replay_options
def command(engine: str, **words: Any) -> None:
    """Play a workload once on ENGINE and show its rate and latency each second.

    A single trial gives no verdict, because restarts vary more than most changes. `dyno compare`
    plays blocks of restarts and judges them.

    \b
    dyno play null@200us --workload oltp_point_select --time 5s
    """
    from msgspec import structs

    from dyno.compare.pilot.prepare import prepare
    from dyno.instruments.time.run import play_once
    from dyno.judge.analysis.sentence import describe_pilot
    from dyno.runs.experiment import Measuring, compare_candidates
    from dyno.runs.resolve.experiment import draft_run

    (engine,) = rewrite_candidates(words, (engine,))
    (script,), chosen = choose_scripts(words | {"candidates": (engine,)})
    measuring = Measuring(controls=dict(words["controls"]), check=words["check"])
    experiment = compare_candidates([engine], script, chosen, measuring, command=quote_command())
    experiment = replace(experiment, client_hosts=words["client_hosts"])
    sweep()
    draft = draft_run(experiment, print_progress)
    with draft.clients or nullcontext():
        prepared = prepare(draft, print_progress, known={})
        if words["commands"]:
            workload = structs.replace(prepared.workloads[0], commands=words["commands"])
            prepared = replace(prepared, run=structs.replace(prepared.run, workloads=(workload,)))
        for sentence in describe_pilot(prepared.run):
            screen.print_line(sentence)
        print_summary(play_once(prepared, print_second))


def print_second(event: Event) -> None:
    """A line per second and phase, as it happens, and what the script prints."""
    from dyno.instruments.time.watch import PhaseStarted, Printed, Progressed

    if isinstance(event, PhaseStarted):
        screen.print_line(f"phase {event.phase}")
    elif isinstance(event, Progressed):
        streams = "  ".join(format_stream(stream) for stream in event.streams)
        screen.print_line(f"{event.elapsed_s:6.0f} s  {streams}")
    elif isinstance(event, Printed):
        screen.print_verbatim(event.text, newline=False)
    sys.stdout.flush()


def print_summary(trial: Trial) -> None:
    screen.print_gap()
    if trial.phases:
        heads = ("phase", "stream", "rate/s", *(f"p{p}" for p in PERCENTILES), "max", "failed")
        screen.print_table(heads, format_stream_rows(trial), right=range(2, len(heads)))
    told = describe_clients(trial), describe_errors(trial), describe_ledger(trial)
    for line in (*chain(*told), *describe_integrity(trial)):
        screen.print_line(line)
    if trial.status == "interrupted":
        raise KeyboardInterrupt
    if trial.status == "failed":
        from dyno.record import Failure

        why = trial.failure or Failure("the trial failed")
        played = "what was measured before stands above" if trial.phases else "nothing was played"
        raise UsageError(why.message, cause=why.cause, hint=why.hint or played)
    screen.print_lines(
        "\nno verdict: one restart proves nothing; `dyno compare` plays blocks of them"
    )


def format_stream_rows(trial: Trial) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for phase in trial.phases:
        for tally in phase.streams:
            done = tally.done * tally.units_per_event
            per_s = done / phase.duration_s if phase.duration_s else 0.0
            rate = f"{screen.format_rate(per_s)} {screen.form_plural(tally.unit)}"
            failed = f"{tally.failed:,}"
            rows.append((phase.phase, tally.name, rate, *format_latency(tally.latency), failed))
            for name, latency in tally.transactions.items():
                per_min = 60 * latency.count / phase.duration_s if phase.duration_s else 0.0
                often = f"{latency.count:,} in all, {screen.format_rate(per_min)}/min"
                rows.append(("", f"  {name}", often, *format_latency(latency), ""))
    return rows


def format_latency(latency: Latency) -> tuple[str, ...]:
    if not latency.count:
        return ("-",) * (len(PERCENTILES) + 1)
    values = (*(latency.percentiles_ns[p] for p in PERCENTILES), latency.max_ns)
    return tuple(screen.format_latency(value) for value in values)


def describe_clients(trial: Trial) -> list[str]:
    from dyno.report.words import format_client_loads

    return [
        f"{phase.phase}: clients on {format_client_loads(phase.list_client_loads())}"
        for phase in trial.phases
        if len(phase.clients) > 1
    ]


def describe_errors(trial: Trial) -> list[str]:
    lines = []
    for phase in trial.phases:
        for tally in phase.streams:
            where = f"{phase.phase} {tally.name}"
            lines += [f"{where}: error {c}, {n:,} times" for c, n in tally.errors.items()]
            if tally.cut:
                events = "event was" if tally.cut == 1 else "events were"
                longest = screen.format_latency(tally.cut_ns_max)
                lines.append(
                    f"{where}: {tally.cut:,} {events} cut off without an answer, the longest after "
                    f"{longest}; that wait is in the latencies, which are at least as long"
                )
            if tally.skipped:
                lines.append(f"{where}: {tally.skipped:,} of {tally.intended:,} were never sent")
            if tally.busy:
                lines.append(f"{where}: the engine was busy {tally.busy:,} times")
            if tally.reconnected:
                lines.append(f"{where}: {tally.reconnected:,} connections were lost and made anew")
    return lines


def describe_ledger(trial: Trial) -> list[str]:
    from dyno.answers import matches_number

    return [
        f"ledger: {e.name}: {e.found.removesuffix('.0')} found, {e.expected} expected"
        + ("" if matches_number(e.found, e.expected) else "  <- they differ")
        for e in trial.evidence
        if not e.digest
    ]


def describe_integrity(trial: Trial) -> list[str]:
    """What the engine found of its structures and keys, and what was not looked at."""
    asked = [it for it in trial.integrity if not it.unchecked]
    faults = [
        f"integrity: {it.name} is broken: {'; '.join(it.faults)}" for it in asked if it.faults
    ]
    whole = len(asked) - len(faults)
    left = [
        f"integrity: {it.name} not checked: {it.unchecked}"
        for it in trial.integrity
        if it.unchecked
    ]
    return ([f"integrity: {whole} questions found no fault"] if whole else []) + faults + left
