"""Which shares were played by the same host, and how hosts are called.

A host is known by its id, which a clone of its disk image shares: runners of a CI are often such.
Two starts of a kernel that ran at the same time are two machines, whatever their ids say. One after
the other they may be one machine that was started anew, and are taken for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.compare.shards.found_shares import FoundShare


def name_hosts(found: Sequence[FoundShare]) -> dict[int, str]:
    """The name of each share's host, by the share's index: its label where no other host has that,
    else its id; with the start of its kernel where an id is that of several machines.
    """
    ids = {each.share.index: _identify(each, found) for each in found}
    labels = {ids[each.share.index]: each.share.label for each in found}
    often = list(labels.values())
    return {
        index: label if (label := labels[own]) and often.count(label) == 1 else own
        for index, own in ids.items()
    }


def describe_hosts(found: Sequence[FoundShare]) -> Iterator[str]:
    """What a user should know of it, a clause each: ids that several machines have, and starts of a
    kernel that are taken for one host.
    """
    hint = "`dyno shard --host NAME` tells them apart"
    by_id: dict[str, list[FoundShare]] = {}
    for each in found:
        by_id.setdefault(each.share.host, []).append(each)
    for host, own in by_id.items():
        boots = {each.share.boot for each in own}
        if len(boots) > 1 and _is_shared(host, found):
            yield f"{len(boots)} machines have the id {host}, and are told apart by their kernels"
        elif len(boots) > 1:
            shares = " and ".join(str(each.share.index) for each in own)
            yield f"shares {shares} are taken for one host that was started anew; {hint}"


def _identify(each: FoundShare, found: Sequence[FoundShare]) -> str:
    host = each.share.host
    return f"{host}/{each.share.boot[:6]}" if _is_shared(host, found) else host


def _is_shared(host: str, found: Sequence[FoundShare]) -> bool:
    """Ran two starts of its kernel at the same time?"""
    own = [each for each in found if each.share.host == host and each.trials]
    times = [(each.share.boot, *_find_time(each)) for each in own]
    return any(
        one != other and first < end and begin < last
        for one, first, last in times
        for other, begin, end in times
    )


def _find_time(each: FoundShare) -> tuple[str, str]:
    """When its first and its last trial began, in UTC."""
    started = [trial.started_utc for trial in each.trials]
    return min(started), max(started)
