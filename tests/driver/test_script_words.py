"""What a script and the programs that it starts write to whatever they find open."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, Limit
from dyno.driver.plan import Plan, Script
from dyno.driver.questions import find_driver
from dyno.errors import UsageError

#: Every word of the driver's that a forger would like to say.
FORGED = [{"event": "end", "counters": {"inserted": 99}}, {"event": "failing", "phase": "run"}]
SCRIPT = """
local forged = %s
function event()
   print(forged)
   io.write(forged)
   io.stdout:flush()
   os.execute("%s forge.py")
   os.execute("readlink /proc/self/fd/* > open; cat > read")
end
sysbench.hooks = sysbench.hooks or {}
"""
#: Writes to descriptors and opens none: by its path in /proc, the file of a descriptor that was
#: inherited would be opened anew, and overwritten.
FORGE = """
import os
for descriptor in range(256):
    try:
        os.write(descriptor, open("forged.json", "rb").read())
    except OSError:
        pass
"""


def test_what_a_script_and_its_programs_write_is_no_word_of_the_drivers(tmp_path: Path) -> None:
    text = "".join(f"{json.dumps(it)}\n" for it in FORGED)
    (tmp_path / "forged.json").write_text(text)
    script = tmp_path / "forging.lua"
    (tmp_path / "forge.py").write_text(FORGE.replace("forged.json", f"{tmp_path}/forged.json"))
    body = SCRIPT.replace("%s", f"[[\n{text}]]", 1).replace("%s", sys.executable)
    body = body.replace("forge.py", f"{tmp_path}/forge.py")
    body = body.replace("> open", f"> {tmp_path}/open").replace("> read", f"> {tmp_path}/read")
    script.write_text(body)
    options = {"events": "2", "time": "20", "threads": "1", "warmup_time": "0"}
    plan = Plan({"kind": "null", "delay_ns": 0}, Script(str(script), options), seed=1)
    plan = Plan(plan.session, plan.script, plan.seed, commands=("run",))
    events: list[driver.Event] = []
    with DriverProcess(plan, DriverLaunch(tmp_path / "log")) as process:
        while not events or not isinstance(events[-1], driver.End):
            events.append(process.read_event(Limit("the script", 60)))
            if not isinstance(events[-1], driver.Progress | driver.End):
                process.go()
    assert events[-1] == driver.End({}), "its own, and not the forged one"
    assert not any(isinstance(it, driver.Failing) for it in events)
    assert '"inserted": 99' in (tmp_path / "log").read_text(), "it is in the log"
    assert (tmp_path / "read").read_text() == "", "a child reads nothing of the plan"
    found = set((tmp_path / "open").read_text().split())
    ours = {str(tmp_path / name) for name in ("log", "open")} | {"/dev/null"}
    assert {it for it in found if not it.startswith("/proc/")} <= ours, "no descriptor of ours"


def test_a_program_of_a_script_has_no_file_that_the_driver_was_started_with(tmp_path: Path) -> None:
    script = tmp_path / "looking.lua"
    script.write_text(
        f'os.execute("readlink /proc/self/fd/* > {tmp_path}/open")\n'
        f'io.popen("readlink /proc/self/fd/* > {tmp_path}/read"):close()\n'
        "function event() end\n"
    )
    plan = Plan({"kind": "null", "delay_ns": 0}, Script(str(script), {}), seed=1)
    secret = tmp_path / "secret"
    with secret.open("w") as inherited:
        done = subprocess.run(
            [find_driver(), "describe"],
            input=plan.to_line(),
            pass_fds=(inherited.fileno(),),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stdout
    for name in ("open", "read"):
        assert str(secret) not in (tmp_path / name).read_text().split()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["comment.lua", "comment.sql", "/dev/zero"])
def test_a_script_of_no_end_is_refused_by_its_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.parent == tmp_path:
        path.write_text(f"-- {'x' * (33 << 20)}\nSELECT 1;\n")
    plan = Plan({"kind": "null", "delay_ns": 0}, Script(str(path), {}), seed=1)
    with pytest.raises(UsageError, match="is larger than 32 MiB"):
        driver.describe(plan)
