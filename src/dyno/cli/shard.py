"""`dyno shard`: plays one of several shares of experiments; each host may play another."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dyno.cli import judged_run, options
from dyno.cli.options import EXPERIMENT, Parsed, add_option
from dyno.cli.run import read_experiment_file
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.cli.workload_words import prepare_experiment
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record import DealtShare, Split
    from dyno.runs.experiment import Experiment
    from dyno.runs.run_folder import RunFolder


def parse_share(text: str) -> tuple[int, int]:
    """`2/4`, the second of four; whether there is such a share is the dealing's affair."""
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a share such as 2/4, the second of four")
    return int(found[1]), int(found[2])


@click.command("shard")
@click.argument("share", type=Parsed("I/N", parse_share), metavar="I/N")
@click.argument("experiments", nargs=-1, required=True, type=EXPERIMENT, metavar="EXPERIMENT...")
@add_option(
    "--dir DIR",
    "The run's folder; of several experiments, one below it for each.  [default: a new one "
    "among the runs]",
    click.Path(file_okay=False, path_type=Path),
    name="folder",
)
@add_option(
    "--split",
    "Deal whole cells (a workload, or a value of its sweep), or the blocks of each cell over "
    "all shares.  [default: cells, where there are as many as shares]",
    click.Choice(["cells", "blocks"]),
)
@add_option(
    "--host NAME",
    "What tells this host from others, where it is a copy of another (cloned images).  "
    "[default: its own id]",
    default="",
)
@options.TIME
@options.THREADS
@options.SET
@options.BLOCKS
@options.CONTROL
@options.LIMIT
@options.ACCEPT
@options.QUICK
@add_option("--seed N", "The seed.  [default: the experiment's]", int)
@options.VERBOSE
def command(share: tuple[int, int], experiments: tuple[str, ...], **words: Any) -> int:
    """Play share I of N of experiments: TOML files, or names as `dyno show experiments` lists them.

    What a share plays depends on the experiments and N only, so hosts need not know each other:
    give each its own I, and the same files and options. `dyno gather` judges what comes back. A
    share is a run's folder: after a kill, the same command with its --dir continues, or `dyno
    resume`.

    Exits with 0 once the share is complete, whatever it measured.

    \b
    dyno shard 2/4 suite.toml --dir shard-2
    dyno gather shard-*
    """
    from dyno.compare.shards.dealing import SharePlace, deal_shares
    from dyno.compare.shards.share_run import identify_host, read_boot, read_facts
    from dyno.runs.resolve.design import choose_interim_analyses

    boot, label = read_boot(), words["host"]
    host = identify_host(read_facts(), boot, label)
    place = SharePlace(*share, cast("Split | None", words["split"]), host, boot, label)
    read = [read_share_of(name, words) for name in experiments]
    # a share is judged once, at its experiment's MAX
    blocks = [choose_interim_analyses(each.measuring)[-1] for each in read]
    dealt = deal_shares(read, blocks, place)
    names = [each.name for each in read]
    if len(set(names)) < len(names):
        raise UsageError("two experiments have the same name", hint="give one another `name`")
    for experiment, own in zip(read, dealt, strict=True):
        if not own.blocks:
            screen.print_line(
                f"{experiment.name}: share {own.index} of {own.of} plays nothing of it"
            )
            continue
        folder = words["folder"]
        if folder and len(read) > 1:
            folder = folder / experiment.name
        play_share(experiment, own, folder, words["verbose"])
    return 0


def read_share_of(name: str, words: dict[str, Any]) -> Experiment:
    """The experiment of a file or of that name, as every share of it is played."""
    read = read_experiment_file(name, words)
    seed, accepted = words["seed"], read.measuring.accepted | (words["accepted"] or {})
    measuring = replace(read.measuring, accepted=accepted)
    if seed is not None:
        measuring = replace(measuring, seed=seed)
    return replace(read, measuring=measuring)


def play_share(experiment: Experiment, share: DealtShare, path: Path | None, verbose: bool) -> None:
    """Plays a share into the folder at `path`, or what is left of it."""
    from dyno.compare.shards.share_run import (
        create_share,
        draft_share,
        find_begun,
        select_cells,
    )
    from dyno.instruments.time.run import play_run, resume_run

    folder = find_begun(path, share) if path else None
    judged_run.sweep()
    if folder:
        with judged_run.show_progress(folder, None, verbose) as watch:
            resume_run(folder, watch, judged_run.print_progress)
    else:
        own = prepare_experiment(select_cells(experiment, share))
        prepared = draft_share(own, share, judged_run.print_progress)
        if path is None:
            path = find_runs_home() / name_folder(prepared.run.created_utc, experiment, share)
        folder = create_share(prepared.run, path)
        with judged_run.show_progress(folder, None, verbose) as watch:
            play_run(prepared, folder, watch)
    tell_share(folder)


def name_folder(created_utc: str, experiment: Experiment, share: DealtShare) -> str:
    """`20261127T101500Z-suite-2of4`."""
    stamp = re.sub(r"[-:]|\.\d+", "", created_utc)
    name = re.sub(r"[^A-Za-z0-9._@-]+", "-", experiment.name).strip("-")[:60]
    return f"{stamp}-{name}-{share.index}of{share.of}"


def tell_share(folder: RunFolder) -> None:
    """Makes the share's own page, and says where it lies, what noise has left of it and what is to
    be done with it: no second play would mend a share that is short, and `gather` judges it.
    """
    from dyno.judge.analysis.judge import describe_short

    book = judged_run.derive_files(folder)
    share = book.run.share
    if share is None:
        return
    valid = book.view.valid_blocks
    blocks = ", ".join(f"{name} {valid[name]}/{dealt.due}" for name, dealt in share.blocks.items())
    screen.print_line(f"share {share.index} of {share.of}: blocks {blocks}")
    if short := describe_short(book.view):
        clause = f"note: the share is complete with {short}: noise or failures took the others"
        screen.print_line(clause, err=True)
    screen.print_line(f"folder  {folder.path}")
    screen.print_line("go on   dyno gather DIR..., with the folders of all shares")
