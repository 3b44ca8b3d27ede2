"""The part `options` in real servers: its page word for word, and held against `dyno options`."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from kit_parts import KitParts
from kit_servers import KitServer, check_page
from repository import ROOT

import dyno
from dyno.errors import TrialFailed
from dyno.servers.kit import options, routines
from dyno.servers.kit.verbs import DAMAGED, INSTALLED, read_status

pytestmark = [pytest.mark.timeout(300)]

PAGE = ROOT / "docs/guides/kit/options.md"
RIGHTS = "CREATE, DROP, SELECT, INSERT, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE"
MODES = ("ANSI_QUOTES", "NO_ZERO_DATE", "STRICT_TRANS_TABLES", "NO_ZERO_IN_DATE", "IGNORE_SPACE")


@pytest.fixture
def server(kit_parts: KitParts) -> KitServer:
    return kit_parts.hold("options")


@pytest.fixture
def weak(kit_parts: KitParts) -> Iterator[str]:
    """The URL of a user without any right."""
    server = kit_parts.server
    server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
    yield server.url_of("weak", "Weak-1")
    server.ask("DROP USER 'weak'@'localhost'")


def state(server: KitServer) -> str:
    (found,) = (it.state for it in read_status(server.reached()) if it.part.name == "options")
    return found


def test_the_page_is_as_it_says(server: KitServer) -> None:
    check_page(server, PAGE)


def test_sessions_and_globals_are_joined_over_all_variables(server: KitServer) -> None:
    # without a variable's name to go by MariaDB paired all places first, and did not end
    asked = (
        "SELECT variable_name, option_name, g.value, s.value"
        " FROM kit.options g JOIN kit.options s USING (variable_name, option_name)"
        " WHERE g.scope = 'global' AND s.scope = 'session' AND g.value <> s.value"
    )
    rows = server.ask("SET SESSION optimizer_switch = 'index_merge=off'", asked)
    assert rows == [["optimizer_switch", "index_merge", "on", "off"]]


#: Whether a session's values are global ones then in MySQL 5.6's own session_variables.
GLOBAL_AFTER = {
    "SELECT 1": False,
    "SET GLOBAL wait_timeout = 28800": True,
    "SET GLOBAL optimizer_switch = 'mrr=on'": True,
    "SHOW GLOBAL VARIABLES LIKE 'wait_timeout'": True,
    "SHOW GLOBAL STATUS LIKE 'Uptime'": True,
    "SELECT @@GLOBAL.wait_timeout": False,
    "SHOW SESSION VARIABLES LIKE 'wait_timeout'": False,
}
#: And whether they still are after this, too.
STILL_AFTER = {
    "SELECT 1": True,
    "SELECT @@SESSION.wait_timeout": True,
    "DO 1": True,
    "COMMIT": True,
    "SET SESSION wait_timeout = 28800": False,
    "SET @a = 1": False,
    "SET NAMES utf8": False,
    "SHOW SESSION VARIABLES LIKE 'wait_timeout'": False,
    "SHOW VARIABLES LIKE 'wait_timeout'": False,
    "SHOW STATUS LIKE 'Uptime'": False,
}


def test_what_a_session_sees_of_its_own_after_a_global_statement(server: KitServer) -> None:
    seen = {before: global_is_seen(server, before) for before in GLOBAL_AFTER}
    (setting, *_) = (it for it in GLOBAL_AFTER if GLOBAL_AFTER[it])
    still = {then: global_is_seen(server, setting, then) for then in STILL_AFTER}
    if server.is_mysql_5:
        assert (seen, still) == (GLOBAL_AFTER, STILL_AFTER)
    else:
        assert not any((*seen.values(), *still.values()))


def global_is_seen(server: KitServer, *statements: str) -> bool:
    """Whether the view shows a global value as the session's, after these."""
    flag = "WHERE scope = 'session' AND option_name = 'index_merge'"
    own = "SET SESSION optimizer_switch = 'index_merge=off'"
    (row,) = server.ask(
        own, *statements, f"SELECT value, @@optimizer_switch FROM kit.options {flag}"
    )
    assert "index_merge=off" in str(row[1])
    return row[0] == "on"


