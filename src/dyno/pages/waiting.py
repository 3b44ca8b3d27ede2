"""Work that takes long, done aside while a page says how far it is: the first reading of many runs.

A browser asks again by itself, without a script too. Of few runs nobody sees such a page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TypeVar

from dyno.pages.frame import SitePage
from dyno.pages.summaries import KEPT_LEAST
from dyno.report.html.markup import render

#: So long a page waits before it says how far the reading of many runs is.
PATIENCE_S = 1.0
#: How often a page that waits looks again.
WAIT_S = 2
_WAITING = """
<p role="status"><b>{{ told }}.</b> This page looks again every {{ every_s }} seconds.</p>
{% if progress.total %}<progress max="{{ progress.total }}" value="{{ progress.read }}"
aria-label="runs read">{{ progress.read }}</progress>{% endif %}
<p class="quiet">{{ progress.keeps | coded }}</p>
"""

T = TypeVar("T")


@dataclass
class ReadProgress:
    """How many runs of how many are read; `total` is 0 while they are looked for. `keeps` says
    what makes it quicker the next time.
    """

    keeps: str

    read: int = 0
    total: int = 0


class StillReading(Exception):
    """So many runs are read for the first time that nobody should wait for it; says how far."""

    def __init__(self, progress: ReadProgress) -> None:
        super().__init__(f"{progress.read} of {progress.total} runs are read")
        self.progress = progress


def start_aside(work: Callable[[], T]) -> Future[T]:
    """What `work` answers or raises, in a thread that nobody waits for at the end."""
    promised: Future[T] = Future()

    def keep_promise() -> None:
        try:
            promised.set_result(work())
        except Exception as error:  # the reader of the result gets it
            promised.set_exception(error)

    threading.Thread(target=keep_promise, daemon=True).start()
    return promised


def wait_for_promise(promised: Future[T], progress: ReadProgress) -> T:
    """What comes of it; `StillReading` after a moment, where many runs are read."""
    while not wait((promised,), PATIENCE_S).done:
        if progress.total >= KEPT_LEAST:
            raise StillReading(replace(progress))
    return promised.result()


def build_waiting_page(progress: ReadProgress, depth: int) -> SitePage:
    """How far the runs are read that a page is made of; a browser asks again by itself."""
    told = "The runs are looked for"
    if progress.total:
        told = f"{progress.read:,} of {progress.total:,} runs are read"
    body = render(_WAITING, told=told, progress=progress, every_s=WAIT_S)
    title = "The runs are being read"
    return SitePage(title, title, body, depth=depth, refresh_s=WAIT_S)
