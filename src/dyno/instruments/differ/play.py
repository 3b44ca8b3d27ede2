"""The scripts of a run, one after the other, until its time is over: each is made from the seed and
its number, played on both sides, judged, and each new difference reduced.

The record is written after every find and every few seconds; a run that was killed goes on with the
script behind the last one that it has.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

import dyno
from dyno import private_files
from dyno.builds import Say
from dyno.errors import UsageError
from dyno.host.checks import read_host_facts
from dyno.instruments.differ.grammar import KnownChange, SharedDialect, join_sides, list_changes
from dyno.instruments.differ.judgement import AnswerDifference, explain, judge_script
from dyno.instruments.differ.scripts import make_script
from dyno.instruments.differ.sides import EngineSide, Pair, hold_pair, resolve_sides
from dyno.instruments.differ.tree import TRIALS, MadeStatement, Reducer
from dyno.record.differ import (
    DIFFER_RECORD,
    DifferCounts,
    DifferRun,
    ExplainedChange,
    FoundDifference,
)
from dyno.runs.experiment.candidates import Spec, make_names_unique, parse_candidate
from dyno.runs.run_folder import RunFolder, make_run_folder, read_json, write_json

#: How often the record is written where nothing is found.
WRITE_S = 1.0
#: Reductions of one signature that may find nothing new before differences of it are only counted:
#: 2, then 4, 8 and so on, up to so many between two reductions. None is left for good, since what
#: is common hides what is rare.
STALE, SKIPPED_MOST = 3, 16
#: Trials of a reduction where each costs a restart, or the whole wait for an answer.
FEW_TRIALS = {"crash": 200, "hang": 15, "connection closed": 200}
#: The folder of the finds' scripts.
FINDS = "finds"
_NAMES = re.compile(r"'[^']*'|\b[a-z]\d+\b|-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b")
_ROWS = re.compile(r"^(INSERT INTO \S+ ).*", re.DOTALL)


@dataclass(frozen=True)
class DifferPlan:
    """What is asked for, word by word."""

    words: Sequence[str]
    for_s: float
    seed: int = 1
    scripts_most: int = 0
    finds_most: int = 0
    is_aa: bool = False
    command: str = ""


def read_specs(plan: DifferPlan) -> list[Spec]:
    """Return both sides; `UsageError` where these are not two that differ."""
    words = list(plan.words) * (2 if plan.is_aa else 1)
    if plan.is_aa and len(words) != 2:
        raise UsageError("--aa takes one build", hint="name one ENGINE@BUILD")
    hint = "dyno differ A --aa plays one against itself"
    if len(words) != 2:
        raise UsageError(f"two builds are compared (got {len(words)})", hint=hint)
    if words[0] == words[1] and not plan.is_aa:
        raise UsageError("both sides are the same", hint=hint)
    names = [f"{words[0]}", f"again={words[1]}"] if plan.is_aa else words
    return list(make_names_unique([parse_candidate(it) for it in names]))


def make_differ_run(plan: DifferPlan, sides: Sequence[EngineSide]) -> DifferRun:
    """The record before its first script."""
    names = [side.candidate.name for side in sides]
    return DifferRun(
        name=" vs ".join(names),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        command=plan.command,
        seed=plan.seed,
        for_s=plan.for_s,
        sides=tuple(side.candidate for side in sides),
        changes=len(list_changes(*(side.dialect for side in sides))),
        host=read_host_facts(Path.cwd()),
        is_aa=plan.is_aa,
        scripts_most=plan.scripts_most,
        finds_most=plan.finds_most,
        dyno=dyno.__version__,
    )


def make_differ_folder(runs: Path, run: DifferRun) -> Path:
    """A new folder for the run, with the record of no script yet."""
    path = make_run_folder(runs, run.created_utc, f"differ-{run.name}")
    private_files.make_folder(path / FINDS)
    write_json(path / DIFFER_RECORD, run)
    return path


def start_differ_run(plan: DifferPlan, runs: Path, say: Say) -> tuple[DifferRun, Path]:
    """Resolve both sides, and make the run's folder; nothing is played yet."""
    sides = resolve_sides(read_specs(plan), Path(), say)
    join_sides(sides[0].dialect, sides[1].dialect)
    run = make_differ_run(plan, sides)
    return run, make_differ_folder(runs, run)


