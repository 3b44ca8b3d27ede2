"""Parts of the kit that a server keeps while tests that want the same follow each other."""

from __future__ import annotations

from collections.abc import Sequence

from kit_servers import KitServer


class KitParts:
    """What a server has of the kit: installed once for a row of tests, and taken out after them."""

    def __init__(self, server: KitServer) -> None:
        self.server = server
        self.words: tuple[str, ...] = ()
        self.before: list[list[str | None]] = []
        self.after: Sequence[str] = ()

    def hold(self, *words: str, before: Sequence[str] = (), after: Sequence[str] = ()) -> KitServer:
        """The server with just what `dyno kit install` makes of these words.

        `before` are statements ahead of an install, `after` those behind the uninstall.
        """
        if words != self.words:
            self.clear()
            self.before = self.server.inventory()
            if before:
                self.server.ask(*before)
            assert self.server.kit("install", *words) == 0
            self.words, self.after = words, after
        return self.server

    def clear(self) -> KitServer:
        """The server with nothing of the kit in it: as it was before all that was installed."""
        if self.words:
            parts = [word for word in self.words if "@" not in word and not word.startswith("-")]
            self.words = ()
            for part in parts:
                assert self.server.kit("uninstall", part) == 0
            if self.after:
                self.server.ask(*self.after)
            assert self.server.inventory() == self.before
        return self.server
