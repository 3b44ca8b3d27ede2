"""Which command takes which instrument, as the registry and the commands have it: a page of the
reference, which tests/cli/test_every_instrument.py plays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dyno.cli.runs import open_command
from dyno.runs.run_folder import Instrument, load_instruments

Takes = Callable[[Instrument, Any], bool]

#: What is done with runs, and whether it takes those of an instrument with its file of `cli`.
ROWS: dict[str, Takes] = {
    "`show`, `report`, `serve`, `clean`": lambda it, file: True,
    "`pack`, `publish`": lambda it, file: not it.is_file,
    "`history`": lambda it, file: it.has_history,
    "`resume`": lambda it, file: hasattr(file, "resume_run"),
    "`run` of an experiment's file": lambda it, file: hasattr(file, "play_experiment"),
    "`bisect`": lambda it, file: it.has_trials or hasattr(file, "read_followed"),
    "`shard`, `gather`, `run --on`, `plan`": lambda it, file: it.has_trials,
    "`calibrate`": lambda it, file: it.has_trials,
    "two side by side, heat maps": lambda it, file: it.has_trials,
}


def takes(row: str, kind: str) -> bool:
    """Whether what stands in a row takes runs of that kind."""
    return ROWS[row](load_instruments()[kind], open_command(kind))


def page() -> str:
    """docs/reference/instruments.md."""
    known = load_instruments()
    order = sorted(known, key=lambda name: (not known[name].has_trials, known[name].is_file, name))
    heads = [f"{name} (`dyno {known[name].command}`)" for name in order]
    rows = [
        f"| {row} | {' | '.join('yes' if takes(row, kind) else 'no' for kind in order)} |"
        for row in ROWS
    ]
    return "\n".join(
        [
            "# Which command takes which instrument\n",
            "Made by `make docs` from what each instrument offers. What a command does not take it"
            " refuses by name. A new instrument is one package, and takes part by what it offers"
            " (`Instrument` in `src/dyno/runs/run_folder.py`).\n",
            f"| | {' | '.join(heads)} |",
            f"|---|{'---|' * len(order)}",
            *rows,
            "\nAn experiment's file names its instrument and the instrument's own options; without"
            " it is a comparison:\n",
            '```toml\n[instrument]\nname = "capacity"       # slo, step (in s)\n'
            'slo = "p99<10ms"\n```\n',
            '`name = "count"` takes `events`, `before`, `repeats`, `inputs`, `stacks`, `phase`.'
            " `bisect` asks for a count by `--count`, for a capacity by `--slo`. What repeats a"
            " disk with itself is `dyno disk --aa`; counts that agree need no calibration.\n",
        ]
    )
