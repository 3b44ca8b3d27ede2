"""Ways in which a benchmark can fool its reader, and what here catches each: docs as data.

Each is a row of `docs/evidence/fooled.md`. The tests that inject it call `assert_caught`, or one of
its siblings, with its name, which asserts what the row says. `page` finds those calls, so that a
row, its word and its test cannot part. `make docs` writes the page.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dyno.record import Dropped, Finding

TESTS = Path(__file__).resolve().parent
#: A benchmark that is refused never begins; a block that is dropped counts for nothing.
Word = Literal["doubtful", "invalid", "not checked", "dropped", "refused"]
#: Injected in a run that is played, or in the record of one.
Proof = Literal["played", "record"]
#: What asserts a row, in tests.
ASSERTS = ("assert_caught", "assert_dropped", "assert_refused")


@dataclass(frozen=True)
class Way:
    """One way to be fooled: what goes wrong, the audit that catches it, and the audit's word.

    `audit` is empty where no audit is asked: a block that is dropped, a run that is refused.
    `engines` are those on which it is injected; "any" where a record is judged, whoever left it.
    """

    name: str
    sentence: str
    audit: str
    word: Word
    proof: Proof = "record"
    engines: tuple[str, ...] = ("any",)


SERVERS = ("postgres", "mysql", "mariadb")
EMBEDDED = ("sqlite", "duckdb")
EVERY = (*EMBEDDED, *SERVERS)
SQLITE = ("sqlite",)


def played(
    name: str, sentence: str, audit: str, word: Word, engines: tuple[str, ...] = SQLITE
) -> Way:
    """One that is injected in a run that is played."""
    return Way(name, sentence, audit, word, "played", engines)


WAYS: dict[str, tuple[Way, ...]] = {
    "The programs": (
        Way("assertions", "one build has its assertions compiled in", "build_quality", "invalid"),
        Way("sanitizer", "one build carries a sanitizer", "build_quality", "invalid"),
        Way("no-optimisation", "one build was compiled with -O0", "build_quality", "invalid"),
        Way("one-program", "one program is compared under two names", "same_program", "doubtful"),
        Way("not-aa", "an A/A comparison plays two programs", "same_program", "invalid"),
        Way("crashes", "one side crashes in some restarts", "failed_restarts", "doubtful"),
    ),
    "The settings": (
        Way(
            "not-taken",
            "a setting that was asked for is not the one in force",
            "settings",
            "invalid",
        ),
        Way("unasked", "the same build runs with another setting", "settings", "doubtful"),
        Way("isolation", "one side runs at another isolation level", "settings", "doubtful"),
        Way(
            "collation",
            "one side compares texts by another collation or character set",
            "settings",
            "doubtful",
        ),
        Way("query-cache", "one side answers from a query cache", "settings", "doubtful"),
        Way("compression", "one side compresses what it writes", "settings", "doubtful"),
        Way("encryption", "one side encrypts its connections", "settings", "doubtful"),
        Way("parallelism", "one side uses more threads for a query", "settings", "doubtful"),
        Way("logging", "a server of one's own logs every statement", "settings", "doubtful"),
        Way(
            "checksums",
            "a server of one's own writes other checksums, or none",
            "settings",
            "doubtful",
        ),
        Way("unsteady", "a setting changes between restarts", "settings", "doubtful"),
        Way("level", "a factor reads the same at both its levels", "levels", "doubtful"),
        Way(
            "small-cache",
            "one side has a larger cache than the data fit into",
            "unlike_conditions",
            "doubtful",
        ),
        Way(
            "no-commit",
            "one server's sessions begin without autocommit, so that nothing is ever committed",
            "durability",
            "doubtful",
        ),
        Way(
            "commit-lost", "commits of one side do not wait for the disk", "durability", "doubtful"
        ),
        played(
            "silent-sync",
            "one side says that its commits survive a power cut, and its fsync does nothing",
            "durability",
            "invalid",
            ("sqlite", "duckdb", "postgres", "mysql"),
        ),
    ),
    "The data": (
        played(
            "broken-keys",
            "rows are left that break a foreign or a unique key",
            "integrity",
            "invalid",
            ("sqlite", *SERVERS),
        ),
        played(
            "damaged-index",
            "an index lacks rows, or a partition has another's, and --check full looks",
            "integrity",
            "invalid",
            ("sqlite", *SERVERS),
        ),
        played("lost-rows", "one side loses rows that it is given", "ledger", "invalid", EVERY),
        played("wrong-answers", "one side answers with other values", "results", "invalid", EVERY),
        Way("other-answer", "one side answers one statement otherwise", "contents", "invalid"),
        played("fewer-rows", "one side answers with fewer rows", "results", "invalid", EVERY),
        Way(
            "small-data", "the data are a tenth of what the workload says", "data_size", "doubtful"
        ),
        Way("not-cached", "data that claim to be cached come from the disk", "caching", "doubtful"),
        Way(
            "page-cache",
            "data that claim to be on disk lie in the page cache",
            "caching",
            "doubtful",
        ),
        Way(
            "cold-start",
            "only one side begins with its data in memory",
            "unlike_conditions",
            "doubtful",
        ),
        Way("one-load", "one load of the data stands behind all restarts", "loads", "doubtful"),
        Way(
            "copied-load",
            "one side begins with a copy, the other with data just loaded",
            "unlike_conditions",
            "doubtful",
        ),
        Way("in-memory", "the data lie on a file system in memory", "storage", "doubtful"),
        Way("another-disk", "the sides' data lie on different file systems", "storage", "doubtful"),
        Way("full-disk", "the disk is nearly full", "storage", "doubtful"),
        Way("disk-limit", "a control group limits the disk", "storage", "doubtful"),
        Way("no-write", "rows are changed, and nothing is written", "storage", "doubtful"),
    ),
    "The work": (
        Way("no-work", "one side does nothing at all", "ledger", "invalid"),
        played(
            "failures",
            "events of one side fail",
            "errors",
            "invalid",
            (*EMBEDDED, "mysql", "mariadb"),
        ),
        Way("thrown-away", "most attempts are thrown away and begun anew", "errors", "doubtful"),
        Way(
            "unseen-work",
            "statements that were counted never reached the server",
            "server_count",
            "invalid",
        ),
        Way("foreign-work", "somebody else uses the server", "server_count", "doubtful"),
        played("skipped-updates", "an engine skips every tenth update", "rows_changed", "invalid"),
        played(
            "lying-updates",
            "an engine skips every tenth update of a text, and says that it has made it",
            "ledger",
            "invalid",
        ),
        Way(
            "uncommitted",
            "a server says that it has committed, and has not",
            "committed",
            "invalid",
        ),
        played(
            "nothing-changed",
            "writes change no row, on any side: all is there, or gone, already",
            "rows_changed",
            "doubtful",
            ("sqlite", "postgres", "mysql"),
        ),
        played(
            "autocommit-off",
            "one side runs without autocommit, so that nothing is ever committed",
            "committed",
            "invalid",
            ("mysql", "mariadb"),
        ),
        played(
            "never-commits",
            "a script begins a transaction and never ends it",
            "committed",
            "invalid",
            ("sqlite", "duckdb", "postgres"),
        ),
        played("rolls-back", "one side rolls back what the other commits", "committed", "invalid"),
        played(
            "all-rolled-back",
            "all that is changed is rolled back, on every side",
            "committed",
            "doubtful",
        ),
        played(
            "open-ends",
            "one side reads in one endless transaction",
            "committed",
            "invalid",
            ("sqlite", "mysql"),
        ),
        played(
            "caught-errors",
            "every statement fails, and the script catches the errors",
            "errors",
            "invalid",
            ("sqlite", "postgres"),
        ),
        played(
            "other-table",
            "one side works on another table",
            "same_work",
            "invalid",
            ("sqlite", "duckdb", "postgres"),
        ),
        played(
            "same-row",
            "one side always works on the same row",
            "same_work",
            "invalid",
            ("sqlite", "duckdb", "postgres"),
        ),
        played("other-load", "one side loads other rows", "same_work", "invalid"),
        played(
            "other-init",
            "the script's init sends something else on one side",
            "same_work",
            "invalid",
        ),
        played("one-more", "one side sends one statement more", "same_work", "invalid"),
        played("left-out", "one side leaves a tenth of the statements out", "same_work", "invalid"),
        Way("warming-up", "the rate still changes while it is measured", "steady_state", "invalid"),
        Way("stalls", "seconds pass without an answer", "stalls", "doubtful"),
    ),
    "The client": (
        Way("busy-client", "the driver is at 100 % of its core", "client_bottleneck", "invalid"),
        Way("client-time", "the time is the script's, not the engine's", "client_share", "invalid"),
        Way(
            "failed-baseline",
            "without an engine the script's events fail, and that is taken for its cost",
            "client_share",
            "not checked",
        ),
        Way(
            "other-baseline",
            "without an engine the script plays something else, at more cost",
            "client_share",
            "doubtful",
        ),
        Way(
            "no-baseline",
            "nobody knows what the script costs by itself",
            "client_share",
            "doubtful",
        ),
        Way(
            "round-trip",
            "the way to the server takes longer than its work",
            "round_trip",
            "invalid",
        ),
        played("script-sleeps", "the script sleeps on one side", "client_time", "invalid"),
        played("script-works", "the script works by itself on one side", "client_time", "invalid"),
        played(
            "script-waits", "the script waits for a program on one side", "client_time", "invalid"
        ),
        Way(
            "late-host",
            "one of several client hosts starts later than the others",
            "client_hosts",
            "doubtful",
        ),
        Way("late-driver", "the driver sends its requests late", "driver_late", "invalid"),
        Way("waits-for-core", "the driver waits for its core", "driver_late", "doubtful"),
        Way("held-up", "users wait while another one connects", "driver_late", "doubtful"),
    ),
    "The latencies": (
        Way(
            "omission",
            "the wait before a request is left out of its latency",
            "coordinated_omission",
            "invalid",
        ),
        Way("idle-users", "users rest, and nobody says so", "coordinated_omission", "invalid"),
        Way("cut-off", "the slowest events were cut off", "coordinated_omission", "doubtful"),
        Way("few-events", "a p99 rests on fewer than ten events", "percentiles", "doubtful"),
        Way("lost-events", "an event is counted that is in no histogram", "counters", "invalid"),
        Way("wrapped", "a counter wraps while it is read", "counters", "doubtful"),
        Way("more-cpu", "more CPU time is counted than there was", "counters", "doubtful"),
        Way("paced-rate", "the rate of a paced stream is read as a capacity", "", "refused"),
    ),
    "The host": (
        Way("hog", "another process takes the cores for a while", "", "dropped"),
        Way("steal", "the hypervisor takes the cores for a while", "", "dropped"),
        Way("loud-host", "half of the blocks are noisy", "noise", "doubtful"),
        Way("hog-beside-one", "another process runs only beside one side", "noise", "doubtful"),
        Way("quota", "a quota holds one side back, and no CPU time shows it", "noise", "doubtful"),
        Way(
            "others-beside-one",
            "others always work beside one side",
            "unlike_conditions",
            "doubtful",
        ),
        Way("share-missing", "a host's share of the blocks never came back", "shares", "doubtful"),
        Way("noise-decides", "the difference follows the noise", "noise_effect", "doubtful"),
        Way(
            "slow-blocks-dropped",
            "the blocks that were dropped say the contrary",
            "dropped_blocks",
            "doubtful",
        ),
        Way("other-core", "one side has a core of its own", "unlike_conditions", "doubtful"),
        Way(
            "noisy-pilot",
            "the number of connections was chosen while others took most of the host",
            "pilot",
            "doubtful",
        ),
        Way(
            "control-refused", "a control holds for one side only", "unlike_conditions", "doubtful"
        ),
        Way(
            "runs-already",
            "one side is a server that has been running for days",
            "unlike_conditions",
            "doubtful",
        ),
    ),
    "The time": (
        played(
            "dyno-stopped",
            "the benchmark itself is stopped for a second, between two turns",
            "",
            "dropped",
            ("null",),
        ),
        played("driver-stopped", "a driver is stopped for a second", "", "dropped", ("null",)),
        Way("machine-paused", "the virtual machine is paused", "", "dropped"),
        Way("suspended", "the laptop is closed for a while", "", "dropped"),
        Way("clock-set", "the wall clock is set meanwhile", "clock", "doubtful"),
        Way("clock-bent", "the clock runs too fast", "clock", "invalid"),
        Way("no-samples", "the sampler sees nothing of a busy engine", "cpu_samples", "doubtful"),
        Way("dear-clock", "reading the clock takes longer than the work", "clock", "doubtful"),
        Way("short-slices", "one side has less time than the other", "interleaving", "doubtful"),
        Way("not-suspended", "a process of one side is not suspended", "interleaving", "doubtful"),
        Way(
            "suspended-midway", "events outlast their turns, suspended", "interleaving", "doubtful"
        ),
        Way("woken", "somebody else wakes an engine that is suspended", "interleaving", "doubtful"),
        Way(
            "others-slices", "one side works in the slices of the other", "interleaving", "doubtful"
        ),
        Way("carry-over", "one side is slower after the other's slice", "carry_over", "doubtful"),
    ),
}


#: What nothing here catches.
NOT_CAUGHT = (
    "An engine that reports a row as changed and does not change it, in a column that the audit "
    "`ledger` names as *not checked*, or of a script that declares no statement for it.",
    "Other values in the same statements on one side, as many of them, where as many rows are read "
    "and changed.",
    "Values of answers while the clock runs: rows are counted there, and values are compared only "
    "where a script names statements to check at the end.",
    "A disk, a controller or a hypervisor that says that it flushed, and did not.",
    "A network hop, TLS or a proxy on one of two servers that both run already, unless their "
    "settings tell.",
    "A replica that reads from one of two servers that both run already.",
    "Memory pressure on one side: swapped pages are told as reads from storage at most.",
    "An index or statistics that are missing on one side, where neither the script's statements, "
    "nor its checks, nor an answer's rows differ. Plans are recorded, and not judged.",
    "Interleaved, a process that works in the slices of one side only: the audits `noise` and "
    "`unlike_conditions` say *not checked*.",
    "A clock of the CPU that changes between restarts that are not interleaved, unless the control "
    "`governor` holds it.",
    "A virtual machine that is paused, where its clocks stand still too.",
)


def every_way() -> dict[str, Way]:
    """All ways by name."""
    return {way.name: way for ways in WAYS.values() for way in ways}


def assert_caught(name: str, findings: Iterable[Finding], engine: str = "") -> None:
    """The way's audit says the way's word; on `engine`, which the way names, if it was played."""
    way = every_way()[name]
    assert not engine or engine in way.engines, f"the row of {name} does not name {engine}"
    said = [found for found in findings if found.audit == way.audit]
    assert way.word in {found.soundness for found in said}, said


def assert_dropped(name: str, dropped: Iterable[Dropped]) -> None:
    """Blocks were dropped, and the way's row says so."""
    assert every_way()[name].word == "dropped"
    assert list(dropped), f"{name}: no block was dropped"


