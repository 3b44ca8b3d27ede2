"""How long the statements of a log took that was played in its order, one at a time.

A closed loop at full speed would time each class with the queue behind all others: one class that
got slower would make `BEGIN` slower, too. Here nobody else is served meanwhile. What waited for a
lock has no time of its own, nor has what is refused, or prepared only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from dyno.driver.lockstep import read_log_answers
from dyno.instruments.time.log_contents import LogReplies
from dyno.record import Latency, PhaseRecord, Series, Tally, Usage
from dyno.workloads.replay.logs import OTHERS

#: As `crates/driver/src/lua/recording.lua` calls them.
PHASE, STREAM = "replay", "statement"
_PERCENTILES = ("1", "10", "25", "50", "75", "90", "95", "99", "99.5", "99.9", "99.99", "99.999")
_NOBODY = Usage(0, 0, 0, 0, 0)


def build_phase(played: LogReplies) -> PhaseRecord:
    """The play as a phase with one stream, each class of a name a transaction of its own."""
    names = [it.name or OTHERS for it in played.log.classes]
    times_ns, failed = defaultdict[str, list[int]](list), 0
    statements = played.log.list_statements()
    answers = read_log_answers(played.answers)
    for answer, statement in zip(answers, statements, strict=False):
        failed += answer.is_refused
        is_executed = not played.log.classes[statement.number].is_only_prepared
        if answer.elapsed_ns and is_executed and not answer.is_refused:
            times_ns[names[statement.number]].append(answer.elapsed_ns)
    tally = _make_tally(played, times_ns, failed)
    began_ns, ended_ns = played.span_ns
    return PhaseRecord(PHASE, began_ns, began_ns, ended_ns, False, _NOBODY, (tally,))


def _make_tally(played: LogReplies, times_ns: Mapping[str, list[int]], failed: int) -> Tally:
    known = played.played
    sent = known.statements if known else 0
    every = [it for own in times_ns.values() for it in own]
    done = len(every)
    return Tally(
        name=STREAM,
        unit="statement",
        units_per_event=1,
        connections=known.sessions if known else 0,
        target_per_s=None,
        intended=done + failed,
        done=done,
        failed=failed,
        skipped=0,
        warmup=0,
        restarted=0,
        queries=sent,
        rows_read=0,
        rows_changed=0,
        busy=0,
        errors={},
        service_ns=sum(every),
        latency=_measure(every),
        lateness=_measure((0,) * (done + failed)),  # each was due when it was sent
        transactions={name: _measure(own) for name, own in times_ns.items()},
        series=Series((done,), (failed,), (max(every, default=0),)),  # not told by second
    )


def _measure(times_ns: Sequence[int]) -> Latency:
    """The distribution, without a histogram."""
    found = np.array(times_ns or (0,))
    shares = [float(it) for it in _PERCENTILES]
    values = np.percentile(found, shares, method="inverted_cdf")
    percentiles = {name: int(value) for name, value in zip(_PERCENTILES, values, strict=True)}
    return Latency(len(times_ns), float(found.mean()), int(found.max()), percentiles, "")
