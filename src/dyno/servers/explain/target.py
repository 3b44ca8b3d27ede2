"""Where a statement is explained: the URL of a server, or a database's file."""

from __future__ import annotations

import re
from pathlib import Path

from dyno.compare.experiment.candidates import parse_candidate
from dyno.engines import (
    Ask,
    ExplainsFiles,
    ExplainsPath,
    PathRequest,
    StatementPath,
    find_engine,
)
from dyno.errors import UsageError
from dyno.plugins import load_modules

#: `engine:FILE` and `engine@build:FILE`.
_IN_FILE = re.compile(r"(?P<engine>\w+)(?:@(?P<build>[^:?]*))?:(?P<file>(?!//).+)")
HEAD_BYTES = 64
HINT = "write engine://user@host:port/database, or the path of a file"


def open_path(ask: Ask, dsn: str, request: PathRequest) -> StatementPath:
    """The statement's path there; `UsageError` where the DSN is none, or where nothing can be told
    of such a statement.
    """
    if Path(dsn).is_file():
        return _find_owner(ask, Path(dsn)).open_path(dsn, {}, request)
    if found := _IN_FILE.fullmatch(dsn):
        engine = find_engine(found["engine"], ask)
        if isinstance(engine, ExplainsFiles):
            return engine.open_path(found["file"], {}, request, found["build"] or "")
    if "/" in dsn and "://" not in dsn:
        raise UsageError(f"there is no file {dsn}", hint=HINT)
    spec = parse_candidate(dsn)
    served = find_engine(spec.engine, ask)
    if not isinstance(served, ExplainsPath) or isinstance(served, ExplainsFiles) or not spec.is_url:
        raise UsageError("dyno explain takes a server that runs, or a file", hint=HINT)
    return served.open_path(spec.with_password, spec.keys, request)


def _find_owner(ask: Ask, file: Path) -> ExplainsFiles:
    """The engine whose database the file is."""
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {file}", cause=error.strerror or error) from None
    for name in load_modules("dyno.engines"):
        engine = find_engine(name, ask)
        if isinstance(engine, ExplainsFiles) and engine.is_own_file(head):
            return engine
    raise UsageError(f"{file} is no database that is known here", hint=HINT)