def assert_refused(name: str, is_refused: bool) -> None:
    """The run, or the number, was refused, and the way's row says so."""
    assert every_way()[name].word == "refused"
    assert is_refused, f"{name} was not refused"


def injecting_tests(folder: Path = TESTS) -> Mapping[str, list[str]]:
    """For each way the tests that assert it, as `file.py::test`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        text = path.read_text()
        if any(word in text for word in ASSERTS):
            for name, test in _asserted(ast.parse(text)):
                found[name].append(f"{path.name}::{test}")
    return found


def _asserted(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for test in tree.body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            for call in ast.walk(test):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in ASSERTS:
                    yield str(ast.literal_eval(call.args[0])), test.name


TITLE = """# fooled

Made from `tests/ways_to_be_fooled.py` by `make docs`.

Each row is a way in which a benchmark can fool its reader, and what catches it here. *Played*: the
fault is injected in a run that is played, on the engines named. *Record*: it is injected in the
record of one, and the audit judges that; audits know no engine. *Dropped*: the blocks that it hit
count for nothing, by name. *Refused*: there is no such number. A test holds each row.
"""


def page() -> str:
    """The table in Markdown."""
    tests = injecting_tests()
    parts = [TITLE]
    for title, ways in WAYS.items():
        parts.append(f"## {title}\n")
        parts.append(
            "| way | caught by | word | proof | engines | test |\n|---|---|---|---|---|---|"
        )
        parts += [_row(way, tests.get(way.name, [])) for way in ways]
        parts.append("")
    parts.append("## Known, and not caught\n")
    parts += [f"- {words}" for words in NOT_CAUGHT]
    return "\n".join([*parts, ""])


def _row(way: Way, tests: list[str]) -> str:
    audit = f"`{way.audit}`" if way.audit else "-"
    named = ", ".join(f"`{test}`" for test in tests)
    cells = (way.sentence, audit, way.word, way.proof, ", ".join(way.engines), named)
    return f"| {' | '.join(cells)} |"
