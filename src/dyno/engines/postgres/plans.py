"""What PostgreSQL answers to EXPLAIN, as a plan's shape: without values, casts and what only some
versions say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Lines that say how much, or that only some versions write.
_LEFT_OUT = re.compile(
    r"\s*(?:Workers Planned|Disabled|Planned Partitions|Query Identifier|Settings|Window|Storage"
    r"|JIT|Functions|Options|Single Copy|Planning|Batches)\b.*:"
)
_TEXT = re.compile(r"[EB]?'(?:[^']|'')*'")
_CAST = re.compile(
    r'::(?:"[^"]+"|[a-z_][\w.]*(?: varying| precision| with(?:out)? time zone)?)'
    r"(?:\(\d+(?:,\d+)?\))?(?:\[\])?"
)
#: A subquery's value: `$0` up to 16, `(InitPlan 1).col1` from 17 on.
_SUBQUERY = re.compile(r"\(InitPlan \d+\)\.col\d+|\$\d+")
_NUMBER = re.compile(r"(?<![\w\".])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w\".])")
_RETURNS = re.compile(r" \(returns [^)]*\)$")
_BRACKETED = re.compile(r"(?<!\w)\((\w+)\)")


_PARAMETER = re.compile(r"\$(\d+)")


class ExplainsPostgresGeneric:
    """The questions for a generic plan; before 12 it cannot be asked for."""

    def list_generic_questions(self, prepared: str) -> list[str]:
        """It is made for no values at all, so that NULL stands for each."""
        most = max((int(number) for number in _PARAMETER.findall(prepared)), default=0)
        values = f"({', '.join(['NULL'] * most)})" if most else ""
        return [
            "SET plan_cache_mode = force_generic_plan",
            f"PREPARE dyno_plan AS {prepared}",
            f"EXPLAIN (COSTS OFF) EXECUTE dyno_plan{values}",
            "DEALLOCATE dyno_plan",
        ]


def plan_shape(lines: Iterable[str]) -> str:
    """The lines of the tree; conditions have `?` for each value."""
    return "\n".join(_normalize_line(line) for line in lines if not _LEFT_OUT.match(line))


def _normalize_line(line: str) -> str:
    name, colon, condition = line.partition(": ")
    if not colon:
        return _RETURNS.sub("", line)
    for form, plain in ((_TEXT, "?"), (_CAST, ""), (_SUBQUERY, "?"), (_NUMBER, "?")):
        condition = form.sub(plain, condition)
    return f"{name}: {_BRACKETED.sub(lambda found: found[1], condition)}"
