"""What a user sees while trials play: a moving panel on a terminal, a line per trial on a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dyno.cli import screen
from dyno.cli.lines import Lines
from dyno.cli.panel import Panel, State

if TYPE_CHECKING:
    from dyno.conduct.estimate import Forecast
    from dyno.conduct.watch import Watch


@contextmanager
def watching(forecast: Forecast | None) -> Iterator[Watch]:
    """A watch for `conduct.play`: drawn where stdout is a terminal, else one line per trial."""
    if not sys.stdout.isatty():
        yield Lines()
        return
    from rich.live import Live

    console = screen.console()
    panel = Panel(console, State(forecast))
    with Live(panel, console=console, refresh_per_second=2, transient=True):
        yield panel
