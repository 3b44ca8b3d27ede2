"""Plays an experiment: the only room that knows builds, engines, controls, probes and driver.

    resolve(experiment, say) -> Prepared      builds fetched, phases described, keys sorted out
    forecast(prepared) -> Forecast            how long, how much disk, what it can detect
    check_room(prepared)                      there is room on the disk, or `HostError`
    fit(prepared, budget_s) -> Prepared       fewer blocks, to end within a time
    sketched(experiment) -> Prepared          the same with nothing fetched, to be planned
    Planner(prepared, earlier)                what a time buys, what a slowdown costs to be found
    play(prepared, folder, watch) -> Run      blocks of trials, until the looks decide
    resume(folder, watch) -> Run              the same from where a run was torn
    play_once(prepared, watch) -> Trial       one trial of one candidate, nothing kept

Nothing here prints: `watch` is told what happens (`watch.py`).
"""

from dyno.conduct.estimate import Forecast, fit, forecast
from dyno.conduct.planned import Planned
from dyno.conduct.planner import Planner
from dyno.conduct.prepared import Prepared, resolve, sketched
from dyno.conduct.room import check_room
from dyno.conduct.run import play, play_once, resume

__all__ = [
    "Forecast",
    "Planned",
    "Planner",
    "Prepared",
    "check_room",
    "fit",
    "forecast",
    "play",
    "play_once",
    "resolve",
    "resume",
    "sketched",
]
