"""pgbench's command line: its words, checked as pgbench checks them, as `PgbenchSettings`; and the
scripts that it names, files and builtins with weights.

The words, their ranges and the sentences by which scripts know an error are those of PostgreSQL's
manual and of the program itself (`pgbench`, version 18, and `--continue-on-error` of 19).
`--help` and `--version` print `usage.txt`, whose first line is the version.
"""

from __future__ import annotations

import getopt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import dyno
from dyno.errors import UsageError

INT_MAX = 2**31 - 1
TRY = 'Try "pgbench --help" for more information.'
PROTOCOLS = ("simple", "extended", "prepared")
STEPS = "dtgGvpf"

#: Every option with its short letter; `=`: it takes a value.
OPTIONS: dict[str, str] = {
    **{"builtin=": "b", "client=": "c", "connect": "C", "dbname=": "d", "define=": "D"},
    **{"file=": "f", "fillfactor=": "F", "host=": "h", "initialize": "i", "init-steps=": "I"},
    **{"jobs=": "j", "log": "l", "latency-limit=": "L", "protocol=": "M", "no-vacuum": "n"},
    **{"skip-some-updates": "N", "port=": "p", "progress=": "P", "quiet": "q"},
    **{"report-per-command": "r", "rate=": "R", "scale=": "s", "select-only": "S"},
    **{"transactions=": "t", "time=": "T", "username=": "U", "vacuum-all": "v"},
    **dict.fromkeys(
        ("unlogged-tables", "tablespace=", "index-tablespace=", "sampling-rate=", "debug"), ""
    ),
    **dict.fromkeys(
        ("aggregate-interval=", "progress-timestamp", "log-prefix=", "foreign-keys"), ""
    ),
    **dict.fromkeys(("random-seed=", "show-script=", "partitions=", "partition-method="), ""),
    **dict.fromkeys(("failures-detailed", "max-tries=", "verbose-errors", "exit-on-abort"), ""),
    **dict.fromkeys(("continue-on-error", "percentile=", "help", "version"), ""),
}
#: What is said of both ways of playing, and what of initialising alone; all else of benchmarking.
BOTH = {"host", "port", "username", "dbname", "scale", "no-vacuum", "initialize", "debug"}
INITIALISING = {"fillfactor", "init-steps", "quiet", "unlogged-tables", "tablespace"}
INITIALISING |= {"index-tablespace", "foreign-keys", "partitions", "partition-method"}
#: Options with a whole number, and its range.
RANGES: dict[str, tuple[int, int]] = {
    "client": (1, INT_MAX),
    "jobs": (1, INT_MAX),
    "fillfactor": (10, 100),
    "progress": (1, INT_MAX),
    "scale": (1, INT_MAX),
    "transactions": (1, INT_MAX),
    "time": (1, INT_MAX),
    "aggregate-interval": (1, INT_MAX),
    "partitions": (0, INT_MAX),
}


@dataclass(frozen=True)
class PgbenchSettings:
    """What a command line of pgbench's asks for, under its options' names; `given` are the names
    of those that were given. Numbers are None where they were not.
    """

    given: frozenset[str]
    text: Mapping[str, str] = field(repr=False)
    number: Mapping[str, int] = field(repr=False)
    scripts: tuple[ScriptWord, ...] = ()
    defined: tuple[tuple[str, str], ...] = ()
    rate_per_s: float = 0.0
    latency_limit_us: float = 0.0
    sampling_rate: float = 0.0
    max_tries: int = 1
    steps: str = "dtgvp"
    seed: int | None = None
    database: str | None = None
    percentiles: tuple[float, ...] = ()

    def has(self, name: str) -> bool:
        return name in self.given

    @property
    def clients(self) -> int:
        return self.number.get("client", 1)

    @property
    def threads(self) -> int:
        """Return how many threads; pgbench has none without a client."""
        return min(self.number.get("jobs", 1), self.clients)

    @property
    def transactions(self) -> int:
        """Return transactions of each client; 0 if a duration was given."""
        return 0 if self.has("time") else self.number.get("transactions", 10)

    @property
    def protocol(self) -> str:
        return self.text.get("protocol", "simple")


def read_words(words: Sequence[str], environment: Mapping[str, str]) -> PgbenchSettings:
    """The words, checked; `UsageError` for what pgbench refuses."""
    shorts = "".join(s + ":" * name.endswith("=") for name, s in OPTIONS.items() if s)
    try:
        found, places = getopt.gnu_getopt(list(words), shorts + "?V", list(OPTIONS))
    except getopt.GetoptError as error:
        raise UsageError(str(error.msg), hint=TRY) from error
    by_letter = {letter: name.rstrip("=") for name, letter in OPTIONS.items() if letter}
    named = [(by_letter.get(word.lstrip("-"), word.lstrip("-")), value) for word, value in found]
    settings = _read_settings(named, environment)
    if len(places) > 1:
        message = f'too many command-line arguments (first is "{places[1]}")'
        raise UsageError(message, hint=TRY)
    if settings.has("initialize"):
        if settings.given - BOTH - INITIALISING:
            raise UsageError(
                "some of the specified options cannot be used in initialization (-i) mode"
            )
        if settings.has("partition-method") and not settings.number.get("partitions"):
            raise UsageError("--partition-method requires greater than zero --partitions")
    elif settings.given & INITIALISING:
        raise UsageError("some of the specified options cannot be used in benchmarking mode")
    if not settings.has("initialize"):
        _check_together(settings)
    database = places[0] if places else settings.text.get("dbname")
    return replace(settings, database=database)


