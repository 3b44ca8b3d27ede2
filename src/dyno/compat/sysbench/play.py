"""One play of a sysbench script on one server: the driver's events as what sysbench prints, its
blocks, lines and columns.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from dyno import driver, workloads
from dyno.compat.sysbench.words import OLD_NAMES, RANDOM, Words, list_drivers, refuse
from dyno.driver import Bucket, DriverProcess, Limit, Report
from dyno.driver.plan import Description, Plan, Script
from dyno.engines import SysbenchDriver
from dyno.errors import DynoError

#: No phase takes longer than a week.
LONGEST_S = 7 * 86400.0
#: sysbench's levels of `--verbosity`.
NOTICE, INFO, DEBUG = 3, 4, 5
STDOUT = 1

Say = Callable[[str], None]


def find_script(name: str) -> Path:
    """The script of this name: a file, else one of sysbench's own, else ours of that name."""
    path = Path(name)
    places = (path, Path(f"{name}.lua"), *(place / f"{name}.lua" for place in workloads.SYSBENCH))
    if found := next((it for it in places if it.is_file()), None):
        return found
    ours = workloads.list_workloads()
    if name not in ours:
        refuse(f"FATAL: Cannot find benchmark '{name}': no such built-in test, file or module")
    return ours[name]


def find_driver(words: Words) -> SysbenchDriver:
    name = words.options["db-driver"]
    if name not in list_drivers():
        where = f"`{words.command}' function failed: {words.script}"
        failed = f"FATAL: {where}: failed to initialize the DB driver"
        refuse(f"FATAL: invalid database driver name: '{name}'\n{failed}")
    return list_drivers()[name]


def build_script_options(words: Words, described: Description) -> dict[str, str]:
    """Return the script's options: general ones, and its own, which it must know.

    A script that declares none gets all, as in sysbench.
    """
    own = {it.name for it in described.options if it.owner == "script"}
    options = build_general_options(words)
    for word in words.others:
        name, sign, value = word[2:].partition("=")
        name = name.replace("-", "_")
        if own and name not in own:
            refuse(f"invalid option: {word}")
        options[name] = value if sign else ""
    return options


def build_general_options(words: Words) -> dict[str, str]:
    """The general options that the driver reads, under its names."""
    read = ("threads", "events", "time", "rate", "warmup-time", "percentile", "db-ps-mode")
    options = {name: words.options[name] for name in read}
    given = {it.name for it in RANDOM} | find_driver(words).handed_on
    options |= {name: words.options[name] for name in given & words.given}
    options |= {name: words.options[name] for name in ("report-interval", "db-driver")}
    options |= {"percentile": str(max(words.read_percentiles(), default=0))}
    options["arrivals"] = "poisson"
    return {name.replace("-", "_"): value for name, value in options.items()}


def make_plan(words: Words, path: Path) -> Plan:
    options = build_general_options(words)
    seed = words.read_number("rand-seed") or secrets.randbits(32)
    # as errors shall name it: a script that was looked for begins with its folder
    named = str(path) if path.is_absolute() or words.script == str(path) else f"./{path}"
    return Plan(
        find_driver(words).session(words.options),
        Script(named, options, words.argv),
        seed,
        (words.command,),
        progress_s=float(words.read_number("report-interval")),
        threads=min(words.read_number("threads"), len(os.sched_getaffinity(0))),
        reports=True,
    )


def play_command(words: Words, plan: Plan, described: Description, say: Say) -> int:
    """Plays the command of the line; its exit code."""
    plan = replace(
        plan, script=replace(plan.script, options=build_script_options(words, described))
    )
    name, path = words.command, words.script
    if name == "run" and "run" not in described.commands:
        refuse(f"FATAL: cannot find the event() function in {path}")
    has_options = any(it.owner == "script" for it in described.options)
    if name not in described.commands and not (name == "help" and has_options):
        if name in ("help", "prepare", "cleanup"):
            refuse(f"'{Path(path).name}' test does not implement the '{name}' command.")
        refuse(f"Unknown command: {name}")
    if name == "run" and described.in_lua and words.read_number("verbosity") >= DEBUG:
        say(f"DEBUG: played in Lua, at more CPU for each event: {', '.join(described.in_lua)}")
    with DriverProcess(plan, driver.DriverLaunch(None, stderr=STDOUT)) as process:
        limit = Limit("the script", LONGEST_S)
        while not isinstance(event := process.read_event(limit), driver.End):
            for line in _format_event(event, words):
                say(line)
            if not isinstance(event, driver.Progress | Report):
                process.go()
    return 0


