"""What OLD answers to a log, in a file for a NEW of another day or host (`dyno rehearse --save`).

The file is a zip of two plays of the log on OLD, so that what OLD answers otherwise to itself is
known already: `answers.json` with their records and the checksums of the log as it was played and
of the data, and the answers of each. Times are among these, and nobody compares them: a difference
might be the host's.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from msgspec.structs import replace

import dyno
from dyno import private_files
from dyno.builds import compute_sha256
from dyno.driver.lockstep import LogPlayed
from dyno.errors import HostError, UsageError, find_fullest
from dyno.instruments.time.contents import Replies, Reply
from dyno.instruments.time.contents_trials import AnsweredTrial
from dyno.instruments.time.log_contents import LogReplies
from dyno.record import Candidate, Run, Trial, WorkloadPlan, decode
from dyno.record.schema import Record
from dyno.runs.resolve.draft import Prepared
from dyno.workloads.replay.order import CLASSES, EVENTS, NUMBERS, OrderedLog

#: Counts with what is in the file: a change of the form makes others of them.
FORM, RECORD, PLAYS = 1, "answers.json", 2


class SavedPlay(Record):
    """One play of the log: its trial, and what `LogReplies` holds beside the answers."""

    trial: Trial
    session_kind: str
    seconds: float
    played: LogPlayed
    tables: tuple[Reply, ...]


class SavedAnswers(Record):
    """What a file of answers says; `checksums` are of the log and of the data."""

    form: int
    dyno: str
    candidate: Candidate
    checksums: dict[str, str]
    plays: tuple[SavedPlay, ...]

    @property
    def saved_utc(self) -> str:
        """When OLD was played."""
        return self.plays[0].trial.started_utc

    def join(self, prepared: Prepared) -> Prepared:
        """The run of NEW with OLD as its base, which nobody starts."""
        run, name = prepared.run, self.candidate.name
        (own,) = (side.name for side in run.candidates)
        run = replace(
            run,
            candidates=(self.candidate, *run.candidates),
            design=replace(run.design, base=name),
        )
        engines = prepared.engines | {name: prepared.engines[own]}
        builds = prepared.builds | {name: prepared.builds[own]}
        return dataclasses.replace(prepared, run=run, engines=engines, builds=builds)


def compute_checksums(log: OrderedLog, data: Path) -> dict[str, str]:
    """Those of a log as it is played, and of the plain file that makes its tables."""
    parts = [compute_sha256(log.folder / name) for name in (EVENTS, NUMBERS, CLASSES)]
    return {
        "log": hashlib.sha256("".join(parts).encode()).hexdigest(),
        "data": compute_sha256(data),
    }


def write_answers(
    file: Path,
    base: Candidate,
    checksums: dict[str, str],
    answered: Sequence[AnsweredTrial[LogReplies]],
) -> None:
    """Writes the plays of a side; `HostError` where the file cannot be written."""
    plays = []
    for each in answered:
        replies = each.replies
        assert replies.played, "a side that failed has no answers to be saved"
        of_tables = tuple(replies.tables.replies)
        trial = replace(each.trial, log="", began_ns=0, over_ns=0, left_behind=())
        plays.append(
            SavedPlay(trial, replies.session_kind, replies.seconds, replies.played, of_tables)
        )
    made = SavedAnswers(FORM, dyno.__version__, base, checksums, tuple(plays))
    try:
        with (
            private_files.write_new_file(file) as out,
            zipfile.ZipFile(
                cast("IO[bytes]", out.buffer), "w", zipfile.ZIP_DEFLATED, compresslevel=1
            ) as packed,
        ):
            packed.writestr(RECORD, json.dumps(decode.encode(made)))
            for at, each in enumerate(answered):
                packed.write(each.replies.answers, _name_member(at))
    except OSError as error:
        cause = f"{error.strerror}{find_fullest(error, file.parent)}"
        raise HostError(f"cannot write {file}", cause=cause, hint="name another --save") from error


def _name_member(number: int) -> str:
    return f"{number}.answers"


def read_answers(file: Path) -> SavedAnswers:
    """What a file says; `UsageError` where it is none of these, or a newer Dyno's."""
    try:
        with zipfile.ZipFile(file) as packed:
            data = decode.load_json(packed.read(RECORD).decode())
            members = set(packed.namelist())
        if isinstance(data, dict) and data.get("form") != FORM:
            by = data.get("dyno")
            hint = f"use that one, or save them anew (this one is {dyno.__version__})"
            raise UsageError(f"{file} was saved by another dyno ({by})", hint=hint)
        found = decode.decode(SavedAnswers, data)
    except FileNotFoundError:
        raise UsageError(
            f"there is no {file}", hint="`dyno rehearse OLD --save FILE` makes one"
        ) from None
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, zlib.error) as error:
        raise _build_damage_error(file, error) from error
    if len(found.plays) != PLAYS or not {*map(_name_member, range(PLAYS))} <= members:
        raise _build_damage_error(file, "it does not hold two plays")
    return found


