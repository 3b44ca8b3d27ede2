"""Audit `client_bottleneck`: beside a server of its own, was the driver itself at its limit?

A worker thread of the driver that is always busy takes no more answers, however fast they come:
then the client was measured and not the engine (METHOD.md, What is compared). And a thread that is
busy for half of the time is half of what a single connection waits for, so that an engine's
slowdown shows at half its size. Both are nothing where the server is busy all the time: it was the
bottleneck.

- The driver: CPU of its busiest thread, in percent of the time (probe `client`).
- The server: CPU of all its processes, in percent of the cores that it can use: those left to it
  by the control `pinning`, but no more than there are connections. Unknown, and so never an excuse,
  where somebody else started it.

Where all streams are paced, or their users rest (`dyno.rest`), the driver rests on purpose, and
spins for a moment before each time that it waits for: there only its own limit is judged. Where
both share their cores, a driver that waits for one is not seen here. Engines inside the driver's
process are judged by `client_share`. Of several client hosts that with the busiest thread is
judged, and named: it holds its users up, however idle the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Inapplicable, Unchecked, Unjudged, conclude, list_cases
from dyno.judge.audits._server_share import compute_server_percent
from dyno.record import Finding, Run, Soundness

#: Of the busiest thread's time, as in `client_share`.
DOUBTFUL_PERCENT = 50.0
LIMIT_PERCENT = 90.0


class ClientBottleneck:
    """The driver's busiest thread against the server's cores."""

    summary = "no thread of the driver is near its limit while a server is idle"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and phase that is not sound; else one with the busiest."""
        run, trials = view.run, view.trials
        busy = {
            case.name: percent
            for case in list_cases(run, trials)
            if (percent := _compute_driver_percent(case)) is not None
        }
        findings = [
            Finding("client_bottleneck", soundness, sentence, case.trials)
            for case in list_cases(run, trials)
            if case.name in busy
            for soundness, sentence in _find_faults(run, case, busy[case.name])
        ]
        beside = [case for case in list_cases(run, trials) if not case.candidate.embedded]
        return conclude(
            "client_bottleneck", findings, _describe_sound(busy), _list_unjudged(run, beside, busy)
        )


def _find_faults(run: Run, case: Case, driver: float) -> list[tuple[Soundness, str]]:
    server = compute_server_percent(run, case)
    words = f"{case.name}: {_describe_thread(case)} worked {driver:.0f} % of the time"
    if server is not None:
        words = f"{words}, the server {server:.0f} % of its own"
    if driver >= LIMIT_PERCENT:
        if server is not None and server >= LIMIT_PERCENT:
            return [("doubtful", f"{words}: both were at their limit")]
        return [("invalid", f"{words}, so the client was measured and not the engine")]
    on_purpose = all(tally.rests_on_purpose for r in case.records for tally in r.streams)
    rested = server is None or server < LIMIT_PERCENT
    if driver >= DOUBTFUL_PERCENT and rested and not on_purpose:
        return [("doubtful", f"{words}, so an engine's slowdown may show at half its size or less")]
    return []


def _list_unjudged(run: Run, beside: Sequence[Case], busy: dict[str, float]) -> list[Unjudged]:
    if not busy and all(side.embedded for side in run.candidates):
        return [Inapplicable("no candidate is a server beside the driver")]
    unknown = [case.name for case in beside if case.name not in busy]
    return [Unchecked("how busy the driver's threads were is not known", name) for name in unknown]


def _describe_sound(busy: dict[str, float]) -> str:
    if not busy:
        return ""
    most = max(busy, key=lambda name: busy[name])
    worked = f"the driver's busiest thread worked {busy[most]:.0f} % of the time at most"
    return f"{worked} (of {len(busy)}, {most})"


def _compute_hosts_percent(case: Case) -> dict[str, float]:
    """How busy the busiest thread of each client host was; empty where one driver played."""
    found: dict[str, list[float]] = {}
    for record in case.records:
        for part in record.clients:
            found.setdefault(part.host, []).append(
                min(100, part.busiest_percent / record.own_share)
            )
    return {host: median(values) for host, values in found.items()}


def _describe_thread(case: Case) -> str:
    hosts = _compute_hosts_percent(case)
    if len(hosts) < 2:
        return "the driver's busiest thread"
    return f"the busiest thread of client host {max(hosts, key=lambda host: hosts[host])}"


def _compute_driver_percent(case: Case) -> float | None:
    if (hosts := _compute_hosts_percent(case)) and not case.candidate.embedded:
        return max(hosts.values())
    found = [
        reading.value
        for record in case.records
        for reading in record.readings
        if reading.name == "driver_busy_percent"
    ]
    return median(found) if found else None


AUDIT = ClientBottleneck()