def _read_settings(named: list[tuple[str, str]], environment: Mapping[str, str]) -> PgbenchSettings:
    text = dict(named)
    number = {name: _parse_whole(name, text[name]) for name in RANGES if name in text}
    seed = text.get("random-seed", environment.get("PGBENCH_RANDOM_SEED"))
    protocol = text.get("protocol", "simple")
    if protocol not in PROTOCOLS:
        raise UsageError(f'invalid query mode (-M): "{protocol}"')
    if (method := text.get("partition-method", "range")) not in ("range", "hash"):
        wanted = 'expecting "range" or "hash"'
        raise UsageError(f'invalid partition method, {wanted}, got: "{method}"')
    return PgbenchSettings(
        frozenset(text),
        text,
        number,
        _read_scripts(named),
        tuple(_parse_definition(value) for name, value in named if name == "define"),
        _parse_positive(text.get("rate"), "rate limit"),
        _parse_positive(text.get("latency-limit"), "latency limit") * 1000,
        _parse_positive(text.get("sampling-rate"), "sampling rate", 1.0),
        _parse_tries(text.get("max-tries", "1")),
        _parse_steps(text),
        _parse_seed(seed, "random-seed" in text),
        percentiles=_parse_percentiles(text.get("percentile", "")),
    )


def _parse_whole(name: str, text: str) -> int:
    low, high = RANGES[name]
    letter = OPTIONS[f"{name}="]
    shown = f"-{letter}/--{name}" if letter else f"--{name}"
    shown = shown.replace("--client", "--clients") if name == "client" else shown
    if not re.fullmatch(r"\s*[-+]?\d+\s*", text):
        raise UsageError(f'invalid value "{text}" for option {shown}')
    if not low <= int(text) <= high:
        raise UsageError(f"{shown} must be in range {low}..{high}")
    return int(text)


def _parse_positive(text: str | None, what: str, most: float = float("inf")) -> float:
    """A number above zero; 0 where none was given."""
    if text is None:
        return 0.0
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text)
    number = float(found[0]) if found else 0.0
    if not 0 < number <= most:
        raise UsageError(f'invalid {what}: "{text}"')
    return number


def _parse_percentiles(text: str) -> tuple[float, ...]:
    """Dyno's own `50,99.9`."""
    found = text.split(",") if text else []
    for each in found:
        if not re.fullmatch(r"\d{1,2}(\.\d{1,3})?", each) or not float(each):
            raise UsageError(f'invalid percentile: "{each}"', hint="for instance 50,99.9")
    return tuple(map(float, found))


def _parse_tries(text: str) -> int:
    if not re.fullmatch(r"\s*\+?\d+", text):
        raise UsageError(f'invalid number of maximum tries: "{text}"')
    return int(text)


def _parse_steps(text: Mapping[str, str]) -> str:
    steps = text.get("init-steps", "dtgvp").replace(" ", "")
    for step in steps:
        if step not in STEPS:
            hint = f'Allowed step characters are: "{STEPS}".'
            raise UsageError(f'unrecognized initialization step "{step}"', hint=hint)
    if not steps:
        raise UsageError("no initialization steps specified")
    if "no-vacuum" in text:
        steps = steps.replace("v", "")
    return steps + "f" * ("foreign-keys" in text and "f" not in steps)


def _parse_seed(text: str | None, by_option: bool) -> int | None:
    """The seed; None for `time` and `rand`, which differ each time."""
    if text is None or text in ("time", "rand"):
        return None
    if not re.fullmatch(r"\d+", text) or int(text) >= 2**64:
        source = "--random-seed option" if by_option else "PGBENCH_RANDOM_SEED environment variable"
        expected = 'Expecting an unsigned integer, "time" or "rand".'
        message = f'unrecognized random seed option "{text}"'
        end = f"error while setting random seed from {source}"
        raise UsageError(message, hint=f"{expected}\n{end}")
    return int(text)


def _parse_definition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f'invalid variable definition: "{text}"')
    return name, value


