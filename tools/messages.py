"""Lists every message that a user can meet, with its place, so that all can be read in one go.

    .venv/bin/python tools/messages.py [WORD]

Each line is `file:line  kind  text`; of WORD only those that hold it. Kinds: `error` (Python's
errors, the driver's, a workload's), `notice` (what commands say), `finding` (audits), `advice`
(`dyno doctor`), `kit` (functions and procedures in a server). What is put in stands as `{…}`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ERRORS = {"DynoError", "UsageError", "HostError", "TrialFailed", "InternalError", "BadParameter"}
ERRORS |= {"build_unknown_error"}
NOTICES = {
    "say",
    "_say",
    "print_line",
    "print_lines",
    "tell",
    "_tell",
    "_print_note",
    "refuse",
    "echo",
}
#: Folders in which every sentence is for a user.
TOLD = {"judge/audits": "finding", "host/checks": "advice"}
#: Fewer words are a name, a format or a part of SQL.
WORDS_LEAST = 3
#: What begins so is spoken to a server.
SQL = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|SET|SHOW|FLUSH|WITH|BEGIN|COMMIT|COPY|"
    r"LOAD|PRAGMA|VACUUM|ANALYZE|GRANT|REVOKE|CALL|KILL|LOCK|START|TRUNCATE|USE|FROM|WHERE|AND|"
    r"ORDER|GROUP|LEFT|JOIN|UNION|IF|DO|PREPARE|EXECUTE|XA|REPLACE|VALUES|PRIMARY|KEY|ON)\b"
)
RUST_STRING = re.compile(r'(?<![\w\\\'])(?:r#*|b)?"((?:[^"\\]|\\.|\\\n)*)"')
LUA_ERROR = re.compile(r"\berror\s*\(?((?:.|\n)*?)(?=\n\s*(?:end|local|if|for|return|else)\b|\n\n)")
LUA_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SQL_MESSAGE = re.compile(r"MESSAGE_TEXT =\s*((?:.|\n)*?);|SET v_(?:text|why) =\s*((?:.|\n)*?);")
SQL_STRING = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True)
class Message:
    """A text at a line of a file (from the root), and what kind of text it is."""

    file: str
    line: int
    kind: str
    text: str


def messages() -> list[Message]:
    """Every message, file by file."""
    listing = ["git", "ls-files", "--", "src/dyno", "crates/driver/src", "crates/kit/src"]
    done = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    found: list[Message] = []
    for name in done.stdout.splitlines():
        path = ROOT / name
        reader = READERS.get(path.suffix)
        if reader and path.is_file() and "/tests" not in name and "/hostile/" not in name:
            found += reader(name, path.read_text())
    return found


def read_python(name: str, text: str) -> Iterator[Message]:
    """Strings within errors and notices; in the folders of `TOLD` all sentences."""
    tree = ast.parse(text)
    told = next((kind for folder, kind in TOLD.items() if f"dyno/{folder}/" in name), None)
    seen: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            kind = "error" if called in ERRORS else "notice" if called in NOTICES else None
            if kind:
                parts = [*node.args, *(word.value for word in node.keywords)]
                yield from _python_texts(name, kind, parts, seen)
    if told:
        seen |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        yield from _python_texts(name, told, [tree], seen)


def _python_texts(
    name: str, kind: str, parts: Sequence[ast.AST], seen: set[int]
) -> Iterator[Message]:
    """The strings within `parts`, each once: an f-string as a whole."""
    for part in parts:
        for node in ast.walk(part):
            text = _python_text(node)
            if text is None or id(node) in seen:
                continue
            seen.update(id(inner) for inner in ast.walk(node))
            if is_sentence(text):
                yield Message(name, getattr(node, "lineno", 0), kind, one_line(text))


def _python_text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        values = [str(it.value) if isinstance(it, ast.Constant) else "{…}" for it in node.values]
        return "".join(values)
    return None


def read_rust(name: str, text: str) -> Iterator[Message]:
    """Every sentence among a file's strings, up to its tests."""
    text = re.split(r"#\[cfg\(test\)\]\n(?:#.*\n)*mod tests", text)[0]
    text = re.sub(r"b?'\\?\"'", " ", text)
    text = re.sub(r"//.*|^\s*#!?\[.*", lambda it: " " * len(it[0]), text, flags=re.MULTILINE)
    kind = "kit" if "crates/kit" in name else "error"
    yield from _found(name, kind, text, RUST_STRING)


def read_lua(name: str, text: str) -> Iterator[Message]:
    """The strings of each `error`."""
    for call in LUA_ERROR.finditer(text):
        for message in _found(name, "error", call[1], LUA_STRING):
            before = text.count("\n", 0, call.start(1))
            yield Message(name, message.line + before, "error", message.text)


def read_sql(name: str, text: str) -> Iterator[Message]:
    """The texts with which procedures end."""
    for signal in SQL_MESSAGE.finditer(text):
        before = text.count("\n", 0, signal.start())
        for message in _found(name, "kit", signal[1] or signal[2], SQL_STRING):
            yield Message(name, message.line + before, "kit", message.text)


def _found(name: str, kind: str, text: str, pattern: re.Pattern[str]) -> Iterator[Message]:
    for found in pattern.finditer(text):
        said = re.sub(r"\\\n\s*", "", found[1]).replace("\\n", "\n").replace('\\"', '"')
        said = re.sub(r"\{[^{}]*\}|%[-\d.]*[sdfgiq]", "{…}", said)
        if is_sentence(said):
            yield Message(name, text.count("\n", 0, found.start()) + 1, kind, one_line(said))


def is_sentence(text: str) -> bool:
    """Words to be read, and no statement, pattern or format."""
    words = re.findall(r"(?<!\S)[(\"'`]?[a-z]{2,}[,.:;)\"'`?]*(?!\S)", text, re.IGNORECASE)
    return len(words) >= WORDS_LEAST and not SQL.match(text) and "(?:" not in text


def one_line(text: str) -> str:
    """A text with its lines joined."""
    return " ".join(text.split())


READERS = {".py": read_python, ".rs": read_rust, ".lua": read_lua, ".sql": read_sql}


def main(words: list[str]) -> None:
    """Prints the messages that hold all of `words`."""
    for it in messages():
        if all(word in it.text for word in words):
            print(f"{it.file}:{it.line}  {it.kind}  {it.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
