"""A load from two hosts on real servers: two network namespaces on a bridge, and TCP between."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_driver import ONE_BLOCK
from private_servers import choose_build, started
from privileges import need_root

from dyno import driver
from dyno.compare.pilot.prepare import prepare
from dyno.engines import Server, find_engine
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import Run, Trial, Verdict
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.experiment.comparison import MARGIN_PERCENT_MAX
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

pytestmark = [pytest.mark.timeout(300)]

#: A network of this process, whose first address is the bridge's, and where the servers listen.
NET = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
BRIDGE = f"dyb{os.getpid() % 1_000_000}"
NAMES = tuple(f"dyno-test-{os.getpid()}-c{number}" for number in (1, 2))
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
OPTIONS = {"time": "0.6", "warmup_time": "0.1", "table_size": "2000", "threads": "5"}


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, timeout=20)


@pytest.fixture(scope="module")
def network() -> Iterator[None]:
    """The bridge, and two namespaces on it."""
    need_root("network namespaces")
    with ExitStack() as made:

        def make(words: str, back: str) -> None:
            ip(words)
            made.callback(subprocess.run, ["ip", *back.split()], check=False, capture_output=True)

        make(f"link add {BRIDGE} type bridge", f"link del {BRIDGE}")
        ip(f"addr add {NET}.1/24 dev {BRIDGE}")
        ip(f"link set {BRIDGE} up")
        for number, name in enumerate(NAMES, 2):
            make(f"netns add {name}", f"netns del {name}")
            ip(f"link add {BRIDGE}v{number} type veth peer name eth0 netns {name}")
            ip(f"link set {BRIDGE}v{number} master {BRIDGE} up")
            ip(f"-n {name} addr add {NET}.{number}/24 dev eth0")
            ip(f"-n {name} link set eth0 up")
            ip(f"-n {name} link set lo up")
        yield


@contextmanager
def postgres(home: Path) -> Iterator[tuple[Server, str]]:
    """PostgreSQL that listens on the bridge."""
    build = choose_build("postgres@18").partition("@")[2]
    engine = find_engine("postgres", driver.ask)
    with started(f"postgres@{build}", home=home) as first:
        access = f"local all all trust\nhost bench bench {NET}.0/24 trust\n"
        (first.home / "data" / "pg_hba.conf").write_text(access)
        asked = ["CREATE ROLE bench LOGIN", "CREATE DATABASE bench OWNER bench"]
        asked.append(f"ALTER SYSTEM SET listen_addresses = '{NET}.1'")
        driver.ask(first.session, asked)
        engine.stop(first)
        server = engine.start(engine.program(build, {}, lambda _: None), first.home, {})
        try:
            yield server, f"postgres://bench@{NET}.1/bench"
        finally:
            engine.stop(server)


@contextmanager
def mysql(home: Path) -> Iterator[tuple[Server, str]]:
    """MySQL likewise."""
    listens = {"skip_networking": "OFF", "port": "21305", "bind_address": f"{NET}.1"}
    with started("mysql@8.0.33", listens, home) as server:
        asked = ["CREATE DATABASE bench"]
        asked.append(f"CREATE USER bench@'{NET}.%' IDENTIFIED WITH mysql_native_password BY 'pw'")
        asked += [
            f"GRANT {what} TO bench@'{NET}.%'" for what in ("ALL ON bench.*", "PROCESS ON *.*")
        ]
        driver.ask(server.session, asked)
        yield server, f"mysql://bench:pw@{NET}.1:21305/bench"


@pytest.fixture(scope="module", params=[postgres, mysql], ids=["postgres", "mysql"])
def theirs(
    request: pytest.FixtureRequest, network: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of somebody's server on the bridge."""
    del network
    from private_servers import made_home

    with made_home() as home, request.param(home) as (_, url):
        yield url


def play(url: str, home: Path, hosts: object, **more: str) -> tuple[Run, list[Trial], Verdict]:
    """A block of an A/A comparison from these hosts. It counts although a crowded host may stop all
    for a while: half of the margin may be lost to that.
    """
    measuring = Measuring(
        blocks=3, fixed=True, seed=1, limits=CALM, margin_percent=MARGIN_PERCENT_MAX, aa=True
    )
    made = compare_candidates(
        [f"a={url}", f"b={url}"], "oltp_read_write", OPTIONS | more, measuring
    )
    draft = draft_run(replace(made, client_hosts=hosts), lambda _: None)
    assert draft.clients
    with draft.clients:
        prepared = prepare(draft, lambda _: None)
        folder = create_run(prepared.run, home)
        play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    run, trials = folder.read_run(), folder.read_trials()
    return run, trials, judge(run, trials)


def in_namespaces() -> list[dict[str, object]]:
    return [{"name": name, "command": ["ip", "netns", "exec", name]} for name in NAMES]


def test_two_hosts_on_one_server_count_what_it_counts(theirs: str, tmp_path: Path) -> None:
    run, trials, verdict = play(theirs, tmp_path, in_namespaces())
    assert [host.name for host in run.client_hosts] == list(NAMES)
    assert not [trial.why_failed for trial in trials if trial.status != "ok"]
    for trial in trials:
        load, played = trial.phases
        assert [part.host for part in load.clients] == [NAMES[0]]
        assert [(part.host, part.users) for part in played.clients] == [
            (NAMES[0], 3),
            (NAMES[1], 2),
        ]
        (tally,) = played.streams
        parts = played.clients
        assert min(part.done["event"] for part in parts) > 0
        assert sum(part.done["event"] for part in parts) == tally.done == tally.latency.count
        assert all(abs(p.clock.offset_ns) <= p.clock.error_ns for p in parts)
    for audit in ("server_count", "errors", "committed", "rows_changed"):
        found = [each for each in verdict.findings if each.audit == audit]
        # one restart cannot tell other rows from other work: such texts are not checked
        others = ["not checked"] if audit == "rows_changed" else []
        assert [each.soundness for each in found] == ["sound", *others], found
    # how far apart is told; on a crowded host that is a fault
    told = [each.sentence for each in verdict.findings if each.audit == "client_hosts"]
    assert any(" started within " in each and " ± " in each for each in told), told
    assert {each.soundness for each in verdict.findings if each.audit == "ledger"} <= {
        "sound",
        "not checked",
    }
