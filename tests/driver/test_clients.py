"""Several drivers that play one load together, on made-up hosts: `env` leads to each."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import hdr
import pytest
from msgspec import structs
from privileges import need_root

from dyno import driver
from dyno.driver import clients
from dyno.driver.clients.merging import compute_allowed_ns
from dyno.driver.plan import Plan, Script, SlicePlan
from dyno.driver.process import DriverLaunch, Limit
from dyno.errors import DynoError, HostError, TrialFailed, UsageError
from dyno.record import PhaseRecord
from dyno.record.clients import ClientHost, compute_start_spread

#: Counts each user's events and what it drew; `prepare` is to be played once.
SCRIPT = """
sysbench.cmdline.options = {wait = {"seconds of an event", 0}}
function prepare() dyno.count("prepared") end
function thread_init() dyno.count("user_" .. sysbench.tid) end
function event()
    dyno.count("events")
    dyno.count("drawn", sysbench.rand.uniform(1, 1000))
    if sysbench.opt.wait > 0 then dyno.sleep(sysbench.opt.wait) end
end
"""
NOTHING = {"kind": "null", "delay_ns": 0}
HOSTS = tuple(ClientHost(name, ("env", f"HOST={name}")) for name in ("c1", "c2"))
LIMIT_S = 30.0


def make_plan(folder: Path, script: str = SCRIPT, **options: str) -> Plan:
    file = folder / "script.lua"
    file.write_text(script)
    chosen = {"threads": "4", "time": "0.4"} | options
    return Plan(NOTHING, Script(str(file), chosen), seed=7, progress_s=0.1)


@contextmanager
def reached(*hosts: ClientHost) -> Iterator[clients.ClientFleet]:
    with clients.reach_hosts(hosts or HOSTS) as fleet:
        yield fleet


def play(
    fleet: clients.ClientFleet, plan: Plan, log: Path, lengths_s: Mapping[str, float] | None = None
) -> tuple[list[PhaseRecord], driver.End]:
    """Plays to the end, letting it go on each time."""
    records: list[PhaseRecord] = []
    with fleet.drive(plan, DriverLaunch(log), lengths_s or {}) as process:
        while True:
            event = process.read_event(Limit("the play", LIMIT_S))
            if isinstance(event, driver.End):
                return records, event
            if isinstance(event, PhaseRecord):
                records.append(event)
            if not isinstance(event, driver.Progress):
                process.go()


def test_users_are_dealt_and_counts_add_up_to_those_of_one_driver(tmp_path: Path) -> None:
    """A fixed number of events draws the same numbers from one host and from three."""
    plan = make_plan(tmp_path, events="4000", time="0", threads="5")
    hosts = tuple(structs.replace(HOSTS[0], name=f"c{number}") for number in range(3))
    with reached(hosts[0]) as one, reached(*hosts) as three:
        alone, end_alone = play(one, plan, tmp_path / "log")
        together, end = play(three, plan, tmp_path / "log")
    assert [each.phase for each in together] == ["prepare", "run"]
    assert end.counters["prepared"] == 1
    assert {name: end.counters[name] for name in end.counters if name.startswith("user_")} == {
        f"user_{number}": 1 for number in range(5)
    }
    (tally,) = together[1].streams
    parts = together[1].clients
    assert [(part.host, part.users) for part in parts] == [("c0", 2), ("c1", 2), ("c2", 1)]
    assert [part.done["event"] for part in parts] == [1600, 1600, 800]
    assert (tally.done, tally.intended, tally.connections) == (4000, 4000, 5)
    assert tally.latency.count == 4000
    assert end.counters["events"] == end_alone.counters["events"] == 4000
    assert len(alone[1].clients) == 1


def test_arrivals_at_a_rate_are_those_of_one_driver_dealt_by_the_users(tmp_path: Path) -> None:
    """As many are due, however they are spaced, and each is one host's; a count ends alike."""
    hosts = tuple(structs.replace(HOSTS[0], name=f"c{number}") for number in range(3))
    with reached(hosts[0]) as one, reached(*hosts) as three:
        for options in (
            {"arrivals": "poisson", "rate": "900"},
            {"arrivals": "uniform", "rate": "700", "events": "233", "time": "0"},
        ):
            plan = make_plan(tmp_path, threads="5", **options)
            alone, _ = play(one, plan, tmp_path / "log")
            together, _ = play(three, plan, tmp_path / "log")
            (before,), (tally,) = alone[1].streams, together[1].streams
            assert tally.intended == before.intended == tally.done + tally.skipped > 200
            assert tally.target_per_s == before.target_per_s == float(options["rate"])
            sent = [part.done["event"] for part in together[1].clients]
            assert sum(sent) == tally.done and min(sent) > 0
            if "events" in options:  # 46 rounds of five users, and the first three once more
                assert sent == [47 + 46, 47 + 46, 47]


