"""Two copies of an engine's program, at two paths of unlike length: an A/A that is not one file.

What is compared in earnest are two files. They lie elsewhere on the disk and in memory, and their
names move the stack and the environment by some bytes: what that alone does to a comparison is
asked here. Only of embedded engines, whose program is one file that is named by its path: a server
finds its other files by where it lies.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyno import scratch
from dyno.compare.calibration.pilot import CalibrationPilot
from dyno.runs.experiment.candidates import parse_candidate

#: The folders of the two copies.
SHORT, LONG = "a", "a-copy-in-a-folder-with-a-rather-longer-name"


@contextmanager
def make_two_copies(text: str, pilot: CalibrationPilot) -> Iterator[tuple[str, ...]]:
    """Specs of two copies of the program that `text` names; none where it has no file of its own,
    or is named with keys, of which some may be a build's flags.
    """
    program, spec = Path(pilot.program or "/"), parse_candidate(text)
    if not pilot.embedded or spec.keys or not program.is_file():
        yield ()
        return
    with scratch.make_folder("copies") as home:
        found = []
        for name in (SHORT, LONG):
            (home / name).mkdir()
            copy = shutil.copy2(program, home / name)
            found.append(f"{spec.engine}@{copy}")
        yield tuple(found)
