"""The points of a bisection: releases between two versions, or commits between two of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.builds.available import OffersBuilds
from dyno.builds.source.recipe import parse_version
from dyno.builds.source.trees import list_commits
from dyno.driver import ask
from dyno.engines import find_engine
from dyno.errors import UsageError

SPAN = ".."


@dataclass(frozen=True)
class BisectPoint:
    """A build of the series: its candidate, as `compare` takes it, and what it is called."""

    candidate: str
    name: str
    title: str = ""


def list_points(words: str, tree: Path | None = None) -> list[BisectPoint]:
    """`ENGINE@GOOD..BAD?flags`, the good one first: releases that can be fetched, or, where `tree`
    is a git folder, commits after GOOD as far as BAD.

    `UsageError` where the words name no span, or nothing lies between.
    """
    if "://" in words:
        hint = "name releases (ENGINE@1.2..1.9), or commits with --git"
        raise UsageError("a server that runs already is one version", hint=hint)
    if "..." in words:
        raise UsageError(f"'{words}' has three dots", hint="two dots: ENGINE@GOOD..BAD")
    spec, question, flags = words.partition("?")
    engine, at, span = spec.partition("@")
    good, dots, bad = span.partition(SPAN)
    if not (engine and at and dots and good and bad):
        raise UsageError(f"'{words}' names no span", hint="ENGINE@GOOD..BAD, as in ENGINE@1.2..1.9")
    more = f"{question}{flags}"
    found = _list_commits(engine, tree, good, bad) if tree else _list_releases(engine, good, bad)
    if len(found) < 2:
        raise UsageError(f"nothing lies between {good} and {bad}")
    return [BisectPoint(f"{each.candidate}{more}", each.name, each.title) for each in found]


def _list_releases(engine: str, good: str, bad: str) -> list[BisectPoint]:
    made = find_engine(engine, ask)
    if not isinstance(made, OffersBuilds):
        raise UsageError(f"{engine} has no releases that could be listed")
    offers = {offer.version: offer.name for offer in made.list_offers()}
    order = sorted(offers, key=parse_version)
    first, last = (_find_release(order, version, engine) for version in (good, bad))
    if first >= last:
        raise UsageError(
            f"{order[first]} is not before {order[last]}",
            hint="the good version stands first; for a gain, it is the slower one",
        )
    return [BisectPoint(f"{engine}@{offers[it]}", it) for it in order[first : last + 1]]


def _find_release(order: Sequence[str], asked: str, engine: str) -> int:
    """The place of a version, or of the newest of a line."""
    own = [at for at, each in enumerate(order) if each == asked or each.startswith(f"{asked}.")]
    if not own:
        raise UsageError(
            f"{engine} has no release {asked}", hint=f"`dyno engines list {engine}` shows all"
        )
    return own[-1]


def _list_commits(engine: str, tree: Path, good: str, bad: str) -> list[BisectPoint]:
    place = tree.expanduser().resolve()
    return [
        BisectPoint(f"{engine}@source:{place}@{commit.sha}", commit.sha[:12], commit.title)
        for commit in list_commits(place, good, bad)
    ]
