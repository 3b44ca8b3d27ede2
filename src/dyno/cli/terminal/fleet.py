"""A fleet on the terminal: one line per host, which changes with what the host does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.printable import escape_line

if TYPE_CHECKING:
    from dyno.compare.fleet.run import HostTold

#: What is shown of a host's own line.
LINE_COLUMNS = 70


@contextmanager
def watch_hosts(shares: int, hosts: Sequence[str]) -> Iterator[Callable[[HostTold], None]]:
    """Where stdout is a terminal, a line for each host; else one for each share begun or ended."""
    lock = threading.Lock()
    if not sys.stdout.isatty():

        def tell(told: HostTold) -> None:
            if not told.is_progress:
                with lock:
                    screen.print_line(f"{told.host}: {told.clause}")
                    sys.stdout.flush()

        yield tell
        return
    from rich.live import Live
    from rich.text import Text

    width = max(map(len, hosts))
    rows = dict.fromkeys(hosts, "")
    with Live(Text(""), console=screen.make_console(), refresh_per_second=4) as live:

        def show(told: HostTold) -> None:
            share = f"{told.share:>4}/{shares}  " if told.share else ""
            with lock:
                rows[told.host] = f"{share}{escape_line(told.clause)[:LINE_COLUMNS]}"
                lines = [f"{host:<{width}}  {row}" for host, row in rows.items()]
                live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))

        yield show
