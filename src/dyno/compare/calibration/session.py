"""A calibration session: plays what this host still lacks, one comparison at a time, and stores it.

Comparisons are played in a folder of their own, empty at first and cleared after a kill. The
scenarios of METHOD.md, What it is worth, are counted again as well: simulated blocks, judged by the
rule for real ones.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

import dyno
from dyno import private_files
from dyno.builds import Say, compute_sha256
from dyno.compare import calibration
from dyno.compare.calibration import METHOD, CalibrationEntry
from dyno.compare.calibration.cases import (
    ANSWERS_LEAST,
    GOALS,
    INJECTED,
    INJECTED_PERCENT,
    CalibrationCase,
    list_cases,
)
from dyno.compare.calibration.comparison import choose_settings, play_blocks, play_comparison
from dyno.compare.calibration.copies import make_two_copies
from dyno.compare.calibration.dose_response import BlockPlayer, DoseResponse, run_dose_series
from dyno.compare.calibration.pilot import (
    CalibrationPilot,
    Shape,
    check_pilot,
    measure_baseline,
    settle_shape,
)
from dyno.compare.calibration.store import DOSE_RESPONSE, instrument
from dyno.driver import find_driver
from dyno.errors import HostError, UsageError, find_fullest
from dyno.judge.stats import scenarios
from dyno.judge.stats.scenarios import ANALYSES, Scenario, compute_figures
from dyno.locks import try_lock
from dyno.record import Run, Trial
from dyno.record.host import select_facts
from dyno.runs.experiment import Experiment
from dyno.runs.experiment.candidates import parse_candidate
from dyno.runs.resolve.experiment import describe_host
from dyno.runs.run_folder import list_runs


@contextmanager
def hold_folder(file: Path) -> Iterator[Path]:
    """A folder beside the store `file`, for nobody else meanwhile; `HostError` where somebody is.

    What a killed calibration left is removed first, its engines' data as well.
    """
    place = file.with_suffix(".playing")
    try:
        private_files.make_folder(place.parent, exist_ok=True)
        with open(file.with_suffix(".lock"), "w", opener=private_files.open_private) as lock:
            if not try_lock(lock.fileno()):
                hint = "wait for it: two at once would disturb each other"
                raise HostError(f"another dyno is calibrating this host ({file})", hint=hint)
            clear_folder(place)
            private_files.make_folder(place)
            try:
                yield place
            finally:
                clear_folder(place)
    except PermissionError as error:
        hint = "set DYNO_STATE to a folder that can be written"
        raise HostError(
            f"cannot write {file.parent}",
            cause=f"{error.strerror}{find_fullest(error, file.parent)}",
            hint=hint,
        ) from error


def clear_folder(place: Path) -> None:
    """Removes the runs in `place`, and the folders where their engines keep data."""
    for run in list_runs(place):
        run.clear_homes()
    shutil.rmtree(place, ignore_errors=True)


KIND = "synthetic"
#: The word of a dose-response check whose slope is 1.
TRANSMITTED = "transmitted"
RUNS = 20_000
#: How restarts vary where the method keeps its word, for a build with itself; then slowdowns; then
#: one arm with a long tail, and a slow mode that few restarts show.
SCENARIOS = (
    *(Scenario(model) for model in scenarios.SOUND),
    *(Scenario("normal", truth_percent=percent) for percent in (1.0, 2.0, 5.0)),
    Scenario("long tail in the base", 5.0),
    Scenario("long tail in the candidate", truth_percent=2.0),
    Scenario("rare slow mode", 1.0, 2.0),
)


def format_title(scenario: Scenario) -> str:
    """`same build, heavy-tailed`."""
    truth = scenario.truth_percent
    sides = f"{truth:g} % slower" if truth else "same build"
    return f"{sides}, {scenario.model}"


def play_scenario(
    scenario: Scenario, host: Mapping[str, str], runs: int = RUNS
) -> CalibrationEntry:
    """Plays a scenario in so many made-up runs; about a second."""
    found = compute_figures(scenario, runs)
    words = {
        "slower": found.slower.hits,
        "not slower": found.cleared.hits,
        "inconclusive": runs - found.slower.hits - found.cleared.hits,
    }
    analyses = ", ".join(str(blocks) for blocks in ANALYSES.blocks)
    return CalibrationEntry(
        kind=KIND,
        engine="",
        what=format_title(scenario),
        effect_percent=scenario.truth_percent,
        words=words,
        utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        host=select_facts(host),
        covered=found.covered.hits,
        coverable=runs,
        settings={"block sd": f"{scenario.sd_percent:g} %", "analyses": analyses},
    )


def _make_empty_dose_response(
    text: str, shape: Shape, pilot: CalibrationPilot, host: Mapping[str, str]
) -> CalibrationEntry:
    """The line of a dose-response check that is still to be played."""
    return CalibrationEntry(
        kind=DOSE_RESPONSE,
        engine=parse_candidate(text).engine,
        what="sizes ×1, ×3, ×10",
        effect_percent=0.0,
        words={},
        utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        host=select_facts(host),
        settings={**shape.settings, "version": pilot.version},
    )


def _size_cases(
    cases: Callable[[CalibrationPilot], list[CalibrationCase]],
    pilots: Mapping[bool, CalibrationPilot],
) -> list[CalibrationCase]:
    """The cases, those beside a hog by the pilot under True, the others by the one under False."""
    return [
        case for hog, pilot in pilots.items() for case in cases(pilot) if case.beside_hog == hog
    ]


#: Plays a case with the pilot's figures, its run in the folder.
ComparisonPlayer = Callable[[CalibrationCase, Shape, CalibrationPilot, Path, Say], CalibrationEntry]
#: Told a line once it is stored: the case, and how many of its goal are there now.
Tell = Callable[[CalibrationEntry, int, int], None]


def instrument_here() -> dict[str, str]:
    """This host and this driver, as a calibration speaks for them."""
    return instrument(describe_host(), compute_sha256(find_driver()))


@dataclass(frozen=True)
class CalibrationOptions:
    """What a user asks for: engines by their specs, comparisons of each kind, how long at most.

    `made_up` asks for the synthetic scenarios too; `injected_percent` are the slowdowns to inject.
    """

    engines: Sequence[str]
    goals: Mapping[str, int] = field(default_factory=lambda: dict(GOALS))
    shape: Shape = field(default_factory=Shape)
    budget_s: float | None = None
    made_up: bool = True
    injected_percent: Sequence[float] = INJECTED_PERCENT


@dataclass
class CalibrationSession:
    """Plays what is wanted and not there yet; a later one goes on where this one stopped.

    `UsageError` at once for a word about any engine that cannot be: the others take hours.
    A test hands in its own `settle`, `measure_baseline`, `run_dose_series` and `play_comparison`.
    """

    options: CalibrationOptions
    say: Say
    tell: Tell
    host: dict[str, str] = field(default_factory=instrument_here)
    settle: Callable[[str, Shape, Say], Shape] = settle_shape
    measure_baseline: Callable[[str, Shape, Say], CalibrationPilot] = measure_baseline
    run_dose_series: Callable[[str, Shape, CalibrationPilot, BlockPlayer], DoseResponse] = (
        run_dose_series
    )
    play_comparison: ComparisonPlayer = play_comparison

    def __post_init__(self) -> None:
        if any(percent <= 0.0 for percent in self.options.injected_percent):
            raise UsageError("--inject must be above 0", hint="for instance --inject 1%")
        for text in self.options.engines:
            check_pilot(text, self.options.shape)
        self.file = calibration.find_store(self.host)
        self.began_s = time.monotonic()

    def find_current(self) -> list[CalibrationEntry]:
        """The lines that were found with this host and this method as they are."""
        ours = (select_facts(self.host), METHOD)
        return [e for e in calibration.read_entries(self.file) if (e.host, e.method) == ours]

    def play(self) -> bool:
        """Until every goal is reached (True) or the budget is spent."""
        with hold_folder(self.file) as place:
            if self.options.made_up:
                self._make_up()
            return all(self._calibrate_engine(text, place) for text in self.options.engines)

    def _make_up(self) -> None:
        there = {entry.what for entry in self.find_current() if entry.kind == KIND}
        for scenario in SCENARIOS:
            if format_title(scenario) not in there:
                self._store(play_scenario(scenario, self.host), 1, 1)

    def _calibrate_engine(self, text: str, place: Path) -> bool:
        """The engine's cases, as far as they can be compared here."""
        options = self.options
        shape = self.settle(text, options.shape, self.say)
        pilot = self.measure_baseline(text, shape, self.say)
        goals = dict(options.goals)
        if not self._check_transmission(text, shape, pilot, place):
            goals = {kind: goal for kind, goal in goals.items() if kind not in INJECTED}
        with make_two_copies(text, pilot) as copies:

            def list_cases_of(pilot: CalibrationPilot) -> list[CalibrationCase]:
                return list_cases(text, pilot, goals, options.injected_percent, copies)

            return self._play_cases(list_cases_of, shape, pilot, place)

    def _check_transmission(
        self, text: str, shape: Shape, pilot: CalibrationPilot, place: Path
    ) -> bool:
        """Does what is injected in the engine cost what it should? Asked once for a host and size.

        Of `null`, whose delay is its whole answer, and where nothing is to be injected: True.
        """
        injected = any(self.options.goals.get(kind) for kind in INJECTED)
        if not injected or parse_candidate(text).engine == "null":
            return True
        if pilot.answers_per_op < ANSWERS_LEAST:
            return True
        entry = _make_empty_dose_response(text, shape, pilot, self.host)
        known = [
            each.words
            for each in self.find_current()
            if (each.kind, each.engine, each.settings)
            == (DOSE_RESPONSE, entry.engine, entry.settings)
        ]
        if known:
            return TRANSMITTED in known[-1]

        def play(experiment: Experiment) -> tuple[Run, list[Trial]]:
            return play_blocks(experiment, pilot, place, self.say)

        response = self.run_dose_series(text, shape, pilot, play)
        clear_folder(place)
        self.say(f"{text}: {response.sentence}")
        if response.known:
            word = TRANSMITTED if response.transmitted else f"not {TRANSMITTED}"
            calibration.append(
                self.file, structs.replace(entry, slope=response.slope, words={word: 1})
            )
        return response.transmitted

    def _play_cases(
        self,
        cases: Callable[[CalibrationPilot], list[CalibrationCase]],
        shape: Shape,
        pilot: CalibrationPilot,
        place: Path,
    ) -> bool:
        """Each in turn, the one that lacks most first, so that each has some.

        What is injected is sized by the last comparison under the same noise: a host has its hours,
        and by one pilot at the beginning sizes were far off (docs/evidence/injected-delays.md).
        """
        pilots = {False: pilot, True: pilot}

        def count_done(case: CalibrationCase) -> int:
            return len(self._find_entries(case, choose_settings(case, shape, pilot)))

        def is_open(case: CalibrationCase) -> bool:
            return count_done(case) < case.goal

        while open_cases := list(filter(is_open, _size_cases(cases, pilots))):
            case = min(open_cases, key=lambda each: count_done(each) / each.goal)
            if not self._affords(case):
                return False
            entry = self.play_comparison(case, shape, pilot, place, self.say)
            clear_folder(place)
            self._store(entry, count_done(case) + 1, case.goal)
            if entry.operation_ns:
                pilots[case.beside_hog] = replace(pilot, per_op_ns=entry.operation_ns)
        return True

    def _store(self, entry: CalibrationEntry, done: int, of: int) -> None:
        calibration.append(self.file, entry)
        if entry.host != select_facts(self.host):  # it would never count as done
            hint = (
                "the comparison is stored; run the same command to start again on the changed host"
            )
            raise HostError("the host or the driver changed while it was calibrated", hint=hint)
        self.tell(entry, done, of)

    def _find_entries(
        self, case: CalibrationCase, settings: Mapping[str, str]
    ) -> list[CalibrationEntry]:
        same = (case.kind, parse_candidate(case.base).engine, case.title, case.effect_percent)
        return [
            e
            for e in self.find_current()
            if (e.kind, e.engine, e.what, e.effect_percent) == same and e.settings == settings
        ]

    def _affords(self, case: CalibrationCase) -> bool:
        """Would a comparison as long as the last one on this engine end within the budget?"""
        if self.options.budget_s is None:
            return True
        engine = parse_candidate(case.base).engine
        last = [entry.seconds for entry in self.find_current() if entry.engine == engine][-1:]
        return time.monotonic() - self.began_s + sum(last) <= self.options.budget_s
