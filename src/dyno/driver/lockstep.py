"""A log played in its order by `dyno-driver lockstep`, and the answers that it leaves in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dyno.driver.events import WholeAnswer, read_whole_answer
from dyno.driver.plan import VERSION, Session
from dyno.driver.questions import ask_question
from dyno.record import decode
from dyno.record.schema import Record

#: Statements that may have to be given up when a play is to end.
ENDING = 20


@dataclass(frozen=True)
class ServerWords:
    """What a server is asked by a log that is played in its order.

    `opening` is sent first by every session, `{second}` the time of its first statement, in seconds
    since 1970; `process` asks a session for its own process, and `waits` answers a row where
    `{process}` waits for a lock, at most every `spacing_s`.
    """

    opening: tuple[str, ...] = ()
    process: str = ""
    waits: str = ""
    spacing_s: float = 0.0


class LogPlayed(Record):
    """How many statements and sessions were played; those that waited for a lock and those that
    were abandoned; connections that were lost.
    """

    statements: int
    sessions: int
    waited: int
    given_up: int
    lost: int


@dataclass(frozen=True)
class LogQuestion:
    """The `log` as `workloads.replay.order` lays it out, begun at `began_s`; the file of `answers`;
    what one statement may take. After `stop_s`, or so many statements (0: all), no other begins.
    """

    log: Path
    answers: Path
    began_s: float
    limit_s: float
    stop_s: float
    most: int = 0


def play_log(session: Session, question: LogQuestion, words: ServerWords) -> LogPlayed:
    """Play the log and write its answers; `TrialFailed` if the server is lost for good."""
    line = {
        "version": VERSION,
        "session": session,
        "log": str(question.log),
        "answers": str(question.answers),
        "began_s": question.began_s,
        "limit_s": question.limit_s,
        "stop_s": question.stop_s,
        "most": question.most,
        "opening": words.opening,
        "process": words.process,
        "waits": words.waits,
        "spacing_s": words.spacing_s,
    }
    # what waits for locks then is given up one by one
    said = ask_question("lockstep", json.dumps(line), question.stop_s + ENDING * question.limit_s)
    return decode.decode(LogPlayed, said)


@dataclass(frozen=True)
class LogAnswer:
    """What the statement at a place was answered with, as written down: two that are equal are the
    same answer. `elapsed_ns` is what it took, waits for locks included.
    """

    place: int
    elapsed_ns: int
    line: bytes

    @property
    def is_refused(self) -> bool:
        return b'"refusal":{' in self.line

    @property
    def is_cut(self) -> bool:
        """Return whether it is missing, or too long to be kept whole."""
        return b'"cut":' in self.line

    def read(self) -> WholeAnswer:
        return read_whole_answer(json.loads(self.line))


def read_log_answers(file: Path) -> Iterator[LogAnswer]:
    """Yield the answers of a file in the order of the log's statements: those that waited for a
    lock were written later, and earlier ones are held until then.
    """
    held, due = dict[int, LogAnswer](), 0
    with file.open("rb") as lines:
        for line in lines:
            place, elapsed_ns, told = line.rstrip(b"\n").split(b"\t", 2)
            held[int(place)] = LogAnswer(int(place), int(elapsed_ns), told)
            while found := held.pop(due, None):
                yield found
                due += 1
