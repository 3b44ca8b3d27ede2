"""Where the CPU time of a process and of its children goes: `dyno-driver sample`, beside a phase.

The processes must still stand when sampling stops, since their functions are named then.
"""

from __future__ import annotations

import json
import select
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from dyno.driver.events import convert_error
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
        self._say(json.dumps({"pid": pid, "period_ns": period_ns, "stacks": stacks}))

    def start(self) -> SamplingStarted:
        """Begins to sample; `HostError` where the kernel does not permit it."""
        self._say("start")
        return decode.decode(SamplingStarted, self._answer())

    def stop(self) -> CpuProfile:
        """Ends it: what was met since the start."""
        self._say("stop")
        return decode.decode(CpuProfile, self._answer())

    def close(self) -> None:
        """Ends the sampler's process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> CpuSampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _say(self, line: str) -> None:
        # One that died meanwhile is noticed where its answer is missing.
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode() + b"\n")

    def _answer(self) -> Any:
        answer = json.loads(self._read_line())
        if isinstance(answer, dict) and answer.get("event") == "error":
            raise convert_error(answer)
        return answer

    def _read_line(self) -> bytes:
        stdout, line, ends_s = self._process.stdout, bytearray(), time.monotonic() + LIMIT_S
        while stdout is not None and not line.endswith(b"\n") and len(line) < ANSWER_BYTES:
            left_s = ends_s - time.monotonic()
            if not select.select([stdout], [], [], max(0.0, left_s))[0]:
                raise TrialFailed(f"the CPU sampler did not answer within {LIMIT_S:.0f} s")
            chunk = stdout.read(1 << 18)
            if not chunk:
                raise TrialFailed("the CPU sampler ended before it answered")
            line += chunk
        return bytes(line)
