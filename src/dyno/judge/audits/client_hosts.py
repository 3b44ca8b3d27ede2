"""Audit `client_hosts`: did the hosts that played a load together play it at one time, undisturbed?

- Start: the first and the last user of all hosts began within a spread that is known as well as the
  clocks are. *Doubtful* from 1 % of the phase on: a host that measures beside an idle one tells
  another rate.
- Clocks: measured before the phase and after it. *Doubtful* where one went by more than both
  errors and a thousandth of the phase.
- Others: what the hypervisor took from a host, and what else ran there. *Doubtful* beyond the
  limits on noise that hold for blocks (METHOD.md, Which blocks count), of a host whose machine is
  its own; what a kernel does not tell is not known.

The median of the restarts counts. Whether a host's driver was at its limit is judged by
`client_bottleneck`. Trials whose clocks were not known well enough are none: they are refused when
they are played.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Inapplicable, Unchecked, conclude, list_cases
from dyno.record import ClientPart, Finding, PhaseRecord
from dyno.record.clients import compute_start_spread

SPREAD_SHARE = 0.01
DRIFT_SHARE = 0.001


class ClientHosts:
    """The start, the clocks and the neighbours of client hosts."""

    summary = "hosts that play a load together begin together, and have their cores"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each phase and host that is not sound; else one with the widest start."""
        cases = [case for case in list_cases(view.run, view.trials) if _list_shared(case)]
        faults = [
            case.make_finding("client_hosts", "doubtful", words)
            for case in cases
            for words in (
                *_find_time_faults(case),
                *_find_noise_faults(case, view.run.design.limits),
            )
        ]
        if not view.run.client_hosts:
            return conclude("client_hosts", [], "", [Inapplicable("one driver played the load")])
        unseen = sorted({part.host for case in cases for part in _list_unseen(case)})
        left = [Unchecked("what else ran there is not known", host) for host in unseen]
        return conclude("client_hosts", faults, _describe_sound(cases), left)


def _list_shared(case: Case) -> list[PhaseRecord]:
    return [record for record in case.records if record.clients]


def _list_unseen(case: Case) -> list[ClientPart]:
    return [p for r in _list_shared(case) for p in r.clients if p.foreign_percent is None]


def _find_time_faults(case: Case) -> Iterator[str]:
    records = _list_shared(case)
    length_ns = median(record.ended_ns - record.started_ns for record in records)
    spread_ns, error_ns = _compute_spread(case)
    if spread_ns > SPREAD_SHARE * length_ns:
        yield f"its clients started within {_format_us(spread_ns)} ± {_format_us(error_ns)} only"
    for host in _list_hosts(case):
        parts = [part for record in records for part in record.clients if part.host == host]
        beyond = [abs(p.drift_ns) - p.clock.error_ns - p.clock_after.error_ns for p in parts]
        if median(beyond) > DRIFT_SHARE * length_ns:
            drift_ns = median(abs(part.drift_ns) for part in parts)
            yield f"the clock of client host {host} went by {_format_us(drift_ns)} in a phase"


def _find_noise_faults(case: Case, limits: dict[str, float]) -> Iterator[str]:
    kinds = (
        ("stolen_percent", "steal_percent", "steal"),
        ("foreign_percent",) * 2 + ("foreign CPU",),
    )
    for host in _list_hosts(case):
        parts = [p for record in _list_shared(case) for p in record.clients if p.host == host]
        for name, limit, word in kinds:
            found = [value for part in parts if (value := getattr(part, name)) is not None]
            most = limits.get(limit, 100.0)
            if found and median(found) > most:
                yield f"client host {host} had {median(found):.1f} % {word} (limit {most:g} %)"


def _list_hosts(case: Case) -> list[str]:
    return list(dict.fromkeys(p.host for record in _list_shared(case) for p in record.clients))


def _compute_spread(case: Case) -> tuple[float, float]:
    """Medians over the restarts, in ns."""
    spreads = [compute_start_spread(record.clients) for record in _list_shared(case)]
    return median(s for s, _ in spreads), median(e for _, e in spreads)


def _describe_sound(cases: list[Case]) -> str:
    if not cases:
        return ""
    widest = max(cases, key=lambda case: _compute_spread(case)[0])
    spread_ns, error_ns = _compute_spread(widest)
    hosts = len(_list_hosts(widest))
    return (
        f"clients on {hosts} host{'s' if hosts > 1 else ''} started within "
        f"{_format_us(spread_ns)} ± {_format_us(error_ns)} ({widest.name})"
    )


def _format_us(time_ns: float) -> str:
    return f"{time_ns / 1e6:,.1f} ms" if time_ns >= 1e6 else f"{time_ns / 1e3:,.0f} µs"


AUDIT = ClientHosts()
