"""What it costs a server to be asked what its sessions are at (`instruments/time/waits.py`).

Two names of one build are compared as ever, interleaved: one is asked, the other is not. What
asking takes on our side is told by the phases' records; the server's part is in the comparison.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from compared import compare
from serving import command

from dyno.instruments.time.waits import PhaseWaits
from dyno.runs.run_folder import RunFolder

SERVERS = ("postgres@18", "mysql@8.0.33", "mariadb@10.11")
WORKLOADS = ("oltp_point_select", "oltp_read_write")
QUIET = ("--limit", "foreign_percent=100", "--limit", "steal_percent=100")
ASKED = PhaseWaits.prepare


def ask_one_side(waits: PhaseWaits, phase: str, is_interleaved: bool) -> None:
    """Samples the candidate `asked`, and no other."""
    if waits.candidate == "asked":
        ASKED(waits, phase, is_interleaved)


def tell_own_cost(run: RunFolder) -> str:
    """What asking took of a core, on our side."""
    records = [record for trial in run.read_trials() for record in trial.phases if record.waits]
    own_ns = sum(record.own_time_ns for record in records)
    cpu_ns = sum(record.waits.cpu_ns for record in records if record.waits)
    samples = sum(record.waits.samples for record in records if record.waits)
    return f"{samples} samples, {100 * cpu_ns / max(1, own_ns):.2f} % of a core on our side"


def main() -> None:
    """Plays all servers and workloads, or those that are named."""
    parser = command("waits-cost", SERVERS)
    parser.add_argument("--workload", nargs="+", default=WORKLOADS, choices=WORKLOADS)
    words = parser.parse_args()
    short = ("--quick",) if words.quick else ()
    PhaseWaits.prepare = ask_one_side  # type: ignore[method-assign]
    with TemporaryDirectory(prefix="dyno-waits-") as place:
        for server in words.server:
            for workload in words.workload:
                sides = f"silent={server}", f"asked={server}"
                options = ("--set", "table_size=20000", "--set", "threads=4", *QUIET, *short)
                folder = Path(place) / f"{server}-{workload}"
                run = compare([*sides, "-w", workload, *options], folder)
                print(f"{server} {workload}: {tell_own_cost(run)}", flush=True)


if __name__ == "__main__":
    main()
