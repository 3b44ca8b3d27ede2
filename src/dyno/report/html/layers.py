"""Tables of CPU time by layer, and of the functions in them that changed most."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from dyno.judge.analysis.layer_words import (
    describe_explained,
    describe_unattributed,
    format_ends,
    format_time,
)
from dyno.record.cause import CpuDifference, FunctionDifference, LayerDifference
from dyno.report.html.markup import render

_LAYERS = """
<h3 id="{{ anchor }}">CPU time of an operation by layer, {{ candidate }} against {{ base }}:
{{ where }}</h3>
<div class="scroll" tabindex="0"><table class="layers">
<thead><tr><th scope="col">layer</th><th scope="col" class="n">{{ base }}</th>
<th scope="col" class="n">{{ candidate }}</th><th scope="col" class="n">difference</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col">word</th></tr></thead>
<tbody>{% for row in rows %}
<tr{% if loop.first %} class="strong"{% endif %}><th scope="row">{{ row.name }}</th>
{% for cell in row.cells %}<td class="n">{{ cell }}</td>{% endfor %}
<td><span class="badge {{ row.mark }}">{{ row.word }}</span></td></tr>{% endfor %}
</tbody></table></div>
<p class="aside">{{ notes }}</p>
{% if functions %}<details><summary>Functions that changed most, by layer</summary>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">function</th><th scope="col" class="n">{{ base }}</th>
<th scope="col" class="n">{{ candidate }}</th><th scope="col" class="n">difference</th>
<th scope="col" class="n">{{ level }}&#8239;% interval</th><th scope="col">differs</th></tr></thead>
<tbody>{% for layer, own in functions %}
<tr class="group"><th scope="rowgroup" colspan="6">{{ layer }}</th></tr>{% for row in own %}
<tr><th scope="row" class="wrap">{{ row.name }}</th>
{% for cell in row.cells %}<td class="n">{{ cell }}</td>{% endfor %}
<td>{{ row.word }}</td></tr>{% endfor %}{% endfor %}
</tbody></table></div></details>{% endif %}
"""
#: How a word is coloured.
_MARKS = {"costlier": "slower", "cheaper": "faster", "undecided": ""}


def build_layer_table(cpu: CpuDifference, base: str, level: str, anchor: str) -> Markup:
    """The whole, its layers, and behind a fold the functions of each."""
    rows = [_make_row(cpu, each) for each in (cpu.total, *cpu.layers)]
    functions = [
        (layer.layer, [_make_row(cpu, each) for each in layer.functions])
        for layer in cpu.layers
        if layer.functions
    ]
    return render(
        _LAYERS,
        anchor=anchor,
        base=base,
        candidate=cpu.candidate,
        where=f"{cpu.workload}, {cpu.phase}",
        level=level,
        rows=rows,
        functions=functions,
        notes=" ".join(_list_notes(cpu)),
    )


def _make_row(cpu: CpuDifference, row: LayerDifference | FunctionDifference) -> dict[str, object]:
    scale_ns = cpu.total.base_ns
    times = (format_time(ns, scale_ns, further=1) for ns in (row.base_ns, row.candidate_ns))
    difference = format_time(row.difference_ns, scale_ns, signed=True, further=1)
    cells = [*times, difference, format_ends(row.low_ns, row.high_ns, scale_ns, further=1)]
    if isinstance(row, LayerDifference):
        return {
            "name": row.layer,
            "cells": cells,
            "word": row.word,
            "mark": _MARKS.get(row.word, "sound"),
        }
    return {"name": row.name, "cells": cells, "word": "yes" if row.differs else "", "mark": ""}


def _list_notes(cpu: CpuDifference) -> Iterator[str]:
    yield f"{cpu.blocks} sampled blocks."
    yield (
        "The whole is tested first. Where it differs surely its layers are, by Holm's method over "
        f"the {cpu.tested} that hold half a per cent; a layer's margin is "
        f"{cpu.margin_percent:g} % of all CPU time."
    )
    if cpu.is_across_engines:
        yield "The two engines share no layers of their own, so these are one."
    for said in filter(None, (describe_unattributed(cpu), describe_explained(cpu))):
        yield f"{said}."
