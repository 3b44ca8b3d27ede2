"""Format: annotations of GitHub's Actions, lines on stdout that its runner reads.

Source: "Workflow commands for GitHub Actions", GitHub's documentation.
"""

from __future__ import annotations

from dyno.printable import escape_line
from dyno.record import ClassVerdict, Comparison
from dyno.report import words
from dyno.report.accepted import describe_accepted
from dyno.report.rehearsal import describe_proof
from dyno.report.result import Holding, Result

#: How loud a verdict is; what passes is a notice.
LEVELS = {"slower": "error", "invalid": "error", "inconclusive": "warning"}
LEVELS |= {"loses": "error", "loses as permitted": "warning"}


class _GitHub:
    summary = "annotations of a GitHub Action, on stdout"
    reads: tuple[Holding, ...] = ("a verdict",)

    def render(self, result: Result, strict: bool) -> str:
        if found := result.verdict.rehearsal:
            lines = [
                _write_class(it) for it in found.classes if it.is_grave or it.word == "plan changed"
            ]
        else:
            lines = [_write_line(result, row, strict) for row in result.primaries]
        overall = LEVELS.get(result.overall, "notice")
        lines.append(_write_annotation(overall, result.name, result.verdict.sentence))
        return "".join(f"{line}\n" for line in lines)


def _write_line(result: Result, row: Comparison, strict: bool) -> str:
    level = LEVELS.get(row.verdict, "notice")
    if row.is_doubtful:
        level = "error" if strict or level == "error" else "warning"
    doubts = "".join(f"\n{doubt.audit}: {doubt.sentence}" for doubt in row.doubts)
    if result.is_accepted(row):
        level = "notice"
    accepted = f"\n{told}" if (told := describe_accepted(result.losses, row)) else ""
    title = f"{row.candidate}: {words.format_full_metric(row.metric)}"
    return _write_annotation(level, title, words.format_outcome(row) + accepted + doubts)


def _write_class(it: ClassVerdict) -> str:
    level = "error" if it.is_grave else "warning"
    return _write_annotation(level, f"{it.word}: {it.answers.text}", describe_proof(it))


def _write_annotation(level: str, title: str, message: str) -> str:
    """`::error title=…::…`, with the characters escaped that would end a part."""
    told = _escape("\n".join(map(escape_line, message.splitlines())))
    named = _escape(escape_line(title)).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={named}::{told}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


FORMAT = _GitHub()
