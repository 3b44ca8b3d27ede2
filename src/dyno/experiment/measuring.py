"""How an experiment is measured: what a user may set, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from dyno.errors import UsageError, unknown

BLOCKS = range(3, 201)
LOADS = range(25)
MARGIN_PERCENT_MAX = 50.0
LIMITS = ("steal_percent", "foreign_percent")


@dataclass(frozen=True)
class Measuring:
    """How it is measured; None leaves the house's or the workload's own.

    `blocks` is the number at the last look; `fixed` makes it the only look. `limits` are the
    noise limits (`steal_percent`, `foreign_percent`), `controls` those of every candidate. `loads`
    is how many loads of its data each candidate has; 0: every trial loads them anew. `aa` declares
    an A/A comparison: the candidates are the same on purpose.
    """

    margin_percent: float | None = None
    alpha: float = 0.05
    blocks: int | None = None
    fixed: bool = False
    quick: bool = False
    seed: int | None = None
    limits: dict[str, float] = field(default_factory=dict)
    controls: dict[str, str] = field(default_factory=dict)
    loads: int | None = None
    aa: bool = False

    def __post_init__(self) -> None:
        """Refuses what no run could be judged by (`UsageError`)."""
        if self.blocks is not None and self.blocks not in BLOCKS:
            hint = f"{BLOCKS[0]} to {BLOCKS[-1]} are fine"
            raise UsageError(f"the number of blocks cannot be {self.blocks}", hint=hint)
        if self.margin_percent is not None and not 0 < self.margin_percent <= MARGIN_PERCENT_MAX:
            hint = f"above 0 % and up to {MARGIN_PERCENT_MAX:g} %"
            raise UsageError(f"a margin cannot be {self.margin_percent:g} %", hint=hint)
        if self.loads is not None and self.loads not in LOADS:
            hint = f"0 (anew in every trial) to {LOADS[-1]}; few loads are few data"
            raise UsageError(f"the number of loads cannot be {self.loads}", hint=hint)
        if not 0.001 <= self.alpha <= 0.2:
            raise UsageError(f"an alpha cannot be {self.alpha:g}", hint="0.001 to 0.2 are fine")
        for name, percent in self.limits.items():
            if name not in LIMITS:
                raise unknown("limit", name, LIMITS)
            if not 0 <= percent <= 100:
                hint = "0 to 100; 100 drops no block"
                raise UsageError(f"the limit '{name}' cannot be {percent:g} %", hint=hint)


#: Nothing was asked for.
AS_USUAL = Measuring()
