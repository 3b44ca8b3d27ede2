"""`dyno kit` on real servers: what it puts there, that it goes again, and what it refuses."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit_servers import KitServer

import dyno
from dyno import driver
from dyno.servers.kit import library, verbs
from dyno.servers.kit import server as kit
from dyno.servers.kit.library import PARTS, find_parts
from dyno.servers.kit.server import LIBRARY
from dyno.servers.kit.verbs import ABSENT, DAMAGED, HIDDEN, INSTALLED, NATIVE, read_status

pytestmark = [pytest.mark.timeout(300)]

OLD = "0.0.9"


def states(server: KitServer) -> dict[str, str]:
    return {it.part.name: it.state for it in read_status(server.reached())}


def test_install_and_uninstall_leave_the_server_as_it_was(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kit_server.inventory()
    assert kit_server.kit("install", *PARTS) == 0
    assert set(states(kit_server).values()) <= {INSTALLED, NATIVE}
    assert kit_server.inventory() != before
    assert kit_server.kit("install", "json") == 0
    assert "json: is installed already" in capsys.readouterr().out
    for part in PARTS:
        assert kit_server.kit("uninstall", part) == 0
        assert states(kit_server)[part] in (ABSENT, NATIVE)
    assert kit_server.inventory() == before
    assert not list(kit_server.plugins.iterdir())


def test_whatever_is_made_or_dropped_in_a_row_is_one_question(kit_server: KitServer) -> None:
    asked = []

    def ask(*words: Any) -> list[list[list[str | None]]]:
        asked.append(words[1])
        return driver.ask(*words)

    server = kit.reach_server(ask, kit_server.url)
    verbs.install(server, find_parts(["async"]), lambda _: None)
    verbs.uninstall(server, find_parts(["async"]), lambda _: None)
    assert len(asked) < 40 and max(map(len, asked)) > 480


def test_what_the_server_has_itself_is_left_to_it(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    native = kit_server.is_mysql_8
    assert kit_server.kit("install", "uuid") == 0
    assert ("brings it" in capsys.readouterr().out) == native
    assert (kit_server.plugins / LIBRARY).exists() != native
    assert kit_server.kit("uninstall", "uuid") == 0


def test_a_damaged_part_is_told_and_mended_by_an_upgrade(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    kit_server.kit("install", "json")
    kit_server.ask("DROP FUNCTION jsum")
    assert states(kit_server)["json"] == DAMAGED
    assert kit_server.kit("upgrade") == 0
    assert states(kit_server)["json"] == INSTALLED
    capsys.readouterr()
    assert kit_server.kit("upgrade") == 0
    assert "is loaded already" in capsys.readouterr().out
    kit_server.kit("uninstall", "json")


def test_an_older_library_is_refused_by_install_and_replaced_by_upgrade(
    kit_server: KitServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = library.find_own_library().read_bytes().replace(dyno.__version__.encode(), OLD.encode())
    (kit_server.plugins / LIBRARY).write_bytes(older)
    kit_server.ask(f"CREATE FUNCTION dyno_kit_version RETURNS STRING SONAME '{LIBRARY}'")
    assert kit_server.reached().read_library_version() == OLD
    assert kit_server.kit("install", "json") == 64
    assert "dyno kit upgrade" in capsys.readouterr().err
    assert kit_server.kit("upgrade") == 0
    assert kit_server.reached().read_library_version() == dyno.__version__
    assert kit_server.kit("install", "json") == 0
    assert kit_server.kit("uninstall", "json") == 0
    assert not list(kit_server.plugins.iterdir())


def test_a_name_that_is_taken_stays_whose_it_is(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    other = kit_server.plugins / "other.so"
    other.write_bytes(library.find_own_library().read_bytes())
    kit_server.ask("CREATE AGGREGATE FUNCTION jsum RETURNS DECIMAL SONAME 'other.so'")
    assert kit_server.kit("install", "json") == 64
    assert "'jsum' is there already, from other.so" in capsys.readouterr().err
    kit_server.ask("DROP FUNCTION jsum")
    other.unlink()
    assert not list(kit_server.plugins.iterdir())


def test_a_user_without_rights_is_told_which(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kit_server.inventory()
    kit_server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
    weak = kit_server.url_of("weak", "Weak-1")
    assert kit_server.kit("install", "json", url=weak) == 64
    said = capsys.readouterr().err
    assert "mysql.func" in said and "GRANT" in said and "Weak-1" not in said
    kit_server.ask("GRANT SELECT ON mysql.func TO 'weak'@'localhost'")
    assert kit_server.kit("install", "json", url=weak) == 64
    assert "could not load the function dyno_kit_version" in capsys.readouterr().err
    kit_server.ask("DROP USER 'weak'@'localhost'")
    assert kit_server.inventory() == before
    assert not list(kit_server.plugins.iterdir())


def test_what_a_user_may_not_look_at_is_not_called_absent(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    kit_server.kit("install", "bitmap", "json", "async", "options")
    kit_server.ask(
        "CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'",
        "GRANT SELECT ON mysql.func TO 'weak'@'localhost'",
    )
    weak = kit_server.reached(kit_server.url_of("weak", "Weak-1"))
    found = {it.part.name: it.state for it in read_status(weak)}
    hidden = {"json", "async", "options", "history"}
    assert found["bitmap"] == INSTALLED and {it for it in found if found[it] == HIDDEN} == hidden
    assert states(kit_server)["history"] == ABSENT
    kit_server.ask("DROP USER 'weak'@'localhost'")
    assert kit_server.kit("uninstall", "bitmap", "json", "async", "options") == 0


def test_parts_at_rest_are_told(kit_server: KitServer) -> None:
    parts = ("async", "history")
    assert kit_server.kit("install", *parts) == 0
    kit_server.ask("SET GLOBAL event_scheduler = OFF")
    try:
        found = {it.part.name: it.detail for it in read_status(kit_server.reached())}
    finally:
        kit_server.ask("SET GLOBAL event_scheduler = ON")
    assert all(found[part].endswith("the event scheduler is OFF: nothing runs") for part in parts)
    assert kit_server.kit("uninstall", *parts) == 0


def test_a_library_that_the_server_cannot_read_is_told(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    mode = stat.S_IMODE(kit_server.plugins.stat().st_mode)
    kit_server.plugins.chmod(0o700)
    try:
        assert kit_server.kit("install", "json") == 64
    finally:
        kit_server.plugins.chmod(mode)
    said = capsys.readouterr().err
    assert "does dyno_kit.so lie in" in said and "dyno kit library" in said
    assert not list(kit_server.plugins.iterdir())


def test_no_process_list_shows_the_password(kit_server: KitServer) -> None:
    words = [sys.executable, "-m", "dyno.cli", "kit", "status", "--dsn", kit_server.url]
    password = str(kit_server.engine.session["password"])
    shown = Counter[bool]()
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            # its own words for a moment, until it has put stars there, and no child's ever
            listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True)
            lines = [it for it in listed.stdout.splitlines() if password in it]
            others = [it for it in lines if int(it.split()[0]) != process.pid]
            assert not others
            shown[bool(lines)] += 1
        told = process.stdout.read() if process.stdout else b""
    assert process.returncode == 0 and b"json" in told and password.encode() not in told
    assert shown[False] > shown[True]


def test_a_call_in_the_where_of_a_view_is_survived(kit_server: KitServer) -> None:
    kit_server.kit("install", "json")
    kit_server.ask(
        "CREATE TABLE dyno.d (id int, doc text)",
        "INSERT INTO dyno.d VALUES (1, '{\"p\":1}'), (2, '{\"q\":1}')",
        "CREATE VIEW dyno.v AS SELECT id, COUNT(*) AS n FROM dyno.d"
        " WHERE json_extract_all(doc, 'p') <> '' GROUP BY id",
    )
    for _ in range(20):
        rows = kit_server.ask("SELECT id FROM dyno.v WHERE json_flatten('[1]') <> '' AND id < 9")
        assert rows == [["1"]]
    kit_server.ask("DROP VIEW dyno.v", "DROP TABLE dyno.d")
    assert kit_server.kit("uninstall", "json") == 0