def _format_event(event: driver.Event, words: Words) -> list[str]:
    verbosity = words.read_number("verbosity")
    lines: list[str] = []
    if words.command != "run":
        threads = isinstance(event, driver.Loads) and event.users > 1 and verbosity >= NOTICE
        return ["Initializing worker threads...\n"] if threads else []
    percentiles = words.read_percentiles()
    if isinstance(event, Report) and event.is_cumulative:
        lines += ["Done.\n"] if verbosity >= INFO else []
        if verbosity >= NOTICE:
            lines += format_histogram(event.histogram) if words.is_on("histogram") else ()
            lines += format_cumulative(event, percentiles)
    elif verbosity < NOTICE:
        return lines
    elif isinstance(event, Report):
        lines += format_interval(event, max(percentiles, default=0), words.read_number("rate") > 0)
    elif isinstance(event, driver.Loads):
        lines += _format_mode(words)
    elif isinstance(event, driver.Ready):
        lines += ["Threads started!\n"]
        if warmup_s := words.read_number("warmup-time"):
            lines += [f"Warming up for {warmup_s} seconds...\n"]
    return lines


def _format_mode(words: Words) -> list[str]:
    lines = ["Running the test with following options:"]
    lines += [f"Number of threads: {words.read_number('threads')}"]
    if warmup_s := words.read_number("warmup-time"):
        lines += [f"Warmup time: {warmup_s}s"]
    if rate := words.read_number("rate"):
        lines += [f"Target transaction rate: {rate}/sec"]
    if seconds := words.read_number("report-interval"):
        lines += [f"Report intermediate results every {seconds} second(s)"]
    if words.is_on("validate"):
        lines += ["Validation checks: on.\n"]
    if seed := words.read_number("rand-seed"):
        lines += [f"Initializing random number generator from seed ({seed}).\n"]
    else:
        lines += ["Initializing random number generator from current time\n"]
    return [*lines, "", "Initializing worker threads...\n"]


def list_deprecations(words: Words) -> list[str]:
    return [
        f"WARNING: --{name} is deprecated, use --{OLD_NAMES[name]} instead"
        for name in words.old_names
    ]


#: What sysbench says of a script named by an option, on stderr.
TEST_IS_OLD = (
    "WARNING: the --test option is deprecated. You can pass a script name or path on the command "
    "line without any options."
)


#: What sysbench adds where a thread could not begin.
NOT_BEGUN = "FATAL: Thread initialization failed!"


def format_fatal(error: DynoError) -> str:
    """Return an error as sysbench prints one that ends it."""
    if not error.place:
        return f"FATAL: {error.sentence}"
    failed = f"`{error.function}' function failed: " if error.function else ""
    line = f"FATAL: {failed}{error.place}: {error.without_place}"
    return f"{line}\n{NOT_BEGUN}" if error.function == "thread_init" else line


def load_script(plan: Plan) -> int:
    """Load the script, as a line without a command does; it may run any code meanwhile."""
    with DriverProcess(
        replace(plan, commands=("load",)), driver.DriverLaunch(None, stderr=STDOUT)
    ) as process:
        limit = Limit("the script", LONGEST_S)
        while not isinstance(process.read_event(limit), driver.End):
            process.go()
    return 0


def split_options(words: Words) -> tuple[dict[str, str], list[str]]:
    """The options of a comparison's workload, and those of the line that it does not use."""
    taken = {"threads", "events", "time", "rate", "warmup-time", "db-ps-mode"}
    taken |= {it.name for it in RANDOM} | find_driver(words).handed_on
    options = {name: words.options[name] for name in taken & words.given}
    options |= {"arrivals": "poisson"} if words.read_number("rate") else {}
    options |= dict(map(_convert_option, words.others))
    unused = sorted(words.given - taken - set(OLD_NAMES) - {"test", "config-file"})
    return {name.replace("-", "_"): value for name, value in options.items()}, unused


def _convert_option(word: str) -> tuple[str, str]:
    name, sign, value = word[2:].partition("=")
    return name.replace("-", "_"), value if sign else ""