def test_all_begin_within_the_spread_that_is_told(tmp_path: Path) -> None:
    with reached() as fleet:
        records, _ = play(fleet, make_plan(tmp_path), tmp_path / "log")
    parts = records[1].clients
    assert [part.users for part in parts] == [2, 2]
    for part in parts:  # one machine: the true offset is nothing
        assert abs(part.clock.offset_ns) <= part.clock.error_ns
        assert abs(part.clock_after.offset_ns) <= part.clock_after.error_ns
        assert part.began_ns >= records[1].started_ns - part.clock.error_ns
    spread_ns, error_ns = compute_start_spread(parts)
    began = [(part.began_ns, part.last_began_ns) for part in parts]
    assert spread_ns == max(last for _, last in began) - min(first for first, _ in began) >= 0
    assert error_ns == sum(part.clock.error_ns for part in parts)
    assert sum(tally.done for tally in records[1].streams) == sum(
        part.done["event"] for part in parts
    )
    seconds = records[1].streams[0].series.done
    assert sum(seconds) == records[1].streams[0].done


def test_progress_of_all_is_told_as_one(tmp_path: Path) -> None:
    seen: list[driver.Progress] = []
    with (
        reached() as fleet,
        fleet.drive(make_plan(tmp_path, time="0.7"), DriverLaunch(tmp_path / "log"), {}) as process,
    ):
        while not isinstance(event := process.read_event(Limit("the play", LIMIT_S)), driver.End):
            if isinstance(event, driver.Progress):
                seen.append(event)
            else:
                process.go()
    assert 3 <= len(seen) <= 7
    assert seen[-1].streams[0].done > seen[0].streams[0].done > 0


def test_slices_begin_at_one_time_on_all_hosts(tmp_path: Path) -> None:
    turns = SlicePlan((0, 1), 0, 50_000_000, 5_000_000, 5_000_000, 0, 0, frozen=False)
    plan = replace(make_plan(tmp_path), turns=turns, commands=("run",))
    with reached() as fleet, fleet.drive(plan, DriverLaunch(tmp_path / "log"), {}) as process:
        assert isinstance(process.read_event(Limit("ready", LIMIT_S)), driver.Ready)
        start_ns = time.monotonic_ns() + 100_000_000
        process.go(start_ns)
        while not isinstance(event := process.read_event(Limit("run", LIMIT_S)), PhaseRecord):
            pass
    assert abs(event.started_ns - start_ns) <= max(c.clock.error_ns for c in event.clients)
    assert event.own_ns
    assert len(event.streams[0].slices) >= 7


def test_a_clock_that_is_not_known_well_enough_for_slices_is_refused(tmp_path: Path) -> None:
    turns = SlicePlan((0, 1), 0, 50_000_000, 5_000_000, 5_000_000, 0, 0, frozen=False)
    plan = replace(make_plan(tmp_path), turns=turns, commands=("run",))
    with (
        reached() as fleet,
        fleet.drive(plan, DriverLaunch(tmp_path / "log"), {}, lambda *_: 0) as process,
        pytest.raises(TrialFailed) as refused,
    ):
        process.read_event(Limit("ready", LIMIT_S))
    assert compute_allowed_ns(50_000_000, 2.0) == 500_000
    assert compute_allowed_ns(None, 2.0) == 2_000_000
    assert "client host c1: its clock is known to ±" in str(refused.value)
    assert "--sequential" in str(refused.value)


