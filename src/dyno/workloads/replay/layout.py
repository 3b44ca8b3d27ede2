"""A log laid out for the driver: a script, and beside it a file of statements per connection; and
how often a block plays it.

The folder lies in the cache under a name that tells its content, so the same log is laid out once,
and a run continues with what it began with. A file is written, and played, statement by statement
(`crates/driver/src/script/recording.rs` reads it, and says what of it is in memory).

A log of seconds compares little. One that only reads may be played several times in a block, each
time as the first. One that writes may not: the second time would see what the first has written.
Its data are loaded anew for each block, so there it takes more blocks.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dyno.builds import Say, cache
from dyno.errors import UsageError
from dyno.printable import escape_line
from dyno.workloads.replay.formats import LogFile, has_mark, read_log
from dyno.workloads.replay.in_place import READING_MARKS, Allowed, ServerRules, judge_for_all
from dyno.workloads.replay.logs import OTHERS, PREPARED, Log, LogEntry, has_odd_bytes, insert_values
from dyno.workloads.replay.order import EVENT, LENGTH, encode, encode_values, write_order
from dyno.workloads.replay.sessions import (
    Bounds,
    LogSession,
    Selection,
    assign_lanes,
    select_statements,
)
from dyno.workloads.replay.spool import Spool

#: Shorter plays are told, and made longer by `auto`; what a comparison should play at least, and
#: the guess of recording.lua where statements follow at once.
BRIEF_S, ENOUGH_S, PER_SECOND = 10.0, 60.0, 10_000
#: Statements that a block plays at most where a log is repeated, and bytes of their files.
STATEMENTS_MOST, BYTES_MOST = 20_000_000, 4 << 30
AUTO = "auto"


@dataclass(frozen=True)
class Repetition:
    """How often a block plays a log: `times`, or as often as takes ten seconds (None), by `speed`
    as an option says it.
    """

    times: int | None = 1
    speed: str = ""

    def count_times(self, selection: Selection, connections: int) -> int:
        """Return how often; `UsageError` if a block would be too long to be laid out."""
        times = self.times
        if times is None:
            length_s, _ = estimate_length(selection, connections, self.speed)
            times = max(1, math.ceil(BRIEF_S / max(length_s, 1e-6)))
            return min(times, max(1, STATEMENTS_MOST // max(selection.count, 1)))
        if times > 1 and selection.count * times > STATEMENTS_MOST:
            raise UsageError(
                f"--repeat {times} makes {selection.count * times:,} statements of a block",
                hint=f"at most {STATEMENTS_MOST:,}: --repeat {STATEMENTS_MOST // selection.count}",
            )
        return times


def parse_repeat(text: str | None, speed: str, writes: bool) -> Repetition:
    """Parse `--repeat`; `UsageError` if that is no number, or the log writes."""
    if text is None:
        return Repetition(1, speed)
    if text != AUTO and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"--repeat cannot be '{text[:40]}'", hint="a number, or auto")
    if writes and text != "1":
        raise UsageError(
            "--repeat does not apply to a log that writes",
            cause="the second time would meet what the first has written",
            hint="more blocks play it more often: --data is loaded anew for each",
        )
    return Repetition(None if text == AUTO else int(text), speed)


def find_period_s(selection: Selection) -> float:
    """Return the time from one repetition to the next: until the last statement was answered, and a
    usual pause.
    """
    end_s = max((session.span_s[1] for session in selection.sessions), default=0.0)
    pause_s = selection.span_s / max(selection.count - 1, 1)
    return end_s - selection.began_s + pause_s if selection.sessions else 0.0


def estimate_length(selection: Selection, connections: int, speed: str) -> tuple[float, str]:
    """Return how long it takes to play a log once, and why so long."""
    if faster := parse_speed(speed):
        return selection.span_s / faster, "as logged"
    at_once_s, busy_s = selection.count / PER_SECOND, selection.busy_s / connections
    return max(at_once_s, busy_s), "at 10,000/s" if at_once_s > busy_s else "as logged"


def describe_length(
    selection: Selection, connections: int, speed: str, times: int, writes: bool
) -> str:
    """Return a remark if a block compares little; `speed` as an option has it, empty: max."""
    once_s, by = estimate_length(selection, connections, speed)
    faster, length_s = parse_speed(speed), once_s * times
    if length_s >= BRIEF_S:
        return ""
    often = f"{times:,} times" if times > 1 else "once"
    if faster:
        how = f"plays the log {often} in {length_s:.1f} s"
    else:
        how = (
            f"plays {selection.count:,} statements {often}, each as soon as its session's last is "
            f"answered: {length_s:.2g} s {by}"
        )
    blocks = math.ceil(ENOUGH_S / max(length_s, 1e-3))
    slower = f", or --speed 1 ({selection.span_s:.1f} s a block)" if not faster else ""
    repeated = "" if writes else f", --repeat {AUTO}"
    return (
        f"note: a block {how}; a minute of play takes {blocks:,} blocks. A longer log{repeated}"
        f"{slower} compares more"
    )


def parse_speed(text: str) -> float:
    """Return how many times as fast; 0 for at once, and for what the script refuses."""
    try:
        times = float(text.removesuffix("x"))
    except ValueError:
        return 0.0
    return times if 0 < times < math.inf else 0.0


#: Counts with what is laid out: a change of the form makes other names.
FORM = 6
#: Digests with a histogram of their own; all others are counted together.
DIGESTS = 200
DIGEST_LETTERS = 56
UNDONE, CHECKED = "ROLLBACK", "read-only check"
#: In its place a session that only reads is asked whether it still does (recording.rs).
CHECK = b"SELECT 1 /* does the session still only read? */"
#: Pieces of a file that are written together, so that each write is large.
PIECES = 3 << 10
#: A log is played once a block, and whole.
ONCE, UNBOUND = Repetition(), Bounds()
#: A state of Lua for each.
LANES_MOST = 4096


@dataclass(frozen=True)
class Replay:
    """A log ready to be played: its script, and what there is to say of it."""

    script: Path
    log: Log
    selection: Selection
    connections: int
    #: How often a block plays it; does it write?
    times: int
    writes: bool

    def describe(self) -> list[str]:
        chosen = self.selection
        notes = [*self.log.notes.items(), *chosen.notes.items()]
        told = [f"note: {it.count:,} {why} ({it})" for why, it in notes]
        told += [
            f"{self.log.kind}: {chosen.count:,} of {chosen.read:,} statements are played, of "
            f"{len(chosen.sessions):,} sessions on {self.connections} connections, over "
            f"{chosen.span_s:.1f} s" + (f", {self.times:,} times a block" * (self.times > 1))
        ]
        return told + _list_left_out(self.log, chosen)

    def list_left_out(self) -> list[tuple[int, str, str]]:
        """What is not played: how many, why, and where the first are; most first."""
        own = (*self.selection.left_out.items(), *self.log.unread.items())
        return sorted(((it.count, why, str(it)) for why, it in own), reverse=True)

    def describe_length(self, speed: str) -> str:
        """Return a remark if a block compares little; `speed` as an option has it, empty: max."""
        return describe_length(self.selection, self.connections, speed, self.times, self.writes)


def _list_left_out(log: Log, selection: Selection) -> list[str]:
    """What is not played and why, a sentence each; most first."""
    ordered = sorted(selection.left_out.items(), key=lambda each: -each[1].count)
    told = [f"left out: {left.count:,} {reason} ({left})" for reason, left in ordered]
    unread = log.unread.items()
    return told + [f"left out: {why}, {left.count:,} times ({left})" for why, left in unread]


def lay_out(
    log_file: LogFile | Path | Log,
    writes: bool,
    say: Say,
    bounds: Bounds = UNBOUND,
    repetition: Repetition = ONCE,
) -> Replay:
    """Return the log in a file, or one that was read, laid out within bounds and repeated.

    `UsageError` if nothing of it can be played.
    """
    known = log_file if isinstance(log_file, Log) else None
    if isinstance(log_file, Log):
        log_file = Path("statements")
    file = log_file if isinstance(log_file, LogFile) else LogFile(log_file)
    path = file.path
    # what a session may be set to read otherwise is known before anything is judged; a shipper may
    # have cut a word in two
    may_set = bounds.rules and known is None
    if may_set and (read_log(file).is_shipped or has_mark(path, READING_MARKS)):
        widened = (
            each.with_readings(it.sql for it in read_log(file, bounds.limit).entries)
            for each in bounds.rules
        )
        bounds = replace(bounds, rules=tuple(widened))
    with cache.make_work_folder("replay") as folder, Spool(folder) as spool:
        log = known or read_log(file, bounds.limit)
        selection = select_statements(log, writes, spool, bounds)
        if not selection.sessions:
            left_out = selection.left_out
            reasons = "; ".join(f"{it.count:,} {why} ({it})" for why, it in left_out.items())
            hint = left_out.find_hint("log all statements, those that read tables among them")
            of = known.kind if known else path
            raise UsageError(f"no statement of {of} can be played", cause=reasons, hint=hint)
        own = assign_lanes(selection)
        if len(own) > LANES_MOST:
            cause = f"{len(own):,} of its sessions overlap"
            hint = "replay a shorter stretch of the log"
            raise UsageError(
                f"{path} needs over {LANES_MOST:,} connections", cause=cause, hint=hint
            )
        names, times = _choose_names(selection), repetition.count_times(selection, len(own))
        summed = hashlib.sha256(str(FORM).encode())
        for number, sessions in enumerate(own):
            with (folder / f"{number:05d}.lane").open("wb") as lane:
                pieces = _build_lane(selection, sessions, names, times)
                while batch := list(islice(pieces, PIECES)):
                    part = b"".join(batch)
                    lane.write(part)
                    summed.update(part)
                    _check_size(lane.tell(), times)
        kept = "all but those left out" if writes else "those that read"
        script = f"-- {selection.count:,} statements of {path.name}, {log.kind}: {kept}.\n"
        script += "".join(f"-- {escape_line(it)}\n" for it in _list_left_out(log, selection))
        script += _build_script(selection, names, len(own), writes, times)
        summed.update(script.encode())
        summed.update(repr((sorted(selection.different.calls.items()), log.unplayed)).encode())
        script += f"-- sha256 of all beside it: {summed.hexdigest()}\n"
        stem = re.sub(r"\W+", "_", path.stem) or "log"
        (folder / f"{stem}.lua").write_text(script)
        if not selection.asks:
            own_names = {number: names.names[type_] for number, type_ in names.types.items()}
            write_order(folder, selection, own_names, log.unplayed)
        home = cache.ensure_entry(
            "replay", f"{stem}-{summed.hexdigest()[:16]}", lambda into: _move(folder, into), say
        )
    return Replay(home / f"{stem}.lua", log, selection, len(own), times, writes)


def _check_size(size_bytes: int, times: int) -> None:
    if times > 1 and size_bytes > BYTES_MOST:
        raise UsageError(
            f"--repeat {times} makes more than {BYTES_MOST >> 30} GiB of a block",
            hint="a smaller number, or more blocks",
        )


def _move(folder: Path, into: Path) -> None:
    for file in folder.iterdir():
        file.rename(into / file.name)


@dataclass(frozen=True)
class _Names:
    """The names of statements: that of each type, and the type of those with a number."""

    names: tuple[str, ...]
    types: dict[int, int]


def _build_script(
    selection: Selection, names: _Names, connections: int, writes: bool, times: int
) -> str:
    plans = "".join(
        f"      {{ name = {_quote_lua(names.names[type_])}, sql = {_quote_lua(example)} }},\n"
        for number, type_ in names.types.items()
        if (entry := selection.different.examples.get(number))
        and selection.different.statements[number].kind in ("read", "write")
        and not selection.different.statements[number].parts
        and _EXPLAINED.match(selection.different.statements[number].digest)
        and (example := _build_example(entry, selection.rules))
    )
    count = (selection.count + selection.added) * times
    span_s = selection.span_s + (times - 1) * find_period_s(selection)
    return (
        f"dyno.recording {{\n   lanes = {connections}, statements = {count}, "
        f"span_s = {span_s:.6f}, writes = {str(writes).lower()},\n"
        f"   plans = {{\n{plans}   }},\n}}\n"
    ) + (REPEATED.format(times) if times > 1 else "")


#: What a phase is called that plays the log several times.
REPEATED = """\
local once = dyno.phases
function dyno.phases()
   local all = once()
   all[1].title = "the recorded log, {0} times"
   return all
