"""The candidates of a run: what each of their keys sets, and the build of each.

A key belongs to the build, the engine, a control or the workload. Where factors are crossed, every
cell of the experiment is a candidate.

With `--like`, candidates that we start take the settings of a server that runs already, to compare
builds and not settings; keys that a user gave stay. What was taken stands in each candidate's spec,
so that a run can go on with it.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

from msgspec import structs

from dyno import driver, engines, former_names
from dyno.builds import Build, Say, compiler, compute_sha256
from dyno.engines import Engine, Likens
from dyno.errors import UsageError, build_unknown_error
from dyno.former_names import find_current_name
from dyno.host.controls import load_controls
from dyno.record import Candidate, Factor, Kind
from dyno.runs.experiment import Experiment, candidates
from dyno.runs.experiment.candidates import (
    CANDIDATE,
    Cell,
    OwnedKeys,
    list_cells,
    list_levels,
    with_keys,
)
from dyno.runs.resolve.design import ResolvedCandidate, find_settings_of_controls
from dyno.runs.resolve.workloads import CandidateRequest, list_option_names

#: Who enters, its engine, and whose each of its keys is.
CheckedRequest = tuple[CandidateRequest, Engine, OwnedKeys]


def resolve_control_values(values: Mapping[str, str]) -> dict[str, str]:
    """Every control's value for the whole run."""
    named = {
        find_current_name(name, former_names.CONTROLS): value for name, value in values.items()
    }
    for name in named:
        if name not in load_controls():
            raise build_unknown_error("control", name, load_controls())
    _check_values(named)
    return {name: named.get(name, control.default) for name, control in load_controls().items()}


def _check_values(chosen: Mapping[str, str]) -> None:
    for name, value in chosen.items():
        load_controls()[name].check(value)


def check_request(request: CandidateRequest, run_controls: dict[str, str]) -> CheckedRequest:
    """A request with its engine and its keys by owner, all checked; nothing is fetched yet."""
    spec = request.spec
    engine = engines.find_engine(spec.engine, driver.ask)
    owned = candidates.sort_keys(
        spec.keys,
        flags=engine.flags,
        options=engine.options,
        controls=load_controls(),
        variables=isinstance(engine, engines.Accepts),
    )
    if spec.is_url:
        _check_typos(owned.settings, [*engine.flags, *load_controls()])
    _check_values(owned.controls)
    owned = replace(owned, settings=find_settings_of_controls(spec, engine, owned, run_controls))
    if isinstance(engine, engines.Checks):
        engine.check(spec.build, owned.flags, owned.settings)
    return request, engine, owned


def _check_typos(settings: Iterable[str], known: Sequence[str]) -> None:
    """Refuses, of a server that takes no settings since it runs already, those that are all but
    one of the words `known`; of any other the engine says why."""
    for name in settings:
        if difflib.get_close_matches(name, known, cutoff=0.75):
            raise build_unknown_error("flag or control", name, known)


def resolve_candidates(
    requests: Sequence[CandidateRequest], run_controls: dict[str, str], say: Say
) -> list[ResolvedCandidate]:
    """The candidates with their builds: all words are checked first, since a build may take long;
    then one thread for each, since a compiler keeps one core busy.
    """
    checked = [check_request(request, run_controls) for request in requests]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        found = list(threads.map(lambda each: _resolve_candidate(each, say), checked))
    _check_cells_differ([candidate for candidate, _, _ in found if candidate.levels])
    return found


def _resolve_candidate(checked: CheckedRequest, say: Say) -> ResolvedCandidate:
    """One candidate with its engine and build."""
    request, engine, owned = checked
    build = engine.program(request.spec.with_password, owned.flags, say)
    if isinstance(engine, engines.Accepts):
        engine.accept(build, owned.settings, {*engine.flags, *load_controls(), *request.others})
    return (
        structs.replace(
            outline_candidate(checked), build=list_candidate_facts(build), controls=owned.controls
        ),
        engine,
        build,
    )


