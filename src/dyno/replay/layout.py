"""A log laid out for the driver: a script, and beside it a file of statements per connection.

The folder lies in the cache under a name that tells its content, so the same log is laid out once,
and a run goes on with what it began with.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Say
from dyno.builds.cache import cached_entry
from dyno.errors import UsageError
from dyno.replay.formats import read_log
from dyno.replay.logs import Entry, Log
from dyno.replay.sessions import LeftOut, Played, Selection, Session, lanes, select

#: Counts with what is laid out: a change of the form makes other names.
FORM = 1
#: Digests with a histogram of their own; all others are counted together.
DIGESTS = 60
DIGEST_LETTERS = 56
OTHERS = "all other statements"
#: A state of Lua for each.
LANES_MOST = 4096
_DOLLAR = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|(\$\d+)|(\?)")


@dataclass(frozen=True)
class Replay:
    """A log ready to be played: its script, and what there is to say of it."""

    script: Path
    log: Log
    selection: Selection
    connections: int

    def sentences(self) -> list[str]:
        """What is played, and what is left out."""
        chosen, entries = self.selection, len(self.log.entries)
        told = [
            f"{self.log.kind}: {chosen.count:,} of {entries:,} statements are played, of "
            f"{len(chosen.sessions):,} sessions on {self.connections} connections, over "
            f"{chosen.span_s:.1f} s"
        ]
        for reason, left in sorted(chosen.left_out.items(), key=lambda each: -each[1].count):
            told.append(f"left out: {left.count:,} {reason} ({_places(left)})")
        if unread := self.log.unread:
            why, first = unread[0].why, unread[0].line
            told.append(f"left out: {len(unread):,} lines, the first {why} (line {first})")
        return told


def _places(left: LeftOut) -> str:
    more = ", …" if left.count > len(left.lines) else ""
    plural = "s" if left.count > 1 else ""
    return f"line{plural} {', '.join(map(str, left.lines))}{more}"


def lay_out(path: Path, writes: bool, say: Say) -> Replay:
    """The log in `path`, laid out; `UsageError` where nothing of it can be played."""
    log = read_log(path)
    selection = select(log, writes)
    if not selection.sessions:
        reasons = "; ".join(f"{it.count:,} {why}" for why, it in selection.left_out.items())
        hint = "--writes plays what writes, too" if not writes else "log all statements"
        raise UsageError(f"no statement of {path} can be played", cause=reasons, hint=hint)
    own = lanes(selection.sessions)
    if len(own) > LANES_MOST:
        cause = f"{len(own):,} of its sessions overlap"
        hint = "replay a shorter stretch of the log"
        raise UsageError(f"{path} needs over {LANES_MOST:,} connections", cause=cause, hint=hint)
    texts = _laid(own)
    script = _script(path, log, selection, len(own), writes)
    summed = hashlib.sha256()
    for text in (str(FORM), script, *texts):
        summed.update(text.encode())
    script += f"-- sha256 of all beside it: {summed.hexdigest()}\n"
    stem = re.sub(r"\W+", "_", path.stem) or "log"

    def make(folder: Path) -> None:
        for number, text in enumerate(texts):
            (folder / f"{number:05d}.json").write_text(text)
        (folder / f"{stem}.lua").write_text(script)

    home = cached_entry("replay", f"{stem}-{summed.hexdigest()[:16]}", make, say)
    return Replay(home / f"{stem}.lua", log, selection, len(own))


def _script(path: Path, log: Log, selection: Selection, connections: int, writes: bool) -> str:
    what = "all but those left out" if writes else "those that read"
    played = [it for session in selection.sessions for it in session.played]
    names, examples = _names(played), dict[str, str]()
    for it in played:
        if it.statement.kind in ("read", "write") and _EXPLAINED.match(it.statement.digest):
            examples.setdefault(it.statement.digest, _spelled_out(it.entry))
    plans = "".join(
        f"      {{ name = {_lua(names[digest])}, sql = {_lua(sql)} }},\n"
        for digest, sql in examples.items()
        if digest in names
    )
    return (
        f"-- {selection.count:,} statements of {path.name}, {log.kind}: {what}.\n"
        f"dyno.recording {{\n   lanes = {connections}, statements = {selection.count}, "
        f"span_s = {selection.span_s:.6f}, writes = {str(writes).lower()},\n"
        f"   plans = {{\n{plans}   }},\n}}\n"
    )


#: What engines explain.
_EXPLAINED = re.compile(r"(?:SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE|TABLE|VALUES)\b")


def _spelled_out(entry: Entry) -> str:
    """Its text with its values in it."""

    def literal(found: re.Match[str]) -> str:
        at = int(found[1][1:]) - 1 if found[1] else -1
        if not 0 <= at < len(entry.values):
            return found[0]
        value = entry.values[at]
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    return _DOLLAR.sub(literal, entry.sql.rstrip("; \n"))


def _lua(text: str) -> str:
    """A text as Lua reads it."""
    for letter, escaped in (
        ("\\", r"\\"),
        ('"', r"\""),
        ("\n", r"\n"),
        ("\r", r"\r"),
        ("\0", r"\0"),
    ):
        text = text.replace(letter, escaped)
    return f'"{text}"'


def _laid(own: Sequence[Sequence[Session]]) -> list[str]:
    """The files' texts, one per connection."""
    played = [it for sessions in own for session in sessions for it in session.played]
    names = _names(played)
    return [_lane(sessions, names) for sessions in own]


