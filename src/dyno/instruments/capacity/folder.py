"""A capacity run on disk: `capacity.json`, all that was fixed first, and a file for each block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dyno import private_files
from dyno.record.capacity import CapacityBlock, CapacityPlan
from dyno.runs.run_folder import build_damage_error, make_run_folder, read_json, write_json

#: Its plan, and the folder of its blocks.
CAPACITY_RECORD, CAPACITY_BLOCKS = "capacity.json", "blocks"


@dataclass(frozen=True)
class CapacityFolder:
    """A capacity run on disk."""

    path: Path

    def read_plan(self) -> CapacityPlan:
        """`capacity.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        return read_json(CapacityPlan, self.path / CAPACITY_RECORD)

    def read_blocks(self) -> list[CapacityBlock]:
        """The blocks that are over, in order; `UsageError` for another plan's."""
        plan, found = self.read_plan(), []
        for file in sorted((self.path / CAPACITY_BLOCKS).glob("[0-9]*.json")):
            block = read_json(CapacityBlock, file)
            try:
                block.check_plan(plan)
            except ValueError as error:
                raise build_damage_error(file, error) from None
            found.append(block)
        return found

    def write_block(self, block: CapacityBlock) -> None:
        """Writes a block once, whole or not at all."""
        write_json(self.path / CAPACITY_BLOCKS / f"{block.block:04}.json", block)


def create_folder(plan: CapacityPlan, runs: Path) -> CapacityFolder:
    """A new folder under `runs` with the plan in it."""
    path = make_run_folder(runs, plan.run.created_utc, f"capacity-{plan.run.name}")
    private_files.make_folder(path / CAPACITY_BLOCKS)
    write_json(path / CAPACITY_RECORD, plan)
    return CapacityFolder(path)
