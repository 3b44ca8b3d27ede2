"""What the terminal says of a profile of a server: layers, waits, statements; of one or of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.printable import escape_line
from dyno.record.server_profile import ServerProfile
from dyno.report.server_profile import build_brief_profile

if TYPE_CHECKING:
    from rich.live import Live


def print_profile(profile: ServerProfile, base: ServerProfile | None = None) -> None:
    screen.draw_document(build_brief_profile(profile, base), is_apart=False)


class ProfileScreen:
    """A profile while it is taken: a moving panel on a terminal, nothing on a pipe unless asked."""

    def __init__(self, is_wanted: bool) -> None:
        self._live: Live | None = None
        self._is_wanted = is_wanted
        self._last: ServerProfile | None = None

    def __enter__(self) -> ProfileScreen:
        if self._is_wanted:
            from rich.live import Live

            self._live = Live(console=screen.make_console(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    @property
    def look(self) -> Callable[[ServerProfile], None] | None:
        return self._show if self._is_wanted else None

    def _show(self, profile: ServerProfile) -> None:
        from rich.console import Group
        from rich.text import Text

        from dyno.report.render.terminal import render_terminal

        heading = f"{profile.name}: {profile.elapsed_s:.0f} s of {profile.asked_s:.0f} s"
        blocks = render_terminal(build_brief_profile(profile))
        assert self._live
        self._live.update(Group(Text(escape_line(heading)), Text(), blocks), refresh=True)
