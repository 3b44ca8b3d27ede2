"""The settings of a MySQL server that runs already, for one that is to run like it."""

from __future__ import annotations

from collections.abc import Iterable

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.settings import FAST, STOCK, sort_settings
from dyno.engines.mysql.values import list_variables

#: What is written of statements, and when; files and their places are the server's own.
LOGGING = (
    *("general_log", "slow_query_log", "long_query_time", "log_output"),
    *("log_queries_not_using_indexes", "min_examined_row_limit", "log_slow_admin_statements"),
    *("log_slow_extra", "log_slow_rate_limit", "log_slow_verbosity", "log_slow_filter"),
    *("binlog_row_image", "innodb_print_all_deadlocks", "userstat"),
)


def liken_settings(
    ask: Ask, running: Session, build: Build, prefix: Prefix, left: Iterable[str]
) -> dict[str, str]:
    """What it has where our profiles have a value for memory, disk and work, and what it logs:
    those variables that `build` knows, over its own defaults. Names that are `left` mean something
    else there.
    """
    (rows,) = ask(running, ["SHOW GLOBAL VARIABLES"])
    told = {str(name).lower(): value or "" for name, value in rows}
    storage = told.get("default_storage_engine", "")
    logged = told.get("log_bin", "").lower()
    asked = {"profile": STOCK} | ({"engine": storage} if storage else {})
    asked |= {"log_bin": logged} if logged in ("on", "off") else {}
    known = list_variables(build, prefix, sort_settings(asked, {})) - set(left)
    return asked | {
        name: told[name] for name in (*FAST, *LOGGING) if name in told and name in known
    }
