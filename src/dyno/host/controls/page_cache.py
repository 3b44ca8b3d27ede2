"""Control `page_cache`: what of a load's copy is cached by the kernel when the engine starts.

Copying leaves much of it there, as much as memory allows: a different part from trial to trial
where data are larger than that. Only a load that was restored has files before the start; where
every trial loads its data anew, they are as warm as loading left them, and this control rests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from dyno.host.controls import (
    KEEP,
    RUNS_ALREADY,
    AfterRestore,
    ControlResult,
    ControlTarget,
    OneOfWords,
    make_not_held,
)

CHUNK_BYTES = 1 << 20


class PageCache(OneOfWords):
    """The page cache of the files that an engine starts on; no root is needed for it."""

    name = "page_cache"
    summary = "warms or drops the kernel's cache of a load's files before the engine starts on them"
    default = KEEP
    values: ClassVar[dict[str, str]] = {
        KEEP: "as copying left it",
        "warm": "every file is read once",
        "drop": "every file is flushed and dropped from the cache (posix_fadvise)",
    }

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        return RUNS_ALREADY if subject.attached and value != KEEP else ""

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        before, act = "as it was", {"warm": _warm, "drop": _drop}.get(value)
        if why := self.find_refusal(value, subject):
            yield make_not_held(before, why)
        elif act is None:
            yield ControlResult({"before": before})
        else:
            yield ControlResult(
                {"before": before, "set": value}, restored=_apply_after_restore(act)
            )


def _apply_after_restore(act: Callable[[int], None]) -> AfterRestore:
    def act_on_files(home: Path) -> dict[str, str]:
        files = [file for file in home.rglob("*") if file.is_file() and not file.is_symlink()]
        for file in files:
            handle = os.open(file, os.O_RDONLY)
            try:
                act(handle)
            finally:
                os.close(handle)
        return {"files": str(len(files))}

    return act_on_files


def _warm(handle: int) -> None:
    while os.read(handle, CHUNK_BYTES):
        pass


def _drop(handle: int) -> None:
    """Flush and drop: a page that is not on the disk yet cannot be dropped."""
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


CONTROL = PageCache()
