"""Which host plays which share: whoever is free takes one, and no share is of two hosts."""

from __future__ import annotations

import random
import threading

from dyno.compare.fleet.schedule import (
    ShareSchedule,
    choose_shares,
    describe_split,
    recover_schedule,
)


def test_a_share_that_is_not_begun_goes_to_whoever_is_free() -> None:
    schedule = ShareSchedule(4, {"slow", "quick"})
    assert schedule.take("slow") == 1
    for share in (2, 3, 4):
        assert schedule.take("quick") == share
        schedule.finish(share)
    schedule.finish(1)
    assert schedule.take("quick") is None
    assert schedule.list_left() == []


def test_a_host_goes_on_with_its_own_share_first() -> None:
    schedule = recover_schedule(4, whole=[1], begun={"a": [3], "b": []})
    assert schedule.take("b") == 2, "another host's share was begun anew"
    assert schedule.take("a") == 3


def test_a_share_that_a_living_host_holds_is_nobody_elses() -> None:
    schedule = recover_schedule(2, whole=[1], begun={"a": [2], "b": []})
    taken: list[int | None] = []
    thread = threading.Thread(target=lambda: taken.append(schedule.take("b")))
    assert schedule.take("a") == 2
    thread.start()
    schedule.finish(2)
    thread.join(10)
    assert taken == [None]


def test_what_a_lost_host_had_begun_goes_to_another() -> None:
    schedule = ShareSchedule(2, {"a", "b"})
    assert (schedule.take("a"), schedule.take("b")) == (1, 2)
    schedule.finish(2)
    taken: list[int | None] = []
    thread = threading.Thread(target=lambda: taken.append(schedule.take("b")))
    thread.start()
    schedule.drop_host("a")
    thread.join(10)
    assert taken == [1]
    assert schedule.take("a") is None, "a lost host was given another share"


def test_a_share_that_fails_on_two_hosts_ends_the_run() -> None:
    schedule = ShareSchedule(3, {"a", "b", "c"})
    assert schedule.take("a") == 1
    schedule.mark_failed(1, "a", "why")
    assert schedule.take("b") == 2
    schedule.finish(2)
    assert schedule.take("b") == 3
    schedule.finish(3)
    assert schedule.take("b") == 1
    schedule.mark_failed(1, "b", "why")
    assert schedule.take("c") is None
    assert schedule.list_left() == [1]


def test_hosts_that_come_and_go_play_each_share_once(rng: random.Random) -> None:
    for _ in range(50):
        hosts = {f"h{n}" for n in range(5)}
        schedule, played = ShareSchedule(12, set(hosts)), list[int]()
        doomed = set(rng.sample(sorted(hosts), 3))

        def play(host: str, schedule: ShareSchedule, played: list[int], doomed: set[str]) -> None:
            count = 0
            while (share := schedule.take(host)) is not None:
                count += 1
                if host in doomed and count == 2:
                    schedule.drop_host(host)
                    return
                played.append(share)
                schedule.finish(share)

        threads = [
            threading.Thread(target=play, args=(host, schedule, played, doomed)) for host in hosts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(played) == list(range(1, 13))


def test_cells_stay_whole_where_each_host_can_have_one() -> None:
    assert choose_shares(hosts=3, cells=5, blocks=24) == 5
    assert choose_shares(hosts=3, cells=9, blocks=24) == 6
    assert choose_shares(hosts=4, cells=1, blocks=24) == 8
    assert choose_shares(hosts=4, cells=1, blocks=6) == 6


def test_blocks_that_few_hosts_play_are_told_and_how_not_to() -> None:
    note = describe_split(shares=4, cells=2, hosts=2)
    assert "dealt over 2 hosts" in note and "--shares 2" in note
    for shares, cells, hosts in ((2, 2, 2), (8, 1, 4), (2, 1, 1)):
        assert not describe_split(shares, cells, hosts)
