"""How sessions of PostgreSQL write SQL, as far as a replay needs it."""

from __future__ import annotations

from dyno.sql.tokens import Quoting
from dyno.workloads.replay.statements import Dialect

QUOTING = Quoting(dollars=True, backslashes=False, names_in_double=True)
DIALECT = Dialect(QUOTING, ("information_schema", "pg_catalog"))
