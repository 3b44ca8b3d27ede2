"""How a command ends: every exception becomes one sentence on stderr and one exit code."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

import click

from dyno import subprocesses
from dyno.cli.terminal import screen
from dyno.cli.unknown_options import explain_option
from dyno.errors import (
    INTERNAL_EXIT,
    INTERRUPTED_EXIT,
    USAGE_EXIT,
    DynoError,
    HostError,
    InternalError,
    TrialFailed,
    UsageError,
    find_fullest,
)
from dyno.former_names import FormerNameWarning
from dyno.passwords import mask_sentence, mask_word

#: What loading numpy and scipy takes of the address space on two cores, and all else a command
#: loads; more cores take more. With little less, it is luck which allocation fails, and how.
LOADED_BYTES = 352 << 20
#: Packages whose libraries end the process by themselves where they get too little, with exit
#: code 1, which would be read as a verdict.
HEAVY = ("numpy", "scipy")
#: The loader's words, Python's and OpenBLAS's.
WORDS = ("failed to map segment", "cannot allocate memory", "memory allocation", "start new thread")
HINT = "raise it (`ulimit -v unlimited`): a comparison wants 512 MB beside its engines"


def find_limit_bytes() -> int | None:
    """The least that this process may have, None where it is not limited."""
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return min((each for each in limits if each != resource.RLIM_INFINITY), default=None)


class ImportGuard:
    """Refuses heavy packages where memory is limited to less than they need (`sys.meta_path`)."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        limit = find_limit_bytes() if name in HEAVY else None
        if limit is not None and limit < LOADED_BYTES:
            raise _build_limit_error(f"{name} cannot be loaded", limit)
        return None


def as_memory_limit(error: BaseException) -> HostError | None:
    """The error as one of memory (of the limit, where there is one); None for any other."""
    is_lack = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    words = str(error).lower()
    if not is_lack and not any(each in words for each in WORDS):
        return None
    if (limit := find_limit_bytes()) is not None:
        what = "a library cannot be loaded" if isinstance(error, ImportError) else "memory ran out"
        return _build_limit_error(what, limit)
    return (
        HostError("memory ran out", hint="free some, or make the data smaller") if is_lack else None
    )


def _build_limit_error(message: str, limit: int) -> HostError:
    cause = f"memory is limited to {limit >> 20} MB (ulimit -v)"
    return HostError(message, cause=cause, hint=HINT)


#: A process that dies of SIGPIPE would end so; `dyno show | head` is no failure of ours.
PIPE_EXIT = 141

