"""Procedures of the kit in a schema of their own, `kit`, and the indexes over JSON that they make.

Nobody keeps a list of what is there: each routine and table says in its comment that it is the
kit's, of which part, and a routine of which version.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import dyno
from dyno.errors import TrialFailed, UsageError
from dyno.kit.server import Server, run_all, words

SCHEMA = "kit"
SQL = Path(__file__).parent / "sql"
RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, DELETE, CREATE ROUTINE, ALTER ROUTINE and EXECUTE"
    " on kit.*",
)
INDEX_RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, DELETE and EXECUTE on kit.*; SELECT and TRIGGER"
    " on the table",
)


def version(server: Server, part: str) -> str:
    """Of which version the part's procedures are; empty where there are none, or not all are."""
    rows = server.query(
        "SELECT routine_name, routine_comment FROM information_schema.routines"
        f" WHERE routine_schema = '{SCHEMA}' AND routine_comment LIKE 'dyno kit {part} %'"
    )
    found = {str(comment).rpartition(" ")[2] for _, comment in rows}
    whole = len(rows) == sum("CREATE PROCEDURE" in it for it in statements(part))
    return found.pop() if whole and len(found) == 1 else ""


def statements(part: str) -> list[str]:
    """The part's statements, each ended by `$$` in its scripts; comments before them go along."""
    scripts = sorted((SQL / part).glob("*.sql"))
    texts = [text for script in scripts for text in script.read_text().split("$$\n")]
    return [it.strip().replace("{version}", dyno.__version__) for it in texts if it.strip()]


def install(server: Server, part: str) -> bool:
    """Makes the part's procedures anew unless they are there: was anything made? What a refusal
    leaves half-made goes again; tables that hold something stay.
    """
    if version(server, part) == dyno.__version__:
        return False
    made = [SCHEMA] not in server.query("SHOW DATABASES")
    if made:
        create = f"CREATE DATABASE {SCHEMA} DEFAULT CHARACTER SET utf8mb4"
        run_all(server, [create], f"make the schema {SCHEMA}", RIGHTS)
    elif not _is_ours(server):
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and is not one of this kit's",
            hint="the kit needs it for itself: rename yours",
        )
    try:
        run_all(server, _drops(server, part), f"replace the procedures of {part}", RIGHTS)
        run_all(server, statements(part), f"install {part}", RIGHTS, together=True)
    except BaseException:
        if made:
            with suppress(TrialFailed):
                server.query(f"DROP DATABASE {SCHEMA}")
        raise
    return True


def _is_ours(server: Server) -> bool:
    """Whether something in the schema is the kit's, or nothing is there at all."""
    everything = (
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = '{0}' UNION ALL"
        " SELECT routine_comment FROM information_schema.routines WHERE routine_schema = '{0}'"
    )
    comments = [str(comment) for (comment,) in server.query(everything.format(SCHEMA))]
    return not comments or any(it.startswith("dyno kit ") for it in comments)


def _drops(server: Server, part: str) -> list[str]:
    """Statements that drop the part's routines, those of older versions too."""
    rows = server.query(
        "SELECT routine_type, routine_name FROM information_schema.routines"
        f" WHERE routine_schema = '{SCHEMA}' AND routine_comment LIKE 'dyno kit {part} %'"
    )
    return [f"DROP {kind} {SCHEMA}.`{name}`" for kind, name in rows]


def uninstall(server: Server, part: str) -> bool:
    """Takes out the part's indexes, tables and procedures, and the schema when it is empty: was
    there anything?
    """
    for column in indexes(server) if part == "json" else ():
        drop_index(server, column)
    tables = server.query(
        "SELECT table_name FROM information_schema.tables"
        f" WHERE table_schema = '{SCHEMA}' AND table_comment = 'dyno kit {part}'"
    )
    drops = [f"DROP TABLE {SCHEMA}.`{name}`" for (name,) in tables] + _drops(server, part)
    run_all(server, drops, f"uninstall {part}", RIGHTS)
    left = server.query(
        f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' UNION ALL"
        f" SELECT 1 FROM information_schema.routines WHERE routine_schema = '{SCHEMA}'"
    )
    if drops and not left:
        run_all(server, [f"DROP DATABASE {SCHEMA}"], f"drop the schema {SCHEMA}", RIGHTS)
    return bool(drops)


def indexes(server: Server) -> list[str]:
    """The columns that have an index, or half of one, as `schema.table.column`."""
    rows = server.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'kit'"
        " AND table_comment LIKE 'dyno kit json%' AND table_name LIKE '%.%.%' ORDER BY 1"
    )
    return [str(name) for (name,) in rows]


def index_json(server: Server, column: str) -> None:
    """Makes an index over a column that holds JSON; what a refusal leaves half-made goes again.

    `UsageError` with the server's words where there is no such column, it has one already, its
    table has no primary key, a row holds no JSON, or a right is missing.
    """
    _check_installed(server)
    made = _called(server, "index_json", column)
    try:
        run_all(server, made, f"make an index over {column}", INDEX_RIGHTS)
    except BaseException:
        with suppress(TrialFailed, UsageError):
            drop_index(server, column)
        raise


def drop_index(server: Server, column: str) -> None:
    """Takes an index away, triggers first."""
    _check_installed(server)
    drops = _called(server, "drop_json_index", column)
    run_all(server, drops, f"drop the index over {column}", INDEX_RIGHTS)


def _called(server: Server, procedure: str, column: str) -> list[str]:
    quoted = column.replace("\\", "\\\\").replace("'", "''")
    try:
        rows = server.query(f"CALL {SCHEMA}.{procedure}('{quoted}')")
    except TrialFailed as refused:
        raise UsageError(
            f"no index over {column}" if procedure == "index_json" else f"no index of {column}",
            cause=words(refused),
            hint="docs/kit/json.md says what a column must be",
        ) from refused
    return [str(statement) for (statement,) in rows]


def _check_installed(server: Server) -> None:
    if not version(server, "json"):
        raise UsageError(
            "the part json is not installed here, or not whole", hint="dyno kit install json"
        )
