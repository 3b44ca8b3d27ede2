"""A capacity run on the terminal: a line that follows the search, then the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.report.capacity import build_answer, describe_step, format_rate

if TYPE_CHECKING:
    from dyno.instruments.capacity.player import StepTold, Told
    from dyno.record.capacity import CapacityBlock, CapacityPlan, CapacityResult


@contextmanager
def watch_search(plan: CapacityPlan) -> Iterator[Callable[[Told], None]]:
    """Where stdout is a terminal, one line that changes with each step; else a line per block."""
    from dyno.instruments.capacity.player import BlockTold

    if not sys.stdout.isatty():

        def tell(told: Told) -> None:
            if isinstance(told, BlockTold):
                screen.print_line(format_block(plan, told.block))
                sys.stdout.flush()

        yield tell
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text("starting …"), console=screen.make_console(), transient=True) as live:

        def show(told: Told) -> None:
            if not isinstance(told, BlockTold):
                live.update(Text(format_step(plan, told), no_wrap=True, overflow="ellipsis"))

        yield show


def format_step(plan: CapacityPlan, told: StepTold) -> str:
    """`block 2/8  A  step 4  12,400/s: p99 8.1 ms, holds  between 12,400 and 13,000`."""
    low, high = (format_rate(it) if it else "?" for it in (told.low, told.high))
    return (
        f"block {told.block + 1}/{plan.blocks}  {told.candidate}  step {told.number}  "
        f"{describe_step(plan, told.step)}  between {low} and {high}"
    )


def format_block(plan: CapacityPlan, block: CapacityBlock) -> str:
    """`block 2/8  A 12,400/s  B 13,050/s  11 steps`."""
    from dyno.judge.capacity import find_restart_rate

    found = {each.candidate: find_restart_rate(each) for each in block.restarts}
    rates = []
    for side in plan.run.candidates:
        rate = found[side.name]
        rates.append(f"{side.name} {f'{format_rate(rate)}/s' if rate else 'none'}")
    steps = sum(len(each.steps) for each in block.restarts)
    return f"block {block.block + 1}/{plan.blocks}  {'  '.join(rates)}  {steps} steps"


def derive_capacity_page(
    folder: Path, plan: CapacityPlan, blocks: list[CapacityBlock], result: CapacityResult
) -> Path:
    """Makes the page of a capacity run, in its folder."""
    from dyno.report.capacity import render_capacity
    from dyno.report.html.page import replace_file

    return replace_file(folder / "report.html", render_capacity(plan, blocks, result))


def print_answer(plan: CapacityPlan, result: CapacityResult) -> None:
    screen.draw_document(build_answer(plan, result))
