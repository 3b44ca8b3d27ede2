"""How numbers are written: three significant digits and the reader's units, everywhere alike.

And how a size is read, from people and from engines. Knows nothing else of ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

DASH = "—"
_PERCENT_MAX = 9999
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_THOUSANDS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_BYTE_SCALE = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_BYTES = {"B": 1.0, "byte": 1.0, "bytes": 1.0, "KB": 1e3, "KiB": 1024.0, "MB": 1e6, "GB": 1e9}


def format_digits(value: float, significant: int = 3) -> str:
    """`value` in plain notation with so many significant digits, whole digits never cut."""
    if not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    places = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    rounded = float(f"{value:.{significant}g}")
    places = max(0, significant - 1 - math.floor(math.log10(abs(rounded)))) if rounded else places
    if places > 9:
        return f"{value:.{significant - 1}e}"
    return f"{value:.{places}f}"


def format_count(number: int, noun: str) -> str:
    """`1 block`, `1,200 blocks`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def format_quantity(value: float, unit: str, significant: int = 3) -> str:
    """A number with its unit, scaled for the eye: `912 µs`, `41.2 k/s`, `3.10 MB`.

    Times are known by ns, us, ms, s; sizes by B, KB, …; `row/s` and the like keep their unit off
    the page, since a column or a label names it.
    """
    if not math.isfinite(value):
        return DASH
    factor, suffix = choose_scale(value, unit)
    return f"{format_digits(value / factor, significant)}{suffix}"


def choose_scale(value: float, unit: str) -> tuple[float, str]:
    """What to divide a value of this size by, and what `format_quantity` writes behind it."""
    if unit in ("%", "percent"):
        return 1.0, " %"
    if unit in _NS:
        return _choose_scale(value, _NS[unit], _TIMES)
    if unit in _BYTES:
        return _choose_scale(value, _BYTES[unit], _BYTE_SCALE)
    factor, suffix = _choose_scale(value, 1.0, (*_THOUSANDS, (1.0, "")))
    return factor, f"{suffix}/s" if unit.endswith("/s") else suffix


def format_label(title: str, unit: str) -> str:
    """`title` with the unit, where `format_quantity` does not write it: `rate, row/s`."""
    return title if unit in (_NS | _BYTES) or unit in ("%", "percent") else f"{title}, {unit}"


def format_signed_percent(percent: float) -> str:
    """A change in percent with its sign: `−0.31`, `+5.0`, `+618`, `> +9999`."""
    if not math.isfinite(percent):
        return DASH if math.isnan(percent) else ("+∞" if percent > 0 else "−∞")
    if percent > _PERCENT_MAX:
        return f"> +{_PERCENT_MAX}"
    places = 2 if abs(percent) < 0.995 else 1 if abs(percent) < 99.95 else 0
    text = f"{percent:+.{places}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "−")


def format_interval(
    low: float | None,
    high: float | None,
    write: Callable[[float], str] = format_signed_percent,
) -> str:
    """`[+4.8, +5.2]`, in percent unless its ends are written otherwise; empty where they are not
    on record.
    """
    if low is None or high is None:
        return ""
    ends = (write(end) for end in (low, high))
    return f"[{', '.join(f'−{it[1:]}' if it.startswith('-') else it for it in ends)}]"


def format_percent(value: float) -> str:
    """A size without a sign, in percent: `1.9 %`."""
    if not math.isfinite(value):
        return DASH
    if value > _PERCENT_MAX:
        return f"> {_PERCENT_MAX} %"
    if value == 0:
        return "0 %"
    return f"{format_digits(value, 2)} %" if value >= 0.01 else "< 0.01 %"


def format_ratio(value: float) -> str:
    """Candidate ÷ base, two decimals as the insert benchmark's tables have them: `0.97`."""
    return f"{value:.2f}" if math.isfinite(value) else DASH


def keep_finite(value: float) -> float | None:
    """`value` for JSON, which knows neither infinity nor NaN."""
    return value if math.isfinite(value) else None


def _choose_scale(
    value: float, size: float, units: tuple[tuple[float, str], ...]
) -> tuple[float, str]:
    """For a `value` in units of `size`: the largest of `units` that leaves 1 or more of it."""
    rounded = abs(float(f"{value * size:.3g}"))
    factor, name = next((each for each in units if rounded >= each[0]), units[-1])
    return factor / size, f" {name}".rstrip()


#: A size as people and engines write it; letters are binary everywhere, `MB` as `M` and `MiB`.
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])?(?:i?b)?)", re.IGNORECASE)


def parse_size_bytes(text: str, bare_bytes: float = 1.0) -> float | None:
    """`500M`, `64 MB`, `1GiB`, `4096` in bytes, None where it is no size. A number without a unit
    counts in `bare_bytes`.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    if found[0] == found[1]:
        return float(found[1]) * bare_bytes
    return float(found[1]) * 1024.0 ** " kmgt".index((found[2] or " ").lower())
