"""Passwords in our own command line: everybody on the machine reads it in the list of processes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from dyno.candidates import masked

#: The fields of proc_pid_stat(5) that say where a process's arguments lie, counted behind its name.
ARGUMENTS = slice(45, 47)


def hide_passwords() -> None:
    """Writes stars over the passwords of URLs, where `ps` would find them.

    For a moment they were there all the same: what must not be seen at all comes by the
    environment. Where the kernel does not let us, nothing happens.
    """
    if not any(masked(word) != word for word in sys.argv):
        return
    with suppress(OSError, ValueError):
        told = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin, end = map(int, told[ARGUMENTS])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(begin)
            words = memory.read(end - begin).split(b"\0")
            memory.seek(begin)
            memory.write(b"\0".join(map(_starred, words)))


def _starred(word: bytes) -> bytes:
    """The word, as long as it was, with its password overwritten."""
    text = word.decode("latin-1")
    shown = masked(text)
    if shown == text:
        return word
    behind = shown.partition("***")[2]
    kept = len(shown.partition("***")[0])
    stars = "*" * (len(text) - kept - len(behind))
    return (text[:kept] + stars + behind).encode("latin-1")
