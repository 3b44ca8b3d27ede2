"""Probe `inject`: what the control of that name really injected, by its own count.

The preloaded library adds up the nanoseconds that it spun, and the answers that it saw, in a file
in the trial's home (`src/dyno/host/controls/_inject.c`). Without the control there is no such file,
and no number.
"""

from __future__ import annotations

import struct

from dyno.errors import TrialFailed
from dyno.host.probes import Measure, ProbeTarget

#: `struct counts` of the library: spun_ns, answers.
COUNTS = struct.Struct("=QQ")


class InjectedDelayProbe:
    """The injected delay's own counters."""

    summary = "how long the control `inject` really held the engine up, and how often"
    is_condition = False
    measures = (
        Measure("injected_ns", "ns", "lower"),
        Measure("injected_answers", "answers", "lower"),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """Since the engine's start; empty without an injection; `TrialFailed` if the file cannot be
        read.
        """
        try:
            spun_ns, answers = COUNTS.unpack((watched.home / "inject").read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, struct.error) as error:
            raise TrialFailed("the delay's own count cannot be read", cause=str(error)) from error
        return {"injected_ns": float(spun_ns), "injected_answers": float(answers)}


PROBE = InjectedDelayProbe()
