"""Routines and views of the kit in a schema of their own, `kit`, and the indexes over JSON.

No list of what is there is kept: each routine and table says in its comment that it is the
kit's, of which part, and a routine of which version. A view has no comment; the scripts name it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import dyno
from dyno.errors import TrialFailed, UsageError
from dyno.servers.kit import library, rights
from dyno.servers.kit.library import PARTS
from dyno.servers.kit.options import SETS
from dyno.servers.kit.server import KitServer, extract_words, quote, run_all

SCHEMA = "kit"
SQL = Path(__file__).parent / "sql"
#: What a script makes, its name without the schema.
MADE = re.compile(
    r"^CREATE (?:[A-Z= ]+ )?(TABLE|VIEW|PROCEDURE|FUNCTION) (?:\w+ ){0,3}kit\.(\w+)", re.M
)
#: What a part's routines take.
RIGHTS = {
    "json": (
        "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, DELETE, CREATE ROUTINE, ALTER ROUTINE and"
        " EXECUTE on kit.*",
    ),
    "options": (
        "CREATE, DROP, SELECT, INSERT, CREATE VIEW, CREATE ROUTINE and ALTER ROUTINE on kit.*",
        "on MySQL from 5.7 SELECT on performance_schema.session_variables and .global_variables",
        "SUPER if the server keeps a binary log without log_bin_trust_function_creators",
    ),
}
INDEX_RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, DELETE and EXECUTE on kit.*; SELECT and TRIGGER"
    " on the table",
)


def read_version(server: KitServer, part: str) -> str:
    """Return the version of the part's routines; empty if there are none, or some are missing."""
    rows = _read_routines(server, part)
    found = {str(comment).rpartition(" ")[2] for _, _, comment in rows}
    there = {str(name) for _, name, _ in [*rows, *_read_tables(server)]}
    wanted = {name for _, name in _list_made(server, part)}
    return found.pop() if wanted <= there and len(found) == 1 else ""


def is_there(server: KitServer, part: str) -> bool:
    return bool(_list_drops(server, part))


def _list_made(server: KitServer, part: str) -> list[tuple[str, str]]:
    return [made for text in list_statements(server, part) for made in MADE.findall(text)]


def list_statements(server: KitServer, part: str) -> list[str]:
    """Return the part's statements, each ended by `$$` in its scripts, with the comments before
    them.
    """
    in_performance_schema = not server.is_mariadb and server.number >= (5, 7)
    filled = {
        "{version}": dyno.__version__,
        "{variables}": f"{'performance' if in_performance_schema else 'information'}_schema",
        "{sets}": ", ".join(f"'{name}'" for name in SETS),
    }
    scripts = sorted((SQL / part).glob("*.sql"))
    texts = [text for script in scripts for text in script.read_text().split("$$\n")]
    for word, meaning in filled.items():
        texts = [text.replace(word, meaning) for text in texts]
    return [it.strip() for it in texts if it.strip()]


def install(server: KitServer, part: str) -> bool:
    """Make the part's routines and views anew unless they are there; return whether anything was
    made. After a refusal, what is half-made is removed; tables that hold something stay.
    """
    if read_version(server, part) == dyno.__version__ and not rights.find_unsafe(server, part):
        return False
    made = [SCHEMA] not in server.query("SHOW DATABASES")
    if made:
        create = f"CREATE DATABASE {SCHEMA} DEFAULT CHARACTER SET utf8mb4"
        run_all(server, [create], f"make the schema {SCHEMA}", RIGHTS[part])
    elif not _is_ours(server):
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and is not the kit's",
            hint="the kit needs that name: rename yours",
        )
    new = not is_there(server, part)
    drops = [
        f"DROP {kind} {SCHEMA}.{quote(name)}" for kind, name, _ in _read_routines(server, part)
    ]
    try:
        run_all(server, drops, f"replace the routines of {part}", RIGHTS[part])
        made_by = list_statements(server, part)
        run_all(server, made_by, f"install {part}", RIGHTS[part])
    except BaseException:
        with suppress(TrialFailed, UsageError):  # the first error is told; `status` shows the rest
            if made:
                server.query(f"DROP DATABASE {SCHEMA}")
            elif new:
                uninstall(server, part)
        raise
    return True


def _read_tables(server: KitServer) -> list[list[str | None]]:
    """Kind, name and comment of every table and view of the schema."""
    return server.query(
        "SELECT table_type, table_name, table_comment FROM information_schema.tables"
        f" WHERE table_schema = '{SCHEMA}'"
    )


