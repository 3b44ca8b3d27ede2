"""Format: Go's benchmark text, a line for each restart, which benchstat reads.

`benchstat -col /candidate FILE` compares the candidates. It takes restarts for independent and
knows nothing of pairs, so its p values are not ours; the verdict stands in the line `verdict:`.
Source: "Go Benchmark Data Format", golang.org/design/14313-benchmark-format.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.printable import escape_line
from dyno.report.formats._rows import FormatRow, FormatSide, list_rows
from dyno.report.result import Holding, Result


class _GoBenchmark:
    summary = "Go's benchmark text, for benchstat -col /candidate"
    reads: tuple[Holding, ...] = ("comparisons",)

    def render(self, result: Result, strict: bool) -> str:
        lines = [
            f"run: {_join(result.name)}",
            f"verdict: {escape_line(result.verdict.sentence)}",
            "",
        ]
        sides: dict[tuple[str, str], list[str]] = {}
        for row in list_rows(result):
            for side in (row.base, row.candidate):
                sides.setdefault((row.name, side.candidate), list(_write_lines(row, side)))
        return "\n".join(lines + [line for own in sides.values() for line in own]) + "\n"


def _write_lines(row: FormatRow, side: FormatSide) -> Iterator[str]:
    own = _join(row.name)  # a small letter after `Benchmark` is another word in Go
    name = f"Benchmark{own[:1].upper()}{own[1:]}/candidate={_join(side.candidate)}"
    unit = "ns/op" if side.unit == "ns" else _join(side.unit)
    yield from (f"{name} 1 {value:.10g} {unit}" for value in side.restarts)


def _join(text: str) -> str:
    """A name without blanks, which end a field."""
    return escape_line("_".join(text.split()))


FORMAT = _GoBenchmark()
