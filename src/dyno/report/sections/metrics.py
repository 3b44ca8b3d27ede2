"""Section: every metric that was compared, in a table that can be searched."""

from __future__ import annotations

from dyno.numbers import format_count
from dyno.report import Book, Section, facts, words
from dyno.report import document as doc
from dyno.report.words import tell_verdict

#: What the colours of words mean.
PRIMARY = (
    "A coloured verdict is of a primary metric, which the verdict rests on. The others are "
    "explored: their p values count each other (Benjamini-Hochberg), and none sets the exit code."
)


def build(book: Book) -> doc.Document:
    """A folded row per comparison, as they were played; of crossed factors the main effects."""
    found = [c for c in book.verdict.comparisons if len(c.levels) < 2]
    found.sort(key=lambda c: (*facts.make_sort_key(book, c.metric), not c.primary))
    rows: list[doc.TableRow] = [
        (
            words.format_full_metric(c.metric),
            c.candidate,
            *words.format_values(c),
            *words.format_ends(c),
            tell_verdict(c),
        )
        for c in found
    ]
    heads = ("base", "candidate", "slowdown", words.format_level(book.run))
    columns = doc.make_columns(("metric", "candidate"), *heads, after=("verdict",))
    primaries = sum(c.primary for c in found)
    summary = f"{format_count(len(rows), 'comparison')}, {primaries} of them primary"
    table = doc.RowTable(columns, rows, searched=True)
    return [doc.Details(summary, [table, doc.Prose(PRIMARY, "quiet")])] if rows else []


SECTION = Section("Every metric", 60, build)
