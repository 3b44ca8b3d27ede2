"""Where a statement is explained: the URL of a server, or a database's file."""

from __future__ import annotations

from dyno.compare.experiment.candidates import parse_candidate
from dyno.engines import Ask, ExplainsPath, PathRequest, StatementPath, find_engine
from dyno.errors import UsageError


def open_path(ask: Ask, dsn: str, request: PathRequest) -> StatementPath:
    """The statement's path there; `UsageError` where the DSN is none, or where nothing can be told
    of such a statement.
    """
    spec = parse_candidate(dsn)
    engine = find_engine(spec.engine, ask)
    if not isinstance(engine, ExplainsPath) or not spec.is_url:
        hint = "write engine://user:password@host:port/database"
        raise UsageError("dyno explain takes the URL of a server", hint=hint)
    return engine.open_path(spec.with_password, spec.keys, request)
