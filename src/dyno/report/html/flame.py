"""A flame graph in the page: base, candidate and their difference, drawn by its own script.

Frames are packed (JSON, gzip, base64); `flame.js` unpacks and draws them, and asks nobody for
anything. The same numbers stand in the tables of layers and functions, which need no script.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dyno import numbers
from dyno.judge.analysis.cpu_samples import SampledPhase
from dyno.judge.analysis.frames import Frame, FrameTree
from dyno.report.html.markup import read_asset, render

_FIGURE = """
<figure class="flame" data-title="{{ title }}">
<div class="flame-bar">
<fieldset>{% if views | length > 1 %}<legend>Show</legend>{% endif %}
{% for view, label in views if views | length > 1 %}
<label><input type="radio" name="{{ anchor }}" value="{{ view }}"
{% if loop.last %} checked{% endif %}>{{ label }}</label>
{% endfor %}</fieldset>
<label>Search <input type="search" placeholder="function or layer"></label>
<button type="button" disabled>Zoom out</button>
</div>
<div class="flame-rows" role="tree" aria-label="{{ title }}"></div>
<output aria-live="polite" data-hint="Point at a frame, or move with the arrow keys, to read it">
</output>
{% if views | length > 1 %}<p class="flame-key"><i class="more"></i>surely costlier
<i class="less"></i>surely cheaper <i></i>no sure difference
<i class="gone"></i>on one side only</p>
{% endif %}<script type="application/gzip">{{ packed }}</script>
<figcaption>{{ caption }}</figcaption>
</figure>
"""
CAPTION = (
    "A frame's width is its CPU time of an operation, what it calls included; of the difference, "
    "that of the side with more, so that what vanished is shown too. A frame is coloured only "
    "where its interval excludes zero and Benjamini and Hochberg agree over all of some size. "
    "Click or press Enter to zoom, Escape to zoom out, arrows to move, / to search."
)
FLAT = " Callers were not sampled (--profile stacks does it): below each layer stand its functions."
DIVIDED = (
    " Callers are those of one trial of each side: the times that the blocks measured are divided "
    "among them. A frame's colour and interval are those of its function's own code."
)


def draw_flame(
    tree: FrameTree, phase: SampledPhase, sides: tuple[str, str], anchor: str, is_flat: bool
) -> Markup:
    """The figure; `anchor` tells it from others of the page."""
    base, candidate = sides
    left_out = ""
    if tree.left_out:
        most = numbers.format_quantity(tree.least_ns, "ns", 2)
        left_out = f" {tree.left_out:,} frames of at most {most} an operation are left out."
    title = f"CPU time of an operation, {candidate} against {base}: {phase.workload}"
    caption = CAPTION + (FLAT if is_flat else DIVIDED) + left_out
    words = FlameWords(title, anchor, caption)
    return draw_frames(tree, sides, words, phase.base_ns, is_flat=is_flat)


@dataclass(frozen=True)
class FlameWords:
    """What stands around a flame graph; `anchor` tells it from others of the page, `per` says of
    what its times are.
    """

    title: str
    anchor: str
    caption: str
    per: str = "an operation"


def draw_frames(
    tree: FrameTree,
    sides: Sequence[str],
    words: FlameWords,
    scale_ns: float,
    *,
    is_flat: bool = True,
) -> Markup:
    """The figure of one side, or of two and their difference."""
    factor, unit = numbers.choose_scale(scale_ns, "ns")
    data = {
        "unit": unit.strip(),
        "factor": factor,
        "sides": list(sides),
        "per": words.per,
        "ownCode": not is_flat,
        "frames": _pack_frame(tree.root),
    }
    views = (("base", "base"), ("candidate", "candidate"), ("difference", "difference"))
    return render(
        _FIGURE,
        title=words.title,
        views=views if len(sides) > 1 else views[:1],
        anchor=words.anchor,
        packed=b64encode(gzip.compress(json.dumps(data).encode(), mtime=0)).decode(),
        caption=words.caption,
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