def test_the_view_has_what_dyno_options_shows(server: KitServer) -> None:
    server.ask("SET GLOBAL sql_mode = kit.with_option(@@GLOBAL.sql_mode, 'ANSI_QUOTES', 'on')")
    try:
        found: options.Options = defaultdict(dict)
        for variable, option, value in server.ask(
            "SELECT variable_name, option_name, value FROM kit.options WHERE scope = 'global'"
        ):
            found[str(variable)][str(option)] = str(value)
        shown = {name: each for name, each in options.read(server.reached()).items() if each}
    finally:
        server.ask("SET GLOBAL sql_mode = kit.with_option(@@GLOBAL.sql_mode, 'ANSI_QUOTES', 'off')")
    assert found == shown
    assert len(found["optimizer_switch"]) > 10 and found["sql_mode"]["ANSI_QUOTES"] == "on"


def test_the_view_tells_a_session_from_the_server(server: KitServer) -> None:
    rows = server.ask(
        "SET SESSION optimizer_switch = 'index_merge=off', SESSION sql_mode = 'ANSI_QUOTES'",
        "SELECT scope, value FROM kit.options WHERE option_name = 'index_merge' ORDER BY 1",
        "SELECT option_name, value FROM kit.options"
        " WHERE scope = 'session' AND variable_name = 'sql_mode'",
    )
    assert rows == [["ANSI_QUOTES", "on"]]
    rows = server.ask(
        "SET SESSION optimizer_switch = 'index_merge=off'",
        "SELECT scope, value FROM kit.options WHERE option_name = 'index_merge' ORDER BY 1",
    )
    assert rows == [["global", "on"], ["session", "off"]]


def test_each_flag_is_set_and_the_others_stay(server: KitServer) -> None:
    switch = str(server.one("SELECT @@GLOBAL.optimizer_switch"))
    flags = re.findall(r"(\w+)=", switch)
    for value in ("on", "off", "default"):
        calls = (f"kit.with_option('{switch}', '{flag}', '{value}')" for flag in flags)
        (answers,) = server.ask(f"SELECT {', '.join(calls)}")
        wanted = [re.sub(rf"\b{flag}=\w+", f"{flag}={value}", switch) for flag in flags]
        assert answers == wanted


def test_sets_are_those_of_a_model(server: KitServer, rng: random.Random) -> None:
    calls, wanted = [], []
    for _ in range(200):
        modes = rng.sample(MODES, rng.randrange(len(MODES) + 1))
        option, value = rng.choice(MODES), rng.choice(("on", "off"))
        calls.append(f"kit.with_option('{','.join(modes)}', '{option.lower()}', '{value}')")
        kept = modes if value == "on" else [it for it in modes if it != option]
        more = [option.lower()] if value == "on" and option not in modes else []
        wanted.append(",".join([*kept, *more]))
    (answers,) = server.ask(f"SELECT {', '.join(calls)}")
    assert answers == wanted
    assert server.one("SELECT kit.with_option('NONE', 'FILE', 'on')") == "FILE"
    assert server.one("SELECT kit.with_option('A,TRADITIONAL', 'traditional', 'off')") == "A"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("'mrr=on,icp=off', 'nothing', 'on'", "no option nothing"),
        ("'mrr=on,icp=off', 'm', 'on'", "no option m"),
        ("'A,B', 'A', 'default'", "are on or off, not default"),
        ("'A,B', 'A,C', 'on'", "no option and value: A,C, on"),
        ("'A,B', 'C', 'on=1'", "no option and value: C, on=1"),
        ("'NO_ZERO_DATE,TRADITIONAL', 'NO_ZERO_DATE', 'off'", "brings others along"),
        ("'AES128:AES256', 'AES128', 'off'", "ciphers"),
        ("'', 'TLS_AES_128_GCM_SHA256', 'on'", "ciphers"),
        ("NULL, 'A', 'on'", "none of them NULL"),
    ],
)
def test_what_is_no_option_is_refused(server: KitServer, words: str, why: str) -> None:
    with pytest.raises(TrialFailed, match=re.escape(why)):
        server.ask(f"SELECT kit.with_option({words})")


