"""The settings of a MySQL server that runs already, for one that is to run like it."""

from __future__ import annotations

from collections.abc import Iterable

from dyno.builds import Build
from dyno.engines import Ask
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.settings import FAST, STOCK, sort_settings
from dyno.engines.mysql.values import variables
from dyno.plan import Session


def settings_like(
    ask: Ask, running: Session, build: Build, prefix: Prefix, left: Iterable[str]
) -> dict[str, str]:
    """What it has where our profiles have a value for memory, disk and work: those variables that
    `build` knows, over its own defaults. Names that are `left` mean something else there.
    """
    (rows,) = ask(running, ["SHOW GLOBAL VARIABLES"])
    told = {str(name).lower(): value or "" for name, value in rows}
    storage = told.get("default_storage_engine", "")
    logged = told.get("log_bin", "").lower()
    asked = {"profile": STOCK} | ({"engine": storage} if storage else {})
    asked |= {"log_bin": logged} if logged in ("on", "off") else {}
    known = variables(build, prefix, sort_settings(asked, {})) - set(left)
    return asked | {name: told[name] for name in FAST if name in told and name in known}
