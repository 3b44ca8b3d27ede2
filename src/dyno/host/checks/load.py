"""Survey: what others do with this machine right now; sampled only where the caller waits."""

from __future__ import annotations

from collections.abc import Iterator

from dyno.host.checks import choose_mark, make_not_visible, make_observation
from dyno.host.checks._machine import LoadSamples, Machine
from dyno.record import Observation

WEIGHTS = {"other load": 24, "steal": 24, "pressure": 12}
#: Percent of all cores' time, fair and poor; poor is where a block is dropped (METHOD.md, Which
#: blocks count).
STEAL, FOREIGN = (0.2, 2.0), (2.0, 10.0)
#: Percent of the time in which some task waited.
PRESSURE = (5.0, 20.0)
SHOWN = 3


def observe(machine: Machine) -> Iterator[Observation]:
    if machine.watch_s <= 0:
        return
    watched = machine.watched
    steal_why = "time that the hypervisor gives to others looks like the engine's"
    load_why = "processes that come and go take core time and cache from one trial and not the next"
    if watched is None:
        yield make_not_visible("steal", steal_why)
        yield make_not_visible("other load", load_why)
        return
    over = f"over {watched.seconds:.1f} s"
    steal = watched.steal_percent
    hint = "measure at another time or on a host of your own; `limits.steal_percent` drops blocks"
    yield make_observation(
        "steal", f"{steal:.1f} % {over}", choose_mark(steal, *STEAL), steal_why, hint
    )
    hint = "stop them while measuring; `limits.foreign_percent` drops blocks"
    busy = watched.busy_percent
    told = [f"{name} {percent:.0f} %" for name, percent in watched.find_busiest()[:SHOWN]]
    found = f"{busy:.1f} % of all cores {over}"
    if told:
        found += f" ({', '.join(told)} of one)"
    yield make_observation("other load", found, choose_mark(busy, *FOREIGN), load_why, hint)
    yield _observe_pressure(watched)


def _observe_pressure(watched: LoadSamples) -> Observation:
    """Pressure stall information (Documentation/accounting/psi.rst), line `some`."""
    why = "tasks that wait for a core, a disk or memory now will keep the engine waiting too"
    percent = watched.compute_pressure_percent()
    if not percent:
        return make_not_visible("pressure", why)
    found = ", ".join(f"{name} {value:.1f} %" for name, value in percent.items())
    mark = choose_mark(max(percent.values()), *PRESSURE)
    hint = "find who waits: ps -eo pid,stat,comm --sort=-%cpu | head"
    return make_observation("pressure", f"{found} of the time", mark, why, hint)
