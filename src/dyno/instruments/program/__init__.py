"""Programs that print a number, played in blocks and compared, each described by a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.record import Candidate, RunSummary
from dyno.record.program import PROGRAM_RECORD, ProgramRun, ProgramSide
from dyno.runs.run_folder import (
    Instrument,
    MeasuredPoint,
    MeasuredRun,
    RunProgress,
    read_json,
)
from dyno.runs.run_summary import add_host, add_verdict, list_outcomes

if TYPE_CHECKING:
    from dyno.report.result import Result


class Program(Instrument):
    """Runs of `dyno program`."""

    name, noun, said, record = "program", "a run of programs", "programs", PROGRAM_RECORD
    command, has_history = "program", True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The verdict on its programs."""
        from dyno.instruments.program.verdict import judge_programs

        run = read_json(ProgramRun, path / PROGRAM_RECORD)
        verdict = judge_programs(run)
        sides = [  # as builds: by version with what was chosen beside, else by name
            Candidate(
                *(it.name, it.spec, "program", True, {"version": it.version}, {}),
                it.chosen if it.version else {},
            )
            for it in run.sides
        ]
        made = replace(
            plain,
            created_utc=run.created_utc,
            candidates=tuple(side.name for side in run.sides),
            workloads=(run.workload,),
            outcomes=list_outcomes(sides, verdict.comparisons),
        )
        return add_host(add_verdict(made, verdict, path), run.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, and the number of each start."""
        from dyno.instruments.program.verdict import judge_programs
        from dyno.report.programs import build_program_result

        run = read_json(ProgramRun, path / PROGRAM_RECORD)
        return build_program_result(run, judge_programs(run))

    def read_points(self, path: Path) -> MeasuredRun:
        """The numbers of each side."""
        from dyno.instruments.program.verdict import compare_programs

        run = read_json(ProgramRun, path / PROGRAM_RECORD)
        points = [_measure_side(run, side) for side in run.sides if run.blocks]
        base, rows = run.sides[0].name, compare_programs(run)
        identity = run.created_utc, run.seed, run.name
        return MeasuredRun(*identity, points, run.host, base, comparisons=rows, series=run.series)

    def read_progress(self, path: Path) -> RunProgress:
        """Its blocks, and the intervals from the second one on."""
        from dyno.instruments.program.verdict import compare_programs

        run = read_json(ProgramRun, path / PROGRAM_RECORD)
        return RunProgress(
            f"{run.workload} by {len(run.sides)} programs",
            run.blocks,
            run.analyses[-1],
            (len(run.plays), "start"),
            rows=[(run.workload, it) for it in compare_programs(run)],
        )


def _measure_side(run: ProgramRun, side: ProgramSide) -> MeasuredPoint:
    """A side's numbers; what its files are may change from point to point, how they are started
    may not.
    """
    program = next(iter(side.programs))
    build = {"version": side.version, "program": program, "sha256": side.programs[program]}
    candidate = Candidate(side.name, side.spec, "program", True, build, {}, {})
    alike = {"command": " ".join(side.command[1:]), "number": side.rate}
    alike |= {"setup": " ".join(side.setup), "before each": " ".join(side.before_each)}
    alike |= {f"variable {name}": text for name, text in side.environment.items()}
    return MeasuredPoint(run.metric, candidate, tuple(run.find_values(side.name)), alike=alike)


INSTRUMENT = Program()
