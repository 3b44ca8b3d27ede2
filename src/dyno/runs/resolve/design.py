"""The design of a run: when its data are looked at, its margin, its limits, its controls.

And whether a block's trials are interleaved, which is wherever that is sound; whether CPU time can
be sampled beside the phases, tried before the first trial; what a killed run's controls left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from dyno.builds import Build, Say
from dyno.builds.abilities import list_uneven_abilities
from dyno.driver.sampler import CpuSampler
from dyno.engines import Attaches, Engine, Knobs, Preloads, Remarks
from dyno.errors import DynoError, UsageError
from dyno.host.controls import NOT_HERE, ControlTarget, HoldsHost, load_controls, put_back
from dyno.host.controls import load_controls as all_controls
from dyno.judge.stats.interim_analyses import MAX, choose_analyses_up_to
from dyno.profile.layers import list_sampled_layers
from dyno.record import Candidate, Design, Interleaving, Slice, WorkloadPlan
from dyno.record.profile import CpuSampling
from dyno.record.run import LIMITS, LIMITS_INTERLEAVED
from dyno.runs.experiment import Experiment, Measuring
from dyno.runs.experiment.candidates import OwnedKeys, Spec

#: The function of a script for sysbench that begins and ends its events itself.
OWN_LOOP = "thread_run"
#: The one analysis of a quick run (METHOD.md, The words).
QUICK_ANALYSES = (5,)
MARGIN_PERCENT = 2.0

#: Loads of a candidate under a workload, which are as many independent data: eight see nearly what
#: blocks of their own would, three half of it (docs/evidence/code-choices.md).
LOADS = 8
#: A first load that took longer is kept, and those that follow it too.
SLOW_LOAD_S = 5.0
#: No engine takes long to load less: nobody need find out whether it is slow.
SMALL_BYTES = 16 << 20

#: Where no pilot tells how short slices may be (`pilot/slices.py`; docs/METHOD.md, Interleaving).
TURNS = Interleaving(Slice(0.1, 0.005), epoch_s=1.0, frozen=True)


def make_design(experiment: Experiment, base: str, controls: dict[str, str]) -> Design:
    """The design that an experiment asks for, `controls` being the controls of the whole run.

    Whether turns are taken is decided when the candidates are known (`choose_interleaving`).
    """
    measuring, own = experiment.measuring, experiment.measuring.margin_percent
    return Design(
        base=base,
        analyses=choose_interim_analyses(measuring),
        margin_percent=MARGIN_PERCENT if own is None else own,
        alpha=measuring.alpha,
        quick=measuring.quick,
        limits=choose_limits(measuring, LIMITS),
        controls=controls,
        loads=measuring.loads,
        crossing=experiment.crossed.crossing if experiment.crossed.levels else None,
        aa=measuring.aa,
        gate="mean" if measuring.gate == "mean" else "each",
        precision_percent=measuring.precision_percent,
        accepted=measuring.accepted,
        check="full" if measuring.check == "full" else "quick",
        rehearses=measuring.rehearses,
        untimed=measuring.untimed,
        hides_literals=measuring.hides_literals,
        saves_answers=measuring.saves_answers,
        old_answers=measuring.old_answers,
        options=measuring.options,
        upgrades_folder=measuring.upgrades_folder,
        left_out=measuring.left_out,
        tried=measuring.tried,
        tried_for=measuring.tried_for,
        by="cpu" if measuring.by == "cpu" else "time",
    )


def choose_interim_analyses(measuring: Measuring) -> tuple[int, ...]:
    """The numbers of valid blocks at which the data are looked at; the last is MAX."""
    if measuring.quick:
        if measuring.blocks is not None:
            raise UsageError(
                "--quick and --blocks cannot be combined",
                hint=f"quick is {QUICK_ANALYSES[-1]} blocks",
            )
        return QUICK_ANALYSES
    most = measuring.blocks or MAX
    return (most,) if measuring.fixed else choose_analyses_up_to(most)


def with_interleaving(design: Design, measuring: Measuring, turns: Interleaving | None) -> Design:
    """`design` played by these turns, or without any, and the noise limits that hold then."""
    limits = choose_limits(measuring, LIMITS if turns is None else LIMITS_INTERLEAVED)
    return replace(design, interleaving=turns, limits=limits)


def choose_limits(measuring: Measuring, ours: dict[str, float]) -> dict[str, float]:
    """The user's noise limits in place of ours, of which CPU time needs none."""
    return ({} if measuring.by == "cpu" else ours) | measuring.limits


