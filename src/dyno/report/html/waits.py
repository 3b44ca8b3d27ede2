"""The table of what a candidate's sessions waited for, and a sentence on how that is known."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dyno.record import Cause, PhaseRecord, WaitDifference
from dyno.report.html.markup import render

_TEMPLATE = """
{% for sentence in missing %}<p class="aside">{{ sentence }}</p>
{% endfor %}{% if cause.waits %}<div class="scroll" tabindex="0"><table id="{{ anchor }}">
<caption>What {{ cause.candidate }}'s sessions were at for an operation, against {{ base }}, with
its share of the database's time</caption>
<thead><tr><th scope="col">waiting for</th><th scope="col" class="n">{{ base }}</th>
<th scope="col" class="n">{{ cause.candidate }}</th><th scope="col" class="n">difference</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col">differs</th>
<th scope="col">most of it</th></tr></thead>
<tbody>{% for it in cause.waits | sort(attribute="phase") | sort(attribute="workload") %}
{% if loop.changed((it.workload, it.phase)) %}<tr class="group">
<th scope="rowgroup" colspan="7">{{ it.workload }}, {{ it.phase }}</th></tr>{% endif %}
<tr><th scope="row">{{ name_wait(it) }}</th>
<td class="n">{{ it.base_us | quantity("µs") }}{{ format_share(it.base_share) }}</td>
<td class="n">{{ it.candidate_us | quantity("µs") }}{{ format_share(it.candidate_share) }}</td>
<td class="n">{{ it.difference_us | quantity("µs") }}</td>
<td class="n">[{{ it.low_us | quantity("µs") }}, {{ it.high_us | quantity("µs") }}]</td>
<td>{{ "yes" if it.differs else "" }}</td>
<td class="wrap">{{ list_events(it) }}</td></tr>{% endfor %}
</tbody></table></div>{% endif %}{% if sampling %}<p class="aside">{{ sampling }}</p>{% endif %}
"""
#: Events that a row names, the largest first.
EVENTS_NAMED = 3


def build_wait_table(
    cause: Cause, base: str, level: str, anchor: str, records: Sequence[PhaseRecord]
) -> Markup:
    """The table of a candidate; `records` are all phases of the run."""
    return render(
        _TEMPLATE,
        cause=cause,
        base=base,
        level=level,
        anchor=anchor,
        name_wait=_name_wait,
        format_share=_format_share,
        list_events=_list_events,
        sampling=_describe_sampling(records),
        missing=list_missing(cause, records),
    )


#: What a probe of the server's own counts is called.
ASKED = {"work": "the counters of its own work", "contention": "page splits and lock waits"}


def list_missing(cause: Cause, records: Sequence[PhaseRecord]) -> list[str]:
    """A sentence for each thing that a server was asked for and did not tell, and for counters that
    one side does not know: all others stand.
    """
    reasons = {
        f"A server did not tell {what}: {record.unread[probe].rstrip('.')}."
        for record in records
        for probe, what in ASKED.items()
        if probe in record.unread
    }
    words = ", ".join(name.replace("_", " ") for name in cause.uncounted)
    one_sided = [f"Not compared, since one side does not count it: {words}."] if words else []
    return sorted(reasons) + one_sided


def _name_wait(wait: WaitDifference) -> str:
    if wait.is_counted:
        return f"{wait.kind}, by the engine's own count"
    return "nothing: running" if wait.kind == "running" else wait.kind


def _format_share(share: float | None) -> str:
    """`, 40.0 %`; empty where it is not known."""
    return "" if share is None else f", {100 * share:.1f}\N{NARROW NO-BREAK SPACE}%"


def _list_events(wait: WaitDifference) -> str:
    """Of the side that waits longer."""
    events = (wait.events if wait.difference_us > 0 else wait.base_events) or {}
    return ", ".join([name for name, us in events.items() if name and us > 0][:EVENTS_NAMED])


def _describe_sampling(records: Sequence[PhaseRecord]) -> str:
    """What the samples are and what taking them cost on our side, or why there are none."""
    sampled = [(record, record.waits) for record in records if record.waits]
    if not sampled:
        why = next((record.unread["waits"] for record in records if "waits" in record.unread), "")
        return f"Sessions were not sampled: {why}." if why else ""
    own_ns = sum(record.own_time_ns for record, _ in sampled)
    cost = 100 * sum(waits.cpu_ns for _, waits in sampled) / max(1, own_ns)
    return (
        f"Sessions were sampled {sum(waits.samples for _, waits in sampled):,} times, on all sides "
        f"alike; asking took {cost:.2g} % of a core beside what the server took to answer. Who "
        "waits for the client's next statement is left out."
    )
