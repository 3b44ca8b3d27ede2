"""Help in parts: commands and options stand below headings, each with its whole first sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

#: More characters than a first sentence has.
WHOLE = 1000


class HeadedOption(click.Option):
    """An option that a `HeadedCommand` lists below `heading`."""

    def __init__(self, *words: Any, heading: str, **more: Any) -> None:
        super().__init__(*words, **more)
        self.heading = heading


class HeadedCommand(click.Command):
    """A command whose options of a kind stand together, after those without a heading."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each heading with its options, in the order in which they were declared."""
        found: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record:
                found.setdefault(getattr(param, "heading", "Options"), []).append(record)
        for heading, records in found.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class HeadedGroup(click.Group):
    """A group whose commands stand below headings, whole sentences beside their names.

    `headings` names the commands of each; those of no heading are listed by none.
    """

    headings: Mapping[str, tuple[str, ...]] | None = None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes each heading with its commands."""
        del ctx
        headings = self.headings or {"Commands": tuple(self.commands)}
        width = max(map(len, self.commands))
        for heading, commands in headings.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (f"{each.name:<{width}}", each.get_short_help_str(WHOLE))
                        for each in map(self.commands.__getitem__, commands)
                        if not each.hidden
                    ]
                )
