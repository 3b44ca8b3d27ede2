"""The command line: parse, call, print. Nothing else in Dyno prints, and nothing else exits.

Each command is one file here that offers `command`. What they share: how words are read
(`options`), how failures are reported (`exits`), how progress and tables are shown (`terminal/`).

A password in our own command line is overwritten at once, since everybody on the machine can read
it in the list of processes.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FrameType

import click

import dyno
from dyno import subprocesses
from dyno.cli import exits, judged_run
from dyno.cli.judged_run import FOR_GIT
from dyno.cli.options import HeadedGroup
from dyno.former_names import rename_options
from dyno.passwords import mask_word

#: The fields of proc_pid_stat(5) that say where a process's arguments lie, counted behind its name.
ARGUMENTS = slice(45, 47)


def hide_passwords() -> None:
    """Writes stars over the passwords of URLs, where `ps` would find them.

    For a moment they were there all the same: what must not be seen at all comes by the
    environment. Where the kernel does not let us, nothing happens.
    """
    if not any(mask_word(word) != word for word in sys.argv):
        return
    with suppress(OSError, ValueError):
        told = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin, end = map(int, told[ARGUMENTS])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(begin)
            words = memory.read(end - begin).split(b"\0")
            memory.seek(begin)
            memory.write(b"\0".join(map(_with_stars, words)))


def _with_stars(word: bytes) -> bytes:
    """The word, as long as it was, with its password overwritten."""
    text = word.decode("latin-1")
    shown = mask_word(text)
    if shown == text:
        return word
    behind = shown.partition("***")[2]
    kept = len(shown.partition("***")[0])
    stars = "*" * (len(text) - kept - len(behind))
    return (text[:kept] + stars + behind).encode("latin-1")


EPILOG = """\b
Exit codes of `compare`, `count` (of *heavier*), `crash` (of *loses*), `disk`, `resume`,
`run --gate`, `history --gate`, `report --strict`, and of `sysbench` and `pgbench` with `--compare`:
   0  not slower (or faster)     64  wrong word, number, file or host
   1  slower                     70  a fault of Dyno's own
   2  inconclusive, or a loss   130  interrupted
      that settings permit
   3  invalid
   4  doubtful, with --strict
Without --gate, `run` ends with 0 once it is complete, and `history` whatever it flags."""


HEADINGS = {
    "Measure and compare": (
        *("play", "compare", "rehearse", "differ", "run", "count", "capacity", "bisect"),
        *("scale", "disk", "program", "crash", "calibrate"),
    ),
    "Before a run": ("doctor", "plan", "engines", "show", "digest"),
    "After a run": ("resume", "report", "history", "serve", "publish", "pack"),
    "On several hosts": ("shard", "gather"),
    "On a server of your own": ("profile", "explain", "watch", "kit", "options"),
    "Command lines of other programs": ("sysbench", "pgbench", "shim"),
    "What Dyno leaves": ("clean", "restore", "completion"),
}
#: The command that stands beside another one: its file, and its name there.
BESIDE = {"options": ("kit", "options_command")}


class LateCommands(MutableMapping[str, click.Command]):
    """The commands by name. A command's file is imported when it is asked for: all of them take
    longer than many a command.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._known: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        known = self._known[name]
        if known is None:
            file, attribute = BESIDE.get(name, (name, "command"))
            known = self._known[name] = getattr(import_module(f"dyno.cli.{file}"), attribute)
        return known

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@click.group(
    cls=HeadedGroup,
    commands=LateCommands(chain.from_iterable(HEADINGS.values())),
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(dyno.__version__, prog_name="dyno")
def command() -> None:
    """Is this database build slower than that one, by how much, and can I trust the answer?

    Begin with `dyno play null@200us --workload oltp_point_select` (one trial, no verdict), then
    `dyno compare A B --workload W` (blocks of restarts, a verdict with its error rate).
    """


command.headings = HEADINGS


def interrupt(number: int, frame: FrameType | None) -> None:
    """Ends what any thread waits for, and says so in this one."""
    del number, frame
    subprocesses.interrupt()
    raise KeyboardInterrupt


def run_words(words: Sequence[str] | None = None) -> int:
    """Plays the command line's words (those of the process if None): the exit code, which is
    `EXITS`' of a comparison, and else an error's own (`errors`)."""

    def run_command() -> object:
        return command.main(rename_options(given), prog_name="dyno", standalone_mode=False)

    given = sys.argv[1:] if words is None else words
    code = exits.run_guarded(run_command)
    return judged_run.convert_exit_for_git(code) if FOR_GIT in given else code


def main() -> None:
    """The program `dyno`. A SIGTERM ends it as SIGINT does: what was measured is written down.

    A SIGINT that a shell has us ignore (`dyno … &` in a script) stays ignored.
    """
    exits.open_missing_streams()
    hide_passwords()
    signal.signal(signal.SIGTERM, interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    exits.end_program(run_words())
