"""What each thing costs a host's score of 100 where it is poor; where it is fair, a third of it.

The weights say how far each can mislead a comparison on one host, by our judgement: first what
comes and goes between two trials of a block, which nothing averages away; then what makes every
trial noisier; last what costs convenience only. What cannot be seen costs nothing, and is said.
"""

from __future__ import annotations

from dyno.record import Observation

WEIGHTS = {
    # others take the cores, now and then
    "other load": 24,
    "steal": 24,
    "CPU quota": 24,
    "pressure": 12,
    # the clock rate moves
    "governor": 18,
    "power": 18,
    "turbo": 12,
    # who shares what
    "CPU": 18,
    "SMT": 12,
    "NUMA": 12,
    "virtualisation": 12,
    # memory
    "swap": 18,
    "memory": 18,
    "memory limit": 12,
    "huge pages": 9,
    "ASLR": 9,
    # disk
    "file system": 18,
    "mount options": 12,
    "free disk": 12,
    "I/O scheduler": 6,
    "discard": 6,
    "write cache": 3,
    "PCIe link": 6,
    # clocks
    "clock source": 18,
    "time": 6,
    # what Dyno and the engines are allowed
    "io_uring": 6,
    "open files": 6,
    "processes": 6,
    "locked memory": 3,
    "perf events": 3,
}


def cost(observation: Observation) -> int:
    """The points that an observation takes off."""
    weight = WEIGHTS[observation.name]
    return {"poor": weight, "fair": weight // 3}.get(observation.mark, 0)
