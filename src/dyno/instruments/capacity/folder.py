"""A capacity run on disk: `capacity.json`, all that was fixed first, and a file for each block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dyno import private_files
from dyno.record.capacity import CapacityBlock, CapacityPlan
from dyno.runs.run_folder import (
    CAPACITY_BLOCKS,
    CAPACITY_RECORD,
    make_run_folder,
    read_capacity_blocks,
    read_json,
    write_json,
)


@dataclass(frozen=True)
class CapacityFolder:
    """A capacity run on disk."""

    path: Path

    def read_plan(self) -> CapacityPlan:
        """`capacity.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        return read_json(CapacityPlan, self.path / CAPACITY_RECORD)

    def read_blocks(self) -> list[CapacityBlock]:
        """The blocks that are over, in order."""
        return read_capacity_blocks(self.path)

    def write_block(self, block: CapacityBlock) -> None:
        """Writes a block once, whole or not at all."""
        write_json(self.path / CAPACITY_BLOCKS / f"{block.block:04}.json", block)


def create_folder(plan: CapacityPlan, runs: Path) -> CapacityFolder:
    """A new folder under `runs` with the plan in it."""
    path = make_run_folder(runs, plan.run.created_utc, f"capacity-{plan.run.name}")
    private_files.make_folder(path / CAPACITY_BLOCKS)
    write_json(path / CAPACITY_RECORD, plan)
    return CapacityFolder(path)
