"""How sessions of MySQL and MariaDB write SQL, as far as a replay needs it."""

from __future__ import annotations

from dyno.sql.tokens import Quoting
from dyno.workloads.replay.statements import Dialect

SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)
DIALECT = Dialect(QUOTING, SCHEMAS, "USE `{}`")
