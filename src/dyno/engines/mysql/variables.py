"""The names of the variables that servers of MySQL's family have, so that a wrong one is told at
once.

`variables.txt` has a section for each engine. The names were read from the servers of its
table (`SHOW GLOBAL VARIABLES`), MyRocks loaded where there is one; which version has which is the
server's to say.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("variables.txt")


@cache
def names(engine: str) -> frozenset[str]:
    """Every variable that some version of `engine` has."""
    sections = FILE.read_text().split("[")[1:]
    found = dict(section.split("]\n", 1) for section in sections)
    return frozenset(found[engine].split())
