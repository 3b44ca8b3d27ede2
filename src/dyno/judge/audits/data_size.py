"""Audit `data_size`: is the data set as large as the workload says?

A script that loads a tenth of what its options promise fits where the real data would not. What it
promises is its own guess (`dyno.size_bytes`), good to a factor of two at best: compression, free
space in pages and versions that wait for a vacuum change it. So the limits are wide: less than a
quarter of the guess, or more than four times it and 32 MB (an empty PostgreSQL has 8) is doubtful.

What is there, the engine says after the last phase (`data` among the conditions), logs left out.
Scripts that guess nothing, engines that cannot tell, and guesses below 32 MB are not judged small.
"""

from __future__ import annotations

from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    keeps_data,
)
from dyno.record import Finding, Trial, WorkloadPlan

FACTOR = 4
FIXED_BYTES = 32 << 20
_NO_GUESS = "the script does not say how large its data are"
_NO_DATA = "the engine does not tell how much it holds"


class DataSize:
    """What an engine holds against the script's guess."""

    summary = "engines hold about as much data as the workload says"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each workload and candidate that is far off; else one with the sizes."""
        run, trials = view.run, view.trials
        findings, sizes = [], []
        unjudged: list[Unjudged] = []
        for workload in run.workloads:
            for side in run.candidates:
                own = [t for t in trials if _is_of(t, workload.name, side.name)]
                plan = workload.with_options(side.options)
                name = f"{workload.name} on {side.name}"
                if not keeps_data(side) or not plan.size_bytes:
                    why = _NO_GUESS if keeps_data(side) else KEEPS_NOTHING
                    unjudged.append(Inapplicable(why, name))
                    continue
                if not own:
                    unjudged.append(Unchecked(_NO_DATA, name))
                    continue
                held = median(_read_data_bytes(t) or 0 for t in own)
                words = f"{name}: {_format_mb(held)} MB held"
                sizes.append(held)
                if wrong := _describe_wrong(plan, held):
                    meant = tuple(t.number for t in own)
                    findings.append(Finding("data_size", "doubtful", f"{words}, {wrong}", meant))
        return conclude("data_size", findings, _describe_sound(sizes), unjudged)


def _is_of(trial: Trial, workload: str, candidate: str) -> bool:
    own = (trial.workload, trial.candidate) == (workload, candidate) and trial.status == "ok"
    return own and _read_data_bytes(trial) is not None


def _read_data_bytes(trial: Trial) -> int | None:
    return trial.conditions.data.size_bytes if trial.conditions.data else None


def _describe_wrong(workload: WorkloadPlan, held: float) -> str:
    said = workload.size_bytes
    if said >= FIXED_BYTES and held < said / FACTOR:
        return f"less than a quarter of the {_format_mb(said)} MB that the script says"
    if held > FACTOR * said + FIXED_BYTES:
        return f"more than {FACTOR} times the {_format_mb(said)} MB that the script says"
    return ""


def _describe_sound(sizes: list[float]) -> str:
    if not sizes:
        return ""
    least, most = _format_mb(min(sizes)), _format_mb(max(sizes))
    return f"the engines held {least} to {most} MB ({len(sizes)}), about what the scripts say"


def _format_mb(size: float) -> str:
    return f"{size / 1e6:.0f}" if size >= 1e7 else f"{size / 1e6:.1f}"


AUDIT = DataSize()
