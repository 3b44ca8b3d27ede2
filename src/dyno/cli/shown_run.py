"""`dyno show RUN`: what was asked, how much was played, the verdict, the sources of spread."""

from __future__ import annotations

import click

from dyno.cli import screen
from dyno.cli.runs import run_folder


def show_run(word: str) -> None:
    """A run: what was asked, how much of it was played, and the verdict so far."""
    from dyno.judge import judge
    from dyno.report import Book, brief, components

    made = run_folder(word)
    run, trials = made.run(), made.trials()
    click.echo(f"{click.style(made.path.name, bold=True)}\n\n{run.question or run.command}\n")
    rows = [(c.name, c.engine, c.build.get("version", ""), c.spec) for c in run.candidates]
    screen.table(("candidate", "engine", "version", "as written"), rows)
    click.echo(f"\n{len(trials)} trials on {', '.join(w.name for w in run.workloads)}\n")
    book = Book(made.path, run, trials, judge(run, trials))
    screen.draw(brief.table(book, everything=True))
    screen.draw(components.table(book))
