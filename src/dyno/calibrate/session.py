"""A session: what is still to be played on this host, one comparison after another, stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno import calibration
from dyno.builds import Say
from dyno.calibrate import synthetic
from dyno.calibrate.lots import GOALS, Lot, lots
from dyno.calibrate.pilot import Pilot, check, flown
from dyno.calibrate.played import played, settings
from dyno.calibrate.room import clear, room
from dyno.calibrate.shape import Shape
from dyno.calibration import METHOD, Entry
from dyno.calibration.entry import telling
from dyno.candidates import parse
from dyno.conduct.prepared import instrument
from dyno.errors import HostError

#: Told a line once it is stored: the lot, and how many of its goal are there now.
Tell = Callable[[Entry, int, int], None]


@dataclass(frozen=True)
class Wanted:
    """What a user asks for: engines by their specs, comparisons of each kind, how long at most.

    `made_up` asks for the synthetic scenarios too.
    """

    engines: Sequence[str]
    goals: Mapping[str, int] = field(default_factory=lambda: dict(GOALS))
    shape: Shape = field(default_factory=Shape)
    budget_s: float | None = None
    made_up: bool = True


@dataclass
class Session:
    """Plays what is wanted and not there yet; a later one goes on where this one stopped.

    `UsageError` at once for a word about any engine that cannot be: the others take hours.
    """

    wanted: Wanted
    say: Say
    tell: Tell
    host: dict[str, str] = field(default_factory=instrument)

    def __post_init__(self) -> None:
        for text in self.wanted.engines:
            check(text, self.wanted.shape)
        self.file = calibration.path(self.host)
        self.began_s = time.monotonic()

    def current(self) -> list[Entry]:
        """The lines that were found with this host and this method as they are."""
        ours = (telling(self.host), METHOD)
        return [e for e in calibration.entries(self.file) if (e.host, e.method) == ours]

    def play(self) -> bool:
        """Until every goal is reached (True) or the budget is spent."""
        with room(self.file) as place:
            if self.wanted.made_up:
                self._make_up()
            return all(self._engine(text, place) for text in self.wanted.engines)

    def _make_up(self) -> None:
        there = {entry.what for entry in self.current() if entry.kind == synthetic.KIND}
        for scenario in synthetic.SCENARIOS:
            if synthetic.what(scenario) not in there:
                self._store(synthetic.entry(scenario, self.host), 1, 1)

    def _engine(self, text: str, place: Path) -> bool:
        """The engine's lots in turn, the one that lacks most first, so that each has some."""
        pilot = flown(text, self.wanted.shape, self.say)
        found = lots(text, pilot, self.wanted.goals)
        while open_lots := [lot for lot in found if self._done(lot, pilot) < lot.goal]:
            lot = min(open_lots, key=lambda each: self._done(each, pilot) / each.goal)
            if not self._affords(lot):
                return False
            entry = played(lot, self.wanted.shape, pilot, place, self.say)
            clear(place)
            self._store(entry, self._done(lot, pilot) + 1, lot.goal)
        return True

    def _store(self, entry: Entry, done: int, of: int) -> None:
        calibration.append(self.file, entry)
        if entry.host != telling(self.host):  # it would never count as done
            hint = "the comparison is stored; the same command begins anew on the host as it is"
            raise HostError("the host or the driver changed while it was calibrated", hint=hint)
        self.tell(entry, done, of)

    def _of(self, lot: Lot, pilot: Pilot) -> list[Entry]:
        same = (lot.kind, parse(lot.base).engine, lot.what, lot.effect_percent)
        chosen = settings(lot, self.wanted.shape, pilot)
        return [
            e
            for e in self.current()
            if (e.kind, e.engine, e.what, e.effect_percent) == same and e.settings == chosen
        ]

    def _done(self, lot: Lot, pilot: Pilot) -> int:
        return len(self._of(lot, pilot))

    def _affords(self, lot: Lot) -> bool:
        """Would a comparison as long as the last one on this engine end within the budget?"""
        if self.wanted.budget_s is None:
            return True
        engine = parse(lot.base).engine
        last = [entry.seconds for entry in self.current() if entry.engine == engine][-1:]
        return time.monotonic() - self.began_s + sum(last) <= self.wanted.budget_s
