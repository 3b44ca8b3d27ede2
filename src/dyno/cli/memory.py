"""A limit on memory (`ulimit -v`, `ulimit -d`): a failure under it is reported as the limit's."""

from __future__ import annotations

import errno
import resource
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from dyno.errors import HostError

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
        """Finds nothing; `HostError` for what could not be loaded."""
        limit = find_limit_bytes() if name in HEAVY else None
        if limit is not None and limit < LOADED_BYTES:
            raise _build_limit_error(f"{name} cannot be loaded", limit)
        return None


def guard_imports() -> None:
    """Installs an `ImportGuard` before all finders of modules, once."""
    if not any(isinstance(each, ImportGuard) for each in sys.meta_path):
        sys.meta_path.insert(0, ImportGuard())


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
