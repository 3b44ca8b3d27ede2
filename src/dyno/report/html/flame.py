"""A flame graph in the page: base, candidate and their difference, drawn by its own script.

Frames are packed (JSON, gzip, base64); `flame.js` unpacks and draws them, and asks nobody for
anything. The same numbers stand in the tables of layers and functions, which need no script.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from dyno import numbers
from dyno.judge.analysis.cpu_samples import SampledPhase
from dyno.judge.analysis.frames import Frame, FrameTree
from dyno.report.html.markup import read_asset, render

_FIGURE = """
<figure class="flame" data-title="{{ title }}">
<div class="flame-bar">
<fieldset><legend>Show</legend>
{% for view, label in views %}<label><input type="radio" name="{{ anchor }}" value="{{ view }}"
{% if view == "difference" %} checked{% endif %}>{{ label }}</label>
{% endfor %}</fieldset>
<label>Search <input type="search" placeholder="function or layer"></label>
<button type="button" disabled>Zoom out</button>
</div>
<div class="flame-rows" role="tree" aria-label="{{ title }}"></div>
<output aria-live="polite" data-hint="Point at a frame, or move with the arrow keys, to read it">
</output>
<p class="flame-key"><i class="more"></i>surely costlier <i class="less"></i>surely cheaper
<i></i>no sure difference <i class="gone"></i>on one side only</p>
<script type="application/gzip">{{ packed }}</script>
<figcaption>{{ caption }}</figcaption>
</figure>
"""
CAPTION = (
    "A frame's width is its CPU time of an operation, what it calls included; of the difference, "
    "that of the side with more, so that what vanished is shown too. A frame is coloured only "
    "where its interval excludes zero and Benjamini and Hochberg agree over all of some size. "
    "Click or press Enter to zoom, Escape to zoom out, arrows to move, / to search."
)
FLAT = " Callers were not sampled (--stacks does it): below each layer stand its functions."
DIVIDED = (
    " Callers are those of one trial of each side: the times that the blocks measured are divided "
    "among them. A frame's colour and interval are those of its function's own code."
)


def draw_flame(
    tree: FrameTree, phase: SampledPhase, sides: tuple[str, str], anchor: str, is_flat: bool
) -> Markup:
    """The figure; `anchor` tells it from others of the page."""
    base, candidate = sides
    factor, unit = numbers.choose_scale(phase.base_ns, "ns")
    data = {
        "unit": unit.strip(),
        "factor": factor,
        "sides": list(sides),
        "ownCode": not is_flat,
        "frames": _pack_frame(tree.root),
    }
    left_out = ""
    if tree.left_out:
        most = numbers.format_quantity(tree.least_ns, "ns", 2)
        left_out = f" {tree.left_out:,} frames of at most {most} an operation are left out."
    return render(
        _FIGURE,
        title=f"CPU time of an operation, {candidate} against {base}: {phase.workload}",
        views=(("base", base), ("candidate", candidate), ("difference", "difference")),
        anchor=anchor,
        packed=b64encode(gzip.compress(json.dumps(data).encode(), mtime=0)).decode(),
        caption=CAPTION + (FLAT if is_flat else DIVIDED) + left_out,
    )


def _pack_frame(frame: Frame) -> list[Any]:
    """Name, layer, base, candidate, low, high, differs, children."""
    times = (frame.base_ns, frame.candidate_ns, frame.low_ns, frame.high_ns)
    return [
        frame.name,
        frame.layer,
        *(float(f"{ns:.4g}") for ns in times),
        int(frame.differs),
        [_pack_frame(child) for child in frame.children],
    ]


def read_flame_assets() -> Iterator[Markup]:
    """Style and script, once for a page that has flame graphs."""
    yield Markup("<style>{}</style>").format(Markup(read_asset("flame.css")))
    yield Markup("<script>{}</script>").format(Markup(read_asset("flame.js")))
