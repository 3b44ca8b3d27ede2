"""The scenarios of METHOD 12, counted again here: made-up blocks, the rule of real ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import dyno
from dyno.calibration import Entry
from dyno.calibration.entry import telling
from dyno.stats import noise
from dyno.stats.scenarios import LOOKS, Scenario, figures

KIND = "synthetic"
RUNS = 20_000
#: How restarts vary where the method keeps its word, for a build with itself; then slowdowns.
SCENARIOS = (
    *(Scenario(model) for model in noise.SOUND),
    *(Scenario("normal", truth_percent=percent) for percent in (1.0, 2.0, 5.0)),
)


def what(scenario: Scenario) -> str:
    """`same build, heavy-tailed`."""
    truth = scenario.truth_percent
    sides = f"{truth:g} % slower" if truth else "same build"
    return f"{sides}, {scenario.model}"


def entry(scenario: Scenario, host: Mapping[str, str]) -> Entry:
    """Plays a scenario; about a second."""
    found = figures(scenario, RUNS)
    words = {
        "slower": found.slower.hits,
        "not slower": found.cleared.hits,
        "inconclusive": RUNS - found.slower.hits - found.cleared.hits,
    }
    looks = ", ".join(str(blocks) for blocks in LOOKS.blocks)
    return Entry(
        kind=KIND,
        engine="",
        what=what(scenario),
        effect_percent=scenario.truth_percent,
        words=words,
        utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        host=telling(host),
        covered=found.covered.hits,
        coverable=RUNS,
        settings={"block sd": f"{scenario.sd_percent:g} %", "looks": looks},
    )