def list_due_baselines(
    workloads: Sequence[WorkloadPlan],
) -> list[tuple[WorkloadPlan, dict[str, str]]]:
    """Each workload under the options of the base, then under those of the other cells."""
    due: list[tuple[WorkloadPlan, dict[str, str]]] = []
    for workload in workloads:
        due += [(workload, {}), *((workload, each.options) for each in workload.variants)]
    return due


def needs_baseline(candidates: Sequence[Candidate]) -> bool:
    """Does a candidate live in the driver's process, so that the driver's own share is asked for?

    `null` is that share itself.
    """
    return any(each.embedded and each.engine != "null" for each in candidates)


#: How turns are insisted on.
TURNS_ASKED = "--interleaved (sequential = false)"


def choose_interleaving(
    measuring: Measuring,
    sides: Sequence[ResolvedCandidate],
    workloads: Sequence[WorkloadPlan],
    run_controls: dict[str, str],
    say: Say,
) -> Interleaving | None:
    """The turns of a run; None, with the reason said, where its trials are played one by one;
    `UsageError` with the reason where the user insists on turns.
    """
    if len(sides) < 2 or measuring.sequential:
        return None
    if not (why := explain_why_not(sides, workloads, run_controls)):
        # a connection costs as much CPU time however few operations its second is left
        is_held = measuring.hold_connections or measuring.by == "cpu"
        return replace(TURNS, epoch_s=0.0) if is_held else TURNS
    if measuring.sequential is False:
        hint = f"leave out {TURNS_ASKED}"
        raise UsageError("restarts cannot be interleaved", cause=why, hint=hint)
    say(f"restarts are played one after the other, not interleaved: {why}")
    return None


def explain_why_not(
    sides: Sequence[ResolvedCandidate],
    workloads: Sequence[WorkloadPlan],
    run_controls: dict[str, str],
) -> str:
    """What stands in the way of interleaving; empty where nothing does."""
    if why := _explain_shared([(side.name, build) for side, _, build in sides if build.attached]):
        return why
    for name, control in all_controls().items():
        values = {side.controls.get(name, run_controls.get(name)) for side, _, _ in sides}
        if isinstance(control, HoldsHost) and len(values) > 1:
            return f"{name} belongs to the whole host, and the candidates differ in it"
    for workload in workloads:
        names = {workload.with_options(side.options).phase_names for side, _, _ in sides}
        if any(stream.function == OWN_LOOP for p in workload.phases for stream in p.streams):
            return f"{workload.name} has a thread_run of its own, which goes by the wall clock"
        if len(names) > 1:
            return f"the candidates play different phases of {workload.name}"
    return ""


def _explain_shared(attached: Sequence[tuple[str, Build]]) -> str:
    """Which servers that run already may be one, so that candidates would share its tables."""
    if len(attached) < 2:
        return ""
    known: dict[str, str] = {}
    for name, build in attached:
        if not build.identity:
            return f"{name} runs already and does not say which server it is: tables may be shared"
        if build.identity in known:
            return f"{known[build.identity]} and {name} are one server"
        known[build.identity] = name
    return ""


NOT_WANTED = "it was not asked for (--profile off)"
NOT_OURS = "the servers run already, and are not ours to look into"
#: A server sleeps and wakes for each request, and each time its thread's timer is set and stopped:
#: a short statement then takes twice its CPU time (docs/evidence/cpu-samples.md).
BY_THREADS = (
    "the kernel permits samples of each thread only, which cost a server more than its work: "
    "`sysctl kernel.perf_event_paranoid=0` permits those of all CPUs"
)