end
"""
#: What engines explain.
_EXPLAINED = re.compile(
    rf"(?:{PREPARED})?(?:SELECT|WITH|INSERT|UPDATE|DELETE|REPLACE|TABLE|VALUES)\b"
)


def _build_example(entry: LogEntry, rules: Sequence[ServerRules]) -> str:
    """Return a statement as it can be explained; empty if a server is only read, and its values
    cannot be put into the text with certainty.
    """
    text = insert_values(entry.sql.rstrip("; \n"), entry.values)
    if has_odd_bytes(text):
        return ""
    if not rules:
        return text
    is_plain = not any("\\" in value for value in entry.values if value)
    return text if is_plain and isinstance(judge_for_all(rules, text, ()), Allowed) else ""


def _quote_lua(text: str) -> str:
    for letter, escaped in (
        ("\\", r"\\"),
        ('"', r"\""),
        ("\n", r"\n"),
        ("\r", r"\r"),
        ("\0", r"\0"),
    ):
        text = text.replace(letter, escaped)
    return f'"{text}"'


def _choose_names(selection: Selection) -> _Names:
    """Return the name of each: those with the most statements get a name of their own."""
    names, types = list[str](), dict[int, int]()
    for number, spelled in selection.different.find_most_frequent(DIGESTS):
        digest = escape_line(spelled)
        name = digest if len(digest) <= DIGEST_LETTERS else f"{digest[: DIGEST_LETTERS - 1]}…"
        if name in names:
            summed = hashlib.sha256(digest.encode()).hexdigest()
            name = f"{name[: DIGEST_LETTERS - 9]}… {summed[:6]}"
        types[number] = len(names)
        names.append(name)
    return _Names((*names, *({OTHERS, UNDONE, CHECKED} - set(names))), types)


def _build_lane(
    selection: Selection, sessions: Sequence[LogSession], names: _Names, times: int
) -> Iterator[bytes]:
    """A file's content, part by part: names of types, and the events to the end."""
    yield LENGTH.pack(len(names.names))
    for name in names.names:
        yield LENGTH.pack(len(name.encode())) + name.encode()
    period_s = find_period_s(selection) if times > 1 else 0.0
    for number in range(times):
        yield from _build_events(selection, sessions, names, number * period_s)


