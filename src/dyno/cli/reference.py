"""The command reference as Markdown, made from the commands themselves."""

from __future__ import annotations

import click

WIDTH = 100


def build_reference() -> str:
    """docs/reference/cli.md: each command's usage, words and options, as `--help` says them."""
    from dyno.cli import command

    return "\n".join(
        ["# dyno\n", "Made from the commands by `make docs`.\n", *build_page(command, "dyno")]
    )


def build_page(command: click.Command, name: str, parent: click.Context | None = None) -> list[str]:
    """A command's help, and that of the commands under it."""
    context = command.make_context(
        name, [], parent, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
    )
    parts = [f"## {context.command_path}\n", f"```\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            if not command.commands[child].hidden:
                parts += build_page(command.commands[child], child, context)
    return parts
