"""Where a statement is explained: the URL of a server, a database's file, or an engine of a version
that is started for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from dyno.driver.plan import Session
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
from dyno.runs.experiment.candidates import Spec, parse_candidate

#: `engine:FILE` and `engine@build:FILE`.
_IN_FILE = re.compile(r"(?P<engine>\w+)(?:@(?P<build>[^:?]*))?:(?P<file>(?!//).+)")
HEAD_BYTES = 64
HINT = "write engine://user@host:port/database, the path of a file, or engine@version"
#: What is said of a server in the place of its address.
OWN, OWN_FILE = "a server of its own", "a file of its own"


def open_path(ask: Ask, dsn: str, request: PathRequest) -> StatementPath:
    """Return the statement's path there; `UsageError` if the DSN is invalid, or such a statement
    cannot be explained.
    """
    if Path(dsn).is_file():
        return _find_owner(ask, Path(dsn)).open_path(dsn, {}, request)
    if found := _IN_FILE.fullmatch(dsn):
        engine = find_engine(found["engine"], ask)
        if isinstance(engine, ExplainsFiles):
            return engine.open_path(found["file"], {}, request, found["build"] or "")
    if re.match(r"\s*\w+\s", dsn) and "=" not in dsn:
        raise UsageError("the DSN stands first, then the statement", cause=dsn[:40], hint=HINT)
    if _is_file_name(dsn):
        raise UsageError(f"there is no file {dsn}", hint=HINT)
    spec = parse_candidate(dsn)
    served = find_engine(spec.engine, ask)
    if not isinstance(served, ExplainsPath) or isinstance(served, ExplainsFiles) or not spec.is_url:
        raise UsageError("dyno explain takes a server that runs, or a file", hint=HINT)
    return served.open_path(spec.with_password, spec.keys, request)


def find_started(ask: Ask, dsn: str) -> Spec | None:
    """Return the engine that is to be started, if the DSN names one by its version; None if it
    names a file or a running server.
    """
    in_file = _IN_FILE.fullmatch(dsn)
    if Path(dsn).is_file() or "://" in dsn or " " in dsn.strip() or _is_file_name(dsn):
        return None
    if in_file and isinstance(find_engine(in_file["engine"], ask), ExplainsFiles):
        return None
    spec = parse_candidate(dsn)
    is_known = isinstance(find_engine(spec.engine, ask), ExplainsPath)
    return None if spec.is_url or not is_known else spec


def _is_file_name(dsn: str) -> bool:
    """Return whether it is written as a file's path, and no engine's name."""
    head = dsn.partition("?")[0]
    return not any(it in head for it in ("://", "@", "=")) and any(it in head for it in "/.")


def open_started(ask: Ask, spec: Spec, session: Session, request: PathRequest) -> StatementPath:
    """The statement's path in the engine that was started, reached as `session` says."""
    engine = find_engine(spec.engine, ask)
    assert isinstance(engine, ExplainsPath)
    is_file = isinstance(engine, ExplainsFiles)
    place = str(session["database"]) if is_file else _format_place(session)
    path = engine.open_path(place, {}, request, spec.build if is_file else "")
    path.server = OWN_FILE if is_file else OWN
    return path


def _format_place(session: Session) -> str:
    user, host = (quote(str(session[name]), safe="") for name in ("user", "host"))
    secret = session["password"]
    word = "" if secret is None else f":{quote(str(secret), safe='')}"
    port = f":{session['port']}" if session.get("port") and not host.startswith("%2F") else ""
    return f"//{user}{word}@{host}{port}/{session['database']}"


def _find_owner(ask: Ask, file: Path) -> ExplainsFiles:
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
