"""A run of `dyno scale` from its experiment to its last restart: each plays all numbers of users on
one start of the engine, and then some of them once more while its locks are watched.

Driver and server share all cores (`pinning=off`), so that a restart with one user says what an
operation costs both, and those with more users check what is forecast from it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec import structs

from dyno import scratch
from dyno.builds import Say
from dyno.engines import MeasuresLocks
from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.host.cache_lines import combine_pairs, combine_wakeups, measure_core_pairs
from dyno.instruments.time.brief_play import RUN, OpenEngine, open_engine
from dyno.instruments.time.cpu_samples import PhaseSampler
from dyno.instruments.time.engine_session import SessionPart
from dyno.instruments.time.job import Tools
from dyno.instruments.time.locks import LockProbe
from dyno.instruments.time.run import sample_phases
from dyno.instruments.time.trial import compute_trial_seed
from dyno.judge.analysis.blocks import compute_shares
from dyno.judge.analysis.measures import count_operations
from dyno.profile import lock_calls
from dyno.record import Candidate, PhaseRecord
from dyno.record.scaling import SCALING_RECORD, LineTransfer, ScalePlay, ScaleRun
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import list_changes_since, reopen_run
from dyno.runs.resolve.preconditions import check_disk_space
from dyno.runs.resolve.workloads import find_phases_under
from dyno.runs.run_folder import RunFolder, make_run_folder, read_json, write_json

#: Options of a workload that are set here.
OWN_OPTIONS = ("threads", "time", "warmup_time", "events", "rate")
#: Of a play's time, that its warm-up lasts beside it.
WARMUP_SHARE = 0.25
#: Machines of which Dyno knows how long cache lines take, and the interval about a median that
#: stands alone.
MACHINES = Path(__file__).with_name("machines.toml")
LOW, HIGH = 0.8, 1.25
#: What the driver and the engine are placed by.
PLACED = {"pinning": "off"}


@dataclass(frozen=True)
class ScaleWords:
    """An experiment's own words: the numbers of users, restarts, and how long a play is, in s; for
    how many users a core the forecast is (0: as many as it takes), and for which other machine.
    """

    users: tuple[int, ...] = (1, 2, 4)
    restarts: int = 3
    time: float = 1.0
    users_per_core: float = 0.0
    machine: str = ""


def check_words(words: ScaleWords) -> None:
    """`UsageError` for numbers that cannot be played."""
    if not words.users or min(words.users) < 1 or 1 not in words.users:
        told = ", ".join(map(str, words.users))
        hint = "the forecast is made from one user: --users 1,2,4"
        raise UsageError(f"--users must have 1 among numbers above 0 (got {told})", hint=hint)
    if words.restarts < 2:
        raise UsageError("one restart has no spread, and a forecast no band", hint="--restarts 3")
    if words.time <= 0:
        raise UsageError(f"--time must be above 0 (got {words.time:g})")


def plan_scale(experiment: Experiment) -> tuple[Experiment, ScaleWords]:
    """Return an experiment as it is played, and its own words; `UsageError` for a workload whose
    users are not ours to choose.
    """
    experiment.require_plain("a forecast of scaling", ("seed", "controls"))
    words = experiment.read_own(ScaleWords)
    words = replace(words, users=tuple(sorted({*words.users})))
    check_words(words)
    (workload,) = experiment.workloads
    for name in OWN_OPTIONS:
        if name in workload.options:
            hint = "--users and --time say what is played"
            raise UsageError(f"dyno scale sets the option '{name}' itself", hint=hint)
    if experiment.measuring.controls.get("pinning", "off") != "off":
        hint = "leave pinning out, and bound all of Dyno with taskset"
        raise UsageError("server and driver share the cores in dyno scale", hint=hint)
    for users in (words.users[0], words.users[-1]):
        options = make_options(words.time, users)
        phases = find_phases_under(workload, options)
        name = Path(workload.name).stem
        if len(phases) != 1:
            hint = "name a workload of one phase, such as oltp_point_select"
            raise UsageError(f"{name} has {len(phases)} phases, and one is forecast", hint=hint)
        (phase,) = phases
        if phase.paced or phase.stop.kind != "time":
            raise UsageError(f"{name} is no closed loop of some time: nothing can be forecast")
        if phase.connections != users:
            cause = f"it has {phase.connections} users where {users} are asked for"
            raise UsageError(f"{name} does not heed the option threads", cause=cause)
    measuring = replace(experiment.measuring, controls=experiment.measuring.controls | PLACED)
    one = replace(workload, options=workload.options | make_options(words.time, 1))
    return replace(experiment, workloads=(one,), measuring=measuring), words


def make_options(time_s: float, users: int) -> dict[str, str]:
    """Those of a play."""
    times = {"time": f"{time_s:g}", "warmup_time": f"{WARMUP_SHARE * time_s:g}"}
    return {"threads": str(users), **times}


class MachineTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine of the file, as `machines.toml` explains it."""

    what: str
    ns: float
    source: str
    low_ns: float | None = None
    high_ns: float | None = None
    far_ns: float | None = None
    near_cores: int | None = None