@pytest.mark.parametrize(
    ("script", "options", "says"),
    [
        (SCRIPT, {"threads": "1"}, "it has 1 users for 2 client hosts"),
        (
            """dyno.phases = {{name = "p", stop = {kind = "time", duration_s = 1}, streams = {
            {name = "s", run = "event", connections = 2,
            pace = {kind = "recorded", rate_per_s = 9}}}}}
            function event() end""",
            {},
            "stream s plays a server's log",
        ),
        (SCRIPT + "function event() dyno.turn() end", {}, "dyno.turn counts the turns of all"),
        (
            """dyno.phases = {{name = "p", stop = {kind = "count", events = 0}, streams = {
            {name = "s", run = "event", connections = 2}}}}
            function event() return false end""",
            {},
            "the first user to have no more ends it for all",
        ),
        (
            """dyno.phases = {{name = "p", stop = {kind = "stream", stream = "s", events = 9},
            streams = {{name = "s", run = "event", connections = 2}}}}
            function event() end""",
            {},
            "stream s ends it for all users",
        ),
    ],
)
def test_what_users_have_in_common_is_refused_by_name(
    tmp_path: Path, script: str, options: dict[str, str], says: str
) -> None:
    plan = replace(make_plan(tmp_path, script, **options), commands=("run",))
    with reached() as fleet, pytest.raises(UsageError, match=r"client host c[12]") as refused:
        play(fleet, plan, tmp_path / "log")
    assert says in str(refused.value)


def test_the_error_of_one_host_is_told_with_its_name_at_once(tmp_path: Path) -> None:
    script = SCRIPT + "function event() if sysbench.tid == 1 then error('it broke') end end"
    began_s = time.monotonic()
    with reached() as fleet, pytest.raises(DynoError, match=r"client host c2: .*it broke"):
        play(fleet, make_plan(tmp_path, script, time="20"), tmp_path / "log")
    assert time.monotonic() - began_s < 10


