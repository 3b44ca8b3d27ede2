"""A server as the kit sees it: which it is, where it looks for libraries, what it has loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dyno.access.url import is_here
from dyno.driver.conversation import Conversation
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql import attached
from dyno.errors import DynoError, HostError, TrialFailed, UsageError
from dyno.runs.experiment.candidates import parse_candidate

#: The kinds of server, as a URL begins.
KINDS = ("mysql", "mariadb")
#: Any user who may log in may begin here.
ANYWHERE = "information_schema"
OLDEST, OLDEST_MARIADB = (5, 6), (10, 1)
#: A session begins without where the server has `autocommit = 0`: what it writes would be lost.
COMMITS = "SET SESSION autocommit = 1"
#: The library's name, and what stands in its place while a newer one is written.
LIBRARY = "dyno_kit.so"

Rows = list[list[str | None]]
#: MySQL from the first until before the second calls a function whose library it did not find at no
#: address, and dies (seen: 8.0.33, not 5.6.14, 9.7.4 and MariaDB, which refuse such a call).
CALLS_LOST = (8, 0), (9, 7)
#: How long one installation waits for another.
LOCK_S = 10
#: From here on MySQL has MD5() as a component that few servers load.
LACKS_MD5 = (9, 6)


@dataclass(frozen=True)
class KitServer:
    """A server that answers. `number` is its version, (8, 0, 33); `plugins` where it looks for
    libraries; `near` whether it may be of this machine.
    """

    ask: Ask
    session: Session
    version: str
    plugins: Path
    near: bool

    @property
    def number(self) -> tuple[int, ...]:
        return parse_version(self.version)

    @property
    def is_mariadb(self) -> bool:
        return "mariadb" in self.version.lower()

    @property
    def calls_lost(self) -> bool:
        """Return whether a call of a function whose library is gone may end the server."""
        since, until = CALLS_LOST
        return not self.is_mariadb and since <= self.number < until

    def build_hash(self, text: str) -> str:
        """Return the expression for 32 hexadecimal digits that stand for the expression `text`: MD5
        if the server has it, as older stored keys do.
        """
        has_md5 = self.is_mariadb or self.number < LACKS_MD5
        return f"MD5({text})" if has_md5 else f"LEFT(SHA2({text}, 256), 32)"

    def query(self, *statements: str) -> Rows:
        """Return the rows of the last of these statements; `TrialFailed` with the server's
        words.
        """
        return self.ask(self.session, [COMMITS, *statements])[-1]

    def list_registered(self) -> dict[str, str]:
        """Return the loadable functions that the server has in its table, with their libraries."""
        try:
            rows = self.query("SELECT name, dl FROM mysql.func ORDER BY name")
        except TrialFailed as refused:
            if not refused.state:  # the connection is lost
                raise
            raise UsageError(
                "it takes SELECT on mysql.func to see which functions are loaded",
                cause=extract_words(refused),
                hint="GRANT SELECT ON mysql.func TO that user; to load functions, INSERT and"
                " DELETE, too",
            ) from refused
        return {str(name): str(library) for name, library in rows}

    def list_loaded(self) -> set[str] | None:
        """Return the loadable functions that the server has loaded; None if it does not say.

        A server that `calls_lost` lists those whose library is gone, too.
        """
        try:
            rows = self.query("SELECT udf_name FROM performance_schema.user_defined_functions")
        except TrialFailed:
            return None
        return {str(name) for (name,) in rows} or None  # some are MySQL's own

    def sees_all(self) -> bool:
        """Return whether this user may read every schema: then what it does not find is not
        there.
        """
        grants = [str(grant) for (grant,) in self.query("SHOW GRANTS")]
        everywhere = [re.match(r"GRANT (.*?) ON \*\.\* TO", grant) for grant in grants]
        rights = {right for it in everywhere if it for right in it[1].split(", ")}
        return not rights.isdisjoint({"SELECT", "ALL PRIVILEGES"})

    def read_library_version(self) -> str:
        """Return what the library says of itself; empty if the server refuses the call.

        Not if the server `calls_lost`, unless it has just loaded the function.
        """
        try:
            ((version,),) = self.query("SELECT CONVERT(dyno_kit_version() USING utf8mb4)")
        except TrialFailed as refused:
            if not refused.state:  # the connection is lost, which says nothing of the library
                raise
            return ""
        return version or ""


def parse_version(version: str) -> tuple[int, ...]:
    """The figures of `8.0.33-debug`; MariaDB before 11 puts 5.5.5- before its own."""
    own = re.sub(r"^5\.5\.5-(?=.*mariadb)", "", version.lower())
    found = re.match(r"\d+(?:\.\d+)*", own)
    return tuple(int(figure) for figure in found[0].split(".")) if found else ()


def extract_words(refused: DynoError) -> str:
    """The server's own words in the driver's error."""
    return refused.message.partition(": ")[2] or refused.message


def reach_server(ask: Ask, dsn: str) -> KitServer:
    """Return the server at `mysql://user:password@host:port`, its version asked.

    A password may come as `MYSQL_PWD` instead. `UsageError` if the URL is invalid, the login is
    refused, or the server is too old.
    """
    spec = parse_candidate(dsn)
    if spec.engine not in KINDS or not spec.is_url:
        # the password of an example in a URL would be told with stars
        hint = "write mysql://user@host:3306, the password in MYSQL_PWD (or in the URL, @ as %40)"
        raise UsageError("--dsn takes the URL of a MySQL or MariaDB server", hint=hint)
    text = f"//{spec.with_password.removeprefix('//').removesuffix('/')}"
    has_database = "/" in text.removeprefix("//").rpartition("@")[2]
    build = attached.locate_server(
        spec.engine, text if has_database else f"{text}/{ANYWHERE}", spec.keys
    )
    session = attached.make_session(build)
    ((version, plugins),) = ask(session, ["SELECT VERSION(), @@plugin_dir"])[0]
    near = is_here(str(session["host"]))
    server = KitServer(ask, session, str(version), Path(str(plugins)), near)
    if server.number[:2] < (OLDEST_MARIADB if server.is_mariadb else OLDEST):
        raise UsageError(
            f"{version} is too old for the kit", hint="MySQL 5.6 and MariaDB 10.1 are the oldest"
        )
    return server


def run_all(
    server: KitServer,
    statements: Sequence[str],
    doing: str,
    rights: Sequence[str],
    apart: bool = False,
) -> None:
    """Run statements as one question, or each `apart` if each may take as long as a question;
    `UsageError` with the server's words and what `doing` takes.
    """
    for each in [[it] for it in statements] if apart else [statements]:
        if not each:
            continue
        try:
            server.query(*each)
        except TrialFailed as refused:
            raise UsageError(
                f"could not {doing}",
                cause=extract_words(refused),
                hint=_suggest_hint(server, refused, rights),
            ) from refused


@contextmanager
def hold_lock(server: KitServer) -> Iterator[None]:
    """Hold the server for one installation, upgrade or removal; `UsageError` while another does."""
    begin = "SET SESSION wait_timeout = 28800"
    with Conversation() as session:
        rows: Rows = [["1"]]
        with suppress(TrialFailed):  # clusters refuse it (Galera)
            rows = session(server.session, [begin, f"SELECT GET_LOCK('dyno kit', {LOCK_S})"])[-1]
        if rows != [["1"]]:
            raise UsageError(
                "another dyno kit installs, upgrades or uninstalls on this server",
                hint="once more when it has ended",
            )
        yield


def quote(name: object) -> str:
    return "`{}`".format(str(name).replace("`", "``"))


def read_scheduler(server: KitServer) -> str:
    """Whether the server runs events: ON, OFF or DISABLED."""
    ((found,),) = server.query("SELECT @@GLOBAL.event_scheduler")
    return str(found)


def check_scheduler(server: KitServer, why: str) -> None:
    """Raise `UsageError` if the server runs no events."""
    if (found := read_scheduler(server)) != "ON":
        raise UsageError(
            f"the server's event scheduler is {found}, and {why}",
            hint="SET GLOBAL event_scheduler = ON, and event_scheduler = ON in the server's "
            "settings; where it is DISABLED it takes a restart",
        )


def _suggest_hint(server: KitServer, refused: TrialFailed, rights: Sequence[str]) -> str:
    if not refused.state:
        return "when the server answers again, `dyno kit status` says what is there"
    # The servers' texts are translated, their names of files are not.
    if LIBRARY in refused.message:
        return (
            f"does {LIBRARY} lie in {server.plugins} of that server's own machine, and may the "
            "server read it? `dyno kit library` says where to copy it from"
        )
    return f"it takes {', '.join(rights)}; and a server that may be written to"


def build_host_error(place: Path, error: OSError, source: Path) -> HostError:
    """The error for a plugin directory that cannot be written."""
    return HostError(
        f"cannot put {LIBRARY} into the server's plugin directory {place}",
        cause=error.strerror or error,
        hint=f"as a user who may: install -m 644 {source} {place / LIBRARY}; then once more",
    )
