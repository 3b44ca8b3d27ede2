"""Whether a torn run can go on: what is no longer as it was when the run began."""

from __future__ import annotations

from pathlib import Path

from dyno import driver, workloads
from dyno.builds import sha256
from dyno.conduct.host import FLEETING
from dyno.conduct.prepared import Prepared, here
from dyno.conduct.sides import facts
from dyno.record import Run, WorkloadPlan


def changes(run: Run, prepared: Prepared) -> list[str]:
    """What is no longer as it was when the run began, in words."""
    now = here()
    found = [
        f"{name} was '{was}' and is '{now.get(name, '')}'"
        for name, was in run.host.items()
        if name not in FLEETING and was != now.get(name, "")
    ]
    if run.driver_sha256 != sha256(driver.locate()):
        found.append("dyno-driver is another one")
    for was, side in zip(run.candidates, prepared.run.candidates, strict=True):
        if facts(prepared.builds[side.name]).get("sha256") != was.build.get("sha256"):
            found.append(f"the program of {was.name} is another one")
    return found + [f"{w.script} was edited" for w in run.workloads if _edited(w)]


def _edited(workload: WorkloadPlan) -> bool:
    script = Path(workload.script)
    return not script.is_file() or workloads.checksum(script) != workload.script_sha256
