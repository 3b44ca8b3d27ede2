"""What a PostgreSQL holds at a trial's end, and what a commit survives there."""

from __future__ import annotations

from collections.abc import Mapping

from dyno.engines import Ask, Server
from dyno.engines._holding import SURVIVES, Holding
from dyno.engines._postgres_settings import PROFILES

SIZES = (
    "SELECT pg_database_size(current_database()), pg_size_bytes(current_setting('shared_buffers'))"
)
#: What decides of a commit's safety (PostgreSQL's documentation, "Reliability").
DECIDING = ("fsync", "full_page_writes", "synchronous_commit")


def holding(ask: Ask, server: Server, asked: Mapping[str, str], told: Mapping[str, str]) -> Holding:
    """The database as the server weighs it. One that runs already is not asked: it claims nothing,
    and what speaks its protocol need not know the functions.
    """
    decided_by = {name: told.get(name, "").partition(" ")[0] for name in DECIDING}
    survives = SURVIVES[_safety(decided_by)] if all(decided_by.values()) else ""
    if server.handle is None:
        return Holding(survives=survives, decided_by=decided_by)
    (((data, cache),),) = ask(server.session, [SIZES])
    claim = "" if "config" in asked else asked.get("profile", PROFILES[0])
    return Holding(int(data or 0), int(cache or 0), claim, survives, decided_by)


def _safety(settings: Mapping[str, str]) -> int:
    """The place in `SURVIVES`: pages may be torn by a power cut, or lie nowhere but in memory."""
    if settings["fsync"] == "off" or settings["full_page_writes"] == "off":
        return 1
    return 2 if settings["synchronous_commit"] == "off" else 3
