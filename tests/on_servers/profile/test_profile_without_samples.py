"""`dyno profile` where the kernel samples nothing, and where the server falls silent meanwhile."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

import private_servers
import pytest
from processes import wait_for
from profiled_servers import url_of, working

from dyno import driver
from dyno.driver.sampler import CpuSampler
from dyno.engines import Server
from dyno.errors import HostError
from dyno.servers.profile.collect import Collector, ProfileOptions
from dyno.servers.profile.target import find_target

pytestmark = [pytest.mark.timeout(120)]

WORK = "SELECT count(*) FROM generate_series(1, 500000)"
REFUSED = "perf_event_paranoid is 3, which leaves sampling to root"


class RefusedSampler(CpuSampler):
    """A sampler that the kernel permits nothing."""

    def start(self, pids: Sequence[int], **_: object) -> NoReturn:
        raise HostError(REFUSED)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with private_servers.serving("postgres-18") as made:
        yield made


def test_without_perf_events_waits_and_statements_are_told_and_why_no_cpu_time(
    server: Server,
) -> None:
    target = find_target(driver.ask, url_of(server.session))
    options = ProfileOptions(for_s=3)
    with working(server.session, WORK), Collector(target, options, RefusedSampler) as collector:
        collector.prepare()
        collector.run()
        found = collector.build()
    assert found.cpu is None and found.waits and found.statements
    assert f"no CPU profile: {REFUSED}" in found.missing


def test_without_perf_events_a_process_alone_has_no_profile_and_that_is_an_error(
    server: Server,
) -> None:
    target = find_target(driver.ask, str(server.pid))
    with (
        Collector(target, ProfileOptions(for_s=1), RefusedSampler) as collector,
        pytest.raises(HostError, match="perf_event_paranoid is 3"),
    ):
        collector.prepare()


def test_where_the_sessions_are_no_longer_told_cpu_time_is_sampled_on(server: Server) -> None:
    """An administrator ends our session."""
    target = find_target(driver.ask, url_of(server.session))
    ended = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'dyno profile'"
    )
    end = threading.Timer(1.0, lambda: driver.ask(server.session, [ended]))
    with (
        working(server.session, WORK),
        Collector(target, ProfileOptions(for_s=3)) as collector,
    ):
        collector.prepare()
        end.start()
        collector.run()
        found = collector.build()
        end.join()
    assert found.elapsed_s >= 3 and not found.ended
    assert found.cpu and len(found.cpu.slices) >= 3
    assert any("were not asked after" in each for each in found.missing)


def test_a_killed_profile_leaves_no_process_of_ours(server: Server) -> None:
    """The sampler and the connection end with whoever started them."""
    child = os.fork()
    if child == 0:
        target = find_target(driver.ask, url_of(server.session))
        collector = Collector(target, ProfileOptions(for_s=60))
        collector.prepare()
        collector.run()
        os._exit(0)
    asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dyno profile'"

    def count_sessions() -> int:
        return int(driver.ask(server.session, [asked])[0][0][0] or 0)

    wait_for(lambda: count_sessions() == 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_for(lambda: count_sessions() == 0)


class FailingSampler(CpuSampler):
    """A sampler whose process dies meanwhile."""

    def stop(self) -> None:
        """Fails the second time: the first is a trial."""
        if getattr(self, "was_tried", False):
            os.kill(self.pid, signal.SIGKILL)
        self.was_tried = True
        super().stop()


def test_a_sampler_that_dies_takes_nothing_else_with_it(server: Server) -> None:
    target = find_target(driver.ask, url_of(server.session))
    options = ProfileOptions(for_s=3)
    with working(server.session, WORK), Collector(target, options, FailingSampler) as collector:
        collector.prepare()
        collector.run()
        found = collector.build()
    assert found.cpu is None and found.waits and found.statements
    assert any(each.startswith("no CPU profile:") for each in found.missing)
