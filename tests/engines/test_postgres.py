"""Engine `postgres` without a server: versions, settings, its file, and what it reads back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from engine_callbacks import ask_nothing

from dyno.access.account import Socket
from dyno.driver.plan import Session
from dyno.engines import Ask, Server, find_engine
from dyno.engines._server import ServerLaunch
from dyno.engines.postgres.builds import PACKAGES, check_build_name, find_build
from dyno.engines.postgres.settings import TABLE, choose_settings, format_settings_file
from dyno.engines.postgres.settle import EMPTY_BYTES, estimate_cluster_bytes
from dyno.errors import TrialFailed, UsageError

ENGINE = find_engine("postgres", ask_nothing)


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        ("9.6", r"nearest: 10\.23;"),
        ("12.16", r"nearest: 12\.15 and 12\.22;"),
        ("20", r"nearest: 19rc1;"),
        ("sistem", "did you mean system"),
    ],
)
def test_a_version_that_is_not_offered_is_answered_with_the_nearest(build: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        ENGINE.program(build, {}, lambda _: None)
    assert caught.match(hint)


def test_a_major_version_stands_for_its_newest_minor_one() -> None:
    for build in (
        "",
        "system",
        "10",
        "18",
        "19",
        "trixie",
        "maven:18",
        "12.0",
        "/usr/lib/postgresql/15",
    ):
        check_build_name(build)
    assert all(len(checksum) == 64 for _, checksum in PACKAGES.values())
    numbers = [[int(n) for n in version.split(".")] for version in PACKAGES]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"profile": "warm"}, "unknown value of profile 'warm'"),
        ({"data_checksums": "yes"}, "unknown value of data_checksums"),
        ({"config": "/none.conf"}, "there is no file /none.conf"),
        ({"config": "/etc/passwd", "profile": "cached"}, "config and profile cannot be combined"),
        ({"port": "5433"}, "port cannot be set"),
        ({"Work_Mem": "1MB"}, "unknown setting 'Work_Mem'\nhint: did you mean work_mem"),
        ({"timezone": "UTC"}, "did you mean TimeZone"),
        ({"auto_explain.log_analyze": "on"}, "is not one of the server's own settings"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_engine("postgres", ask_nothing).check("18", {}, settings)  # type: ignore[attr-defined]


def test_a_prefix_must_hold_a_server(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no bin/postgres"):
        ENGINE.program(str(tmp_path), {}, lambda _: None)


def test_a_profile_is_a_column_of_the_table_and_the_user_has_the_last_word() -> None:
    cached, io_bound = ({"profile": name} for name in ("cached", "io-bound"))
    assert choose_settings({}, 18) == choose_settings(cached, 18)
    assert choose_settings(io_bound, 18)["shared_buffers"] == TABLE["shared_buffers"].io_bound
    own = choose_settings({"jit": "on", "work_mem": "1GB"}, 18)
    assert (own["jit"], own["work_mem"], own["fsync"]) == ("on", "1GB", "on")
    assert "jit" not in choose_settings({}, 10)


def test_a_file_of_the_users_replaces_the_profile_and_keeps_the_server_private(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.conf").write_text("listen_addresses = '*'\nwork_mem = '7MB'\n")
    settings = {"config": str(tmp_path / "mine.conf"), "search_path": "it's"}
    lines = format_settings_file(settings, 18, tmp_path).splitlines()
    assert lines[:2] == ["listen_addresses = '*'", "work_mem = '7MB'"]
    assert lines.index("listen_addresses = ''") > 1 and "search_path = 'it''s'" in lines
    assert f"unix_socket_directories = '{tmp_path}'" in lines
    assert not [line for line in lines if line.startswith("shared_buffers")]


def reporting(home: Path, asked: dict[str, str], source: str) -> tuple[Ask, Server]:
    """A started server that reports `jit` from `source`, and one setting with the home's path."""

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        rows: list[list[str | None]] = [
            ["jit", "off", source],
            ["data_directory", f"{home}/data", "override"],
            ["work_mem", "4MB", "default"],
        ]
        return [rows, [["built with CFLAGS", "-O2"]]]

    launch = ServerLaunch(
        "postgres 18", ("/bin/true",), home, Socket(home / "s", False), asked=asked
    )
    handle = type("Handle", (), {"launch": launch})()
    return ask, Server({}, home, 1, None, handle)


def test_settings_are_read_back_with_their_source(tmp_path: Path) -> None:
    ask, server = reporting(tmp_path, {"jit": "off"}, "configuration file")
    assert find_engine("postgres", ask).settings(server) == {
        "jit": "off (configuration file)",
        "work_mem": "4MB",
        "built with CFLAGS": "-O2",
    }


def test_a_folder_made_for_the_socket_is_no_setting(tmp_path: Path) -> None:
    ask, server = reporting(tmp_path / "home", {}, "configuration file")
    short = tmp_path / "short"
    server.handle.launch = replace(server.handle.launch, socket=Socket(short / "s", True))

    def asked(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        settings, built = ask(session, statements)
        return [[*settings, ["unix_socket_directories", str(short), "configuration file"]], built]

    assert find_engine("postgres", asked).settings(server) == find_engine("postgres", ask).settings(
        server
    )


@pytest.mark.parametrize("asked", [{"jit": "off"}, {"no_such": "1"}])
def test_a_setting_that_something_else_decides_fails_the_trial(
    asked: dict[str, str], tmp_path: Path
) -> None:
    ask, server = reporting(tmp_path, asked, "database")
    with pytest.raises(TrialFailed, match=f"{next(iter(asked))}=.* was asked for"):
        find_engine("postgres", ask).settings(server)
    ask, server = reporting(tmp_path, {"jit": "-1"}, "database")
    assert find_engine("postgres", ask).settings(server)["jit"] == "off (database)"


def test_the_disk_holds_rows_indexes_and_log() -> None:
    gigabyte = 1 << 30
    assert estimate_cluster_bytes(gigabyte, "8GB") == (6 << 30) + EMPTY_BYTES
    assert estimate_cluster_bytes(gigabyte, "512") == (3 << 30) + (576 << 20)


def test_a_program_that_is_no_server_is_refused(home: Path) -> None:
    (home / "bin").mkdir()
    for tool in ("postgres", "initdb"):
        (home / "bin" / tool).symlink_to("/bin/echo")
    with pytest.raises(UsageError, match=r"is not a PostgreSQL server: it says 'echo"):
        find_build(str(home), lambda _: None)
