"""Section: the exact commands that make this run, or this page, again."""

from __future__ import annotations

import shlex

from dyno.report import Book, Section
from dyno.report.document import Document, Listing, Prose, Terms


def build(book: Book) -> Document:
    """The user's own command, then those that work on the run's folder."""
    run, folder = book.run, shlex.quote(book.folder.name)
    same = f"seed `{run.seed}`"
    return [
        Terms(
            [
                ("Play it again", [Listing(run.command or "(not recorded)")]),
                ("Play the same blocks in the same order", [Prose(same)]),
                ("Make this page again", [Listing(f"dyno report {folder}")]),
                ("Finish it, where it was interrupted", [Listing(f"dyno resume {folder}")]),
            ]
        ),
        Prose(
            f"Dyno {run.dyno or 'of unknown version'}, driver "
            f"`{run.driver_sha256[:16] or 'unknown'}`, records of schema {run.schema}. Every "
            "number of every trial is in `trials.csv`, the raw records in `trials/`.",
            "quiet",
        ),
    ]


SECTION = Section("Repeat it", 90, build)
