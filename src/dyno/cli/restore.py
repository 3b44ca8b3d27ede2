"""`dyno restore`: puts back what a run that was killed has left set on this host."""

from __future__ import annotations

import click

from dyno.cli.terminal import screen
from dyno.errors import HostError


@click.command("restore")
@click.option("--dry-run", is_flag=True, help="Say what would be put back, and change nothing.")
def command(dry_run: bool) -> None:
    """Put back the host's knobs that a run which was killed has left set.

    A control that sets something for the whole host (governor, thp, swap …) notes first what it
    found. A run that ends puts that back by itself, and a new run does for a dead one; this does
    it now, from any folder. A knob that somebody has changed since is left alone. Exits with 0 if
    nothing is left to be put back, and with 64 if something could not be.
    """
    from dyno.host.controls import knobs_of_root, put_back

    outcomes = put_back(dry=dry_run)
    for outcome in outcomes:
        would = dry_run and outcome.state == "put back"
        screen.line(f"would put back {outcome.intended}" if would else str(outcome))
    if roots := knobs_of_root():
        screen.line(
            f"in root's journal, which is not yours: {', '.join(roots)} (sudo dyno restore)"
        )
    if failed := [outcome for outcome in outcomes if outcome.state == "refused"]:
        hint = "set it by hand, or run this as root; the journal keeps what was found"
        raise HostError(f"not put back: {failed[0].entry.path}", cause=failed[0].why, hint=hint)
    if not outcomes and not roots:
        screen.line("nothing to put back")
