"""What is told of an option that a command does not take: what does it, here or elsewhere."""

from __future__ import annotations

#: Of pgbench's command line, which `dyno pgbench` takes: what plays the same here.
PGBENCH = {
    "-f --file --pgbench": "-w FILE.sql",
    "-b --builtin": "-w pgbench_tpcb_like",
    "-S --select-only": "-w pgbench_select_only",
    "-N --skip-some-updates": "-w pgbench_simple_update",
    "-c --client": "--set threads=N",
    "-t --transactions": "--set events=N, of all clients together",
    "-R --rate": "--set rate=PER_S --set arrivals=poisson",
    "-M --protocol": "--set protocol=…",
    "-D --define": "--set :NAME=VALUE",
    "-s --scale": "--set scale=N",
    "-j --jobs": "a thread for each of the driver's cores, always",
    "-n --no-vacuum": "only what was loaded is vacuumed, always",
    "--allow-shell": "--set allow_shell=on",
    "--exit-on-abort": "--set exit_on_abort=on",
    "--continue-on-error": "failed transactions are counted, always",
}
#: Of pgbench's command line, which has no counterpart in a comparison: what does it here.
ANSWERS = {
    "-h --host -p --port -U --username": "the server is named by its URL: "
    "ENGINE://USER@HOST:PORT/DATABASE, with %2Ftmp for a socket's folder /tmp",
    "-i --initialize -I --init-steps -q --quiet -v --vacuum-all": "tables of pgbench's own that a "
    "script names are made, filled and vacuumed anew before each trial; --set scale=N is their "
    "scale",
    "-F --fillfactor --foreign-keys --partitions --partition-method --unlogged-tables --tablespace "
    "--index-tablespace": "--set setup=FILE makes the tables by your own SQL",
    "-P --progress --progress-timestamp": "`dyno play` shows every second by itself",
    "-r --report-per-command": "the table has a row per script of a mix; a command by itself is "
    "timed by the server (pg_stat_statements)",
    "-l --log --log-prefix --sampling-rate --aggregate-interval": "the trial's record has its "
    "seconds and histograms: `dyno compare`, then `dyno report`",
    "-L --latency-limit": "the table has percentiles, from the intended time on",
    "-C --connect": "connections are kept for a trial; a Lua script may connect in its event",
    "--max-tries": "deadlocks and serialisation failures begin anew inside their latency",
    "--failures-detailed --verbose-errors": "errors are counted by code, always",
    "--random-seed": "--set rand_seed=N",
    "--show-script": "`dyno show pgbench_select_only` names the file of such a script",
    "-d --debug": "statements stand in the server's log where it is told to (log_statement)",
}
#: What an experiment's file says, and `run` therefore does not take.
OF_EXPERIMENTS = {
    **dict.fromkeys(
        ("--log", "--data"), "the file names its workloads; `dyno compare` takes --log"
    ),
    **dict.fromkeys(("--workload", "-w", "--sql"), "the file names its workloads: [[workload]]"),
    "--aa": "aa = true in the file",
    "--by": 'by = "cpu" in the file',
    "--count": "count_events = 10000 in the file",
    "--margin": "margin_percent = … in the file",
    "--precision": "precision_percent = … in the file",
    "--seed": "seed = … in the file",
    "--factor": "[[factor]] in the file",
}
#: What one play has no blocks for.
ONE = "one play has no blocks and no verdict: `dyno compare` takes it"
OF_COMPARISONS = {
    **dict.fromkeys(
        ("--limit", "--blocks", "--budget", "--margin", "--precision", "--quick", "--strict"), ONE
    ),
    **dict.fromkeys(("--aa", "--by"), ONE),
}
#: Settings of an experiment's file that were options of `compare`.
IN_THE_FILE = {
    "--count-events": "count_events = N",
    "--gate": 'gate = "mean"',
    "--hold-connections": "hold_connections = true",
    "--one-at-a-time": 'design = "one at a time"',
}
#: Options that another word has replaced.
REPLACED = {
    "--host-group": "the environment says it: DYNO_HOST_GROUP=NAME dyno …",
    "--no-profile": "--profile off",
    "--stacks": "--profile stacks",
    "--statement-limit": "--set statement_limit=SIZE",
}
#: Which of these were options of a command.
LEFT = {
    "compare": tuple(REPLACED),
    "play": ("--statement-limit",),
    **dict.fromkeys(("bisect", "capacity", "count", "disk", "run"), ("--host-group",)),
}


def explain_option(option: str, command: str) -> str:
    """What does what an unknown option of the command asks for; empty where nothing is known."""
    if option in LEFT.get(command, ()):
        return REPLACED[option]
    if command == "run":
        return OF_EXPERIMENTS.get(option, "")
    if command == "compare" and option in IN_THE_FILE:
        return f"it is a setting of an experiment's file: {IN_THE_FILE[option]}; `dyno run FILE`"
    if command not in ("compare", "play"):
        return ""
    if command == "play" and option in OF_COMPARISONS:
        return OF_COMPARISONS[option]
    if here := _find(PGBENCH, option):
        theirs = "dyno pgbench --compare BASE CANDIDATE" if command == "compare" else "dyno pgbench"
        return f"`{theirs} …` takes pgbench's words; here: {here}"
    return explain_pgbench_word(option)


def explain_pgbench_word(option: str) -> str:
    """What does in a comparison what this option does in pgbench; empty where nothing is known."""
    return _find(ANSWERS, option)


def _find(table: dict[str, str], option: str) -> str:
    return next((said for names, said in table.items() if option in names.split()), "")
