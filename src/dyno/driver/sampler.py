"""Where the CPU time of processes and of their children goes: `dyno-driver sample`, beside a phase.

The processes must still stand when their functions are named.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dyno.driver.events import convert_error
from dyno.driver.process import DriverLines
from dyno.driver.questions import build_driver_environment, find_driver
from dyno.errors import HostError, TrialFailed
from dyno.record import decode
from dyno.record.profile import CpuProfile, CpuSlice
from dyno.record.schema import Record

#: CPU time between two samples: √5 less one, in ms, which follows the rhythm of no slices, and
#: costs little even where an interrupt is dear (docs/evidence/cpu-samples.md).
PERIOD_NS = 1_236_068
#: How long a sampler may take to begin, and to name the functions of a large program.
LIMIT_S = 60.0
#: What its answer may take.
ANSWER_BYTES = 64 << 20


SamplingScope = Literal["cpus", "threads"]


class SamplingStarted(Record):
    """What is sampled: which event, all CPUs at once or threads by themselves, and whether the time
    inside the kernel is.
    """

    event: str
    scope: SamplingScope
    kernel: bool


class CpuSampler:
    """A sampler of processes and of all that they fork, as often as it is started; it ends with us.

    It remembers the symbols of programs: the second profile of a build takes milliseconds.
    """

    def __init__(self, period_ns: int = PERIOD_NS, debug_folders: Sequence[Path] = ()) -> None:
        """Start the sampler's process; `HostError` if it cannot be started. `debug_folders` hold
        debug files by build id, besides the system's own folder.
        """
        self.period_ns = period_ns
        try:
            self._process = subprocess.Popen(
                [str(find_driver()), "sample", *map(str, debug_folders)],
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

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(
        self,
        pids: Sequence[int],
        *,
        stacks: bool = False,
        scope: SamplingScope | None = None,
        slice_ns: int | None = None,
    ) -> SamplingStarted:
        """Begin to sample; `HostError` if the kernel does not permit it. None of `pids` may be
        another's descendant. `scope` None: what costs least of what is permitted. With `slice_ns`
        the samples are separated by time (`name_slices`).
        """
        request = {"pids": list(pids), "period_ns": self.period_ns, "stacks": stacks}
        self._lines.say(json.dumps({**request, "scope": scope, "slice_ns": slice_ns}))
        return decode.decode(SamplingStarted, self._read_answer())

    def stop(self) -> None:
        """End the sampling, at once."""
        self._lines.say("stop")
        self._read_answer()

    def name(self) -> list[CpuProfile]:
        """Return what each of the processes was seen executing, in their order, while they live."""
        self._lines.say("name")
        return [decode.decode(CpuProfile, each) for each in self._read_answer()]

    def name_slices(self) -> list[tuple[CpuProfile, tuple[CpuSlice, ...]]]:
        """Return the same with their slices, or up to now if it goes on."""
        self._lines.say("name")
        answers = self._read_answer()
        slices = [each.pop("slices", []) for each in answers]
        return [
            (
                decode.decode(CpuProfile, each),
                tuple(decode.decode(CpuSlice, it) for it in own),
            )
            for each, own in zip(answers, slices, strict=True)
        ]

    def close(self) -> None:
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