def _read_scripts(named: list[tuple[str, str]]) -> tuple[ScriptWord, ...]:
    """Return the scripts, each with its weight; pgbench's own if none was named."""
    found = []
    for name, value in named:
        if name == "builtin":
            if value == "list":
                continue
            word, weight = parse_weight(value)
            found.append(make_builtin_word(word, weight))
        elif name == "file":
            word, weight = parse_weight(value)
            found.append(ScriptWord(Path(word), word, weight))
            if not Path(word).is_file():
                raise UsageError(f'could not open file "{word}": No such file or directory')
        elif name in ("select-only", "skip-some-updates"):
            found.append(make_builtin_word("select" if name == "select-only" else "simple", 1))
        if len(found) > SCRIPTS_MAX:
            raise UsageError(f"at most {SCRIPTS_MAX} SQL scripts are allowed")
    if found and sum(each.weight for each in found) == 0:
        raise UsageError("total script weight must not be zero")
    return tuple(found or [make_builtin_word("tpcb", 1)])


def _check_together(settings: PgbenchSettings) -> None:
    has, number = settings.has, settings.number
    interval, duration = number.get("aggregate-interval", 0), number.get("time", 0)
    log = has("log")
    aggregating = has("aggregate-interval")
    refused = {
        "specify either a number of transactions (-t) or a duration (-T), not both": has("time")
        and has("transactions"),
        "log sampling (--sampling-rate) is allowed only when logging transactions (-l)": has(
            "sampling-rate"
        )
        and not log,
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) "
        "cannot be used at the same time": has("sampling-rate") and aggregating,
        "log aggregation is allowed only when actually logging transactions": aggregating
        and not log,
        "log file prefix (--log-prefix) is allowed only when logging transactions (-l)": has(
            "log-prefix"
        )
        and not log,
        f"number of seconds for aggregation ({interval}) must not be higher than test duration "
        f"({duration})": 0 < duration < interval,
        f"duration ({duration}) must be a multiple of aggregation interval ({interval})": bool(
            duration and interval and duration % interval
        ),
        "percentiles (--percentile) would count connecting (-C) as latency": has("percentile")
        and has("connect"),
        "percentiles (--percentile) would count transactions that are skipped (-R with -L)": has(
            "percentile"
        )
        and has("rate")
        and has("latency-limit"),
        "--progress-timestamp is allowed only under --progress": has("progress-timestamp")
        and not has("progress"),
        "an unlimited number of transaction tries can only be used with --latency-limit or a "
        "duration (-T)": settings.max_tries == 0 and not (has("latency-limit") or has("time")),
    }
    for sentence, is_refused in refused.items():
        if is_refused:
            raise UsageError(sentence)


def find_asked_text(words: Sequence[str]) -> str:
    """Return the text that the first word asks for, or ""."""
    first = words[0] if words else ""
    text = Path(__file__).with_name("usage.txt").read_text()
    version, _, usage = text.rstrip("\n").partition("\n")
    version = version.format(version=dyno.__version__)
    return {"--help": usage, "-?": usage, "--version": version, "-V": version}.get(first, "")


SCRIPTS_MAX = 128
WEIGHT_MAX = 2**31 - 1
#: pgbench's own scripts, and what its report calls them.
BUILTINS = {
    "tpcb-like": "<builtin: TPC-B (sort of)>",
    "simple-update": "<builtin: simple update>",
    "select-only": "<builtin: select only>",
}


@dataclass(frozen=True)
class ScriptWord:
    """A script as it was named: its file, what a report calls it, its weight."""

    path: Path
    shown: str
    weight: int = 1

    @property
    def is_builtin(self) -> bool:
        """Return whether it is one of pgbench's own, which needs its tables."""
        return self.shown in BUILTINS.values()


def parse_weight(text: str) -> tuple[str, int]:
    """Split `NAME@WEIGHT` or `NAME`; an @ in a folder's name is no weight."""
    found = re.fullmatch(r"(.+)@([^@/]*)", text)
    if found is None:
        return text, 1
    name, weight = found.groups()
    if not re.fullmatch(r"-?\d+", weight):
        raise UsageError(f"invalid weight specification: @{weight}")
    if not 0 <= int(weight) <= WEIGHT_MAX:
        raise UsageError(f"weight specification out of range (0 .. {WEIGHT_MAX}): {weight}")
    return name, int(weight)


def find_builtin(name: str) -> str:
    """Return the builtin that begins so."""
    fits = [each for each in BUILTINS if each.startswith(name)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UsageError(f'ambiguous builtin name: {len(fits)} builtin scripts found for "{name}"')
    hint = "\n".join(list_builtins())
    raise UsageError(f'no builtin script found for name "{name}"', hint=hint)


def list_builtins() -> list[str]:
    shown = [f"  {name:>13}: {text}" for name, text in BUILTINS.items()]
    return ["Available builtin scripts:", *shown]


def make_builtin_word(name: str, weight: int) -> ScriptWord:
    whole = find_builtin(name)
    return ScriptWord(find_builtin_file(whole), BUILTINS[whole], weight)


def find_builtin_file(whole: str) -> Path:
    from dyno.workloads import find_workload  # which few command lines need

    return find_workload(f"pgbench_{whole.replace('-', '_')}")
