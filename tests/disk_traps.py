"""Ways in which a disk's numbers fool their reader, and by what name each is caught: docs as data.

Each is a row of `docs/evidence/disk.md`, which `make docs` writes, and a case of
`tests/disk/test_disk_traps.py`, which injects it and looks for the name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Injected on this host's disk; in an fio that is a script of ours; in a folder in place of /sys;
#: or in the record of a run.
Injected = Literal["disk", "fio", "/sys", "record"]


@dataclass(frozen=True)
class Trap:
    """What is wrong, the audit that names it or the words of a refusal, the audit's word, and where
    it was injected.
    """

    name: str
    sentence: str
    by: str
    word: Literal["invalid", "doubtful", "refused"]
    injected: Injected


TRAPS = (
    Trap("sparse-file", "a file of holes", "unwritten", "invalid", "disk"),
    Trap("allocated-file", "a file allocated and never written", "unwritten", "invalid", "disk"),
    Trap("trimmed-device", "a device of zeros, as after a trim", "unwritten", "invalid", "disk"),
    Trap("memory", "a file system in memory", "buffered", "invalid", "disk"),
    Trap("buffered", "a job that asks for O_DIRECT and is buffered", "buffered", "invalid", "disk"),
    Trap("page-cache", "reads of which many hit the page cache", "page_cache", "doubtful", "disk"),
    Trap("loop-cache", "a loop device without direct I/O", "loop_cache", "invalid", "disk"),
    Trap("truncated-json", "fio's JSON stops early", "fio's JSON is cut off", "refused", "fio"),
    Trap("fio-error", "fio ends with 0 and an `error`", "fio reports error 28", "refused", "fio"),
    Trap("two-jobs", "two jobs reported for one", "fio reports 2 jobs", "refused", "fio"),
    Trap("full-disk", "a disk that is full", "does not fit", "refused", "disk"),
    Trap("slow-device", "a control group of 200 reads a second", "queue_limit", "doubtful", "disk"),
    Trap("io-max", "a limit of a cgroup of version 2", "queue_limit", "doubtful", "/sys"),
    Trap("throttled", "a limit that begins within a play", "throttling", "doubtful", "disk"),
    Trap("credits", "rates that fall after some blocks", "throttling", "doubtful", "record"),
    Trap("cache-answers", "a volatile cache answers flushes", "write_cache", "doubtful", "/sys"),
    Trap("no-flush", "a file system that sends no flush", "write_cache", "invalid", "record"),
    Trap("thin-pool", "a volume of a thin pool", "thin_provisioning", "doubtful", "/sys"),
    Trap("thin-lun", "a SCSI disk that is thin", "thin_provisioning", "doubtful", "/sys"),
    Trap("no-trim", "a flash drive that takes no discard", "trim", "doubtful", "/sys"),
    Trap("narrow-link", "a PCIe link below the drive's", "pcie_link", "doubtful", "/sys"),
    Trap("fresh-drive", "a drive that is not preconditioned", "steady_state", "doubtful", "record"),
    Trap("neighbour", "others that use the disk", "foreign_io", "doubtful", "record"),
)


def make_table() -> str:
    """The table in Markdown."""
    rows = ["| trap | caught by | word | injected in |", "|---|---|---|---|"]
    for trap in TRAPS:
        caught = f"*{trap.by}*" if trap.word == "refused" else f"`{trap.by}`"
        rows.append(
            f"| `{trap.name}`: {trap.sentence} | {caught} | {trap.word} | {trap.injected} |"
        )
    return "\n".join(rows) + "\n"