def _build_events(
    selection: Selection, sessions: Sequence[LogSession], names: _Names, later_s: float
) -> Iterator[bytes]:
    """The events of sessions, so much later than they were logged."""
    undone, others = names.names.index(UNDONE), names.names.index(OTHERS)
    checked, at_ns = names.names.index(CHECKED), 0
    is_asked = selection.asks
    for session in sessions:
        is_open, is_first = False, is_asked
        for at_s, sql, values, number, statement in selection.find_played(session):
            kind, at_ns = statement.kind, round((at_s + later_s) * 1e9)
            if is_first:
                yield EVENT.pack(at_ns, checked, len(CHECK), -1) + CHECK
                is_first = False
            text, marked, said = encode(sql), -1, b""
            if values:
                marked, said = len(values), encode_values(values)
            yield EVENT.pack(at_ns, names.types.get(number, others), len(text), marked)
            yield text
            yield said
            if is_asked and kind == "state":
                yield EVENT.pack(at_ns, checked, len(CHECK), -1) + CHECK
            if statement.leaves:
                is_open = statement.leaves == "open"
        if is_open:
            yield EVENT.pack(at_ns, undone, len(UNDONE), -1) + UNDONE.encode()
        if is_asked:
            yield EVENT.pack(at_ns, checked, len(CHECK), -1) + CHECK
