"""Which loads of the data the blocks were played on: blocks that share them are one datum."""

from __future__ import annotations

from collections.abc import Sequence

from dyno.record import Trial

#: The condition under which a trial names the load that it began with.
LOAD = "load"


def load_turns(blocks: Sequence[dict[str, Trial]], sides: Sequence[str]) -> tuple[int, ...] | None:
    """A number for each block, the same for those that share their loads.

    None where every trial loaded anew, or where all sides began with the very same load, whose
    luck then cancels.
    """
    found = [tuple(_load(block[side]) for side in sides) for block in blocks]
    if all(len(set(loads)) == 1 for loads in found):
        return None
    numbers = {loads: number for number, loads in enumerate(dict.fromkeys(found))}
    return tuple(numbers[loads] for loads in found)


def _load(trial: Trial) -> str:
    return trial.conditions.get(LOAD, {}).get("name", "")