def outline_candidate(checked: CheckedRequest) -> Candidate:
    """A candidate without its build."""
    request, engine, owned = checked
    spec = request.spec
    made = Candidate(spec.name, spec.text, spec.engine, engine.embedded, {}, owned.settings, {})
    return structs.replace(made, levels=request.levels, options=request.options)


def _check_cells_differ(cells: Sequence[Candidate]) -> None:
    """Refuses a factor that changes nothing: two cells that are one and the same."""
    seen: dict[str, str] = {}
    for candidate in cells:
        build = candidate.build.get("sha256") or {**candidate.build, "name": ""}
        what = str((build, candidate.settings, candidate.controls, candidate.options))
        if what in seen:
            cause = f"'{seen[what]}' and '{candidate.name}' are the same program and settings"
            hint = "give it levels that differ, or name each candidate once"
            raise UsageError("a factor changes nothing", cause=cause, hint=hint)
        seen[what] = candidate.name


def list_candidate_facts(build: Build) -> dict[str, str]:
    """The build as a record: its own facts, and where its program is a file, the checksum and what
    the file tells of how it was built.
    """
    told = {"name": build.name, "version": build.version, "program": str(build.program)}
    if not build.program.is_file():
        return build.facts | told
    # who compiled it here knows better than the file
    own = compiler.read_build_facts(build.program) | build.facts
    return own | told | {"sha256": compute_sha256(build.program)}


_OPTION: Kind = "workload option"
_SETTING: Kind = "engine setting"


def resolve_factors(
    experiment: Experiment,
) -> tuple[tuple[Factor, ...], tuple[CandidateRequest, ...]]:
    """The factors, if there are any, and the candidates to resolve."""
    factors = find_factor_kinds(experiment)
    return factors, list_requests(experiment, factors)


def list_requests(
    experiment: Experiment, factors: Sequence[Factor]
) -> tuple[CandidateRequest, ...]:
    """The candidates to resolve; where there are `factors`, every cell of these."""
    if not factors:
        return tuple(CandidateRequest(spec) for spec in experiment.candidates)
    options = {each.name: each.levels[0] for each in factors if each.kind == _OPTION}
    others = frozenset().union(*map(list_option_names, experiment.workloads))
    return tuple(
        _make_request(cell, options, others)
        for cell in list_cells(experiment.candidates, experiment.crossed)
    )


def _make_request(
    cell: Cell, options: Mapping[str, str], others: frozenset[str]
) -> CandidateRequest:
    keys = {n: v for n, v in cell.levels.items() if n not in options and n != CANDIDATE}
    own = {name: cell.levels[name] for name, base in options.items() if cell.levels[name] != base}
    return CandidateRequest(
        candidates.with_keys(cell.spec, cell.name, keys), cell.levels, own, others
    )


def with_base_options(experiment: Experiment, factors: Iterable[Factor]) -> Experiment:
    """The experiment with the first level of every factor that is an option of its workloads."""
    options = {each.name: each.levels[0] for each in factors if each.kind == _OPTION}
    workloads = (replace(each, options=each.options | options) for each in experiment.workloads)
    return replace(experiment, workloads=tuple(workloads)) if options else experiment


def find_factor_kinds(experiment: Experiment) -> tuple[Factor, ...]:
    """Every factor with its kind, the candidates first where they are one.

    `UsageError` for a word that nothing knows, that is of several kinds, or is set elsewhere too.
    """
    varied = experiment.crossed
    if not varied.levels:
        return ()
    if experiment.measuring.aa:
        raise UsageError("an A/A comparison takes no factors", hint="leave out the factors")
    found = [engines.find_engine(spec.engine, driver.ask) for spec in experiment.candidates]
    owners = _list_known_words(experiment, found)
    open_ended = all(isinstance(engine, engines.Accepts) for engine in found)
    for name in varied.levels:
        _check_free(experiment, name)
    levels = list_levels(experiment.candidates, varied)
    return tuple(
        Factor(
            name, "candidate" if name == CANDIDATE else _find_kind(name, owners, open_ended), values
        )
        for name, values in levels.items()
    )