def find_drivers(host: str) -> list[int]:
    """The processes of a made-up host."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"HOST={host}".encode() in words and f"TEST={os.getpid()}".encode() in words:
                found.append(int(entry.name))
    return found


def mark(host: ClientHost) -> ClientHost:
    return structs.replace(host, command=(*host.command, f"TEST={os.getpid()}"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_host_that_is_lost_in_a_phase_ends_it_with_its_name(
    tmp_path: Path, how: signal.Signals
) -> None:
    plan = make_plan(tmp_path, time="60" if how == signal.SIGKILL else "1")
    says = "client host c2: the driver was killed" if how == signal.SIGKILL else "client host c2: "
    with (
        reached(*map(mark, HOSTS)) as fleet,
        fleet.drive(plan, DriverLaunch(tmp_path / "log"), {}) as process,
        pytest.raises(TrialFailed, match=says),
    ):
        while True:
            event = process.read_event(Limit("the play", 6))
            if isinstance(event, driver.Progress):
                for pid in find_drivers("c2"):
                    os.kill(pid, how)
            else:
                process.go()
    assert find_drivers("c1") == find_drivers("c2") == []


def test_a_driver_ends_with_its_stdin_in_the_midst_of_a_phase(tmp_path: Path) -> None:
    """A host whose kernel does not tell it that Dyno is gone."""
    plan = make_plan(tmp_path, time="60")
    with reached(*map(mark, HOSTS)) as fleet:
        process = fleet.drive(plan, DriverLaunch(tmp_path / "log"), {})
        while not isinstance(process.read_event(Limit("the play", LIMIT_S)), driver.Progress):
            process.go() if process._stages[0]._pending else None
        for each in process._processes:
            assert each._process.stdin
            each._process.stdin.close()
        until_s = time.monotonic() + 5
        while find_drivers("c1") + find_drivers("c2") and time.monotonic() < until_s:
            for each in process._processes:
                each._process.poll()
            time.sleep(0.02)
        assert find_drivers("c1") == find_drivers("c2") == []
        process.close()


def test_an_interrupted_phase_tells_what_all_hosts_have(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, time="60")
    records = []
    with reached() as fleet, fleet.drive(plan, DriverLaunch(tmp_path / "log"), {}) as process:
        while not isinstance(event := process.read_event(Limit("the play", LIMIT_S)), driver.End):
            if isinstance(event, PhaseRecord):
                records.append(event)
            if isinstance(event, driver.Progress):
                process.interrupt()
            elif not (isinstance(event, PhaseRecord) and event.interrupted):
                process.go()
    assert records[-1].interrupted
    assert len(records[-1].clients) == 2


def test_a_start_that_comes_too_late_is_an_error_of_that_host(tmp_path: Path) -> None:
    plan = replace(make_plan(tmp_path), commands=("run",))
    with (
        reached() as fleet,
        fleet.drive(plan, DriverLaunch(tmp_path / "log"), {}) as process,
        pytest.raises(TrialFailed, match=r"client host c[12]: the common start came .* too late"),
    ):
        process.read_event(Limit("ready", LIMIT_S))
        process.go(time.monotonic_ns() - 1_000_000)
        process.read_event(Limit("run", LIMIT_S))


def write_program(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def test_a_host_with_another_driver_is_refused_by_name_before_anything_is_played(
    tmp_path: Path,
) -> None:
    told = {"cores": 1, "driver": "0.0.9", "machine": "m", "network": "n", "sha256": "0" * 64}
    other = write_program(tmp_path / "driver", f"#!/bin/sh\necho '{json.dumps(told)}'\n")
    with pytest.raises(HostError, match=r"client host c2 has another dyno-driver: it is 0.0.9"):
        clients.reach_hosts([HOSTS[0], structs.replace(HOSTS[1], driver=str(other))])


@pytest.mark.parametrize(
    ("host", "says"),
    [
        (ClientHost("c9", ("no-such-command",)), "no-such-command: no such file"),
        (ClientHost("c9", ("sh", "-c", "echo gone >&2; exit 3")), "gone"),
        (ClientHost("c9", ("env",), driver="/nowhere/driver"), "No such file"),
    ],
)
def test_a_host_that_cannot_be_reached_is_named(host: ClientHost, says: str) -> None:
    with pytest.raises((HostError, UsageError), match=r"client host c9 cannot run") as refused:
        clients.reach_hosts([host])
    assert says in str(refused.value)


def test_a_start_is_translated_to_a_clock_that_shows_another_time(tmp_path: Path) -> None:
    """A time namespace: a host whose clock is 1,000 s ahead of ours."""
    need_root("a clock of its own")
    ahead = ("unshare", "--time", "--monotonic", "1000", "--fork", "--kill-child", "env")
    if subprocess.run([*ahead, "true"], check=False, capture_output=True).returncode:
        pytest.skip("the kernel has no time namespaces")
    hosts = (HOSTS[0], ClientHost("ahead", ahead))
    with reached(*hosts) as fleet:
        records, end = play(fleet, make_plan(tmp_path), tmp_path / "log")
    (run,) = [each for each in records if each.phase == "run"]
    here, there = run.clients
    for clock in (there.clock, there.clock_after):
        assert abs(clock.offset_ns - 1_000_000_000_000) <= clock.error_ns < 5_000_000_000
    assert abs(here.clock.offset_ns) <= here.clock.error_ns
    assert abs(there.began_ns - here.began_ns) < 10_000_000_000
    assert run.ended_ns - run.started_ns < 10_000_000_000
    assert end.counters["events"] >= run.streams[0].done > 0


#: What `ssh` is in these tests: it runs the words of a host by a shell, and notes its options.
SSH = """#!/bin/sh
echo "$1 $2" >>"$(dirname "$0")/ssh.log"
while [ $# -gt 0 ]; do
    case $1 in
    -o) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
