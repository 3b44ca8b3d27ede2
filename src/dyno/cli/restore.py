"""`dyno restore`: puts back what a run that was killed has left set on this host."""

from __future__ import annotations

import click

from dyno.cli.options import add_option
from dyno.cli.terminal import screen
from dyno.errors import HostError


@click.command("restore")
@add_option("--dry-run", "Show what would be restored; change nothing.")
def command(dry_run: bool) -> None:
    """Restore host settings that a killed run left changed.

    A control of the whole host (governor, thp, swap …) records the old value first. A run restores
    it when it ends, and a new run does so for a killed one. This command does it now, from any
    folder. A setting that was changed since is left alone. Exits with 0 if everything is
    restored, and with 64 if something could not be.
    """
    from dyno.host.controls import list_knobs_of_root, put_back

    outcomes = put_back(dry=dry_run)
    for outcome in outcomes:
        would = dry_run and outcome.state == "put back"
        screen.print_line(f"would put back {outcome.intended}" if would else str(outcome))
    if roots := list_knobs_of_root():
        screen.print_line(f"left in root's journal: {', '.join(roots)} (sudo dyno restore)")
    if failed := [outcome for outcome in outcomes if outcome.state == "refused"]:
        hint = "set it by hand, or run this as root; the journal keeps what was found"
        raise HostError(f"not put back: {failed[0].entry.path}", cause=failed[0].why, hint=hint)
    if not outcomes and not roots:
        screen.print_line("nothing to put back")
