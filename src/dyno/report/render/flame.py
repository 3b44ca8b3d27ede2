"""A flame graph in the page: base, candidate and their difference, drawn by its own script.

Frames are packed (JSON, gzip, base64); `flame.js` unpacks and draws them, and asks nobody for
anything. The same numbers stand in the tables of layers and functions, which need no script.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import Any

from markupsafe import Markup

from dyno import numbers
from dyno.judge.analysis.frames import Frame
from dyno.report.document import Flame
from dyno.report.html.markup import render

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


def draw_frames(flame: Flame) -> Markup:
    """The figure; its style and script come with it, and a second copy of them does nothing."""
    factor, unit = numbers.choose_scale(flame.scale_ns, "ns")
    data = {
        "unit": unit.strip(),
        "factor": factor,
        "sides": list(flame.sides),
        "per": flame.per,
        "ownCode": not flame.is_flat,
        "frames": _pack_frame(flame.tree.root),
    }
    views = (("base", "base"), ("candidate", "candidate"), ("difference", "difference"))
    return render(
        _FIGURE,
        title=flame.title,
        views=views if len(flame.sides) > 1 else views[:1],
        anchor=flame.anchor,
        packed=b64encode(gzip.compress(json.dumps(data).encode(), mtime=0)).decode(),
        caption=flame.caption,
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
