"""Format: Markdown for a pull request, an issue, or `$GITHUB_STEP_SUMMARY`."""

from __future__ import annotations

from dyno.report import Book
from dyno.report.basis import summarize_restarts
from dyno.report.document import Document, Forest, Heading, Items, Prose, TextSpan
from dyno.report.formats._rows import list_primaries
from dyno.report.names import name_measurements
from dyno.report.rehearsal import build_rehearsal
from dyno.report.render.markdown import SIGNS, render_markdown


class _Markdown:
    summary = "Markdown for a pull request or $GITHUB_STEP_SUMMARY"

    def render(self, book: Book, strict: bool) -> str:
        return render_markdown(_build_document(book)) + "\n"


def _build_document(book: Book) -> Document:
    verdict = book.verdict
    if verdict.rehearsal:
        return [Prose(verdict.sentence, "bad"), *build_rehearsal(book)]
    causes = [(TextSpan("What changed: ", "strong"), it.sentence) for it in verdict.causes]
    doubts = [
        (TextSpan(it.soundness, "strong"), f" by `{it.audit}`: {it.sentence}")
        for it in verdict.findings
        if it.soundness in ("doubtful", "invalid")
    ]
    again = TextSpan(book.run.command, code=True)
    repeat = [("to repeat: ", again, f" (seed {book.run.seed})")] if book.run.command else []
    sign = SIGNS["doubtful" if verdict.doubts else verdict.overall]
    return [
        Heading(f"{sign} {book.run.name}: {verdict.overall}"),
        Prose(verdict.sentence),
        Forest(book.run.candidates, name_measurements(book.run, list_primaries(book)), ""),
        Items([*causes, *doubts, summarize_restarts(book).counted, *repeat]),
    ]


FORMAT = _Markdown()
