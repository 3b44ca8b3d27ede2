"""Which host a point belongs to, and what of it two points of a series must share.

A host is known by its id where its records have one; a record from before that belongs to the only
host that is known with the same facts, if there is one only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from dyno.compare.history.points import Beside, Named, Point
from dyno.record.host import select_facts

#: Facts of a host, beside those that a calibration depends on, that two points must share.
HOST = ("id", "file_system")
#: What the names of a host's facts begin with among conditions.
HOSTS = "host's "
HOST_ID, HOST_GROUP = f"{HOSTS}id", f"{HOSTS}group"


def select_host_facts(host: Mapping[str, str]) -> dict[str, str]:
    """What points of one series share of their host: the group that it is said to be of, and then
    nothing else, since a group's hosts are exchanged; else all of `list_host_facts`.
    """
    group = host.get("group")
    return {"group": group} if group else list_host_facts(host)


def list_host_facts(host: Mapping[str, str]) -> dict[str, str]:
    """A host's id, where it is known, and the facts that can change its speed."""
    facts = select_facts(host) | {name: host[name] for name in HOST if name in host}
    return facts | _find_memory(host.get("memory_mb", ""))


def _find_memory(memory_mb: str) -> dict[str, str]:
    """The memory in whole GiB, rounded up: another kernel keeps some MB more for itself, which
    makes no other host.
    """
    return {"memory_gb": str(math.ceil(int(memory_mb) / 1024))} if memory_mb.isdigit() else {}


def drop_host_facts(alike: Named) -> Named:
    """The conditions that a run chooses: all but its host's."""
    return tuple(each for each in alike if not each[0].startswith(HOSTS))


def assign_hosts(points: Sequence[Point]) -> list[Point]:
    """The points, those of runs that do not name their host taken for the only host that is known
    with the same facts. Where two are, nobody can tell: these stand by themselves, as they did.
    """
    known: dict[Named, set[str]] = {}
    # by identity: most points share one, and the hash of a long tuple is computed each time
    for alike in {id(each): each for each in (it.conditions.alike for it in points)}.values():
        found = dict(alike)
        if HOST_ID in found:
            known.setdefault(_select_other_facts(alike), set()).add(found[HOST_ID])
    filled: dict[int, Named] = {}

    def complete(alike: Named) -> Named:
        if id(alike) not in filled:
            names = {name for name, _ in alike}
            ids = known.get(_select_other_facts(alike), set())
            is_known = HOST_ID in names or HOST_GROUP in names or len(ids) != 1
            filled[id(alike)] = (
                alike if is_known else tuple(sorted((*alike, (HOST_ID, next(iter(ids))))))
            )
        return filled[id(alike)]

    return [_with_conditions(point, complete) for point in points]


def _select_other_facts(alike: Named) -> Named:
    """A host's facts but its id."""
    return tuple(each for each in alike if each[0].startswith(HOSTS) and each[0] != HOST_ID)


def _with_conditions(point: Point, complete: Callable[[Named], Named]) -> Point:
    alike = complete(point.conditions.alike)
    if alike is point.conditions.alike:
        return point
    beside = point.beside
    if beside:
        engine, build, conditions = beside.key
        beside = Beside((engine, build, complete(conditions)), beside.value)
    shared = replace(point.conditions, alike=alike)
    return replace(point, conditions=shared, beside=beside)
