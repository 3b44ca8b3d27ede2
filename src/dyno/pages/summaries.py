"""Summaries that are kept from one start to the next, so that thousands of runs need not be read
again: in the cache, by the folders that they lie in, each with the time of what it was made of.

The file is derived. One that another Dyno wrote, or that is damaged, is passed over.

It is not one with a run's points (`compare/history/points.py`): a summary is of a run of any kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from dyno import private_files
from dyno.builds import cache
from dyno.record import RunSummary
from dyno.record.decode import decode, encode

#: Fewer runs are read as quickly.
KEPT_LEAST = 100
#: What decides how a summary comes out.
SOURCES = ("record", "judge", "instruments", "runs/run_summary.py")

#: By path: when the run last changed, and its summary.
Known = dict[Path, tuple[int, RunSummary]]


def find_kept_file(homes: Sequence[Path]) -> Path:
    """The file for these folders."""
    name = sha256("\0".join(map(str, homes)).encode()).hexdigest()[:24]
    return cache.find_root() / "pages" / f"{name}.json"


def read_kept(homes: Sequence[Path]) -> Known:
    """What was kept; nothing where there is none that can be used."""
    file = find_kept_file(homes)
    try:
        if file.is_symlink():
            return {}
        kept = json.loads(file.read_text("utf-8"))
        if kept["sources"] != cache.compute_sources_sha256(*SOURCES):
            return {}
        return {Path(path): (at, decode(RunSummary, told)) for path, at, told in kept["runs"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def keep(homes: Sequence[Path], known: Mapping[Path, tuple[int, RunSummary]]) -> None:
    """Keeps those that may stay as they are, where there are many; a disk that is full keeps none.

    A run that is incomplete is asked anew, and so is one that could not be read.
    """
    lasting = {p: it for p, it in known.items() if it[1].complete and not it[1].damage}
    if len(lasting) < KEPT_LEAST:
        return
    runs = [[str(path), at, encode(told)] for path, (at, told) in lasting.items()]
    text = json.dumps({"sources": cache.compute_sources_sha256(*SOURCES), "runs": runs})
    file = find_kept_file(homes)
    with suppress(OSError):
        private_files.make_folder(file.parent, exist_ok=True)
        private_files.write_whole(file, text)
