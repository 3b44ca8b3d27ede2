"""Folders of shares: found below the places that a user names, read, and held together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.builds import Say
from dyno.errors import UsageError
from dyno.record import Candidate, DealtShare, Run, Trial, WorkloadPlan
from dyno.runs.pack.archive import unpack_run
from dyno.runs.run_folder import RunFolder, load_instruments

#: Shares lie so many folders below a place at most: an artifact, its folder, the run.
DEPTH_MAX = 3


@dataclass(frozen=True)
class FoundShare:
    """A share's folder, as it was read; `path` is where it, or the pack that held it, was found."""

    path: Path
    folder: RunFolder
    run: Run
    share: DealtShare
    trials: tuple[Trial, ...]


def find_shares(places: Sequence[Path], home: Path, say: Say) -> list[FoundShare]:
    """Every share in or below the places, each once; packs are opened into `home`. `UsageError`
    where a place holds none.
    """
    found: dict[Path, FoundShare] = {}
    for at, place in enumerate(places):
        kinds = load_instruments().values()
        other = next((it.noun for it in kinds if not it.has_trials and it.has_run(place)), "")
        own = [] if other else list(_list_shares(place, home / str(at), say))
        if not own:
            told = f"there is no share of an experiment in {place}"
            hint = "a share's folder or pack, or a folder of such"
            raise UsageError(told, cause=other and f"it is {other}", hint=hint)
        found |= {each.path.resolve(): each for each in own}
    return list(found.values())


def _list_shares(place: Path, home: Path, say: Say) -> Iterator[FoundShare]:
    for number, path in enumerate(_list_candidates(place)):
        folder = RunFolder(path)
        if path.is_file():
            folder = RunFolder(unpack_run(path, home / str(number)))
        if not (folder.path / "run.json").is_file():
            continue
        run = folder.read_run()
        if run.share is None:
            say(f"{path} is no share of an experiment, and is left out")
            continue
        yield FoundShare(path, folder, run, run.share, tuple(folder.read_trials()))


def _list_candidates(place: Path) -> Iterator[Path]:
    """Run folders, and packs, at the place or below it; `UsageError` where nothing is there."""
    if not place.exists():
        raise UsageError(f"there is no {place}", hint="name the folders that `dyno shard` made")
    if place.is_file() or (place / "run.json").is_file():
        yield place
        return
    for depth in range(1, DEPTH_MAX + 1):
        below = "/".join("*" * depth)
        yield from (file.parent for file in sorted(place.glob(f"{below}/run.json")))
        yield from sorted(place.glob(f"{below}.dyno.zip"))


def drop_copies(found: Sequence[FoundShare], say: Say) -> list[FoundShare]:
    """Each share once, by index. A copy that another one continues is dropped, and said;
    `UsageError` where a share was played twice.
    """
    kept: dict[int, FoundShare] = {}
    for each in found:
        index, other = each.share.index, kept.get(each.share.index)
        if other is None:
            kept[index] = each
            continue
        longer, shorter = (each, other) if len(each.trials) > len(other.trials) else (other, each)
        if each.run != other.run or longer.trials[: len(shorter.trials)] != shorter.trials:
            cause = f"{other.path} and {each.path} were played apart"
            raise UsageError(f"share {index} is there twice", cause=cause, hint="name one of them")
        say(f"{shorter.path} is a copy of {longer.path}, and is left out")
        kept[index] = longer
    return [kept[index] for index in sorted(kept)]


def check_alike(found: Sequence[FoundShare]) -> None:
    """`UsageError` where shares differ in what must be the same on all hosts."""
    first = found[0]
    for each in found[1:]:
        if told := next(_list_differences(first, each), ""):
            cause = f"{each.path} has {told} than {first.path}"
            hint = "play each share by the same Dyno, with the same experiment, options and builds"
            raise UsageError("these are not shares of one experiment", cause=cause, hint=hint)


def _list_differences(found: FoundShare, beside: FoundShare) -> Iterator[str]:
    """What two shares of an experiment may not differ in, and do."""
    mine, theirs = found.share, beside.share
    if (mine.of, mine.split) != (theirs.of, theirs.split):
        yield f"another way of dealing ({theirs.of} shares, by {theirs.split})"
    if (mine.suite_sha256, mine.dealt) != (theirs.suite_sha256, theirs.dealt):
        yield "other experiments beside it"
    yield from _list_run_differences(found.run, beside.run)


def _list_run_differences(one: Run, other: Run) -> Iterator[str]:
    if (one.dyno, one.sources_sha256) != (other.dyno, other.sources_sha256):
        yield f"another Dyno ({other.dyno})"
    if one.driver_sha256 != other.driver_sha256:
        yield "another dyno-driver"
    if one.seed != other.seed:
        yield f"another seed ({other.seed})"
    for side, twin in zip(one.candidates, other.candidates, strict=False):
        if _strip_candidate(side) != _strip_candidate(twin):
            yield f"another build, setting or control of {twin.name}"
    if len(one.candidates) != len(other.candidates) or one.factors != other.factors:
        yield "other candidates"
    if _strip_design(one) != _strip_design(other):
        yield "another margin, gate or other word of the design"
    theirs_by_name = {plan.name: plan for plan in other.workloads}
    for plan in one.workloads:
        there = theirs_by_name.get(plan.name, plan)
        if _strip_plan(plan) != _strip_plan(there):
            yield f"another script, or other options of {plan.name},"


def _strip_candidate(side: Candidate) -> object:
    """A candidate without what is a host's own: where its files lie, when it was built."""
    version, checksum = side.build.get("version", ""), side.build.get("sha256", "")
    return replace(side, build={"version": version, "sha256": checksum})


def _strip_design(run: Run) -> object:
    """The design without what each host tries for itself: slices, and with them noise limits."""
    return replace(run.design, interleaving=None, limits={})


def _strip_plan(plan: WorkloadPlan) -> object:
    return replace(plan, script="")
