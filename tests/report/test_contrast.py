"""The page's colours, by the contrast that WCAG 2 asks for: text 4.5, drawn marks 3."""

from __future__ import annotations

import re

import pytest

from dyno.report.html.markup import read_asset

TEXT, MARK = 4.5, 3.0
#: Ink and ground of texts, by the style sheet's names.
TEXTS = [
    *((ink, "ground") for ink in ("ink", "quiet", "accent", "bad", "good", "doubt")),
    *(("ink", fill) for fill in ("bad-fill", "good-fill", "doubt-fill", "low", "high", "missed")),
    ("quiet", "missed"),
    *((word, f"{word}-fill") for word in ("bad", "good", "doubt")),
]
#: Of strokes and dots.
MARKS = [
    (each, "ground")
    for each in ("quiet", "bad", "good", "doubt", *(f"candidate-{at}" for at in range(6)))
]


def read_schemes() -> dict[str, dict[str, str]]:
    """The variables of each scheme: light, dark, print."""
    found = re.findall(r":root \{(.*?)\}", read_asset("page.css"), re.DOTALL)
    assert len(found) == 3
    told = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block)) for block in found]
    light, dark, printed = told
    return {"light": light, "dark": light | dark, "print": light | printed}


def compute_luminance(colour: str) -> float:
    """Relative luminance, WCAG 2's definition, 0 to 1."""
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def compute_contrast(one: str, other: str) -> float:
    """1 to 21."""
    low, high = sorted(map(compute_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_every_text_and_every_mark_stands_out_from_its_ground(scheme: str) -> None:
    colours = read_schemes()[scheme]
    assert compute_contrast("#fff", "#000") == pytest.approx(21)
    weak = {
        pair: round(found, 2)
        for pairs, least in ((TEXTS, TEXT), (MARKS, MARK))
        for pair in pairs
        if (found := compute_contrast(*(colours[name] for name in pair))) < least
    }
    assert not weak
