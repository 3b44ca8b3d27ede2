"""SQL of a log, as far as a replay needs it: its digest, what it does, and the tables it names.

A tokenizer and no parser: docs/decisions/0028-a-logs-statements-are-read-by-a-tokenizer.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from dyno.sql.tokens import LONGEST, Quoting, Token, shorten, split

#: What a statement does. `state`: to the session alone; `admin`: to the server, and never played.
Kind = Literal["read", "write", "begin", "commit", "rollback", "state", "use", "admin", "unknown"]


@dataclass(frozen=True)
class Dialect:
    """How a session of a family of servers quotes, the schemas that each of them has, and what
    brings a session into another database ("": nothing does).
    """

    quoting: Quoting
    catalogs: tuple[str, ...]
    use: str = ""


def _split_words(text: str) -> list[str]:
    return text.split()


#: First words of statements, by what they do; what else begins with a word is not known.
_VERBS: dict[str, Kind] = {
    **dict.fromkeys(
        _split_words("SELECT TABLE VALUES SHOW DESCRIBE DESC EXPLAIN HELP WITH FETCH"), "read"
    ),
    **dict.fromkeys(_split_words("DECLARE CLOSE MOVE CHECKSUM"), "read"),
    **dict.fromkeys(_split_words("BEGIN START"), "begin"),
    **dict.fromkeys(_split_words("COMMIT END"), "commit"),
    **dict.fromkeys(_split_words("ROLLBACK ABORT"), "rollback"),
    **dict.fromkeys(_split_words("SET RESET DISCARD DEALLOCATE SAVEPOINT RELEASE"), "state"),
    "USE": "use",
    **dict.fromkeys(
        _split_words(
            "INSERT UPDATE DELETE REPLACE MERGE COPY LOAD CALL DO TRUNCATE CREATE ALTER DROP "
            "RENAME GRANT REVOKE COMMENT ANALYZE VACUUM OPTIMIZE REPAIR CLUSTER REINDEX REFRESH "
            "LOCK UNLOCK PREPARE EXECUTE HANDLER NOTIFY LISTEN UNLISTEN XA IMPORT SECURITY CHECK "
            "CACHE"
        ),
        "write",
    ),
    **dict.fromkeys(
        _split_words(
            "KILL SHUTDOWN RESTART FLUSH PURGE CHANGE STOP INSTALL UNINSTALL CHECKPOINT BINLOG "
            "CLONE REASSIGN"
        ),
        "admin",
    ),
}
#: Words that make of a reading statement one that changes or holds something.
_CHANGES = frozenset(
    _split_words(
        "INSERT UPDATE DELETE MERGE SHARE NEXTVAL SETVAL GET_LOCK "
        "RELEASE_LOCK RELEASE_ALL_LOCKS PG_NOTIFY LO_CREATE LO_UNLINK LO_IMPORT "
        "TXID_CURRENT PG_CURRENT_XACT_ID PG_ADVISORY_LOCK PG_TRY_ADVISORY_LOCK "
        "PG_ADVISORY_UNLOCK PG_ADVISORY_XACT_LOCK PG_TRY_ADVISORY_XACT_LOCK"
    )
)
#: Words that make of any statement one that reaches beyond its database: into the server's files,
#: its other sessions, its replication, another server.
_BEYOND = frozenset(
    _split_words(
        "OUTFILE DUMPFILE LO_EXPORT PG_RELOAD_CONF PG_ROTATE_LOGFILE PG_TERMINATE_BACKEND "
        "PG_CANCEL_BACKEND PG_SWITCH_WAL PG_PROMOTE PG_CREATE_RESTORE_POINT PG_STAT_RESET "
        "PG_STAT_RESET_SHARED PG_STAT_RESET_SLRU PG_STAT_RESET_REPLICATION_SLOT "
        "PG_CREATE_PHYSICAL_REPLICATION_SLOT PG_CREATE_LOGICAL_REPLICATION_SLOT "
        "PG_DROP_REPLICATION_SLOT PG_REPLICATION_SLOT_ADVANCE PG_LOGICAL_SLOT_GET_CHANGES "
        "PG_LOGICAL_SLOT_GET_BINARY_CHANGES PG_REPLICATION_ORIGIN_CREATE "
        "PG_REPLICATION_ORIGIN_DROP PG_BACKUP_START PG_BACKUP_STOP PG_START_BACKUP "
        "PG_STOP_BACKUP PG_WRITE_FILE PG_FILE_WRITE PG_FILE_UNLINK PG_FILE_RENAME "
        "DBLINK DBLINK_EXEC DBLINK_CONNECT DBLINK_SEND_QUERY"
    )
)
#: What is made, changed or dropped for a whole server.
_SERVERS_OWN = frozenset(
    _split_words("USER ROLE GROUP DATABASE TABLESPACE SERVER INSTANCE SYSTEM SUBSCRIPTION")
)
_KEYWORDS = frozenset(
    _split_words(
        "SELECT FROM WHERE AND OR NOT IN IS NULL LIKE BETWEEN JOIN LEFT RIGHT INNER OUTER "
        "CROSS ON USING GROUP BY ORDER HAVING LIMIT OFFSET ASC DESC AS DISTINCT UNION ALL "
        "INSERT INTO VALUES UPDATE SET DELETE REPLACE CREATE TABLE INDEX DROP ALTER BEGIN "
        "START TRANSACTION COMMIT ROLLBACK FOR SHARE WITH CASE WHEN THEN ELSE END EXISTS "
        "COUNT SUM MIN MAX AVG SHOW SAVEPOINT RELEASE USE RETURNING CALL EXPLAIN NATURAL "
        "INTERVAL CAST COALESCE"
    )
)
#: Statements that name their table without INTO or TABLE, too, and what may stand between.
_BEFORE_BARE_TABLE = frozenset({"INSERT", "REPLACE", "TRUNCATE", "COPY"})
_PRIORITIES = ("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE")
#: Words before a table whose columns may follow in parentheses; what else has them is a call.
_BEFORE_COLUMNS = _BEFORE_BARE_TABLE | {"INTO", "TABLE", "EXISTS", *_PRIORITIES}
#: What MariaDB's ANALYZE runs and explains.
_ANALYZED = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"})
#: Words before an UPDATE that names no table: FOR UPDATE, ON DUPLICATE KEY UPDATE, and when a
#: trigger or a foreign key acts. Where SET follows (DO UPDATE SET, THEN UPDATE SET), none does.
_BEFORE_BARE_UPDATE = frozenset({"FOR", "KEY", "ON", "BEFORE", "AFTER", "OR"})
#: What COPY reads from and writes to, which is no table.
_STREAMS = frozenset({"STDIN", "STDOUT", "PROGRAM"})
#: Words after which a table's name stands.
_BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "STRAIGHT_JOIN"})


#: What a text leaves of its session's transaction, where it says a word of it.
Leaves = Literal["", "open", "ended"]


@dataclass(frozen=True)
class Statement:
    """What a text is: `digest` with `?` for its literals, `tables` that it names (as it
    spells them, with the schema if it says one), `why` where its kind is unknown. `parts`: the
    kinds of several statements that a client sent in one text; none where it is one.
    """

    kind: Kind
    digest: str
    tables: frozenset[str] = frozenset()
    why: str = ""
    leaves: Leaves = ""
    parts: tuple[Kind, ...] = ()


def read_statement(text: str, dialect: Dialect) -> Statement:
    """Return the statement that `text` is to servers of a family, whatever its literals and
    comments: what depends on their values has to be judged by the text.
    """
    short = shorten(text, dialect.quoting)
    if len(short) > LONGEST:
        return Statement("unknown", short[:60], why="it is too long without its literals")
    return _judge(short, dialect) if len(short) <= REMEMBERED else _judge_anew(short, dialect)


def _judge_anew(short: str, dialect: Dialect) -> Statement:
    words = split(short, dialect.quoting)
    if isinstance(words, str):
        return Statement("unknown", short[:60], why=f"it ends within a {words}")
    while words and words[-1][1] == ";":
        words.pop()
    return (_judge_several if ("mark", ";") in words else _judge_one)(words, dialect)


def _judge_one(words: list[Token], dialect: Dialect) -> Statement:
    words = words[next((at for at, (_, token) in enumerate(words) if token != "("), len(words)) :]
    if not words:
        return Statement("unknown", "", why="it is empty")
    inner = words[_find_inner(words) :]
    kind, why = _find_kind([token.upper() for each, token in inner if each == "word"], inner[0])
    if _is_for_server(inner):
        kind = "admin"
    # FETCH FROM names a cursor, SHOW … FROM a database
    is_of_none = words[0][1].upper() in ("FETCH", "MOVE", "CLOSE", "SHOW")
    tables = frozenset[str]() if is_of_none else _find_tables(words, dialect.catalogs)
    return Statement(kind, _build_digest(words), tables, why, _LEAVES.get(kind, ""))


_LEAVES: dict[Kind, Leaves] = {"begin": "open", "commit": "ended", "rollback": "ended"}
#: What may hold statements of its own, and words by which these have semicolons.
_ROUTINES = frozenset(_split_words("PROCEDURE FUNCTION TRIGGER EVENT PACKAGE"))
_BODIES = frozenset(_split_words("BEGIN IF CASE LOOP WHILE REPEAT FOR"))
#: The kind of several statements is the first of these that one of them is.
_STRONGEST: tuple[Kind, ...] = ("admin", "unknown", "write", "read", "state")


def _judge_several(words: list[Token], dialect: Dialect) -> Statement:
    """Several statements in one text, which is sent as it came: what all of them do together.

    What makes a routine is a write, wherever its body ends.
    """
    split_parts = list(_split_parts(words))
    routines = [at for at, part in enumerate(split_parts) if _is_routine(part)]
    if routines and _BODIES.intersection(token.upper() for _, token in words):
        if routines[0]:
            return Statement("unknown", "", why="it is several statements and a routine's body")
        is_admin = any(_is_for_server(part) for part in split_parts)
        return replace(_judge_one(words, dialect), kind="admin" if is_admin else "write")
    if [token.upper() for _, token in words[:2]] == ["BEGIN", "NOT"]:
        return Statement("unknown", "", why="it is a block of statements")
    parts = [_judge_one(part, dialect) for part in split_parts]
    kinds = [it.kind for it in parts]
    if "use" in kinds:
        return Statement("unknown", "", why="it is several statements with a USE among them")
    kind = next((it for it in _STRONGEST if it in kinds), kinds[-1])
    why = next((it.why for it in parts if it.why), "") if kind == "unknown" else ""
    leaves: Leaves = next((it.leaves for it in reversed(parts) if it.leaves), "")
    tables = frozenset[str]().union(*(it.tables for it in parts))
    digest = "; ".join(it.digest for it in parts)
    return Statement(kind, digest, tables, why, leaves, tuple(kinds))


def _is_routine(words: list[Token]) -> bool:
    names = [token.upper() for _, token in takewhile(lambda it: it[1] != "(", words)]
    return names[:1] == ["CREATE"] and bool(_ROUTINES.intersection(names))


def _split_parts(words: list[Token]) -> Iterator[list[Token]]:
    """The statements of a text, without empty ones."""
    depth, part = 0, list[Token]()
    for word in words:
        depth = max(0, depth + (word[1] == "(") - (word[1] == ")"))
        if word[1] == ";" and not depth:
            if part:
                yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


#: Letters of the shortened texts that are judged once, and how many are remembered.
REMEMBERED = 1 << 11
_judge = lru_cache(maxsize=1 << 14)(_judge_anew)


def _find_inner(words: list[Token]) -> int:
    """Where the statement begins that `SET STATEMENT x = 1 FOR …` (MariaDB, Percona) is about; 0
    for any other.
    """
    if [token.upper() for _, token in words[:2]] != ["SET", "STATEMENT"]:
        return 0
    depth = 0
    for at, (kind, token) in enumerate(words[:-1]):
        depth += (token == "(") - (token == ")")
        if kind == "word" and token.upper() == "FOR" and not depth:
            return at + 1
    return 0


def _find_kind(words: list[str], first: Token) -> tuple[Kind, str]:
    """What a statement does, by its bare words."""
    verb = words[0] if words and first[0] == "word" else first[1][:20]
    kind = _VERBS.get(verb)
    if kind is None:
        return "unknown", f"no statement known here begins with '{verb}'"
    after = words[1] if len(words) > 1 else ""
    if verb == "ANALYZE" and _ANALYZED.intersection(words):
        is_writing = bool(_CHANGES.intersection(words)) or "REPLACE" in words[1:4]
        return ("write" if is_writing else "read"), ""
    if verb == "START" and after in ("SLAVE", "REPLICA", "GROUP_REPLICATION"):
        return "admin", ""
    if verb in ("RESET", "STOP") and after in ("MASTER", "SLAVE", "REPLICA", "BINARY"):
        return "admin", ""
    if (kind == "rollback" and "TO" in words) or (verb == "ROLLBACK" and "PREPARED" in words):
        return ("state" if "TO" in words else "write"), ""
    if kind == "commit" and "PREPARED" in words:
        return "write", ""
    if kind == "read" and _CHANGES.intersection(words[1:]) and verb != "SHOW":
        return "write", ""
    if verb == "SELECT" and "INTO" in words and "FROM" in words and _is_making_table(words):
        return "write", ""
    return kind, ""


def _is_for_server(tokens: Sequence[Token]) -> bool:
    """Return whether it changes the server as a whole: its accounts, its variables, its files."""
    words = [token.upper() for kind, token in tokens if kind == "word"]
    if tokens[0][0] != "word" or not words:
        return False
    verb, after = words[0], words[1:2]
    if verb == "SET":
        return _is_server_set(tokens)
    if verb in ("CREATE", "ALTER", "DROP", "RENAME"):
        # CREATE OR REPLACE ROLE
        named = [word for word in words[1:4] if word not in ("OR", "REPLACE")]
        return bool(_SERVERS_OWN.intersection(named[:1])) or "SONAME" in words
    if verb in ("GRANT", "REVOKE") or (verb == "RESET" and after in (["PERSIST"], ["QUERY"])):
        return True
    if verb == "COPY" and not {"STDIN", "STDOUT"}.intersection(words):
        return True
    return bool(_BEYOND.intersection(words))


def _is_server_set(tokens: Sequence[Token]) -> bool:
    """Return whether it is `SET GLOBAL x`, `SET a = 1, @@PERSIST.b = 2`, `SET PASSWORD`, `SET
    DEFAULT ROLE`.
    """
    for at, (kind, token) in enumerate(tokens):
        word = token.upper()
        if kind == "mark" and word.startswith(("@@GLOBAL", "@@PERSIST")):
            return True
        follows = at > 0 and tokens[at - 1][1].upper() in ("SET", ",", "@")
        if kind == "word" and follows and word in ("GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD"):
            return True
        if kind == "word" and follows and word in ("DEFAULT", "RESOURCE"):
            return True
    return False


def _is_making_table(words: list[str]) -> bool:
    return words.index("INTO") < words.index("FROM")


def _build_digest(words: list[Token]) -> str:
    """The text with `?` for literals, one space between words, lists of literals as one."""
    parts, before = list[str](), ""
    for kind, token in words:
        is_keyword = kind == "word" and token.upper() in _KEYWORDS
        part = token.upper() if is_keyword else token
        part = "?" if kind == "parameter" else part
        joined = part in ",);." or before in "(." or (part == "(" and before == "name")
        parts.append(part if joined else f" {part}")
        before = "name" if kind in ("word", "name") and not is_keyword else part
    text = re.sub(r"\(\?(?:, [-+]?\s?\?)++\)", "(?, …)", "".join(parts).lstrip())
    return re.sub(r"(\((?:\?|\?, …)\))(?:, \((?:\?|\?, …)\))++", r"\1, …", text)


def _find_tables(words: list[Token], catalogs: tuple[str, ...]) -> frozenset[str]:
    """Names where a table stands: behind FROM, JOIN, INTO, UPDATE, TABLE, and after their commas;
    no function, no name that the statement itself makes by WITH, no server's own catalog.
    """
    made, openers, found = _find_with_names(words), _find_openers(words), set[str]()
    at = _read_table_list(words, 1, found) if words[0][1].upper() in _BEFORE_BARE_TABLE else 0
    while at < len(words):
        word = words[at][1].upper() if words[at][0] == "word" else ""
        if word in _BEFORE_TABLE:
            is_bare = (word == "FROM" and _is_within_call(words, openers, at)) or (
                word == "UPDATE" and _is_bare_update(words, at)
            )
            if is_bare:
                at += 1
                continue
            at = _read_table_list(words, at + 1, found)
        else:
            at += 1
    return frozenset(
        name for name in found if strip_schema(name) not in made and not _is_catalog(name, catalogs)
    )


def _is_bare_update(words: list[Token], at: int) -> bool:
    """Return whether no table stands behind this UPDATE."""
    before = words[at - 1][1].upper() if at else ""
    after = words[at + 1][1].upper() if at + 1 < len(words) else ""
    return before in _BEFORE_BARE_UPDATE or after == "SET"


def _read_table_list(words: list[Token], at: int, found: set[str]) -> int:
    skipped = ("IF", "NOT", "EXISTS", "ONLY", "LATERAL", *_PRIORITIES)
    while at < len(words) and words[at][1].upper() in skipped:
        at += 1
    if at < len(words) and words[at][1].upper() in _BEFORE_TABLE:
        return at
    while at < len(words) and words[at][0] in ("word", "name"):
        name, before = words[at][1], words[at - 1][1].upper()
        at += 1
        while at + 1 < len(words) and words[at][1] == "." and words[at + 1][0] in ("word", "name"):
            name, at = f"{name}.{words[at + 1][1]}", at + 2
        is_call = at < len(words) and words[at][1] == "("
        if is_call and before not in _BEFORE_COLUMNS:
            return at
        if name.upper() not in _STREAMS:
            found.add(name)
        at = _skip_alias(words, at)
        if not (at < len(words) and words[at][1] == ","):
            return at
        at += 1
    return at


def _skip_alias(words: list[Token], at: int) -> int:
    if at < len(words) and words[at][1].upper() == "AS":
        at += 1
    if at + 1 < len(words) and words[at][0] in ("word", "name") and words[at + 1][1] == ",":
        at += 1
    return at


def _find_openers(words: list[Token]) -> list[int]:
    """For each token the place of the parenthesis that it stands in, -1 for none."""
    found, stack = list[int](), list[int]()
    for at, (_, token) in enumerate(words):
        if token == ")" and stack:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        if token == "(":
            stack.append(at)
    return found


def _is_within_call(words: list[Token], openers: list[int], at: int) -> bool:
    """Return whether this FROM names no table: `extract(year FROM x)`, `trim(a FROM b)`, `IS
    DISTINCT FROM`.
    """
    if at and words[at - 1][1].upper() == "DISTINCT":
        return True
    opener = openers[at]
    word = words[opener - 1][1].upper() if opener > 0 else ""
    return word in ("EXTRACT", "TRIM", "SUBSTRING", "OVERLAY", "POSITION")


def _strip_quotes(word: Token) -> str:
    return word[1].strip('`"').lower()


def _find_with_names(words: list[Token]) -> set[str]:
    """Names of WITH: those that `AS (` or `(columns) AS (` follows."""
    made, openers = set(), _find_openers(words)
    for at, (name, between, after) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if between[1].upper() != "AS" or after[1].upper() not in ("(", "MATERIALIZED", "NOT"):
            continue
        opener = openers[at - 1] if name[1] == ")" and at else -1
        named = words[opener - 1] if opener > 0 else name
        if named[0] in ("word", "name"):
            made.add(_strip_quotes(named))
    return made


def _is_catalog(name: str, catalogs: tuple[str, ...]) -> bool:
    schema = strip_schema(name.partition(".")[0]) if "." in name else ""
    return schema in catalogs or name.lower().startswith("pg_") or name.lower() == "dual"


#: What a script that makes tables says.
_MAKES = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?(?:TEMP(?:ORARY)?\s+|UNLOGGED\s+)?"
    r"(?:ALGORITHM\s*=\s*\w+\s+|DEFINER\s*=\s*\S+\s+|SQL\s+SECURITY\s+\w+\s+|/\*!\d+\s*|\*/\s*)"
    r"{0,9}+"
    r"(?:TABLE|(?:MATERIALIZED\s+|RECURSIVE\s+)?VIEW|FOREIGN\s+TABLE|VIRTUAL\s+TABLE)\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?((?:[`\"]?[\w$]+[`\"]?\.)*[`\"]?[\w$]+[`\"]?)",
    re.IGNORECASE,
)
#: What a statement of a log may call a table anew by, beside: `SELECT … INTO t`, `RENAME … TO t`.
_NAMES_ANEW = re.compile(
    r"(?:(?<!INSERT )(?<!MERGE )\bINTO (?:(?:TEMP(?:ORARY)?|UNLOGGED) )?(?:TABLE )?|\bTO )"
    r"((?:[`\"]?[\w$]+[`\"]?\.)*[`\"]?[\w$]+[`\"]?)",
    re.IGNORECASE,
)
_RENAMES = re.compile(r"^RENAME TABLE\b|\bRENAME TO ", re.IGNORECASE)


def find_made_tables(text: str) -> set[str]:
    """Tables and views that a script makes: their names without schema, in lower case."""
    return {strip_schema(name) for name in _MAKES.findall(text)}


def find_tables_made_by(statement: Statement) -> set[str]:
    digest = statement.digest
    found = find_made_tables(digest) if "CREATE " in digest else set()
    if digest.startswith(("SELECT ", "WITH ", "(")) or _RENAMES.search(digest):
        found.update(map(strip_schema, _NAMES_ANEW.findall(digest)))
    return found


def strip_schema(name: str) -> str:
    return name.rpartition(".")[2].strip('`"').lower()


def compile_names(databases: Sequence[str], behind: str = "") -> re.Pattern[str] | None:
    """Where a text may name one of these databases before a dot (`behind` certain words), or go
    there; None for none.
    """
    if not databases:
        return None
    names = "|".join(map(re.escape, databases))
    space = r"(?:\s|/\*.*?\*/)*+"
    quoted = rf"(?<!\w)(?:{names})[`\"]?{space}"
    before = rf"\b(?:{behind})\b{space}[`\"]?" if behind else ""
    form = rf"{before}{quoted}\.|\bUSE\b{space}[`\"]?{quoted}(?!\w)"
    return re.compile(form, re.IGNORECASE | re.DOTALL)