def test_a_damaged_part_is_told_and_mended(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for damage in ("VIEW kit.options", "TABLE kit.option_place", "FUNCTION kit.with_option"):
        server.ask(f"DROP {damage}")
        assert state(server) == DAMAGED
        assert server.kit("upgrade") == 0
        assert state(server) == INSTALLED
    assert f"options upgraded to {dyno.__version__}" in capsys.readouterr().out
    assert server.kit("upgrade") == 0
    assert "already" in capsys.readouterr().out
    assert server.one("SELECT COUNT(*) FROM kit.option_place") == "1024"


def test_the_rights_that_the_page_names_are_needed_and_enough(
    kit_server: KitServer, weak: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kit_server.inventory()
    assert kit_server.kit("install", "options", url=weak) == 64
    assert "CREATE VIEW" in capsys.readouterr().err
    trusted = kit_server.one("SELECT @@GLOBAL.log_bin_trust_function_creators")
    few = RIGHTS.replace(", CREATE VIEW", "")
    read = [
        f"{{}} SELECT ON performance_schema.{scope}_variables {{}} 'weak'@'localhost'"
        for scope in ("session", "global")
        if kit_server.is_mysql_8
    ]
    kit_server.ask(
        "SET GLOBAL log_bin_trust_function_creators = 1",
        f"GRANT {few} ON kit.* TO 'weak'@'localhost'",
        *(each.format("GRANT", "TO") for each in read),
    )
    assert kit_server.kit("install", "options", url=weak) == 64
    assert "CREATE VIEW" in capsys.readouterr().err
    assert kit_server.ask("SHOW DATABASES LIKE 'kit'") == []
    kit_server.ask("GRANT CREATE VIEW ON kit.* TO 'weak'@'localhost'")
    assert kit_server.kit("install", "options", url=weak) == 0
    assert kit_server.kit("uninstall", "options", url=weak) == 0
    kit_server.ask(
        f"REVOKE {RIGHTS} ON kit.* FROM 'weak'@'localhost'",
        *(each.format("REVOKE", "FROM") for each in read),
        f"SET GLOBAL log_bin_trust_function_creators = {trusted}",
    )
    assert kit_server.inventory() == before


def test_whoever_may_read_and_execute_uses_it(server: KitServer, weak: str) -> None:
    server.ask("GRANT SELECT, EXECUTE ON kit.* TO 'weak'@'localhost'")
    rows = server.ask(
        "SET SESSION sql_mode = kit.with_option(@@sql_mode, 'ANSI_QUOTES', 'on')",
        "SELECT value FROM kit.options WHERE scope = 'session' AND option_name = 'ANSI_QUOTES'",
        user="weak",
        password="Weak-1",
        database="information_schema",
    )
    assert rows == [["on"]]
    server.ask("REVOKE SELECT, EXECUTE ON kit.* FROM 'weak'@'localhost'")


def test_it_shares_the_schema_with_json(kit_server: KitServer) -> None:
    before = kit_server.inventory()
    assert kit_server.kit("install", "json", "options") == 0
    assert kit_server.kit("uninstall", "json") == 0
    assert state(kit_server) == INSTALLED
    assert kit_server.kit("install", "json") == 0
    assert kit_server.kit("uninstall", "options") == 0
    assert routines.read_version(kit_server.reached(), "json") == dyno.__version__
    assert kit_server.kit("uninstall", "json") == 0
    assert kit_server.inventory() == before


def test_a_schema_of_somebody_else_stays(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    kit_server.ask("CREATE DATABASE kit", "CREATE TABLE kit.options (id INT)")
    assert kit_server.kit("install", "options") == 64
    assert "is not the kit's" in capsys.readouterr().err
    assert kit_server.kit("uninstall", "options") == 0
    assert kit_server.ask("SHOW TABLES FROM kit") == [["options"]]
    kit_server.ask("DROP DATABASE kit")