def find_machine(word: str) -> tuple[str, LineTransfer]:
    """What a machine is, and its lines; `word` names one that Dyno knows or a file that has one
    machine. `UsageError` where there is none.
    """
    is_file = word.endswith(".toml")
    tables = _read_tables(Path(word) if is_file else MACHINES)
    if is_file and len(tables) != 1:
        raise UsageError(f"{word} must have one machine (it has {len(tables)})")
    if not is_file and word not in tables:
        raise build_unknown_error("machine", word, tables)
    found = next(iter(tables.values())) if is_file else tables[word]
    low_ns, high_ns = found.low_ns or LOW * found.ns, found.high_ns or HIGH * found.ns
    try:
        line = LineTransfer(
            found.ns, low_ns, high_ns, 0, found.source, found.far_ns, found.near_cores
        )
    except ValueError as error:
        raise UsageError(f"the machine of {word} cannot be: {error}") from None
    return found.what, line


def _read_tables(file: Path) -> dict[str, MachineTable]:
    try:
        return msgspec.convert(tomllib.loads(file.read_text()), dict[str, MachineTable])
    except FileNotFoundError:
        raise UsageError(f"there is no {file}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError) as error:
        hint = f"as in {MACHINES.name}: a table with what, ns, source"
        raise UsageError(f"{file} is no table of machines", cause=error, hint=hint) from None


def make_scale_folder(runs: Path, run: ScaleRun) -> Path:
    """A new folder for the run, with the record of no play yet."""
    path = make_run_folder(runs, run.run.created_utc, f"scale-{run.run.name}")
    write_json(path / SCALING_RECORD, run)
    return path


def prepare_scale(prepared: Prepared, words: ScaleWords, say: Say) -> ScaleRun:
    """The record before its first play; `UsageError` for what cannot be played."""
    for side in prepared.candidates:
        if side.attached or side.engine == "null":
            hint = "name a build: `dyno engines list`"
            raise UsageError(f"{side.name} is not started by Dyno, or does no work", hint=hint)
    check_disk_space(prepared)
    machine = ""
    line: LineTransfer | None = None
    say("measuring how long a cache line and a wake-up take from core to core")
    pairs = measure_core_pairs()
    if words.machine:
        machine, line = find_machine(words.machine)
    else:
        try:
            line = combine_pairs(pairs)
        except TrialFailed as failed:  # the verdict says that lines count as nothing
            say(failed.sentence)
    return ScaleRun(
        prepared.run,
        words.users,
        words.restarts,
        words.time,
        line=line,
        machine=machine,
        users_per_core=words.users_per_core or None,
        wakeup=combine_wakeups(pairs),
    )


def reopen_scale_run(folder: Path, say: Say) -> tuple[ScaleRun, Prepared]:
    """A run from disk that is to go on; `UsageError` where host, program or script changed."""
    run = read_json(ScaleRun, folder / SCALING_RECORD)
    prepared = reopen_run(run.run, say)
    if found := list_changes_since(run.run, prepared):
        hint = "start a new run; dyno report shows what this one has"
        raise UsageError("the run cannot be resumed", cause="; ".join(found), hint=hint)
    return run, prepared


def play_scale_run(
    run: ScaleRun, prepared: Prepared, folder: Path, say: Say, tools: Tools | None = None
) -> ScaleRun:
    """Play the restarts that are missing, the candidates in turn; the record has each."""
    given = tools or Tools()
    with RunFolder(folder).hold_alone(), sample_phases(run.run, given) as sampler:
        while run.played < run.wanted:
            restart, place = divmod(run.played, len(prepared.candidates))
            order = prepared.candidates if restart % 2 == 0 else prepared.candidates[::-1]
            say(f"restart {restart + 1} of {run.restarts}: {order[place].name}")
            player = _RestartPlayer(run, prepared, order[place], restart, given, sampler)
            first = len(run.plays) + 1
            plays = [structs.replace(it, number=at) for at, it in enumerate(player.play(), first)]
            run = structs.replace(run, plays=(*run.plays, *plays))
            write_json(folder / SCALING_RECORD, run)
    return run


@dataclass(frozen=True)
class _RestartPlayer:
    """One restart of a candidate."""

    run: ScaleRun
    prepared: Prepared
    side: Candidate
    restart: int
    tools: Tools
    sampler: PhaseSampler | None

    def play(self) -> Iterator[ScalePlay]:
        """Its plays, and then those in which its locks are watched."""
        (workload,) = self.prepared.workloads
        place = self.prepared, workload
        with open_engine(*place, self.side, self.tools, sampler=self.sampler) as opened:
            for users in self.run.users:
                yield self._play(opened, users)
        engine = self.prepared.engines[self.side.name]
        settings: dict[str, str] = {}
        if isinstance(engine, MeasuresLocks):
            settings |= engine.lock_settings
        elif not engine.embedded:
            return
        side = structs.replace(self.side, settings=settings | self.side.settings)
        with scratch.make_folder("play", scratch.find_temporary_folder()) as folder:
            own = lock_calls.build_environment(folder) if engine.embedded else {}
            probe = LockProbe(engine, folder)
            watched = {"locks": probe}
            with open_engine(*place, side, self.tools, watched, environment=own) as opened:
                for users in dict.fromkeys((self.run.users[0], self.run.users[-1])):
                    with probe.watch(opened.server):
                        played = self._play(opened, users)
                        found = probe.describe(played.operations, users)
                    yield structs.replace(
                        played,
                        cores=found.cores,
                        watched=True,
                        locks=found.uses,
                        unread="; ".join(found.unseen),
                    )

    def _play(self, opened: OpenEngine, users: int) -> ScalePlay:
        session = opened.session
        seed = compute_trial_seed(self.run.run.seed, session.job.workload.name, self.restart)
        part = SessionPart((RUN,), seed, make_options(self.run.time_s, users))
        session.play(opened.server, part)
        return self._describe(part.phases[-1], users)

    def _describe(self, record: PhaseRecord, users: int) -> ScalePlay:
        operations = count_operations(record)
        done = sum(tally.done * tally.units_per_event for tally in record.streams)
        failed = sum(tally.failed for tally in record.streams)
        if not done or failed > done // 100:
            raise TrialFailed(f"{failed:,} operations failed and {done:,} were done")
        read = {each.name: each.value / operations for each in record.readings}
        if "server_cpu_us" not in read:
            raise TrialFailed(f"the CPU time of {self.side.name} cannot be read")
        client_ns = 0 if self.side.embedded else record.usage.user_ns + record.usage.system_ns
        layers: dict[str, float] = {}
        for each in record.profile.functions if record.profile else ():
            cost_ns = each.samples * record.sample_ns / operations
            layers[each.layer] = layers.get(each.layer, 0.0) + cost_ns
        return ScalePlay(
            number=1,
            restart=self.restart,
            candidate=self.side.name,
            users=users,
            cores=len(os.sched_getaffinity(0)),
            operations=operations,
            duration_s=record.duration_s,
            rate_per_s=done / record.duration_s,
            server_cpu_ns=1e3 * read["server_cpu_us"],
            client_cpu_ns=client_ns / operations,
            layers=layers,
            switches=read.get("context_switches", 0.0) + read.get("involuntary_switches", 0.0),
            syncs=read.get("flushes", 0.0),
            others_percent=compute_shares({it.name: it.value for it in record.readings}),
        )
