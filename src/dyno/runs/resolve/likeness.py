"""Candidates that we start, with the settings of one that runs already (`--like`).

A server of somebody's has settings that nobody here chose. To compare builds and not settings, the
others are started with what it runs with; keys that a user gave stay. What was taken is said, and
stands in each candidate's spec, so that a run can go on with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dyno.builds import Say
from dyno.engines import Likens
from dyno.errors import UsageError
from dyno.runs.experiment.candidates import with_keys
from dyno.runs.resolve.candidates import CheckedRequest, check_request
from dyno.runs.resolve.workloads import CandidateRequest

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
