"""When the data may be looked at, and at which level each look is held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyno.stats.bounds import adjusted_p, nominal_levels

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Looks:
    """Looks at these numbers of valid blocks, rising; all of them together spend `alpha`.

    A number of blocks that is no look of ours (a run torn before its first one) is held at the
    level that it would have as a look after the earlier ones.
    """

    blocks: tuple[int, ...]
    alpha: float

    @property
    def maximum(self) -> int:
        """MAX: the blocks at the last look."""
        return self.blocks[-1]

    def reached(self, valid: int) -> int:
        """The last look that `valid` blocks are enough for; 0 before the first."""
        return max((b for b in self.blocks if b <= valid), default=0)

    def following(self, valid: int) -> int:
        """The look after `valid` blocks; MAX where there is none."""
        return min((b for b in self.blocks if b > valid), default=self.maximum)

    def fractions(self, blocks: int) -> tuple[float, ...]:
        """The looks up to the one at `blocks`, as fractions of MAX."""
        earlier = [b for b in self.blocks if b < blocks]
        return tuple(b / self.maximum for b in (*earlier, min(blocks, self.maximum)))

    def level(self, blocks: int) -> float:
        """The two-sided nominal level of the look at `blocks`."""
        return nominal_levels(self.fractions(blocks), self.alpha)[-1]

    def adjusted(self, p_value: Floats | float, blocks: int) -> Floats:
        """What `p_value`, seen at the look at `blocks`, is worth when all looks are counted."""
        return adjusted_p(p_value, self.fractions(blocks))