def choose_cpu_sampling(
    measuring: Measuring,
    candidates: Sequence[Candidate],
    make: Callable[[], CpuSampler] = CpuSampler,
) -> CpuSampling:
    """How the CPU time of `candidates` is sampled, or why it is not."""
    if not measuring.cpu_profile:
        if measuring.cpu_stacks:
            raise UsageError("cpu_stacks needs cpu_profile", hint="leave out cpu_profile = false")
        return CpuSampling(NOT_WANTED)
    if all(side.attached for side in candidates):
        return CpuSampling(NOT_OURS)
    tried = try_sampling(make)
    if tried.scope == "threads" and not all(side.embedded for side in candidates):
        return CpuSampling(BY_THREADS)
    layers = {side.engine: list_sampled_layers(side.engine) for side in candidates}
    return replace(tried, layers=layers, stacks=measuring.cpu_stacks)


def try_sampling(make: Callable[[], CpuSampler] = CpuSampler) -> CpuSampling:
    """How a process of ours can be sampled here, or why none can."""
    try:
        with make() as sampler:
            started = sampler.start([os.getpid()])
            sampler.stop()
    except DynoError as refused:
        return CpuSampling(refused.sentence)
    return CpuSampling("", started.event, started.scope, started.kernel, sampler.period_ns)


ResolvedCandidate = tuple[Candidate, Engine, Build]


def recover_knobs(say: Say) -> None:
    """Puts back the knobs of the host that a run which was killed has left.

    What cannot be put back is said, and stops nobody: the run may not touch that knob at all.
    """
    try:
        for outcome in put_back():
            if outcome.state != "in use":
                say(f"left by a run that was killed: {outcome}")
    except DynoError as error:
        say(f"could not put back what a killed run left: {error.message}: {error.cause}")


def make_control_target(engine: Engine, build: Build, home: Path) -> ControlTarget:
    """What the controls are held for."""
    found = build.attached and isinstance(engine, Attaches)
    return ControlTarget(
        embedded=engine.embedded,
        attached=build.attached,
        # of a server that runs already nothing is started: it is found
        pid=engine.start(build, home, {}).pid if found else None,
        home=home,
        settings=engine.knobs if isinstance(engine, Knobs) else {},
        preloads=isinstance(engine, Preloads),
    )


def tell_refusals(
    sides: Iterable[ResolvedCandidate], run_controls: dict[str, str], home: Path, say: Say
) -> None:
    """Says which of the chosen controls cannot be held for data in `home`, as every trial will."""
    refusals = {
        f"{NOT_HERE}: {name}={value}: {why}"
        for side, engine, build in sides
        for name, value in (run_controls | side.controls).items()
        if value != load_controls()[name].default
        if (
            why := load_controls()[name].find_refusal(
                value, make_control_target(engine, build, home)
            )
        )
    }
    for sentence in sorted(refusals):
        say(sentence)


def tell_remarks(sides: Sequence[ResolvedCandidate], say: Say) -> None:
    """Says which keys of the candidates can have no effect, what a bare number amounts to, and what
    one's build lacks that another's has.
    """
    told = {
        f"note: {remark}"
        for side, engine, build in sides
        if isinstance(engine, Remarks)
        for remark in engine.list_remarks(build, side.settings)
    }
    builds = {side.name: build for side, _, build in sides}
    told |= {f"note: {remark}" for remark in list_uneven_abilities(builds)}
    for sentence in sorted(told):
        say(sentence)


def find_settings_of_controls(
    spec: Spec, engine: Engine, owned: OwnedKeys, run_controls: dict[str, str]
) -> dict[str, str]:
    """The candidate's settings, those among them that its controls are called in this engine.

    `UsageError` where one is also set by hand, to something else. A server that runs already is
    not set.
    """
    knobs = engine.knobs if isinstance(engine, Knobs) and not spec.is_url else {}
    wanted: dict[str, str] = {}
    for name, value in (run_controls | owned.controls).items():
        for setting, text in knobs.get(name, {}).get(value, {}).items():
            if owned.settings.get(setting, text).lower() != text.lower():
                message = f"{spec.name} has both {name}={value} and {setting}"
                raise UsageError(message, hint="both set the same thing: leave one out")
            wanted[setting] = text
    return owned.settings | wanted