def play_differ_run(run: DifferRun, folder: Path, say: Say) -> DifferRun:
    """Play on from what the record has, to the end of its time; `UsageError` where another Dyno
    plays it, or a build is not what it was.
    """
    made = RunFolder(folder)
    with made.hold_alone(), made.hold_homes() as homes:
        specs = [dataclasses.replace(parse_candidate(it.spec), name=it.name) for it in run.sides]
        sides = resolve_sides(specs, homes, say)
        for side, was in zip(sides, run.sides, strict=True):
            if side.candidate.build.get("sha256") != was.build.get("sha256"):
                hint = "start a new run; dyno report shows what this one has"
                raise UsageError(f"{was.name} is another build than it was", hint=hint)
        dialect = join_sides(sides[0].dialect, sides[1].dialect)
        changes = list_changes(sides[0].dialect, sides[1].dialect)
        with hold_pair(*sides) as pair:
            return DifferPlayer(run, pair, dialect, changes, folder, say).play()


def reopen_differ_run(folder: Path) -> DifferRun:
    """A run from disk that is to go on."""
    return read_json(DifferRun, folder / DIFFER_RECORD)


@dataclass
class DifferPlayer:
    """Plays the scripts of a run that are left, and keeps its record."""

    run: DifferRun
    pair: Pair
    dialect: SharedDialect
    changes: Sequence[KnownChange]
    folder: Path
    say: Say
    stale: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def play(self) -> DifferRun:
        """Play until the time is over."""
        began_s, before_s = time.monotonic(), self.run.played_s
        written_s, finds = began_s, self.run.finds
        while not self.run.is_over:
            self._play_script()
            now_s = time.monotonic()
            self.run = replace(self.run, played_s=before_s + now_s - began_s)
            if self.run.finds != finds or now_s - written_s > WRITE_S or self.run.is_over:
                for at, find in enumerate(self.run.finds, 1):
                    if find not in finds:
                        file = self.folder / FINDS / f"{at:04}.sql"
                        with private_files.write_new_file(file) as out:
                            out.write(format_find(self.run, find))
                write_json(self.folder / DIFFER_RECORD, self.run)
                written_s, finds = now_s, self.run.finds
        return self.run

    def _play_script(self) -> None:
        number = self.run.scripts
        script = make_script(self.dialect, self.run.seed, number)
        texts = "\n".join(it.sql for it in script)
        judged = judge_script(script, self.pair)
        counts = self.run.counts
        added = {
            name: getattr(counts, name) + judged.words[name.replace("_", " ")]
            for name in ("same", "differs", "undecidable", "not_compared", "refused", "unrepeated")
        }
        self.run = replace(
            self.run,
            scripts=number + 1,
            digest=hashlib.sha256(f"{self.run.digest}{texts}".encode()).hexdigest(),
            counts=replace(counts, **added),
        )
        for difference in judged.differences:
            self._take(number, script[: difference.place + 1], difference)

    def _take(self, number: int, script: list[MadeStatement], difference: AnswerDifference) -> None:
        """Count a difference that is known, reduce one that may be new."""
        known = explain(self.changes, difference, [it.sql for it in script], reduced=False)
        signature = difference.signature
        if known and self._count(known.what):
            return
        if difference.tells_enough and self._count(signature):
            return
        stale = self.stale[signature] - STALE
        if stale >= 0 and self.skipped[signature] < min(2 ** (stale + 1), SKIPPED_MOST):
            self.skipped[signature] += 1
            self._add_count("unreduced")
            return
        self.skipped[signature] = 0
        find = self._shorten(number, script, difference)
        if find is None:
            self._add_count("unsteady")
            return
        name = find.explained.what if find.explained else find.signature
        if self._count(name, find):
            self.stale[signature] += 1
            return
        self.stale[signature] = 0
        self.run = replace(self.run, finds=(*self.run.finds, find))
        told = find.kind if find.is_open else "explained"
        self.say(f"script {number}: {told}, {len(find.script)} statements")

    def _add_count(self, name: str) -> None:
        counts: DifferCounts = self.run.counts
        self.run = replace(self.run, counts=replace(counts, **{name: getattr(counts, name) + 1}))

    def _count(self, name: str, find: FoundDifference | None = None) -> bool:
        """Count one more of a find that is known; the shorter script stays."""
        finds = list(self.run.finds)
        for at, known in enumerate(finds):
            names = {known.explained.what} if known.explained else set()
            if name in (names | {known.signature} if known.is_open else names):
                shorter = find and sum(map(len, find.script)) < sum(map(len, known.script))
                kept = find if find and shorter else known
                finds[at] = replace(kept, count=known.count + 1)
                self.run = replace(self.run, finds=tuple(finds))
                return True
        return False

    def _shorten(
        self, number: int, script: list[MadeStatement], difference: AnswerDifference
    ) -> FoundDifference | None:
        """The smallest script that shows it; None where it shows no more, or the base alone does
        not answer it twice in the same way.
        """
        wanted = difference.signature

        def sees(tried: Sequence[MadeStatement]) -> bool:
            return self._find_last(tried, wanted) is not None

        reducer = Reducer(sees, FEW_TRIALS.get(difference.kind, TRIALS))
        small = reducer.shorten(script) if sees(script) else []
        last = self._find_last(small, wanted) if small else None
        if last is None:
            return None
        for side in (self.pair.base, self.pair.other):
            if judge_script(small, self.pair.repeat(side)).differences:
                return None
        texts = [it.sql for it in small]
        # without names, numbers and rows: what two finds of one cause mostly share
        plain = [_ROWS.sub(r"\1", it) for it in texts if not it.startswith("CREATE TABLE")]
        skeleton = "; ".join(dict.fromkeys(_NAMES.sub("?", it) for it in plain))
        known = explain(self.changes, last, texts, reduced=True)
        return FoundDifference(
            number=number,
            kind=last.kind,
            why=last.why,
            script=tuple(texts),
            ours=last.ours,
            theirs=last.theirs,
            signature=wanted if last.tells_enough else f"{wanted} {skeleton}",
            statements=len(script),
            trials=reducer.trials,
            is_whole=reducer.is_left,
            explained=ExplainedChange(known.what, known.source, known.since) if known else None,
        )

    def _find_last(self, script: Sequence[MadeStatement], wanted: str) -> AnswerDifference | None:
        """The difference of the last statement, where it is the one that is wanted."""
        found = judge_script(script, self.pair).differences
        return next(
            (it for it in found if it.place == len(script) - 1 and it.signature == wanted), None
        )


def format_find(run: DifferRun, find: FoundDifference) -> str:
    """Return a find as a file: comments for a report of it, and statements as `--sql` takes them.
    It names builds by engine and version, and no host.
    """
    one, other = (f"{it.engine} {it.build.get('version', '')}".strip() for it in run.sides)
    lines = [f"-- {find.kind} ({find.why}), found by dyno differ, seed {run.seed}"]
    for name, rows in ((one, find.ours), (other, find.theirs)):
        lines.append(f"-- answer of {name}")
        lines += [f"--   {line}" for row in rows or ("(no rows)",) for line in row.splitlines()]
    if find.explained:
        source = find.explained.source or "no release note that we found"
        lines.append(f"-- explained by {source} ({find.explained.what})")
    *before, last = find.script
    setup = ["-- setup:", *(f"{it};" for it in before)] if before else []
    return "\n".join([*lines, *setup, "-- run:", f"{last};"]) + "\n"
