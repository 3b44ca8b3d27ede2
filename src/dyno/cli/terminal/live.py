"""Progress while trials play: a line that moves on a terminal, a line per block on a pipe.

The line shows how far the run is: block, candidate, rate, and the time left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.errors import DynoError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from dyno.instruments.time import watch
    from dyno.instruments.time.watch import Event, Watch
    from dyno.record import PhaseRecord, Run, Tally, Trial
    from dyno.runs.forecast.estimate import Forecast


#: Characters of the bar.
BAR = 16


class LinePrinter:
    """A plain line per block, and of what went wrong; with `verbose` a line per trial."""

    def __init__(self, verbose: bool = False) -> None:
        self.verbose = verbose
        self.run: Run | None = None
        self.trials: list[Trial] = []

    def __call__(self, event: Event) -> None:
        from dyno.instruments.time.watch import (
            BlockDropped,
            BlockJudged,
            LengthLearnt,
            RunStarted,
            TrialEnded,
        )

        if isinstance(event, RunStarted):
            self.run = event.run
        elif isinstance(event, TrialEnded) and self.run:
            self.trials += [event.trial] if event.trial.block >= 0 else []
            if self.verbose or is_told(event.trial):
                self._print(format_trial(self.run, event.trial))
        elif isinstance(event, BlockDropped) and not self.verbose:
            self._print(f"block {event.block + 1} dropped: {event.reason}")
        elif isinstance(event, LengthLearnt):
            self._print(event.sentence)
        elif isinstance(event, BlockJudged) and self.run:
            for workload in dict.fromkeys(t.workload for t in self.trials if not self.verbose):
                own = [trial for trial in self.trials if trial.workload == workload]
                self._print(format_block_end(self.run, own))
            self.trials = []

    def _print(self, lines: str) -> None:
        screen.print_lines(lines)
        sys.stdout.flush()


def format_block_end(run: Run, trials: Sequence[Trial]) -> str:
    """`block 3/24  old 384,418 events/s  new 379,307 events/s`: a block of a workload, with each
    candidate's rate in the first stream that a verdict rests on.
    """
    told = [format_block_place(run, trials[0].block)]
    if len(run.workloads) > 1:
        told.append(trials[0].workload)
    for trial in trials:
        if rates := [it for it in find_judged_streams(run, trial) if trial.status == "ok"]:
            rate = format_rate(*rates[0]).removeprefix(f"{rates[0][0].phase} ")
            told.append(f"{name_player(trial.candidate)} {rate}")
    return "  ".join(told)


def format_trial(run: Run, trial: Trial) -> str:
    block = format_block_place(run, trial.block)
    who = name_player(trial.candidate)
    said = f"{block}  trial {trial.number}  {who}  {trial.workload}  {trial.status}"
    left = "".join(f"\n  {screen.indent(each)}" for each in trial.left_behind)
    if trial.status == "failed":
        return f"{said}: {screen.indent(trial.why_failed)}{left}"
    rates = "  ".join(format_rate(phase, tally) for phase, tally in find_judged_streams(run, trial))
    seconds = sum((p.ended_ns - p.started_ns) / 1e9 for p in trial.phases)
    return f"{said}  {rates}  {screen.format_duration(seconds)}{left}"


def is_told(trial: Trial) -> bool:
    """Does its line stay on the screen: it failed, or left something behind?"""
    return trial.status == "failed" or bool(trial.left_behind)


def name_player(candidate: str) -> str:
    """The candidate's name; the client-only baseline is played on `null`."""
    from dyno.record import CLIENT_BASELINE

    return "null" if candidate == CLIENT_BASELINE else candidate


def format_block_place(run: Run, block: int) -> str:
    """`block 3/24`; beyond MAX come those that replay what noise has spoilt."""
    most = run.design.analyses[-1]
    if block < 0:
        return "baseline"
    return f"block {block + 1}/{most}" if block < most else f"block {block + 1} (replay)"


def find_judged_streams(run: Run, trial: Trial) -> list[tuple[PhaseRecord, Tally]]:
    """The streams that a verdict rests on; where there are none, the last phase's first."""
    declared = next((w.phases for w in run.workloads if w.name == trial.workload), ())
    wanted = {(p.name, m.stream) for p in declared for m in p.primary}
    found = [(p, t) for p in trial.phases for t in p.streams if (p.phase, t.name) in wanted]
    return found or [(p, t) for p in trial.phases[-1:] for t in p.streams[:1]]


def format_rate(phase: PhaseRecord, tally: Tally) -> str:
    """`qr100 8,123 queries/s`, with the failed ones if there were any."""
    per_s = tally.done * tally.units_per_event / phase.duration_s if phase.duration_s else 0.0
    failed = f" ({tally.failed:,} failed)" if tally.failed else ""
    return f"{phase.phase} {screen.format_rate(per_s)} {screen.form_plural(tally.unit)}/s{failed}"


