"""The user's own file of settings in a rehearsal: judged by both servers' programs, and applied.

A server is started with a file of those settings that its program takes and that mean the same on
this host: not those of paths, ports, logs, replication, and of memory that is not here. All else
has the release's own default, as on the user's server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from dyno.builds import Build, Say, cache
from dyno.engines import ConfigOption, ReadsConfigs
from dyno.errors import UsageError
from dyno.passwords import HIDDEN
from dyno.record import OptionVerdict
from dyno.runs.experiment import Experiment
from dyno.runs.experiment.candidates import with_keys
from dyno.runs.resolve.candidates import check_request, resolve_control_values
from dyno.runs.resolve.workloads import CandidateRequest

#: What such files are in the cache.
KIND = "config"
UNREAD = "it does not read this section"


def apply_config(experiment: Experiment, file: Path, say: Say) -> Experiment:
    """Both candidates with the settings of the file that each takes, and what they say of all.

    `UsageError` where a candidate has settings as a whole of its own, or cannot read the file.
    """
    sides, read = [], []
    for spec in experiment.candidates:
        if whole := {"profile", "config"} & set(spec.keys):
            hint = "leave one of them out; single settings may be given beside --config"
            raise UsageError(
                f"{min(whole)} of {spec.name} and --config cannot be combined", hint=hint
            )
        controls = resolve_control_values(experiment.measuring.controls)
        _, engine, owned = check_request(CandidateRequest(spec), controls)
        if not isinstance(engine, ReadsConfigs):
            hint = "a server's own file of settings; this engine has none"
            raise UsageError(f"--config is for servers, and {spec.engine} is none", hint=hint)
        build = engine.program(spec.with_password, owned.flags, say)
        options = engine.read_config(build, file)
        applied = [it for it in options if not it.refused and not it.held]
        text, keys = engine.format_config(applied)
        keys = {name: value for name, value in keys.items() if name not in spec.keys}
        keys |= {"config": str(_keep(build, text))}
        sides.append(with_keys(spec, spec.name, keys))
        read.append(options)
    judged = tuple(judge_options(*read[:2]))
    _tell(judged, file, say)
    measuring = replace(experiment.measuring, options=judged)
    return replace(experiment, candidates=tuple(sides), measuring=measuring)


def _keep(build: Build, text: str) -> Path:
    """The file with its text, in the cache."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        (folder / "server.conf").write_text(text)

    name = f"{build.engine}-{build.version}-{digest}"
    return cache.ensure_entry(KIND, name, make, lambda _: None) / "server.conf"


def judge_options(old: Sequence[ConfigOption], new: Sequence[ConfigOption]) -> list[OptionVerdict]:
    """Each setting as OLD and NEW read it, in OLD's order; the gravest word that holds."""
    olds, news = ({it.name: it for it in side} for side in (old, new))
    return [_judge(olds.get(name), news.get(name)) for name in dict.fromkeys([*olds, *news])]


def _judge(old: ConfigOption | None, new: ConfigOption | None) -> OptionVerdict:
    either = old or new
    assert either, "a setting that one of them reads"
    value = either.value or ""
    one, two = (UNREAD if it is None else it.refused or it.warned for it in (old, new))
    refuses = [bool(it and it.refused) for it in (old, new)]
    found = OptionVerdict(either.name, "taken", value, one, two, either.held)
    if all(refuses):
        found = structs.replace(found, word="refused by both")
    elif any(refuses):
        found = structs.replace(found, word="fails" if refuses[1] else "refused by OLD")
    elif two and two != one:
        found = structs.replace(found, word="warned of")
    secret = either.name.endswith("password") or "conninfo" in either.name
    return found.without_value(HIDDEN) if secret and value else found


def _tell(judged: Sequence[OptionVerdict], file: Path, say: Say) -> None:
    held = [f"{it.name} ({it.held})" for it in judged if it.held]
    left = f"; not applied here: {', '.join(held)}" if held else ""
    say(f"{len(judged) - len(held):,} of {len(judged):,} options of {file.name} are applied{left}")