#: What the machine's owner can change, by the kernel's own code.
HOST_HINTS = {
    errno.ENOSPC: "`dyno clean` lists what can be freed; what was measured so far stays",
    errno.EDQUOT: "the quota is used up; `dyno clean` lists what can be freed",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`); what was measured so far stays",
    errno.EROFS: "choose another folder with DYNO_RUNS",
    errno.EACCES: "check the folder's owner and mode, or choose another with DYNO_RUNS",
    errno.EPERM: "check the file's owner and mode",
    errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
    errno.ENOMEM: "free some memory, or make the data smaller with --set",
}


def end_program(code: int) -> NoReturn:
    sys.exit(code)


def open_missing_streams() -> None:
    """Gives each of stdin, stdout and stderr that our caller closed (`>&-`) an empty one; else the
    next file that we open would have its number, and what programs print would be written there.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number is free
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r"))


def require_current_folder() -> None:
    """`UsageError` where it was removed: names of files have nothing to begin from."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder was removed", hint="cd to another") from None


@contextmanager
def print_former_names() -> Iterator[None]:
    """Says on stderr, a line each, which words of the user go by another name now."""
    with warnings.catch_warnings():
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, FormerNameWarning):
                screen.print_line(f"note: {message}", err=True)
            else:
                show_others(message, category, *where, **more)

        warnings.simplefilter("always", FormerNameWarning)
        warnings.showwarning = show
        yield


def run_guarded(command: Callable[[], object]) -> int:
    """Plays `command` and answers its exit code; whatever it raises is said on stderr."""
    if not any(isinstance(each, ImportGuard) for each in sys.meta_path):
        sys.meta_path.insert(0, ImportGuard())
    try:
        require_current_folder()
        with print_former_names():
            result = command()
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort) as stop:
        cause = stop.__cause__ or stop  # click wraps the interrupt
        print_error(DynoError("interrupted", hint=" ".join(map(str, cause.args))))
        return INTERRUPTED_EXIT
    except (BrokenPipeError, SystemExit) as end:
        # click exits by itself after completing a word (0), and where nobody reads on (1)
        if isinstance(end, SystemExit) and not end.code:
            return 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_EXIT
    except click.exceptions.Exit as end:
        return end.exit_code
    except Exception as error:  # the last line of defence: a user never meets a bare traceback
        return report_failure(error)
    return result if isinstance(result, int) else 0


def report_failure(error: Exception) -> int:
    """Says `error` in our form and answers the code that it ends with."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        screen.print_lines(error.ctx.get_help(), err=True)
        return USAGE_EXIT
    fault = as_dyno_error(error)
    if fault.exit_code == INTERNAL_EXIT and not isinstance(fault, TrialFailed):
        fault = add_traceback_hint(fault, error)
    print_error(fault)
    return USAGE_EXIT if isinstance(fault, TrialFailed) else fault.exit_code


def as_dyno_error(error: Exception) -> DynoError:
    if isinstance(error, DynoError):
        return error
    if isinstance(error, click.ClickException):
        return convert_click_error(error)
    if lack := as_memory_limit(error):
        return lack
    if isinstance(error, OSError) and error.errno in HOST_HINTS:
        where = f" ({error.filename})" if error.filename else ""
        cause = os.strerror(error.errno).lower() + where + find_fullest(error, *_find_places(error))
        return HostError("the operating system refused", cause=cause, hint=HOST_HINTS[error.errno])
    return InternalError("internal error", cause=f"{type(error).__name__}: {error}".strip(": "))


def _find_places(error: OSError) -> list[Path]:
    """Where a disk may be full: at the file that the error names, or wherever we write."""
    if error.filename:
        return [Path(str(error.filename)).parent]
    import tempfile

    named = ("DYNO_RUNS", "DYNO_TMP", "DYNO_CACHE", "DYNO_STATE")
    own = [os.environ[name] for name in named if os.environ.get(name)]
    return [
        Path(place) for place in (*own, tempfile.gettempdir(), "/var/tmp", "runs", str(Path.home()))
    ]


def convert_click_error(error: click.ClickException) -> UsageError:
    """click's sentence in our form: lower case, no full stop, remedy on its own line."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "dyno"
    if isinstance(error, click.NoSuchOption):
        message = f"unknown option '{error.option_name}' of `{path}`"
    elif isinstance(error, click.exceptions.NoSuchCommand):
        message = f"unknown command '{error.command_name}'"
    else:
        # `Invalid value for '--x': 3 is too small.` as a clause of ours
        sentence = re.sub(r"\s+", " ", error.format_message()).strip().removesuffix(".")
        message = sentence[:1].lower() + sentence[1:]
    return UsageError(message, hint=_suggest_remedy(error, path))


def _suggest_remedy(error: click.ClickException, path: str) -> str:
    """What may have been meant; who comes from sysbench gives a workload's options as our own."""
    command = error.ctx.command if isinstance(error, click.NoSuchOption) and error.ctx else None
    if isinstance(error, click.NoSuchOption) and command:
        explained = explain_option(error.option_name, command.name or "")
        if explained:
            return explained
    if isinstance(error, click.MissingParameter) and error.param and error.param.name == "run":
        return "`last` is the newest run; `dyno show runs` lists them"
    taken = command.params if command else ()
    hidden = {name for it in taken if getattr(it, "hidden", False) for name in it.opts}
    near = [it for it in getattr(error, "possibilities", None) or () if it not in hidden]
    help_words = f"`{path} --help` shows what it takes"
    remedy = f"did you mean {' or '.join(near)}?" if near else help_words
    if any(each.name == "settings" for each in taken):
        remedy += f"{' ' if near else '; '}an option of the workload is given as --set KEY=VALUE"
    return remedy


def add_traceback_hint(fault: DynoError, error: Exception) -> DynoError:
    """`fault` with a hint where its traceback is: shown if DYNO_TRACEBACK=1, else in a file."""
    trace = _mask_words("".join(traceback.format_exception(error)))
    please = "this is a fault of Dyno's own; please report it with the traceback"
    if os.environ.get("DYNO_TRACEBACK") == "1":
        screen.print_lines(trace, err=True)
        return InternalError(fault.message, cause=fault.cause, hint=f"{please} above")
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="dyno-traceback-", suffix=".txt", delete=False
        ) as file:
            file.write(trace)
    except OSError:
        return InternalError(
            fault.message, cause=fault.cause, hint=f"{please}: set DYNO_TRACEBACK=1"
        )
    hint = f"{please} in {file.name} (DYNO_TRACEBACK=1 shows it)"
    return InternalError(fault.message, cause=fault.cause, hint=hint)


@contextmanager
def write_failure(file: Path) -> Iterator[None]:
    """Write what a command fails by into the file of its `--json`, and let it fail. A reader who
    goes away (`| head`) leaves what the command has written there.
    """
    before = _find_identity(file)
    try:
        yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except (Exception, KeyboardInterrupt) as error:
        from dyno.report.export import to_json_failure

        if isinstance(error, KeyboardInterrupt):
            code, fault = INTERRUPTED_EXIT, DynoError("interrupted", hint=" ".join(error.args))
        elif isinstance(error, BrokenPipeError):
            if _find_identity(file) != before:
                raise
            code, fault = PIPE_EXIT, DynoError("nobody read the output any more")
        else:
            fault = as_dyno_error(error)
            code = USAGE_EXIT if isinstance(fault, TrialFailed) else fault.exit_code
        told = to_json_failure(_mask_words(fault.sentence), _mask_words(fault.hint), code)
        with suppress(OSError):  # the command's own error is the one to be told
            write_json_file(file, told)
        raise


def _find_identity(file: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def write_json_file(file: Path, told: object) -> None:
    """Writes what a command's `--json` tells, whole or not at all."""
    from dyno.report.html.page import write_user_file

    write_user_file(file, json.dumps(told, indent=1) + "\n")


@contextmanager
def end_by_signals(stop: threading.Event, begin: Callable[[], object] = bool) -> Iterator[None]:
    """The first SIGINT or SIGTERM sets `stop` and calls `begin`; another one ends everything."""

    def end(number: int, _: FrameType | None) -> None:
        del number
        if stop.is_set():
            subprocesses.interrupt()
            raise KeyboardInterrupt
        stop.set()
        begin()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_error(error: DynoError) -> None:
    """One sentence on stderr, its hint below; colours only on a terminal. A password that it may
    quote, as of a URL that was mistyped, is left unsaid.
    """
    sentence, hint = _mask_words(error.sentence), _mask_words(error.hint)
    for name, said in (
        (screen.Styled("dyno:", "red"), sentence),
        (screen.style_bold("hint:"), hint),
    ):
        if said:
            screen.print_lines(name, f" {screen.indent(said)}", err=True)


def _mask_words(text: str) -> str:
    """The text without passwords; of words given to us it is known where they end."""
    for word in sys.argv[1:]:
        text = text.replace(word, mask_word(word))
    return mask_sentence(text)
