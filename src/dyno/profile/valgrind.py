"""valgrind's callgrind: the program of this system, or Debian's package unpacked into the cache.

Nothing is installed: valgrind finds its tools by a variable, and they are linked statically.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, deb
from dyno.errors import DynoError, HostError, TrialFailed

PACKAGE = "valgrind"
#: The tool's file, for processors that valgrind knows and Debian packs.
TOOLS = {"x86_64": "callgrind-amd64-linux", "aarch64": "callgrind-arm64-linux"}
#: Where packages keep the tools.
TOOL_FOLDERS = ("usr/libexec/valgrind", "usr/lib/valgrind", "usr/lib/*-linux-gnu*/valgrind")
#: How the files of counts begin, as KCachegrind looks for them.
FILES = "callgrind.out"
#: What a word to a process that is counted may take: it answers between two of its own steps.
WORD_S = 60.0


@dataclass(frozen=True)
class Valgrind:
    """An unpacked valgrind: its two programs, the folder of its tools, its version, and what a
    word to a counted process may take.
    """

    launcher: Path
    switch: Path
    tools: Path
    version: str
    limit_s: float = WORD_S

    def make_executor(self, folder: Path) -> tuple[str, ...]:
        """The command before a program whose instructions can be counted, into files in `folder`:
        none are before `switch_on`.
        """
        out = folder / f"{FILES}.%p"
        return (
            *(str(self.launcher), "--tool=callgrind", "-q", "--trace-children=yes"),
            *(f"--callgrind-out-file={out}", f"--vgdb-prefix={folder}/vgdb"),
            *("--instr-atstart=no", "--separate-threads=yes", "--compress-pos=no"),
        )

    @property
    def environment(self) -> dict[str, str]:
        return {"VALGRIND_LIB": str(self.tools)}

    @property
    def tool(self) -> Path:
        """The program under whose name the kernel shows a process that is counted."""
        return self.tools / TOOLS[platform.machine()]

    def switch_on(self, pid: int, folder: Path) -> None:
        """Count what process `pid` does from now on; `folder` is that of its file."""
        self._tell(pid, folder, "instrumentation", "on")

    def write_counts(self, pid: int, folder: Path) -> None:
        """Write what was counted of `pid`, and stop counting."""
        self._tell(pid, folder, "dump")
        self._tell(pid, folder, "instrumentation", "off")

    def _tell(self, pid: int, folder: Path, *words: str) -> None:
        command = [str(self.switch), f"--pid={pid}", f"--vgdb-prefix={folder}/vgdb", *words]
        owner = folder.stat()
        if owner.st_uid != os.geteuid():  # the kernel lets no other user answer through its pipes
            ids = (f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups")
            command = ["setpriv", *ids, *command]
        try:
            done = subprocesses.run_beside(pid, command, self.limit_s)
        except ProcessLookupError:
            raise TrialFailed("the process whose instructions are counted was killed") from None
        except subprocess.TimeoutExpired:
            hint = (
                "valgrind wakes a process by ptrace: is that allowed here (kernel.yama, container)?"
            )
            message = f"valgrind did not answer `{' '.join(words)}` in {self.limit_s:.0f} s"
            raise TrialFailed(message, hint=hint) from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            cause = lines[-1] if lines else ""
            raise TrialFailed(f"valgrind does not hear `{' '.join(words)}`", cause=cause)


def find_valgrind(
    say: Say,
    root: Path = Path("/"),
    find_version: Callable[[str, Say], str] = deb.find_installable_version,
) -> Valgrind:
    """Return the system's valgrind at `root`, else Debian's package of the version that is found;
    `HostError` if neither is available.
    """
    if platform.machine() not in TOOLS:
        raise HostError(f"callgrind cannot count on {platform.machine()}")
    if found := _find_in_tree(root):
        return found
    hint = "install valgrind, or use a Debian or an Ubuntu, where dyno fetches it"
    try:
        version = find_version(PACKAGE, say)
        folder = deb.fetch(PACKAGE, version, say)
    except DynoError as refused:
        raise HostError("there is no valgrind", cause=refused.sentence, hint=hint) from None
    if found := _find_in_tree(folder):
        return found
    raise HostError(f"Debian's package {PACKAGE} {version} holds no callgrind", hint=hint)


def _find_in_tree(folder: Path) -> Valgrind | None:
    """The valgrind whose package is unpacked there, if it is; Debian's launcher is a script that
    would join a folder of symbols to the library path, so the program behind it is taken.
    """
    programs = folder / "usr" / "bin"
    named = (shutil.which(str(programs / name)) for name in ("valgrind.bin", "valgrind"))
    launcher = next(filter(None, named), None)
    switch = shutil.which(str(programs / "vgdb"))
    places = (place for pattern in TOOL_FOLDERS for place in sorted(folder.glob(pattern)))
    tools = [place for place in places if (place / TOOLS[platform.machine()]).is_file()]
    if launcher is None or switch is None or not tools:
        return None
    asked = subprocesses.run(
        [launcher, "--version"], WORD_S, environment=_make_environment(tools[0])
    )
    if asked.returncode:
        return None
    return Valgrind(Path(launcher), Path(switch), tools[0], asked.stdout.strip())


def _make_environment(tools: Path) -> dict[str, str]:
    return {"VALGRIND_LIB": str(tools), "LC_ALL": "C"}
