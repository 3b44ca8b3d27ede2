"""A candidate's settings as a server of MySQL's family is asked for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from dyno.engines._mysql_prefix import Prefix
from dyno.engines._mysql_settings import OURS, PROFILES, ROWS
from dyno.errors import UsageError, unknown

SWITCHES = ("on", "off")
#: 5.5 takes no words for some of its switches, and ignores what it does not take.
NUMBERS = {"ON": "1", "OFF": "0"}
#: What holds under a user's own file too: a server of ours listens to nobody else.
PRIVATE = ("skip_networking", "mysqlx")
#: How the binary log is turned on: its files' name, and a number that it demands.
LOGGED = ("--log-bin=binlog", "--server-id=1")


@dataclass(frozen=True)
class Asked:
    """`own` are variables that the user named, `table` those of the profile that remain.

    `storage` is empty where the server's own choice stands, `log_bin` likewise.
    """

    own: dict[str, str]
    table: dict[str, str]
    storage: str
    config: Path | None
    skip_grants: bool
    log_bin: str

    def all(self) -> dict[str, str]:
        """Every variable that the server is started with."""
        return self.table | self.own

    def strict(self) -> dict[str, str]:
        """What the server must report, or the trial fails."""
        logged = {"log_bin": self.log_bin} if self.log_bin else {}
        grants = {"skip_grant_tables": "ON" if self.skip_grants else "OFF"}
        return self.own | logged | grants

    def arguments(self, prefix: Prefix) -> list[str]:
        """The words of the command line; a row of the table is dropped where it is unknown."""
        table = {name: NUMBERS.get(value, value) for name, value in self.table.items()}
        words = [f"--loose-{name}={value}" for name, value in table.items()]
        words += [f"--{name}={value}" for name, value in self.own.items()]
        if self.log_bin:
            words += LOGGED if self.log_bin == "on" else ("--skip-log-bin",)
        if self.skip_grants:
            words.append("--skip-grant-tables")
        if self.storage and (plugin := prefix.plugin(self.storage)).is_file():
            words.append(f"--plugin-load-add={plugin.name}")
        return words


def asked(settings: Mapping[str, str], adjusted: Mapping[str, str]) -> Asked:
    """The settings sorted out. `adjusted` are rows that this build takes in another value, or
    better not at all (empty)."""
    own = {name: value for name, value in settings.items() if name not in OURS}
    chosen = {name: default for name, (default, _) in OURS.items()} | dict(settings)
    config = Path(chosen["config"]).expanduser().absolute() if chosen["config"] else None
    table = {name: row.value(chosen["profile"]) for name, row in ROWS.items()} | dict(adjusted)
    if config:
        table = {name: table[name] for name in PRIVATE}
    mine = {"engine", "log_bin"} & set(settings)
    return Asked(
        own=own,
        table={name: value for name, value in table.items() if value and name not in own},
        storage=chosen["engine"] if "engine" in mine or not config else "",
        config=config,
        skip_grants=chosen["skip_grant_tables"].lower() == "on",
        log_bin=chosen["log_bin"].lower() if "log_bin" in mine or not config else "",
    )


def check(engine: str, settings: Mapping[str, str], variables: Collection[str]) -> None:
    """`UsageError` for a setting that no version of `engine` takes, or a value that none can."""
    for name in settings:
        if name not in OURS and name not in ROWS and name not in variables:
            raise unknown(f"{engine} setting", name, {*OURS, *ROWS, *variables})
    if settings.get("profile", PROFILES[0]) not in PROFILES:
        raise unknown("value of profile", settings["profile"], PROFILES)
    for name in ("skip_grant_tables", "log_bin"):
        if settings.get(name, "off").lower() not in SWITCHES:
            raise unknown(f"value of {name}", settings[name], SWITCHES)
    if file := settings.get("config"):
        _check_file(file, settings)


def _check_file(file: str, settings: Mapping[str, str]) -> None:
    if "profile" in settings:
        raise UsageError("config takes the place of a profile", hint="leave one of them out")
    try:
        Path(file).expanduser().read_bytes()
    except OSError as refused:
        raise UsageError(f"cannot read {file}", cause=refused.strerror) from None
