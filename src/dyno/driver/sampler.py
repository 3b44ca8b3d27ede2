"""Where the CPU time of a process and of its children goes: `dyno-driver sample`, beside a phase.

The processes must still stand when sampling stops, since their functions are named then.
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Literal

from dyno.driver.events import convert_error
from dyno.driver.lines import DriverLines
from dyno.driver.questions import build_driver_environment, find_driver
from dyno.errors import HostError, TrialFailed
from dyno.record import decode
from dyno.record.profile import CpuProfile

#: CPU time between two samples. A prime number of ns, so that they follow no slice's rhythm.
PERIOD_NS = 1_000_003
#: How long a sampler may take to begin, and to name the functions of a large program.
LIMIT_S = 60.0
#: What its answer may take.
ANSWER_BYTES = 64 << 20


@dataclass(frozen=True)
class SamplingStarted:
    """What is sampled: all CPUs at once or threads by themselves, and the kernel's time or not."""

    scope: Literal["cpus", "threads"]
    kernel: bool


class CpuSampler:
    """A sampler of the process `pid` and of all that it forks; it ends with us."""

    def __init__(self, pid: int, period_ns: int = PERIOD_NS, *, stacks: bool = False) -> None:
        """Starts the sampler; `HostError` where it cannot be started."""
        try:
            self._process = subprocess.Popen(
                [str(find_driver()), "sample"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=build_driver_environment(),
                process_group=0,
                bufsize=0,
            )
        except OSError as error:
            raise HostError("cannot start dyno-driver", cause=error.strerror) from error
        self._lines = DriverLines(self._process)
        self._lines.say(json.dumps({"pid": pid, "period_ns": period_ns, "stacks": stacks}))

    def start(self) -> SamplingStarted:
        """Begins to sample; `HostError` where the kernel does not permit it."""
        self._lines.say("start")
        return decode.decode(SamplingStarted, self._read_answer())

    def stop(self) -> CpuProfile:
        """Ends it: what was met since the start."""
        self._lines.say("stop")
        return decode.decode(CpuProfile, self._read_answer())

    def close(self) -> None:
        """Ends the sampler's process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> CpuSampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_answer(self) -> Any:
        try:
            answer = json.loads(self._lines.read(time.monotonic() + LIMIT_S, ANSWER_BYTES))
        except TimeoutError:
            message = f"the CPU sampler did not answer within {LIMIT_S:.0f} s"
            raise TrialFailed(message) from None
        except EOFError:
            raise TrialFailed("the CPU sampler ended before it answered") from None
        except OverflowError:
            message = f"the CPU sampler answered with more than {ANSWER_BYTES >> 20} MB"
            raise TrialFailed(message) from None
        if isinstance(answer, dict) and answer.get("event") == "error":
            raise convert_error(answer)
        return answer
