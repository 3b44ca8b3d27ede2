"""Format: Markdown for a pull request, an issue, or `$GITHUB_STEP_SUMMARY`."""

from __future__ import annotations

from dyno.report.document import Document, Forest, Heading, Items, Prose, TextSpan
from dyno.report.render.markdown import SIGNS, render_markdown
from dyno.report.result import NO_VERDICT, Holding, Result


class _Markdown:
    summary = "Markdown for a pull request or $GITHUB_STEP_SUMMARY"
    reads: tuple[Holding, ...] = ()

    def render(self, result: Result, strict: bool) -> str:
        return render_markdown(_build_document(result)) + "\n"


def _build_document(result: Result) -> Document:
    verdict = result.verdict
    if verdict.rehearsal:
        return [Prose(verdict.sentence, "bad"), *result.document]
    if verdict is NO_VERDICT or not result.rows:
        return [Heading(result.headline), *result.document]
    causes = [(TextSpan("What changed: ", "strong"), it) for it in result.causes]
    doubts = [
        (TextSpan(it.soundness, "strong"), f" by `{it.audit}`: {it.sentence}")
        for it in verdict.findings
        if it.soundness in ("doubtful", "invalid")
    ]
    sign = SIGNS["doubtful" if verdict.doubts else verdict.overall]
    return [
        Heading(f"{sign} {result.headline}"),
        Prose(verdict.sentence),
        Forest(result.sides, result.rows, ""),
        Items([*causes, *doubts, *result.basis]),
    ]


FORMAT = _Markdown()
