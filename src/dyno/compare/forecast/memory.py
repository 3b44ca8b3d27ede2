"""Is there memory for the engines of a block at once? Trials that take turns are all up together.

Asked before the first block: what each engine takes by its settings, and an allowance for its
driver, against what this host has available. Where it does not fit, restarts are played one after
the other, or refused where the user insists on turns.
"""

from __future__ import annotations

from dyno.builds import Say
from dyno.compare.resolve.design import TURNS_ASKED, with_turns
from dyno.compare.resolve.experiment import MemoryAtOnce, Prepared, RunDraft
from dyno.engines import HoldsMemory
from dyno.errors import HostError
from dyno.host.checks import Machine
from dyno.host.checks.memory import available_bytes
from dyno.record import Candidate

#: What a driver takes, and each of its users: Lua state, histograms, answers (10 MB and 1 MB were
#: seen). A script may hold more, up to its option `memory_bytes`.
DRIVER_BYTES, USER_BYTES = 32 << 20, 2 << 20
#: Engines may take so much of what is available: the rest is the page cache's and others'.
SHARE = 0.9


def fit_memory(draft: RunDraft, say: Say, machine: Machine | None = None) -> None:
    """Notes what the engines of `draft` take at once; takes its turns away where that does not fit,
    which is said, or `HostError` where the user asked for turns.
    """
    if draft.design.turns is None:
        return
    found, measuring = memory_at_once(draft, machine or Machine()), draft.experiment.measuring
    if found is None or found.fits:
        draft.memory = found
        return
    if measuring.sequential is False:
        raise _lack(found)
    say(f"restarts are played one after the other, not by turns: {found.too_much}")
    draft.design = with_turns(draft.design, measuring, None)


def check_memory(prepared: Prepared, machine: Machine | None = None) -> None:
    """`HostError` where a run by turns, begun some time ago, has no room any more."""
    if prepared.design.turns is not None:
        found = memory_at_once(prepared, machine or Machine())
        if found is not None and not found.fits:
            raise _lack(found)


def _lack(found: MemoryAtOnce) -> HostError:
    hint = f"free some, give the engines smaller caches, or leave out {TURNS_ASKED}"
    return HostError("restarts cannot take turns", cause=found.too_much, hint=hint)


def memory_at_once(prepared: Prepared | RunDraft, machine: Machine) -> MemoryAtOnce | None:
    """What all engines take together; None where the host does not say what it has."""
    available = available_bytes(machine)
    if available is None:
        return None
    sides = prepared.candidates
    needed = sum(_bytes_of(side, prepared) for side in sides)
    return MemoryAtOnce(len(sides), needed, available, round(SHARE * available))


def _bytes_of(side: Candidate, prepared: Prepared | RunDraft) -> int:
    """A candidate's engine with its driver; a server that runs already has what it takes."""
    engine, build = prepared.engines[side.name], prepared.builds[side.name]
    connections = max(plan.under(side.options).most_connections for plan in prepared.workloads)
    own = 0
    if isinstance(engine, HoldsMemory) and not build.attached:
        own = engine.memory_bytes(build, side.settings, connections)
    return own + DRIVER_BYTES + connections * USER_BYTES