#: How wide the bars of a histogram are.
BAR = 40


def format_interval(report: Report, percentile: int, is_paced: bool) -> Iterator[str]:
    """Yield the line of an interval, and at a rate that of the queue."""
    seconds = report.time_interval or math.inf
    at = f"[ {report.time_total:.0f}s ]"
    latency = f"lat (ms,{percentile}%): {report.latency_pct * 1e3:4.2f}"
    if report.is_sql:
        kinds = (report.reads, report.writes, report.other)
        each = "/".join(f"{count / seconds:4.2f}" for count in kinds)
        yield (
            f"{at} thds: {report.threads_running} tps: {report.events / seconds:4.2f} "
            f"qps: {sum(kinds) / seconds:4.2f} (r/w/o: {each}) {latency} "
            f"err/s: {report.errors / seconds:4.2f} reconn/s: {report.reconnects / seconds:4.2f}"
        )
    else:
        yield f"{at} thds: {report.threads_running} eps: {report.events / seconds:4.2f} {latency}"
    if is_paced:
        comma = "," if report.is_sql else ""
        queue = f"queue length: {report.queue_length}{comma} concurrency: {report.concurrency}"
        yield f"{at} {queue}"


def format_cumulative(report: Report, percentiles: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a whole run; several percentiles are read from the buckets of its
    histogram, which are as wide as sysbench's.
    """
    if report.is_sql:
        yield from _format_sql(report)
    yield ""
    yield "General statistics:"
    yield f"    total time:                          {report.time_total:.4f}s"
    yield f"    total number of events:              {report.events}"
    yield ""
    yield "Latency (ms):"
    yield f"         min: {report.latency_min * 1e3:39.2f}"
    yield f"         avg: {report.latency_avg * 1e3:39.2f}"
    yield f"         max: {report.latency_max * 1e3:39.2f}"
    for percentile in percentiles:
        own_ms = report.latency_pct * 1e3
        shown_ms = own_ms if len(percentiles) == 1 else _find_percentile_ms(report, percentile)
        yield f"        {percentile:3d}th percentile: {shown_ms:27.2f}"
    if not percentiles:
        yield "         percentile stats:               disabled"
    yield f"         sum: {report.latency_sum * 1e3:39.2f}"
    yield ""
    yield "Threads fairness:"
    events = [float(user.events) for user in report.users] or [0.0]
    busy_s = [user.busy_s for user in report.users] or [0.0]
    yield f"    events (avg/stddev):           {_format_spread(events)}"
    yield f"    execution time (avg/stddev):   {_format_spread(busy_s)}"
    yield ""


def _format_sql(report: Report) -> Iterator[str]:
    seconds = report.time_interval or math.inf
    queries = report.reads + report.writes + report.other
    yield "SQL statistics:"
    yield "    queries performed:"
    counts = {"read": report.reads, "write": report.writes, "other": report.other}
    for name, count in (counts | {"total": queries}).items():
        yield f"        {name + ':':<33}{count}"
    rates = {
        "transactions": report.events,
        "queries": queries,
        "ignored errors": report.errors,
        "reconnects": report.reconnects,
    }
    for name, count in rates.items():
        yield f"    {name + ':':<37}{count:<6} ({count / seconds:.2f} per sec.)"


def _find_percentile_ms(report: Report, percentile: int) -> float:
    left = percentile / 100 * sum(bucket.count for bucket in report.histogram)
    for bucket in report.histogram:
        left -= bucket.count
        if left <= 0:
            return min(bucket.value_ms, report.latency_max * 1e3)
    return 0.0


def _format_spread(values: list[float]) -> str:
    mean = fmean(values)
    return f"{mean:.4f}/{math.sqrt(fmean((value - mean) ** 2 for value in values)):3.2f}"


def format_histogram(buckets: Iterable[Bucket]) -> Iterator[str]:
    buckets = tuple(buckets)
    yield "Latency histogram (values are in milliseconds)"
    yield "       value  ------------- distribution ------------- count"
    highest = max((it.count for it in buckets), default=1)
    for it in buckets:
        bar = "*" * round(it.count / highest * BAR)
        yield f"{it.value_ms:12.3f} |{bar:<{BAR}} {it.count}"
    yield " "
