"""General logs hold what triggers and functions sent: it is left out, as they do it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from private_servers import serving

from dyno import driver
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.sessions import OF_ROUTINES, Bounds, select_statements
from dyno.workloads.replay.spool import Spool

MADE = (
    "CREATE TABLE a (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE audit (i INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), n INT)",
    "CREATE TABLE c (n INT)",
    "INSERT INTO c VALUES (0)",
    "CREATE PROCEDURE q() UPDATE c SET n = n + 7",
    "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER tr AFTER INSERT "
    "ON `a` FOR EACH ROW BEGIN INSERT INTO audit (what, n) VALUES ('n; ''w', NEW.n); "
    "UPDATE c SET n = n + 1; CALL q(); END */",
    "CREATE TRIGGER gone AFTER DELETE ON a FOR EACH ROW "
    "INSERT INTO audit (what, n) VALUES ('gone', OLD.n)",
    "CREATE TRIGGER more AFTER UPDATE ON a FOR EACH ROW "
    "IF NEW.n > 1 THEN DELETE FROM c WHERE n = 77; END IF",
    "CREATE FUNCTION f(x INT) RETURNS INT MODIFIES SQL DATA BEGIN "
    "DECLARE y VARCHAR(9) DEFAULT 'it''s'; INSERT INTO audit (what, n) VALUES (y, x + 1); "
    "UPDATE c SET n = n * 2; RETURN x; END",
    "CREATE PROCEDURE p(IN v INT) BEGIN UPDATE c SET n = v; "
    "INSERT INTO audit (what, n) VALUES ('p', v); END",
)
SENT = (
    *("UPDATE c SET n = n + 1", "INSERT INTO a VALUES (1, 1), (2, 2)"),
    *("UPDATE a SET n = 5 WHERE id = 1", "DELETE FROM a WHERE id = 2"),
    *("SELECT f(3)", "CALL p(4)", "UPDATE c SET n = n + 7", "DELETE FROM c WHERE n = 77"),
    *("SELECT f(n) FROM a", "UPDATE c SET n = n + 1", "INSERT INTO audit (what) VALUES ('gone')"),
)


@pytest.mark.parametrize("kind", ["mysql-8.0", "mariadb-innodb"])
def test_what_triggers_and_functions_sent_is_not_played_twice(kind: str, tmp_path: Path) -> None:
    with serving(kind, general_log="on") as server:
        driver.ask(server.session, [*MADE, "SELECT 'it begins'"])
        driver.ask(server.session, [*SENT])
        asked = "SELECT @@general_log_file, @@datadir, 'it ends'"
        ((name, folder, _),) = driver.ask(server.session, [asked])[0]
        text = (Path(str(folder)) / str(name)).read_text()
    begun = text.rindex("SELECT 'it begins'")
    log = tmp_path / "it.log"
    log.write_text(text[text.index("\n", begun) + 1 : text.rindex("SELECT @@general_log_file")])
    bounds = Bounds(routines=MADE)
    with Spool(tmp_path) as spool:
        found = select_statements(read_log(LogFile(log)), True, spool, bounds)
        played = [
            it.sql for session in found.sessions for it in found.find_played(session) if it.sql
        ]
    assert played == list(SENT)
    # of the rows: two inserted, one updated, one deleted; f was called twice
    assert found.left_out[OF_ROUTINES].count == 2 * 3 + 1 + 1 + 2 * 2
