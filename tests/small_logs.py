"""Small logs of each kind, as the servers write them."""

from __future__ import annotations

from pathlib import Path

SHOP = """CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(40), stock INTEGER);
INSERT INTO item VALUES (1, 'a', 3), (2, 'b;c', 4), (3, 'it''s', 5), (5, 'e', 1);
"""

GENERAL = """\
/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
2026-01-01T10:00:00.000000Z\t    8 Connect\tapp@localhost on shop using Socket
2026-01-01T10:00:00.001000Z\t    8 Query\tSET NAMES utf8mb4
2026-01-01T10:00:00.010000Z\t    8 Query\tSELECT name FROM item WHERE id = 1
2026-01-01T10:00:00.020000Z\t    9 Connect\tapp@localhost on shop using Socket
2026-01-01T10:00:00.021000Z\t    9 Query\tSELECT name
  FROM item
 WHERE id = 2
2026-01-01T10:00:00.030000Z\t    8 Query\tBEGIN
2026-01-01T10:00:00.031000Z\t    8 Query\tSELECT stock FROM item WHERE id = 3
2026-01-01T10:00:00.032000Z\t    8 Query\tUPDATE item SET stock = stock - 1 WHERE id = 3
2026-01-01T10:00:00.033000Z\t    8 Query\tCOMMIT
2026-01-01T10:00:00.040000Z\t    9 Prepare\tSELECT id FROM item WHERE name = ?
2026-01-01T10:00:00.041000Z\t    9 Execute\tSELECT id FROM item WHERE name = 'it''s'
2026-01-01T10:00:00.050000Z\t    9 Query\tSELECT 'cut off in the mid
2026-01-01T10:00:00.060000Z\t    9 Query\tSELECT nosuch FROM item
2026-01-01T10:00:00.090000Z\t    8 Quit\t
2026-01-01T10:00:00.095000Z\t    9 Quit\t
2026-01-01T10:00:00.100000Z\t   10 Connect\tapp@localhost on shop using Socket
2026-01-01T10:00:00.101000Z\t   10 Query\tSELECT name FROM item WHERE id = 5
2026-01-01T10:00:00.110000Z\t   10 Query\tKILL 5
"""

#: MariaDB, and MySQL up to 5.6: a time only where the second is new.
OLD_GENERAL = """\
260101 10:00:00\t    8 Connect\tapp@localhost as anonymous on shop
\t\t    8 Query\tSELECT name FROM item WHERE id = 1
260101 10:00:02\t    8 Init DB\tshop
\t\t    8 Query\tDELETE FROM item
\t\t    8 Query\tSELECT name FROM item WHERE id = 2
"""

SLOW = """\
/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
# Time: 2026-01-01T10:00:00.500000Z
# User@Host: app[app] @ localhost []  Id:     8
# Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1767261600;
SELECT name FROM item WHERE id = 1;
# Time: 2026-01-01T10:00:00.600000Z
# User@Host: app[app] @ localhost []  Id:     9
# Query_time: 0.500000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767261600;
SELECT name
FROM item WHERE id = 2;
# administrator command: Quit;
# Time: 2026-01-01T10:00:00.700000Z
# User@Host: app[app] @ localhost []  Id:     9
# Query_time: 0.000000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767261600;
UPDATE item SET stock = 0;
"""

STDERR = """\
2026-01-01 10:00:00.000 UTC [70] LOG:  database system is ready to accept connections
2026-01-01 10:00:00.010 UTC [71] app@shop LOG:  statement: SELECT name FROM item WHERE id = 1
2026-01-01 10:00:00.020 UTC [72] app@shop LOG:  statement: SELECT name
\t  FROM item
\t WHERE id = 2
2026-01-01 10:00:00.030 UTC [71] app@shop LOG:  statement: BEGIN
2026-01-01 10:00:00.031 UTC [71] app@shop LOG:  execute <unnamed>: UPDATE item \
SET stock = $2 WHERE id = $1
2026-01-01 10:00:00.031 UTC [71] app@shop DETAIL:  parameters: $1 = '3', $2 = NULL
2026-01-01 10:00:00.033 UTC [71] app@shop LOG:  statement: COMMIT
2026-01-01 10:00:00.540 UTC [72] app@shop LOG:  duration: 500.000 ms  execute S_1: \
SELECT $2 || name FROM item WHERE name = $1
2026-01-01 10:00:00.540 UTC [72] app@shop DETAIL:  Parameters: $1 = 'it''s', $2 = 'x'
2026-01-01 10:00:00.550 UTC [72] app@shop ERROR:  column "nosuch" does not exist at character 8
2026-01-01 10:00:00.550 UTC [72] app@shop STATEMENT:  SELECT nosuch FROM item
"""

_CSV = (
    '2026-01-01 10:00:00.{ms} UTC,"app","shop",{pid},"[local]",695500.{pid},{n},"SELECT",'
    '2026-01-01 10:00:00 UTC,3/2,0,LOG,00000,"{message}",{detail},,,,,,,,"psql","client",,0\n'
)
CSV = "".join(
    _CSV.format(ms=ms, pid=pid, n=n, message=message, detail=detail)
    for n, (ms, pid, message, detail) in enumerate(
        [
            ("010", 71, "statement: SELECT name FROM item WHERE id = 1", ""),
            ("020", 72, "statement: SELECT name\n  FROM item\n WHERE id = 2", ""),
            (
                "030",
                72,
                "duration: 5.000 ms  execute <unnamed>: SELECT id FROM item WHERE name = $1",
                "\"parameters: $1 = 'a'\"",
            ),
            ("040", 72, "statement: DELETE FROM item", ""),
        ],
        1,
    )
)

JSON = """\
{"timestamp":"2026-01-01 10:00:00.010 UTC","user":"app","dbname":"shop","pid":71,\
"session_id":"695500.71","error_severity":"LOG","message":"statement: SELECT name FROM item"}
{"timestamp":"2026-01-01 10:00:00.020 UTC","user":"app","dbname":"shop","pid":72,\
"session_id":"695500.72","error_severity":"LOG","message":"execute S_1: SELECT id FROM item WHERE \
name = $1","detail":"parameters: $1 = 'a'"}
"""


def write(folder: Path, name: str, text: str) -> Path:
    """A file of this text."""
    path = folder / name
    path.write_text(text)
    return path
