"""Client hosts that write without end, or read nothing: a stand-in `ssh` leads to each."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from dyno import tails
from dyno.driver import End, clients
from dyno.driver.clients.drivers import ClientDrivers
from dyno.driver.plan import VERSION, Plan, Script
from dyno.driver.process import DriverLaunch, DriverLines, DriverProcess, Limit
from dyno.errors import HostError, TrialFailed
from dyno.record import PhaseRecord

#: More than is read of any host at once.
FLOOD_MB = 80
FLOOD = f"dd if=/dev/zero bs=1M count={FLOOD_MB} status=none"
#: Runs the words of a host by a shell, after what a test does there.
SSH = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
case $2 in
PLACE) DEED ;;
esac
TMPDIR=THERE exec sh -c "$2"
"""
#: Words of what is run there: what keeps the folder, copies the driver, asks for it, plays.
KEEP, COPY, IDENTIFY, RUN = "*mktemp*", "cat*chmod*", "*identify", "*run"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `ssh` is looked for first."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "there").mkdir()
    return tmp_path


def reach(folder: Path, place: str, deed: str) -> clients.ClientFleet:
    """A host where `deed` is done before, or in the place of, what is run at `place`."""
    text = SSH.replace("PLACE", place).replace("DEED", deed)
    (folder / "ssh").write_text(text.replace("THERE", str(folder / "there")))
    (folder / "ssh").chmod(0o700)
    return clients.reach_hosts(clients.parse_client_hosts("ssh:a"))


def start(fleet: clients.ClientFleet, folder: Path) -> ClientDrivers:
    file = folder / "script.lua"
    file.write_text("function event() end")
    script = Script(str(file), {"threads": "1", "events": "20", "time": "0"})
    plan = Plan({"kind": "null", "delay_ns": 0}, script, seed=7, commands=("run",))
    return fleet.drive(plan, DriverLaunch(folder / "log"), {})


def play(fleet: clients.ClientFleet, folder: Path, limit_s: float = 30.0) -> list[PhaseRecord]:
    records = []
    with start(fleet, folder) as drivers:
        while not isinstance(event := drivers.read_event(Limit("the play", limit_s)), End):
            if isinstance(event, PhaseRecord):
                records.append(event)
            drivers.go()
    return records


def test_what_a_host_writes_on_stderr_is_kept_by_both_ends(folder: Path) -> None:
    """That of the driver, which joins the log: its end tells why it ended."""
    deed = f"{{ echo begin; {FLOOD}; echo end; }} >&2"
    with reach(folder, RUN, deed) as fleet:
        (record,) = play(fleet, folder)
    assert record.streams[0].done == 20
    log = (folder / "log").read_bytes()
    assert log.startswith(b"begin\n") and log.endswith(b"end\n")
    dropped = (FLOOD_MB << 20) + len("begin\nend\n") - 2 * tails.END_BYTES
    assert f"[{dropped} bytes left out]".encode() in log
    assert len(log) < 2 * tails.END_BYTES + 100
    with (
        reach(folder, RUN, f"{deed}; echo broken >&2; exit 3") as fleet,
        pytest.raises(TrialFailed, match=r"client host a: .*exit code 3\): broken"),
    ):
        play(fleet, folder)


def test_what_the_connection_itself_writes_on_stderr_is_dropped(folder: Path) -> None:
    with reach(folder, KEEP, f"{FLOOD} >&2") as fleet:
        (host,) = fleet.reached
        assert host.ssh
        kept = host.ssh._words
        assert kept._size == FLOOD_MB << 20
        assert len(kept._head) == len(kept._tail) == tails.END_BYTES


@pytest.mark.parametrize(
    ("place", "deed", "says", "hint"),
    [
        (KEEP, FLOOD, "cannot reach client host a: its login shell prints more than 1 MB", "ssh a"),
        (COPY, FLOOD, "to client host a: it answered with more than 64 MB", "`ssh a true`"),
        (COPY, f"{FLOOD} >&2", "to client host a: it answered with more than 64 MB", "ssh a"),
        (IDENTIFY, FLOOD, "host a cannot run dyno-driver: it answered with more than 64", "path"),
        (IDENTIFY, f"{FLOOD} >&2", "cannot run dyno-driver: it answered with more", "path"),
        (IDENTIFY, "head -c 200000 /dev/zero | tr '\\\\0' '['; exit", "host a cannot run", "path"),
    ],
)
def test_a_host_that_answers_without_end_is_named(
    folder: Path, place: str, deed: str, says: str, hint: str
) -> None:
    with pytest.raises(HostError) as refused:
        reach(folder, place, deed)
    assert says in str(refused.value)
    assert hint in refused.value.hint
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        (FLOOD, "client host a: it sent a line without end: no driver's is longer than 64 MB"),
        (
            """yes '{"event":"answered","phase":"run"}' | head -n 100000""",
            "client host a: it sent 64 events and waited for no answer",
        ),
        ("echo nonsense", "client host a: cannot parse the driver's event: "),
        ("""echo '{"event":"ready"}'""", "client host a: cannot parse the driver's event: Ready"),
        ("""echo '{"event":"done","phase":[]}'""", "client host a: cannot parse the driver's"),
    ],
)
def test_a_driver_that_talks_nonsense_or_without_end_ends_the_trial_with_its_host(
    folder: Path, deed: str, says: str
) -> None:
    with reach(folder, RUN, deed) as fleet, pytest.raises(TrialFailed) as torn:
        play(fleet, folder)
    assert says in str(torn.value)


def test_a_line_without_end_as_the_clocks_are_asked_is_the_hosts_fault(folder: Path) -> None:
    ready = """echo '{"event":"ready","phase":"run","monotonic_ns":1}'; sleep 0.2"""
    with (
        reach(folder, RUN, f"{ready}; {FLOOD}") as fleet,
        pytest.raises(TrialFailed, match="client host a: it sent a line without end"),
    ):
        play(fleet, folder)


def test_a_host_that_never_stops_talking_has_the_limit_of_one_that_says_nothing(
    folder: Path,
) -> None:
    hello = f"""yes '{{"event":"hello","version":{VERSION},"driver":"1"}}'; exit"""
    with (
        reach(folder, RUN, hello) as fleet,
        pytest.raises(TrialFailed, match=r"client host a: the play took longer than 0 s"),
    ):
        play(fleet, folder, limit_s=0.3)


def test_a_driver_that_closes_its_output_and_stays_is_not_waited_for() -> None:
    command = ("sh", "-c", "exec >&-; sleep 60")
    with DriverProcess(None, DriverLaunch(None, command=command)) as process:
        with pytest.raises(EOFError):
            process.lines.read(time.monotonic() + 10, 10)
        said = str(process.explain_end(0.1))
    assert said == "the driver closed its output and did not end in 0.1 s"


def test_a_line_that_nobody_reads_is_given_up() -> None:
    with subprocess.Popen(
        ["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as sleeping:
        said = DriverLines(sleeping)
        said.say("x" * (1 << 20), 0.1)
        sleeping.kill()
        with pytest.raises(EOFError):
            said.read(time.monotonic() + 10, 10)
