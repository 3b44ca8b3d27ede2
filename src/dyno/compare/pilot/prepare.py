"""The one preparation of a run: what it needs is looked for, and what its pilot finds is chosen.

- **How many** connections: `connections.py`.
- **Where** driver and server run: `pinning.py`.
- **How long** the slices are of candidates that are interleaved: `slices.py`.

All are fixed in `run.json`, the same for all candidates. Of a share only the slices are tried on
its host: another number of connections, or another place, would be another question on each host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dyno.builds import Say
from dyno.compare.pilot.connections import choose_connections, saturate
from dyno.compare.pilot.pinning import settle_pinning
from dyno.compare.pilot.slices import TriedEvents, choose_slices, settle_slices
from dyno.instruments.time.brief_play import PilotContext
from dyno.runs.forecast.estimate import fit_budget
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import (
    check_connections,
    check_disk_space,
    check_empty,
    fit_memory,
)


def prepare(
    draft: RunDraft,
    say: Say,
    budget_s: float | None = None,
    known: Mapping[str, Sequence[TriedEvents]] | None = None,
) -> Prepared:
    """A resolved run as it is played: with the connections, the place and the slices that the
    pilot chose, as far as memory and the budget, where there is one, let it.

    `known` are events of each workload, where somebody has seen them already: connections then stay
    as they are, and nothing is tried for slices. `HostError` where disk or memory do not suffice,
    `UsageError` for a budget that no verdict comes within, a database that holds somebody's tables,
    and more connections than a server lets in: each before the pilot plays anything.
    """
    check_empty(draft)
    check_connections(draft)
    check_disk_space(draft)
    context = PilotContext(say)
    if known is None and not draft.run.share and (found := saturate(draft, context)):
        choose_connections(draft, found)
    settle_pinning(draft, context)
    if known is None:
        settle_slices(draft, context)
    else:
        choose_slices(draft, known)
    fit_memory(draft, say)
    if budget_s is not None:
        fit_budget(draft, budget_s)
    return draft