[ "$1" = nowhere ] && { echo "ssh: Could not resolve hostname nowhere" >&2; exit 255; }
shift
exec sh -c "$*"
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `ssh` before the system's, and the folder where hosts keep temporary things."""
    there = tmp_path / "there"
    there.mkdir()
    write_program(tmp_path / "ssh", SSH.replace("exec sh", f"TMPDIR={there} exec sh"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return there


def test_over_ssh_driver_and_script_are_copied_and_gone_afterwards(
    ssh: Path, tmp_path: Path
) -> None:
    plan = make_plan(tmp_path)
    (tmp_path / "beside.lua").write_text("")
    with clients.reach_hosts(clients.parse_client_hosts("ssh:a,me@b")) as fleet:
        (folder, _) = sorted(ssh.iterdir())
        assert folder.stat().st_mode & 0o077 == 0
        records, end = play(fleet, plan, tmp_path / "log")
        assert {file.name for file in folder.rglob("*.lua")} == {"script.lua", "beside.lua"}
    assert [part.host for part in records[1].clients] == ["a", "me@b"]
    assert end.counters["prepared"] == 1
    assert list(ssh.iterdir()) == []
    assert {*(tmp_path / "ssh.log").read_text().splitlines()} == {"-o BatchMode=yes"}


def test_a_killed_dyno_leaves_nothing_on_a_host(ssh: Path, tmp_path: Path) -> None:
    make_plan(tmp_path)
    text = f"""
import os, signal
from dyno import driver
from dyno.driver import clients
from dyno.driver.plan import Plan, Script
from dyno.driver.process import DriverLaunch, Limit
plan = Plan({NOTHING!r}, Script({str(tmp_path / "script.lua")!r}, {{"time": "60"}}), seed=1)
fleet = clients.reach_hosts(clients.parse_client_hosts("ssh:a"))
process = fleet.drive(plan, DriverLaunch(None), {{}})
while not isinstance(process.read_event(Limit("the play", 30)), driver.Progress):
    if process._stages[0]._pending:
        process.go()
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", text], check=False, timeout=60)
    assert done.returncode == -9
    until_s = time.monotonic() + 10
    while list(ssh.iterdir()) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert list(ssh.iterdir()) == []
    assert not [pid for pid in list_commands() if str(ssh) in pid]


def list_commands() -> list[str]:
    """The command lines of all processes."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_a_host_that_ssh_does_not_reach_is_named(ssh: Path) -> None:
    del ssh
    with pytest.raises(HostError, match="cannot reach client host nowhere: ssh: Could not resolve"):
        clients.reach_hosts(clients.parse_client_hosts("ssh:nowhere"))


def test_a_host_with_another_processor_is_named(ssh: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "uname", "#!/bin/sh\necho riscv64\n")
    with pytest.raises(HostError, match=r"client host a cannot run .* its processor is riscv64"):
        clients.reach_hosts(clients.parse_client_hosts("ssh:a"))
    assert list(ssh.iterdir()) == []


def test_an_address_that_means_each_host_itself_is_refused(tmp_path: Path) -> None:
    with reached() as fleet:
        far = replace(fleet.reached[1], host=structs.replace(fleet.hosts[1], network="another"))
        elsewhere = replace(fleet, reached=(fleet.reached[0], far))
        plan = replace(
            make_plan(tmp_path), session={"kind": "echo", "host": "127.0.0.1", "port": 1}
        )
        with pytest.raises(UsageError, match=r"client host c2 does not reach .* 127\.0\.0\.1"):
            elsewhere.drive(plan, DriverLaunch(tmp_path / "log"), {})


def test_merged_histograms_are_those_of_the_parts(tmp_path: Path) -> None:
    """As the driver merges them, against another reader's sum of what each host told."""
    told: list[str] = []
    with (
        reached() as fleet,
        fleet.drive(make_plan(tmp_path), DriverLaunch(tmp_path / "log"), {}) as process,
    ):
        while not isinstance(event := process.read_event(Limit("the play", LIMIT_S)), driver.End):
            if isinstance(event, PhaseRecord):
                members = process._stages[0]._members
                told = [each.told["streams"][0]["latency"]["hdr"] for each in members]
                merged = event.streams[0].latency
            if not isinstance(event, driver.Progress):
                process.go()
    assert len(told) == 2
    both = hdr.added_up(told)
    assert [each.tolist() for each in hdr.added_up([merged.hdr]).list_values()] == [
        each.tolist() for each in both.list_values()
    ]
    assert merged.count == both.counts.sum()
    assert merged.percentiles_ns["99"] == hdr.percentile(both, 99)


def test_a_host_that_plays_alone_has_nobody_to_meet(tmp_path: Path) -> None:
    """However badly its clock is known; two such are refused."""
    plan = replace(make_plan(tmp_path, time="0.1"), commands=("run",))
    with (
        reached(HOSTS[0]) as one,
        one.drive(plan, DriverLaunch(tmp_path / "log"), {}, lambda *_: 0) as process,
    ):
        assert isinstance(process.read_event(Limit("ready", LIMIT_S)), driver.Ready)
    with (
        reached() as two,
        two.drive(plan, DriverLaunch(tmp_path / "log"), {}, lambda *_: 0) as process,
        pytest.raises(TrialFailed, match="phase run must start within 0 µs"),
    ):
        process.read_event(Limit("ready", LIMIT_S))
