"""What a list of runs tells of each: enough to find one among thousands."""

from __future__ import annotations

from dyno.record.schema import Record
from dyno.record.trial import Metric
from dyno.record.verdict import Overall


class BuildOutcome(Record):
    """What a run says of one of its builds on a workload: the worst `verdict` of its primaries
    against `base`, and the `metric` of the first. `build` is its commit's short hash, else its
    version, with what was chosen beside; `subject` and `committed` are of that commit.
    """

    workload: str
    engine: str
    build: str
    base: str
    metric: Metric
    verdict: Overall
    is_doubtful: bool = False
    version: str = ""
    subject: str = ""
    committed: str = ""


class RunSummary(Record):
    """A run in a line: `name` is its folder's (of a profile its file's), `path` where it lies,
    `kind` the instrument that left it.

    `candidates` are told by their labels (`Candidate.label`), with their commits.
    `overall` is the word of its verdict in the words of its kind (`slower`, `heavier`, `less`),
    empty where nothing has judged it, `sentence` says it; `is_doubtful` where an audit doubts it.
    `complete` is False while something is left to be played. `host` is the stable identity of the
    host and `group` the one that a user gave it, each empty in records without one. `is_playing`
    was so when it was asked. `damage` says in a sentence why it cannot be read; the other fields
    are empty then. `outcomes` are those of each build but the base's.
    """

    name: str
    path: str
    kind: str
    created_utc: str = ""
    question: str = ""
    candidates: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    overall: str = ""
    sentence: str = ""
    complete: bool = False
    is_doubtful: bool = False
    host: str = ""
    group: str = ""
    is_playing: bool = False
    damage: str = ""
    outcomes: tuple[BuildOutcome, ...] = ()