def _build_damage_error(file: Path, cause: object) -> UsageError:
    hint = "name a file of `dyno rehearse OLD --save FILE`"
    return UsageError(f"{file} holds no saved answers", cause=str(cause).lower(), hint=hint)


def check_same(saved: SavedAnswers, checksums: dict[str, str]) -> None:
    """`UsageError` where another log is played, or on other data."""
    options = {"log": "--log", "data": "--data"}
    for name, own in checksums.items():
        if saved.checksums.get(name) != own:
            cause = (
                f"{name} {own[:12]}, and the answers are of {saved.checksums.get(name, '')[:12]}"
            )
            raise UsageError(
                f"{options[name]} is not what the saved answers were given to",
                cause=cause,
                hint=f"name the file with which they were saved, and the same dyno ({saved.dyno})",
            )


@dataclass
class LogPlays:
    """A log's plays in a run so far, the base's first, each with who was asked; their answers lie
    in the folder `homes`.
    """

    run: Run
    workload: WorkloadPlan
    log: OrderedLog
    homes: Path
    asked: list[tuple[Candidate, AnsweredTrial[LogReplies]]] = field(default_factory=list)

    @property
    def is_saved(self) -> bool:
        """Does the run ask for a file of the base's answers?"""
        return bool(self.run.design.saves_answers)

    def make_replies(self) -> LogReplies:
        """Where the answers of another play go, which ends where the first did."""
        first = self.asked[0][1].replies.played if self.asked else None
        file = self.homes / f"{self.workload.name}-{len(self.asked)}.answers"
        return LogReplies(self.log, file, first.statements if first else 0)

    def take_saved(
        self, side: Candidate, replies: LogReplies, number: int
    ) -> AnsweredTrial[LogReplies] | None:
        """The base's next play out of the file of its answers, as a trial of this number; None
        where it is played.
        """
        design = self.run.design
        if not design.old_answers or side.name != design.base:
            return None
        file, before = Path(design.old_answers), sum(it.name == side.name for it, _ in self.asked)
        play = read_answers(file).plays[before]
        try:
            with (
                zipfile.ZipFile(file) as packed,
                packed.open(_name_member(before)) as member,
                replies.answers.open("wb") as out,
            ):
                shutil.copyfileobj(member, out)
        except (OSError, zipfile.BadZipFile, KeyError, zlib.error) as error:
            raise _build_damage_error(file, error) from error
        replies.played, replies.seconds = play.played, play.seconds
        replies.session_kind = play.session_kind
        replies.tables = Replies(list(play.tables), play.session_kind)
        trial = replace(play.trial, number=number, workload=self.workload.name, contents=None)
        return AnsweredTrial(trial, None, replies)

    def save(self, base: Candidate) -> None:
        """Writes the base's plays where the run asks for it and none has failed."""
        plays = [answered for side, answered in self.asked if side.name == base.name]
        if self.is_saved and not any(it.error for it in plays):
            checksums = compute_checksums(self.log, Path(self.workload.options["setup"]))
            write_answers(Path(self.run.design.saves_answers), base, checksums, plays)
