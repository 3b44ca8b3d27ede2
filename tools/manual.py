"""Writes manual pages and shells' completions below a `share` folder: part of `make wheel`.

    tools/manual.py SHARE

Pages are made by click-man from the commands themselves, one each, and lie where `man`, bash, zsh
and fish look for them below an environment's `share`.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

from click_man.core import write_man_pages

from dyno.cli import EPILOG, command
from dyno.cli.completion import write_script

#: Lines that click prints as they stand (behind its mark `\b`), which click-man lets flow.
AS_THEY_STAND = re.compile(r"\x08\n(.*?)(?=\n\.(?:PP|SH)|\Z)", re.DOTALL)

#: Where each shell looks, below `share`.
COMPLETIONS = {
    "bash": "bash-completion/completions/dyno",
    "zsh": "zsh/site-functions/_dyno",
    "fish": "fish/vendor_completions.d/dyno.fish",
}


def write_share(share: Path) -> None:
    """Writes all of it, in folders that are made."""
    pages = share / "man" / "man1"
    pages.mkdir(parents=True, exist_ok=True)
    write_man_pages("dyno", command, version=version("dyno-bench"), target_dir=str(pages))
    for page in pages.iterdir():
        page.write_text(AS_THEY_STAND.sub(".nf\n\\1\n.fi", page.read_text()))
    with (pages / "dyno.1").open("a") as page:
        title, _, codes = EPILOG.removeprefix("\b\n").partition("   ")
        page.write(f".SH EXIT STATUS\n{title}.PP\n.nf\n   {codes}\n.fi\n")
    for shell, place in COMPLETIONS.items():
        path = share / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write_script(shell, command))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write_share(Path(sys.argv[1]))
