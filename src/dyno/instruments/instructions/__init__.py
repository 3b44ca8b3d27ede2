"""Instructions per operation: the same seeded operations under callgrind, counted and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dyno.errors import UsageError
from dyno.record import RunSummary
from dyno.record.count import Count
from dyno.runs.run_folder import (
    COUNT_RECORD,
    Instrument,
    MeasuredPoint,
    MeasuredRun,
    RunFolder,
    RunProgress,
    read_json,
)
from dyno.runs.run_summary import add_host, list_outcomes

if TYPE_CHECKING:
    from dyno.report.result import Result

#: What lies in its folder from the beginning on; the record is written at the end.
COUNTED = "callgrind"
#: Facts of a host that counts depend on: the C library's code, and what it and an engine choose
#: their code by. Records that lack one are told apart by the model and the distribution.
HOST, FORMER_HOST = ("machine", "libc", "cpu_features"), ("machine", "cpu", "distribution")


class Instructions(Instrument):
    """Runs of `dyno count`."""

    name, noun, said, record = "count", "a count", "instructions counted", COUNT_RECORD
    command = "count"
    begun, has_history = COUNTED, True

    def summarize(self, plain: RunSummary, path: Path) -> RunSummary:
        """The change of each candidate, and the worst word."""
        from dyno.judge.analysis.counts import judge_counts
        from dyno.judge.analysis.effect_words import describe_word

        if not (path / COUNT_RECORD).exists() and RunFolder(path).is_played():
            return replace(plain, sentence="its record is written at its end", is_playing=True)
        count = read_json(Count, path / COUNT_RECORD)
        verdict = judge_counts(count)
        made = replace(
            plain,
            created_utc=count.created_utc,
            candidates=tuple(side.label for side in count.candidates),
            workloads=(count.workload,),
            engines=tuple(dict.fromkeys(side.engine for side in count.candidates)),
            overall=describe_word(count.metric, verdict.overall),
            sentence=verdict.sentence,
            complete=True,
            outcomes=list_outcomes(count.candidates, verdict.comparisons, "instructions"),
        )
        return add_host(made, count.host)

    def read_result(self, path: Path) -> Result:
        """The verdict, the count of each repetition, what changed."""
        from dyno.judge.analysis.counts import compare_counts
        from dyno.report.counts import build_count_result

        count = _read_count(path)
        return build_count_result(count, compare_counts(count))

    def read_points(self, path: Path) -> MeasuredRun:
        """Each candidate's repetitions, which are exact."""
        count = _read_count(path)
        facts = HOST if {*HOST} <= count.host.keys() else FORMER_HOST
        alike = {f"host's {name}": count.host[name] for name in facts if name in count.host}
        alike["counted"] = f"{count.short_operations} to {count.long_operations}"
        alike["valgrind"] = count.valgrind
        points = [
            MeasuredPoint(
                replace(count.metric, unit=count.unit),
                candidate,
                counted.repeats,
                count.options,
                count.controls,
                alike | {"seeds": f"{count.seed}, {counted.inputs}"},
                repeat=("--phase", count.phase, "--seed", str(count.seed)),
                margin_percent=count.margin_percent,
                inputs=counted.inputs,
            )
            for candidate, counted in zip(count.candidates, count.counts, strict=True)
        ]
        identity = count.created_utc, count.seed, count.name
        return MeasuredRun(*identity, points, series=count.series)

    def read_progress(self, path: Path) -> RunProgress:
        """A count is written down at its end, so nothing is known of it before."""
        del path
        return RunProgress("instructions are counted; the record is written at the end")


def _read_count(path: Path) -> Count:
    if not (path / COUNT_RECORD).exists():
        raise UsageError(f"{path.name} is still counted", hint="wait for its end")
    return read_json(Count, path / COUNT_RECORD)


INSTRUMENT = Instructions()
