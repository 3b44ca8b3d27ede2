"""Scripts for sysbench, played by the real driver: what their only stream counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.record import PhaseRecord, Tally

NULL: Session = {"kind": "null", "delay_ns": 0}


@dataclass(frozen=True)
class Player:
    """Plays texts as scripts out of a folder."""

    folder: Path
    session: Session = field(default_factory=lambda: NULL)

    def __call__(
        self, text: str, command: str = "run", /, **options: object
    ) -> tuple[Tally, dict[str, int]]:
        """What the stream counted, and the script's own counters."""
        script = self.folder / "script.lua"
        script.write_text(text)
        words = {name: str(value) for name, value in options.items()}
        plan = Plan(self.session, Script(str(script), words), 7, (command,))
        tallies: list[Tally] = []
        with driver.DriverProcess(plan, driver.DriverLaunch(self.folder / "log")) as process:
            while not isinstance(event := process.read_event(driver.Limit("it", 20)), driver.End):
                if isinstance(event, PhaseRecord):
                    tallies += event.streams
                if not isinstance(event, driver.Progress):
                    process.go()
        (tally,) = tallies
        return tally, event.counters

    def printed(self) -> str:
        """What the scripts wrote to stdout and stderr."""
        return (self.folder / "log").read_text()
