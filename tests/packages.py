"""The packages of `src/dyno`, and who may know whom: what `test_tidy` holds, and what
docs/reference/packages.md is made from (`tools/reference.py`).

A package stands below those that it knows. `SHARED` are small files that every package may know.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """What a package is, in a line, and the names of those that it may import."""

    what: str
    knows: frozenset[str]


def _package(what: str, knows: str = "") -> Package:
    return Package(what, frozenset(knows.split()))


SHARED = {
    "disk_use": "what lies below a folder, and how much that is",
    "errors": "what can go wrong, named by who can put it right",
    "former_names": "names that words of users had before, taken for one release with a note",
    "locks": "locks of the kernel, which go with their holder",
    "numbers": "how numbers are written, and sizes read",
    "passwords": "stars in the place of passwords",
    "plugins": "opens a scanned package",
    "printable": "codes in place of control characters in text of other people",
    "private_files": "folders and files for nobody but us, written whole and synced",
    "scratch": "folders among temporary things, held while a living Dyno works in them",
    "subprocesses": "programs that are waited for: a time limit each, ended at the first interrupt",
    "tails": "the end of what a program has said",
}
#: Packages that are folders of packages: what stands in them is named with them.
FOLDERS = {"compare", "compat", "host", "instruments", "judge", "runs", "servers"}
#: From the lowest to the highest: a package knows only those before it.
PACKAGES = {
    "sql": _package("SQL's tokens, as servers' own lexers read them"),
    "answers": _package(
        "when two results are the same: answers as data, what a text leaves open, the decision",
        "sql",
    ),
    "record": _package("run, trial, verdict, history as data; JSON to frozen structs (msgspec)"),
    "builds": _package(
        "where an engine's program comes from; `source/` builds it from a tree; the cache"
    ),
    "driver": _package(
        "the Python side of `dyno-driver`: the plan, `describe`, `ask`, the handshake",
        "answers record",
    ),
    "access": _package(
        "as whom a server runs, where its socket lies, and how one that runs already is reached",
        "builds driver",
    ),
    "workloads": _package(
        "one script per workload, in Lua or in pgbench's language; `replay/`: a server's log as a"
        " script that the driver plays",
        "sql builds",
    ),
    "engines": _package(
        "a package or a file per engine: program, start, settings, settle, stop; `_server/` for"
        " what all servers share",
        "sql record builds driver access workloads",
    ),
    "host/processes": _package("what the kernel says of processes"),
    "host/cache_lines": _package(
        "how long a cache line takes from one core to another", "record driver"
    ),
    "host/checks": _package(
        "one file per subject of a host, looked at and left alone: `dyno doctor`", "record"
    ),
    "host/probes": _package(
        "one file per thing of the host that is watched", "record host/processes"
    ),
    "host/controls": _package(
        "one file per thing of the host that is held still", "record builds host/processes"
    ),
    "profile": _package(
        "where instructions, CPU time and waits for locks went: counts by function, the layers of"
        " functions",
        "record builds",
    ),
    "judge/stats": _package("arrays in, estimates and warnings out"),
    "judge/settings": _package(
        "what engines' settings are known to cost, one TOML file each; how values are compared"
    ),
    "judge/analysis": _package(
        "a run and its trials: what counts, numbers with identities, a verdict",
        "record judge/stats",
    ),
    "judge/audits": _package(
        "one file per way in which a number can be wrong",
        "answers record judge/stats judge/settings judge/analysis",
    ),
    "runs/experiments": _package("the experiments that come along, one TOML file each"),
    "runs/experiment": _package(
        "what is compared, as data: candidates, factors, how it is measured; reads the TOML",
        "record runs/experiments",
    ),
    "runs/run_folder": _package("a run on disk", "record"),
    "runs/run_summary": _package(
        "the runs below a folder, of each kind, and what a list tells of each",
        "record runs/run_folder",
    ),
    "runs/pack": _package(
        "a run as one file for others, without names and secrets", "record runs/run_folder"
    ),
    "runs/resolve": _package(
        "names to programs, scripts, keys, primaries, design: a run that can be played",
        "record builds driver workloads engines host/checks host/controls profile judge/stats"
        " runs/experiment runs/run_folder",
    ),
    "runs/forecast": _package(
        "how long, how many blocks, what can be seen; earlier runs",
        "record workloads judge/stats judge/analysis runs/experiment runs/run_folder runs/resolve",
    ),
    "report": _package(
        "documents as data (`document.py`), each written once: `sections/` of a comparison, a file"
        " for each other kind of page; `render/` draws them in HTML, on a terminal, in Markdown;"
        " `html/` the frame of a page",
        "record judge/stats judge/settings judge/analysis",
    ),
    "instruments/time": _package(
        "a run to blocks, trials, sessions with an engine, phases",
        "answers record builds driver access workloads engines host/processes host/checks"
        " host/probes host/controls profile judge/analysis runs/experiment runs/run_folder"
        " runs/run_summary runs/resolve runs/forecast report",
    ),
    "instruments/instructions": _package(
        "instructions per operation: the same seeded operations under callgrind, and their record",
        "record builds driver host/probes host/processes judge/analysis profile"
        " instruments/time runs/experiment runs/resolve runs/run_folder runs/run_summary report",
    ),
    "instruments/capacity": _package(
        "the highest rate that holds a limit on latency: open loops at searched rates",
        "record builds driver engines host/probes host/processes judge/stats judge/analysis"
        " runs/experiment runs/run_folder runs/run_summary runs/resolve instruments/time report",
    ),
    "instruments/disk": _package(
        "what a disk does under a database: fio's jobs as data, played, judged and audited",
        "record builds host/processes host/checks host/controls judge/stats judge/analysis"
        " runs/run_folder runs/run_summary instruments/time report",
    ),
    "instruments/program": _package(
        "programs that print a number, as TOML files: started in blocks, judged",
        "record builds host/checks judge/stats judge/analysis runs/run_folder runs/run_summary"
        " instruments/time report",
    ),
    "instruments/crash": _package(
        "an engine killed without what it had not synced, and its commits counted after that",
        "record builds driver engines host/processes host/checks judge/stats judge/analysis"
        " runs/experiment runs/run_folder runs/run_summary runs/resolve instruments/time report",
    ),
    "instruments/scale": _package(
        "what an operation needs with some users, from which more cores are forecast; machines",
        "record builds driver engines host/cache_lines profile judge/stats judge/analysis"
        " runs/experiment runs/run_folder runs/run_summary runs/resolve instruments/time report",
    ),
    "instruments/differ": _package(
        "statements by chance on two builds: dialects as TOML, the generator, differences reduced",
        "answers record builds driver engines host/checks runs/experiment runs/resolve"
        " runs/run_folder runs/run_summary instruments/time report",
    ),
    "instruments/server": _package(
        "profiles of servers in use, which `servers/profile` takes, as runs that are listed and"
        " shown",
        "record runs/run_folder runs/run_summary report",
    ),
    "compare/pilot": _package(
        "the one preparation of a run, and what its pilot chooses: where, how many, how short",
        "record builds host/processes host/probes judge/analysis runs/experiment runs/resolve"
        " runs/forecast instruments/time",
    ),
    "compare/bisect": _package(
        "versions or commits, and which of them brought a change: the search, by any instrument's"
        " verdicts",
        "record builds driver engines judge/stats judge/analysis runs/experiment",
    ),
    "compare/calibration": _package(
        "comparisons of known truth, played like any other; what they found of the method's errors",
        "record builds driver engines judge/stats judge/analysis runs/experiment"
        " runs/run_folder runs/resolve runs/forecast instruments/time compare/pilot",
    ),
    "compare/shards": _package(
        "shares of experiments: dealt without a coordinator, played on their hosts, gathered again",
        "record builds workloads judge/analysis runs/experiment runs/run_folder runs/pack"
        " runs/resolve compare/pilot compare/calibration",
    ),
    "compare/fleet": _package(
        "an experiment's shares as tasks of a Ray cluster",
        "record driver workloads runs/experiments runs/experiment runs/run_folder"
        " runs/pack runs/resolve",
    ),
    "compare/history": _package(
        "many runs, local or in object storage, by their points or their records, to series of"
        " comparable points, the changes flagged in them, and what fresh comparisons made of these",
        "record builds workloads host/controls judge/stats judge/analysis runs/run_folder",
    ),
    "compat/sysbench": _package(
        "sysbench as a program: its command line, its plays by our driver, its reports",
        "driver engines workloads",
    ),
    "compat/pgbench": _package(
        "pgbench as a program: its command line, tables, clients, and its report",
        "record driver engines workloads judge/stats",
    ),
    "servers/kit": _package(
        "functions (`crates/kit`) and procedures (`sql/`) for people's own servers: installed,"
        " upgraded, taken out",
        "builds driver access engines runs/experiment",
    ),
    "servers/watch": _package(
        "a server's counters recorded over time, and read back as of a time or between two",
        "builds driver engines runs/experiment servers/kit",
    ),
    "servers/profile": _package(
        "a server in use: its CPU time by layer, its sessions' waits, its statements with plans",
        "sql record driver access workloads engines host/processes profile runs/experiment"
        " servers/kit",
    ),
    "servers/copy": _package(
        "a running server's database as an SQL file: its schema, and a share of its rows",
        "record builds driver access engines runs/experiment",
    ),
    "servers/explain": _package(
        "one statement on a running server: its stages in repeated runs, and which differs first",
        "answers record driver engines runs/experiment",
    ),
    "pages": _package(
        "pages over many runs: list, two side by side, history, heat map, what plays; as a site of"
        " files",
        "record builds workloads host/controls judge/analysis runs/run_folder"
        " runs/run_summary runs/pack instruments/time compare/history report",
    ),
    "webserver": _package(
        "serves these pages: read-only, by host name and token, on loopback", "pages"
    ),
}
PACKAGES["cli"] = Package(
    "one file per command: the only print, the only exit; `terminal/` what several print",
    frozenset(PACKAGES),
)