def _names(played: Sequence[Played]) -> dict[str, str]:
    """What each digest is called: those with the most statements get a name of their own."""
    counts = Counter(it.statement.digest for it in played)
    taken: dict[str, str] = {}
    for digest, _ in counts.most_common(DIGESTS):
        name = digest if len(digest) <= DIGEST_LETTERS else f"{digest[: DIGEST_LETTERS - 1]}…"
        if name in taken.values():
            name = (
                f"{name[: DIGEST_LETTERS - 9]}… {hashlib.sha256(digest.encode()).hexdigest()[:6]}"
            )
        taken[digest] = name
    return taken


def _lane(sessions: Sequence[Session], names: dict[str, str]) -> str:
    texts: dict[str, int] = {}
    kinds: dict[str, int] = {}
    events: list[tuple[int, int, int, list[str | None] | None]] = []

    def add(at_s: float, sql: str, kind: str, values: list[str | None] | None) -> None:
        text = texts.setdefault(sql, len(texts))
        events.append((round(at_s * 1e9), text, kinds.setdefault(kind, len(kinds)), values))

    for session in sessions:
        for it in session.played:
            sql, values = _with_marks(it.entry.sql.rstrip("; \n"), it.entry.values)
            add(it.at_s, sql, names.get(it.statement.digest, OTHERS), values)
        if _is_open(session.played):
            add(session.played[-1].at_s, "ROLLBACK", "ROLLBACK", None)
    laid = {"kinds": list(kinds), "texts": list(texts), "events": events}
    return json.dumps(laid, separators=(",", ":"))


def _is_open(played: Sequence[Played]) -> bool:
    """Does the last session end within a transaction?"""
    ends = [
        it.statement.kind for it in played if it.statement.kind in ("begin", "commit", "rollback")
    ]
    return bool(ends) and ends[-1] == "begin"


def _with_marks(sql: str, values: Sequence[str | None]) -> tuple[str, list[str | None] | None]:
    """`$1` as `?`, each with its value, in the order of the text."""
    if not values:
        return sql, None
    ordered: list[str | None] = []

    def mark(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        at = int(found[1][1:]) - 1
        ordered.append(values[at] if at < len(values) else None)
        return "?"

    if any(found[2] for found in _DOLLAR.finditer(sql)):
        return sql, list(values)
    return _DOLLAR.sub(mark, sql), ordered