def _read_routines(server: KitServer, part: str) -> list[list[str | None]]:
    """Kind, name and comment of the part's routines, those of older versions too."""
    return server.query(
        "SELECT routine_type, routine_name, routine_comment FROM information_schema.routines"
        f" WHERE routine_schema = '{SCHEMA}' AND routine_comment LIKE 'dyno kit {part} %'"
    )


def _is_ours(server: KitServer) -> bool:
    """Return whether something in the schema is the kit's, or the schema is empty."""
    everything = (
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = '{0}' UNION ALL"
        " SELECT routine_comment FROM information_schema.routines WHERE routine_schema = '{0}'"
    )
    comments = [str(comment) for (comment,) in server.query(everything.format(SCHEMA))]
    return not comments or any(it.startswith("dyno kit ") for it in comments)


def _list_drops(server: KitServer, part: str) -> list[str]:
    """Statements that drop what there is of the part: views, tables and routines."""
    if not _is_ours(server):
        return []
    views = {("VIEW", name) for kind, name in _list_made(server, part) if kind == "VIEW"}
    found = [
        ("VIEW" if kind == "VIEW" else "TABLE", name)
        for kind, name, comment in _read_tables(server)
        if (kind, name) in views or comment == f"dyno kit {part}"
    ]
    found += [(str(kind), name) for kind, name, _ in _read_routines(server, part)]
    return [f"DROP {kind} {SCHEMA}.{quote(name)}" for kind, name in found]


def uninstall(server: KitServer, part: str) -> bool:
    """Remove the part's indexes, tables, views and routines, and the schema when it is empty;
    return whether anything was there.
    """
    for column in list_indexes(server) if part == "json" else ():
        drop_index(server, column)
    drops = _list_drops(server, part)
    run_all(server, drops, f"uninstall {part}", RIGHTS[part])
    left = server.query(
        f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' UNION ALL"
        f" SELECT 1 FROM information_schema.routines WHERE routine_schema = '{SCHEMA}'"
    )
    if drops and not left:
        run_all(server, [f"DROP DATABASE {SCHEMA}"], f"drop the schema {SCHEMA}", RIGHTS[part])
    return bool(drops)


def list_indexes(server: KitServer) -> list[str]:
    """The columns that have an index, or half of one, as `schema.table.column`."""
    rows = server.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'kit'"
        " AND table_comment LIKE 'dyno kit json%' AND table_name LIKE '%.%.%' ORDER BY 1"
    )
    return [str(name) for (name,) in rows]


#: The functions that an index, its triggers and `kit.search` call.
INDEXED = ("json_tokens", "json_holds")


def create_index(server: KitServer, column: str) -> None:
    """Make an index over a column that holds JSON; after a refusal, what is half-made is removed.

    `UsageError` with the server's words if there is no such column, it has one already, its table
    has no primary key, a row holds no JSON, a right is missing, or the server lost the library, so
    that filling it would end the server.
    """
    _check_installed(server)
    library.require_loaded(server, (it for it in PARTS["json"].functions if it.name in INDEXED))
    made = _call_procedure(server, "index_json", column)
    try:
        run_all(server, made, f"make an index over {column}", INDEX_RIGHTS, apart=True)
    except BaseException:
        with suppress(TrialFailed, UsageError):  # the first error is told; another call drops it
            drop_index(server, column)
        raise


def drop_index(server: KitServer, column: str) -> None:
    """Drop an index, triggers first."""
    _check_installed(server)
    drops = _call_procedure(server, "drop_json_index", column)
    run_all(server, drops, f"drop the index over {column}", INDEX_RIGHTS)


def _call_procedure(server: KitServer, procedure: str, column: str) -> list[str]:
    quoted = column.replace("\\", "\\\\").replace("'", "''")
    try:
        rows = server.query(f"CALL {SCHEMA}.{procedure}('{quoted}')")
    except TrialFailed as refused:
        raise UsageError(
            f"no index over {column}" if procedure == "index_json" else f"no index of {column}",
            cause=extract_words(refused),
            hint="docs/guides/kit/json-index.md says what a column must be",
        ) from refused
    return [str(statement) for (statement,) in rows]


def _check_installed(server: KitServer) -> None:
    if not read_version(server, "json"):
        raise UsageError(
            "the part json is not installed here, or not whole", hint="dyno kit install json"
        )
