"""Which build a version names: itself, or the newest that it is the beginning of; the releases of
an engine that can be fetched, of a registry by number, of a suite by its line; and builds from
source (`ENGINE@source:…`), by the recipes in `recipes/`.

A cached build that is not what was put there is an error, with the way to have it made anew. A
registry keeps every version; a suite has one of a line and moves on. Where both have a line, the
suite's build is meant: it is the one that people deploy, with its distribution's flags. That of the
registry is named `maven:18.6`, and is used, with a note, if the suite's cannot be fetched.

What stands behind `source:` is a name that `dyno engines build` gave, or the place of a tree: a
folder `DIR`, a commit `DIR@REF`, a Debian package `deb:SUITE[:VERSION]`. Flags belong to what
is built here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno.builds import Build, Say, suite_tree
from dyno.builds.available import EntryPattern, Offer
from dyno.builds.source import trees
from dyno.builds.source.build import Built, build_planned, find_named, read_built
from dyno.builds.source.plan import BuildPlan, BuildRequest, plan_build
from dyno.builds.source.recipe import read_recipes
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.errors import HostError, UsageError, build_unknown_error
from dyno.record.build_facts import ABILITIES


def choose_version(
    engine: str, version_asked: str, known: Sequence[str], words: Sequence[str] = ()
) -> str:
    """The version of `known` that `version_asked` means; nothing asked for means the newest.

    `5.6` means the newest 5.6 of those known. `UsageError` with the nearest versions where there is
    none; `words` are builds without a number ("system").
    """
    beginning = f"{version_asked}." if version_asked else ""
    begins = [version for version in known if f"{version}.".startswith(beginning)]
    if begins:
        return max(begins, key=parse_version)
    raise build_unknown_version_error(engine, version_asked, known, words)


def build_unknown_version_error(
    engine: str, asked: str, known: Sequence[str], words: Sequence[str] = ()
) -> UsageError:
    """The error for a version that is none of `known`: versions are numbers, so their neighbours
    are the nearest, and not what is spelled alike.
    """
    if not PART.fullmatch(asked.replace(".", "")):
        return build_unknown_error(f"{engine} build", asked, [*known, *words])
    older = [version for version in known if parse_version(version) < parse_version(asked)]
    newer = [version for version in known if parse_version(version) > parse_version(asked)]
    near = [*sorted(older, key=parse_version)[-1:], *sorted(newer, key=parse_version)[:1]]
    hint = (
        f"nearest: {' and '.join(near)}; or a build of your own by its path; "
        f"`dyno engines list {engine}` has all"
    )
    return UsageError(f"unknown {engine} version '{asked}'", hint=hint)


def build_lacking_error(build: Build, setting: str, ability: str) -> UsageError:
    _, purpose = ABILITIES[ability]
    return UsageError(
        f"{setting} needs a build with {ability}, which {build.engine} {build.version} lacks",
        cause=f"only such a build {purpose}",
        hint=f"`dyno engines list {build.engine} --details` tells what each build lacks",
    )


#: Words before a release, in order.
STAGES = {"devel": -4, "alpha": -3, "beta": -2, "rc": -1}
PART = re.compile(rf"(\d+)(?:~?({'|'.join(STAGES)})(\d*))?")


def parse_version(version: str) -> tuple[int, ...]:
    """A version to compare by, of numbers: `19rc1` stands between `18.6` and `19.0`."""
    key: list[int] = []
    for number, stage, count in PART.findall(version):
        key.append(int(number))
        key += [STAGES[stage], int(count or 0)] if stage else []
    return tuple(key)


def find_line(version: str, parts: int) -> str:
    """The release line of a version, of so many numbers: `10.11` of `10.11.8`."""
    return ".".join(map(str, parse_version(version)[:parts]))


@contextmanager
def check_cached(entry: str) -> Iterator[None]:
    """Turn a `UsageError` by which the cache's `entry` is no such program into a `HostError`.

    No user named that file, so the message must say where it came from.
    """
    try:
        yield
    except UsageError as why:
        cause = f"{why.message}: {why.cause}" if why.cause else why.message
        hint = f"`dyno clean {entry} --yes` removes it; then it is fetched anew"
        raise HostError(f"{entry} in the cache is damaged", cause=cause, hint=hint) from why


#: Between a source's name and a version: `maven:18.6`.
OF = ":"
#: The source of suites, as it is listed.
DEBIAN = "Debian"


#: Fetches a suite's program at a version that begins so.
FetchTree = Callable[[SuiteProgram, str, Say], Tree]


@dataclass(frozen=True)
class Choice:
    """One build that a name may mean: its version as last seen, in a suite or (None) by number."""

    version: str
    program: SuiteProgram | None = None


@dataclass(frozen=True)
class Releases:
    """All releases of an engine: `numbered` are versions to the source of each ("maven"), `suites`
    versions as last seen; `parts` numbers make a line (two of `10.11.8`, one of `18.6`). `words`
    are builds without a number; `elsewhere` tells of lines that are in none of our sources where
    they can be had.
    """

    engine: str
    numbered: Mapping[str, str]
    suites: Mapping[str, SuiteProgram]
    parts: int = 2
    words: tuple[str, ...] = ("system",)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(sorted({*self.numbered, *self.suites}, key=parse_version))

    def find_line(self, version: str) -> str:
        return find_line(version, self.parts)

    def list_choices(self, asked: str) -> list[Choice]:
        """What `asked` may mean, the best first: the newest line's build of a suite, and what
        stands in for it. `UsageError` with the nearest versions where that is nothing.
        """
        source, of, number = asked.rpartition(OF)
        if of:
            return [Choice(self._format_numbered(source, number))]
        suites = {
            version: program for version, program in self.suites.items() if asked == program.suite
        }
        if suites:
            return [Choice(version, program) for version, program in suites.items()]
        numbered = [each for each in self.numbered if _covers(asked, each)]
        found = [Choice(version) for version in numbered]
        for version, program in self.suites.items():
            loosely = not numbered and is_within(asked, self.find_line(version))
            if loosely or (_covers(asked, version) and self._is_meant(asked, version)):
                found.append(Choice(version, program))
        if not found:
            unknown = build_unknown_version_error(
                self.engine,
                asked,
                self.versions,
                [*self.words, *sorted({program.suite for program in self.suites.values()})],
            )
            places = [place for line, place in self.elsewhere.items() if _covers(line, asked)]
            unknown.hint = "; ".join([*places, unknown.hint])
            raise unknown
        found.sort(key=self._rank, reverse=True)
        first = next((i for i, each in enumerate(found) if not each.program), len(found))
        return found[: first + 1]

    def fetch(
        self,
        asked: str,
        say: Say,
        of_suite: Callable[[Tree, SuiteProgram], Build],
        by_number: Callable[[str], Build],
        fetch_tree: FetchTree = suite_tree.fetch_tree,
    ) -> Build:
        """Return the build that `asked` means; if the first choice cannot be had, the next one,
        with a note and a fact that says so. `HostError` if none can be had.
        """
        instead = ""
        choices = self.list_choices(asked)
        for choice in choices:
            try:
                if choice.program is None:
                    made = by_number(choice.version)
                else:
                    number = "" if asked == choice.program.suite else asked
                    tree = fetch_tree(choice.program, number, say)
                    made = of_suite(tree, choice.program)
                return replace(made, facts=made.facts | ({"instead": instead} if instead else {}))
            except HostError as refused:
                if choice == choices[-1]:
                    raise
                source = choice.program.suite if choice.program else "a registry"
                instead = f"{choice.version} of {source} is not available: {refused.message}"
                say(f"{self.engine} {instead}; using another build")
        raise AssertionError("no choice at all")

    def list_offers(
        self, entries: Callable[[str], tuple[EntryPattern, ...]], machines: frozenset[str]
    ) -> list[Offer]:
        """Every build, as it is listed; `entries` tells the cache's of a version by number, which
        is made for `machines`.
        """
        found = [
            Offer(
                self._choose_shortest(Choice(version), f"{source}{OF}{version}"),
                version,
                self.find_line(version),
                source,
                entries=entries(version),
                machines=machines,
            )
            for version, source in self.numbered.items()
        ]
        for version, program in self.suites.items():
            name = self._choose_shortest(Choice(version, program), program.suite)
            kept = (suite_tree.build_entry_pattern(program),)
            found.append(Offer(name, version, self.find_line(version), DEBIAN, program.suite, kept))
        return found

    def _choose_shortest(self, choice: Choice, otherwise: str) -> str:
        means = self.list_choices(choice.version)[0]
        return choice.version if means == choice else otherwise

    def _format_numbered(self, source: str, number: str) -> str:
        known = [version for version, kept in self.numbered.items() if kept == source]
        if not known:
            places = sorted(set(self.numbered.values()))
            hint = f"its sources are {' and '.join(places)}"
            raise UsageError(f"no build of {self.engine} comes from '{source}'", hint=hint)
        return choose_version(self.engine, number, known)

    def _is_meant(self, asked: str, version: str) -> bool:
        """An alpha, beta or candidate of a release is meant only by its own line."""
        return not re.search("[a-z]", version) or _covers(self.find_line(version), asked)

    def _rank(self, choice: Choice) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
        line = parse_version(self.find_line(choice.version))
        return line, choice.program is not None, parse_version(choice.version)


def _covers(beginning: str, version: str) -> bool:
    rest = version.removeprefix(beginning)
    return version.startswith(beginning) and not (beginning and rest[:1].isdigit())


def is_within(version: str, line: str) -> bool:
    """Return whether it is a version of the release line, known or not."""
    return bool(re.fullmatch(rf"{re.escape(line)}(\.\d+|[a-z]+\d+)*", version))


SOURCE = "source:"
RECIPES = Path(__file__).with_name("recipes")
#: What a user may choose of a build from source, with its default and meaning.
FLAGS = {
    "cflags": ("", "of a build from source: flags of the C and C++ compilers, instead of -O2"),
    "configure": ("", "of a build from source: more words for configure or cmake"),
    "patch": ("", "of a build from source: a file of git diff, applied to a copy of the tree"),
    "compiler": ("", "of a build from source: gcc-9 to gcc-15, clang-11, -14, -16, -19, of Debian"),
}


def is_source(build: str) -> bool:
    return build.startswith(SOURCE)


def is_place(text: str) -> bool:
    return "/" in text or "@" in text or text.startswith((".", "~", trees.DEBIAN))


def check_source(engine: str, build: str, flags: Mapping[str, str]) -> None:
    """Raise `UsageError` for a name, place, patch or flag that cannot be; nothing is built."""
    text = build.removeprefix(SOURCE)
    if not is_place(text):
        find_named(engine, text)
        if flags:
            hint = "name the tree: source:/path/to/tree?cflags=-O3"
            raise UsageError(
                f"'{min(flags)}' is for a tree, and {text} is built already", hint=hint
            )
    elif (patch := flags.get("patch")) and not Path(patch).expanduser().is_file():
        raise UsageError(f"there is no patch {patch}", hint="a file that git diff wrote")


def refuse_flags(build: str, flags: Mapping[str, str]) -> None:
    """Raise `UsageError` if a flag of builds from source stands beside any other build."""
    if strange := [name for name in flags if name in FLAGS]:
        hint = "it belongs to source:/path/to/tree"
        raise UsageError(f"'{strange[0]}' is for builds from source, not for '{build}'", hint=hint)


def find_source(engine: str, build: str, flags: Mapping[str, str], say: Say) -> Built:
    """The build: by its name, or built from the tree that it names."""
    text = build.removeprefix(SOURCE)
    if not is_place(text):
        return read_built(find_named(engine, text))
    return build_planned(plan_source(engine, text, flags, say), say)


def plan_source(engine: str, place: str, flags: Mapping[str, str], say: Say) -> BuildPlan:
    """The plan of a build of the tree at `place`; `UsageError` where the engine has no recipe."""
    recipes = read_recipes(RECIPES, engine)
    if not recipes:
        raise UsageError(f"no recipe builds {engine}", hint="name your own build by its path")
    patch = Path(flags["patch"]).expanduser() if flags.get("patch") else None
    words = {name: flags.get(name, "") for name in ("cflags", "defines", "compiler")}
    request = BuildRequest(engine, place, **words, options=flags.get("configure", ""), patch=patch)
    return plan_build(request, recipes, say)