def _list_known_words(
    experiment: Experiment, found: Sequence[Engine]
) -> dict[Kind, list[frozenset[str]]]:
    """The words of each kind, a set for each engine or workload that must know them."""
    return {
        "build flag": [frozenset(engine.flags) for engine in found],
        _SETTING: [frozenset(engine.options) for engine in found],
        "control": [frozenset(load_controls())],
        _OPTION: [list_option_names(workload) for workload in experiment.workloads],
    }


def _find_kind(name: str, owners: Mapping[Kind, list[frozenset[str]]], open_ended: bool) -> Kind:
    """The kind of a factor's name; an unknown one is a server's variable, where all have such."""
    kinds = [
        kind for kind in get_args(Kind) if any(name in known for known in owners.get(kind, ()))
    ]
    if not kinds and open_ended:
        return _SETTING
    if not kinds:
        every = frozenset().union(*(words for owner in owners.values() for words in owner))
        raise build_unknown_error("factor", name, every)
    if len(kinds) > 1:
        hint = "name two candidates that differ in it, or sweep the workload's option"
        raise UsageError(f"the factor '{name}' is both {_choose_article(kinds)}", hint=hint)
    (kind,) = kinds
    if not all(name in known for known in owners[kind]):
        who = "workload" if kind == _OPTION else "engine"
        hint = f"compare those {who}s that know it, or leave it out"
        raise UsageError(f"not every {who} has {_choose_article([kind])} '{name}'", hint=hint)
    found: Kind = kind
    return found


def _choose_article(kinds: Sequence[str]) -> str:
    return " and ".join(f"a{'n' * (kind[0] in 'aeiou')} {kind}" for kind in kinds)


def _check_free(experiment: Experiment, name: str) -> None:
    """Refuses a factor that has a value already."""
    places = {"[controls]": experiment.measuring.controls}
    places |= {f"the workload {each.name}": each.options for each in experiment.workloads}
    for place, words in places.items():
        if name in words:
            hint = "a factor's values are its levels; leave out the other one"
            raise UsageError(f"'{name}' is a factor and is set in {place} too", hint=hint)


#: Stands for the one server that runs already, whatever its name.
ATTACHED = "attached"


def match_a_server(
    requests: Sequence[CandidateRequest], like: str, run_controls: dict[str, str], say: Say
) -> tuple[CandidateRequest, ...]:
    """The requests, those of servers that we start with the settings of the one meant by `like`.

    `UsageError` where it means none or several, where an engine cannot say what it runs with, and
    where a candidate has settings as a whole (profile, config) of its own.
    """
    if not like:
        return tuple(requests)
    meant = [r for r in requests if r.spec.is_url and like in (ATTACHED, r.spec.name)]
    if len(meant) != 1:
        what = "no candidate" if not meant else "more than one"
        hint = "name a candidate that is the URL of a server, by the name before its ="
        raise UsageError(f"--like {like} means {what} that runs already", hint=hint)
    (model,) = meant
    of = check_request(model, run_controls)
    return tuple(r if r.spec.is_url else _liken(r, of, run_controls, say) for r in requests)


def _liken(
    request: CandidateRequest, model: CheckedRequest, run_controls: dict[str, str], say: Say
) -> CandidateRequest:
    spec, theirs = request.spec, model[0].spec
    _, engine, owned = check_request(request, run_controls)
    if spec.engine != theirs.engine or not isinstance(engine, Likens):
        hint = "only a server of the same engine lends settings: set these by hand"
        raise UsageError(f"{spec.name} cannot take the settings of {theirs.name}", hint=hint)
    if whole := {"profile", "config"} & set(spec.keys):
        hint = "leave out --like, or that key; single settings may be given beside it"
        raise UsageError(f"{min(whole)} of {spec.name} cannot be combined with --like", hint=hint)
    running = engine.program(theirs.with_password, model[2].flags, say)
    build = engine.program(spec.with_password, owned.flags, say)
    found = engine.liken_settings(running, build)
    taken = {name: value for name, value in found.items() if value and name not in spec.keys}
    told = ", ".join(f"{name}={value}" for name, value in taken.items())
    say(f"{spec.name} takes from {theirs.name}: {told}; all else is its own default")
    return replace(request, spec=with_keys(spec, spec.name, taken))