@dataclass
class RunState:
    """Where a run stands, as far as its events told."""

    forecast: Forecast | None
    run: Run | None = None
    trial: watch.TrialStarted | None = None
    phase: watch.PhaseStarted | None = None
    progress: watch.Progressed | None = None
    judged: watch.BlockJudged | None = None
    blocks_s: list[float] = field(default_factory=list)
    block_begun_s: float = 0.0

    def take(self, event: watch.Event) -> str:
        """Notes `event`; answers the line that should stay on the screen, if any."""
        from dyno.instruments.time import watch

        match event:
            case watch.RunStarted():
                self.run = event.run
            case watch.TrialStarted():
                self.begin(event)
            case watch.PhaseStarted():
                self.phase, self.progress = event, None
            case watch.Progressed():
                self.progress = event
            case watch.TrialEnded() if self.run and is_told(event.trial):
                return format_trial(self.run, event.trial)
            case watch.BlockDropped():
                return f"block {event.block + 1} dropped: {event.reason}"
            case watch.LengthLearnt():
                return event.sentence
            case watch.BlockJudged():
                self.judged = event
        return ""

    def begin(self, trial: watch.TrialStarted) -> None:
        last, now = self.trial, time.monotonic()
        if last is None or (last.block, last.attempt) != (trial.block, trial.attempt):
            if last and last.block >= 0:
                self.blocks_s.append(now - self.block_begun_s)
            self.block_begun_s = now
        self.trial, self.phase, self.progress = trial, None, None

    def estimate_block_s(self) -> float:
        """Seconds that a block takes: measured where one is over, else foretold; 0: unknown."""
        if self.blocks_s:
            return sum(self.blocks_s) / len(self.blocks_s)
        if self.forecast and self.forecast.blocks_worst:
            return self.forecast.worst_s / self.forecast.blocks_worst
        return 0.0

    def count_missing(self, blocks: int) -> int:
        """Blocks still to be played until every workload has `blocks` valid ones."""
        valid = self.judged.valid if self.judged else {}
        names = [workload.name for workload in self.run.workloads] if self.run else []
        return sum(max(blocks - valid.get(name, 0), 0) for name in names)

    def estimate_share(self) -> float:
        """How much of the way to the next interim analysis is behind us, 0 to 1."""
        if not self.run:
            return 0.0
        target = self.judged.blocks if self.judged else self.run.design.analyses[0]
        wanted = target * len(self.run.workloads)
        block_s = self.estimate_block_s()
        into = (time.monotonic() - self.block_begun_s) / block_s if block_s else 0.0
        return (wanted - self.count_missing(target) + min(into, 1.0)) / wanted if wanted else 1.0

    def estimate_left_s(self, blocks: int) -> float:
        """Seconds until every workload has `blocks` valid blocks; 0: unknown."""
        if not self.estimate_block_s():
            return 0.0
        into = time.monotonic() - self.block_begun_s
        return max(round(self.estimate_block_s() * self.count_missing(blocks) - into), 1)


class LivePanel:
    """One line that moves; what should stay is printed above it."""

    def __init__(self, console: Console, state: RunState) -> None:
        self.console, self.state = console, state

    def __call__(self, event: watch.Event) -> None:
        stays = self.state.take(event)
        if stays:
            self.console.print(stays, markup=False)

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        return Text(format_panel(self.state), no_wrap=True, overflow="ellipsis")


def format_panel(state: RunState) -> str:
    """`██████░░░░░░  block 4/5 · 4 s left · new · qr100 308k/s, slowest 81 µs`."""
    if not state.trial or not state.run:
        return "  starting …"
    parts = [format_block(state), *format_trial_start(state.run, state.trial), *format_phase(state)]
    return f"  {draw_bar(state)}  {' · '.join(parts)}"


def draw_bar(state: RunState) -> str:
    share = min(max(state.estimate_share(), 0.0), 1.0)
    full = round(share * BAR)
    return "█" * full + "░" * (BAR - full)


def format_block(state: RunState) -> str:
    if not state.trial or not state.run or state.trial.block < 0:
        return "client-only baseline"
    analyses = state.run.design.analyses
    target, most = state.judged.blocks if state.judged else analyses[0], analyses[-1]
    said = format_block_place(state.run, state.trial.block)
    if target and (left := state.estimate_left_s(target)):
        said += f" · {screen.format_duration(left)} left"
        if target < most:
            said += f", at most {screen.format_duration(state.estimate_left_s(most))}"
    return said


def format_trial_start(run: Run, trial: watch.TrialStarted) -> list[str]:
    parts = [name_player(trial.candidate)]
    if len(run.workloads) > 1:
        parts.append(trial.workload)
    if trial.attempt > 1:
        parts.append(f"attempt {trial.attempt}")
    return parts


def format_phase(state: RunState) -> list[str]:
    """How fast the phase is now; its name where it is not the only one of its workload."""
    if not state.phase or not state.trial or not state.run:
        return ["starting the engine"]
    name, workload = state.phase.phase, state.trial.workload
    (names,) = (w.phase_names for w in state.run.workloads if w.name == workload)
    streams = [format_stream(each) for each in state.progress.streams] if state.progress else []
    return streams if streams and names == {name} else [name, *streams]


def format_stream(stream: watch.StreamProgress) -> str:
    said = f"{stream.name} {screen.format_rate(stream.rate_per_s)}/s"
    said += f", slowest {screen.format_latency(stream.latency_ns_max)}"
    return said + (f", {stream.failed:,} failed" if stream.failed else "")


@contextmanager
def watch_live(forecast: Forecast | None, verbose: bool = False) -> Iterator[Watch]:
    """A watch for `play_run`: drawn where stdout is a terminal, else a line per block, or with
    `verbose` per trial.
    """
    if not sys.stdout.isatty():
        yield LinePrinter(verbose)
        return
    from rich.live import Live

    console = screen.make_console()
    panel = LivePanel(console, RunState(forecast))
    with Live(panel, console=console, refresh_per_second=2, transient=True):
        yield panel


@contextmanager
def tell_what_stays(path: Path) -> Iterator[None]:
    stays = f"what was measured stays in {path}; `dyno resume {path.name}` goes on"
    try:
        yield
    except KeyboardInterrupt:
        judges = f"`dyno report {path.name}` judges what there is"
        raise KeyboardInterrupt(f"{stays}, {judges}") from None
    except DynoError as error:
        error.hint = f"{error.hint}; {stays}" if error.hint else stays
        raise
