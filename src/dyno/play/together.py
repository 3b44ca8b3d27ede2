"""The trials of a block played at once, a thread each; Ctrl-C reaches all of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from dyno.play.job import TrialJob
from dyno.play.trial import TrialPlayer
from dyno.play.turns import BlockTurns
from dyno.play.watch import Event, Watch
from dyno.record import Trial

Played = tuple[Trial, BaseException | None]

#: How often the main thread looks up: a signal is heard by it alone.
PAUSE_S = 0.1


def play_together(
    jobs: Sequence[TrialJob], block: BlockTurns, play: TrialPlayer, watch: Watch
) -> tuple[list[Played], KeyboardInterrupt | None]:
    """Plays all jobs side by side; answers what `play` answered of each, and the Ctrl-C that
    stopped them.

    Where one fails, the others end as `interrupted`. A fault of our own is raised when all have
    ended. An engine's life is bound to its thread's, which lasts until all have ended.
    """
    lock = threading.Lock()

    def tell(event: Event) -> None:
        with lock:
            watch(event)

    stopped: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(len(jobs), thread_name_prefix="trial") as threads:
        trials = [threads.submit(play, job, tell) for job in jobs]
        while True:
            try:
                if not wait(trials, PAUSE_S).not_done:
                    return [trial.result() for trial in trials], stopped
                if any(trial.done() and trial.exception() for trial in trials):
                    block.fail()
            except KeyboardInterrupt as pressed:
                stopped = pressed
                block.fail()
