"""`dyno completion`: the script that makes a shell complete Dyno's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dyno.cli.terminal import screen
from dyno.errors import InternalError

VARIABLE = "_DYNO_COMPLETE"

#: bash takes ENGINE@BUILD for three words unless it is told that `@` does not end one.
PREFACES = {"bash": "COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}\n"}


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a shell's completion script.

    It completes commands, options, engines, workloads, experiments and runs.

    \b
    bash:  echo 'eval "$(dyno completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(dyno completion zsh)"' >> ~/.zshrc
    fish:  dyno completion fish > ~/.config/fish/completions/dyno.fish
    """
    screen.print_lines(write_script(shell, ctx.find_root().command))


def write_script(shell: str, root: click.Command) -> str:
    """The script of a shell by its name, for the program whose commands these are (`make wheel`
    writes it beside the manual).
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise InternalError(f"no completion for {shell}")
    return PREFACES.get(shell, "") + kind(root, {}, "dyno", VARIABLE).source()
