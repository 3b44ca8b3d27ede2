"""`dyno serve`: pages over the runs of a folder, in a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli.options import add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.pages.library import Library
    from dyno.webserver.serve import ServeOptions

PORT = 8642


@click.command("serve")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@add_option("--port", "The port; 0: any that is free.", click.IntRange(0, 65535), default=PORT)
@add_option(
    "--host ADDRESS",
    "The address to listen on. Others than this host's own ask for a token.",
    default="127.0.0.1",
)
@add_option("--token", "Ask for a token on this host, too.", name="is_asked")
@add_option(
    "--token-file FILE",
    "The token; without a file one is made and printed once.",
    click.Path(path_type=Path, dir_okay=False),
)
@add_option(
    "--allow-host NAME ...",
    "A host name under which the pages are asked for, as behind a proxy; may be repeated.",
    name="names",
)
def command(folders: tuple[Path, ...], **words: Any) -> None:
    """Serve pages over the runs in FOLDERs: reports, two side by side, history, what plays now.

    It only reads, and listens on this host alone. With another --host a token is asked for, once as
    `?token=…` in the address, or as `Authorization: Bearer`. The pages show all that the records
    hold: questions, statements, settings, names of hosts. `dyno publish` writes them as files
    without names and secrets. The default FOLDER is that of runs. Ctrl-C ends it.

    \b
    dyno serve
    dyno serve runs /mnt/ci-runs --port 9000
    dyno serve --host 0.0.0.0 --token-file ~/.dyno-token
    """
    require_server()
    from dyno.pages.library import Library
    from dyno.webserver.serve import bind, serve

    library = Library(folders or (find_runs_home(),))
    library.require_any()
    options = choose_options(words)
    listening = bind(options)
    for note in list_notes(library, options):
        screen.print_line(f"note: {note}", err=True)
    host = options.host.strip("[]")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # as a browser here finds it
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
    # a token from a file is not printed
    shown = options.token if not words["token_file"] else ""
    screen.print_line(f"serving {address}{f'?token={shown}' if shown else ''}")
    sys.stdout.flush()
    library.begin()
    with suppress(KeyboardInterrupt):
        serve(library, options, listening)


def require_server() -> None:
    try:
        import starlette
        import uvicorn
    except ImportError:
        raise UsageError(
            "`dyno serve` needs starlette and uvicorn, which are not installed",
            hint="pip install 'dyno-bench[serve]'",
        ) from None
    del starlette, uvicorn


def choose_options(words: dict[str, Any]) -> ServeOptions:
    """Where and for whom; with a token where others than this host can ask."""
    from dyno.webserver import guard
    from dyno.webserver.serve import ServeOptions

    token = guard.read_token(words["token_file"]) if words["token_file"] else ""
    if not token and (words["is_asked"] or not guard.is_loopback(words["host"])):
        token = guard.make_token()
    return ServeOptions(words["host"], words["port"], token, words["names"])


def list_notes(library: Library, options: ServeOptions) -> Iterator[str]:
    from dyno.webserver.guard import is_loopback
    from dyno.webserver.serve import find_folder_owner

    yield "the pages show all that the records hold: questions, statements, names of hosts"
    if not is_loopback(options.host):
        yield (
            "all who reach this host and have the token can read them; it is plain HTTP, so have "
            "TLS before it, or stay on 127.0.0.1 and use `ssh -L`"
        )
    elif not options.token:
        yield "every account of this host can read them; --token asks for a token"
    for home in library.homes:
        if owner := find_folder_owner(home):
            yield f"{home} belongs to {owner}"
