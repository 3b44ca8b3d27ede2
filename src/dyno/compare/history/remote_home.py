"""Runs in object storage, or wherever else `fsspec` opens (`s3://bucket/runs`, `memory://runs`).

Access and credentials are `fsspec`'s affair. A run is copied to
this machine to be read, and the copy is removed. Whether its points are those of its records is
told by the sizes of all, which a listing has anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import Any, TypeVar

from dyno import scratch
from dyno.compare.history.homes import (
    POINTS_BYTES_MAX,
    FoundRecords,
    FoundRun,
    LocalHome,
    RunsHome,
    find_cached_points,
    list_stamped,
    read_plain_file,
    write_cached_points,
)
from dyno.compare.history.points import write_sizes
from dyno.errors import HostError, UsageError
from dyno.passwords import mask_password
from dyno.runs.run_folder import COUNTS, LARGEST_BYTES, POINTS, RunFolder

#: So long the place has to answer at all, and any later call: a listing may have many pages.
ANSWER_S, CALL_S = 60.0, 600.0

T = TypeVar("T")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//)|[a-z0-9]+::")


def open_home(word: str) -> RunsHome:
    """A folder, or a URL's place; `UsageError` for a scheme that nobody knows."""
    if not _SCHEME.match(word):
        return LocalHome(Path(word))
    if word.startswith("file://"):
        return LocalHome(Path(word.removeprefix("file://")))
    return RemoteHome(word)


class RemoteHome:
    """A place that `fsspec` opens."""

    def __init__(self, url: str, answer_s: float = ANSWER_S) -> None:
        self.name, self.answer_s = mask_password(url), answer_s
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise UsageError(
                f"{self.name} needs fsspec, which is not installed",
                hint="pip install 'dyno-bench[history]'",
            ) from None
        try:
            self.files, root = url_to_fs(url)
        except ImportError as error:
            hint = "pip install what the cause names"
            raise UsageError(f"cannot open {self.name}", cause=str(error), hint=hint) from None
        except ValueError as error:
            hint = "s3://bucket/runs, or another scheme that fsspec knows"
            raise UsageError(f"cannot open {self.name}", cause=str(error), hint=hint) from None
        self.root = root.rstrip("/")
        self._points: dict[str, str] = {}

    def _ask(self, call: Callable[[], T], limit_s: float = CALL_S) -> T:
        """What a call answers, or raises; `HostError` where it does neither in time. Every file
        system has limits of its own, which may be none.
        """
        promised: Future[T] = Future()

        def answer() -> None:
            try:
                promised.set_result(call())
            except BaseException as error:  # it is raised where somebody waits
                promised.set_exception(error)

        Thread(target=answer, daemon=True).start()
        if wait((promised,), limit_s).done:
            return promised.result()
        hint = "check the network, and the endpoint of its scheme"
        raise HostError(f"{self.name} does not answer within {limit_s:g} s", hint=hint)

    def find_records(self) -> FoundRecords:
        """All runs, from one listing of everything below the place."""
        with _explain_failures(self.name):
            self._ask(lambda: self.files.exists(self.root), self.answer_s)
            listed: dict[str, dict[str, Any]] = self._ask(
                lambda: self.files.find(self.root, detail=True)
            )
        names = {name.removeprefix(self.root).lstrip("/"): it for name, it in listed.items()}
        records = {record for record, *_ in list_stamped()}
        homes = {_get_parent(name) for name in names if PurePosixPath(name).name in records}
        outer = sorted(path for path in homes if homes.isdisjoint(_list_parents(path)))
        played: dict[str, list[int]] = {path: [] for path in outer}
        own = dict.fromkeys(outer, 0)
        for name, info in sorted(names.items()):
            path, inner = _split_at_run(name, played)
            size = info.get("size") or 0
            if inner in records:
                own[path] = size
            elif _is_measured(inner):
                played[path].append(size)
            elif inner == POINTS and size <= POINTS_BYTES_MAX:
                self._points[path] = f"{self.root}/{name}"
        return FoundRecords(
            [FoundRun(path, write_sizes(own[path], sizes)) for path, sizes in played.items()]
        )

    @contextmanager
    def open_run(self, path: str) -> Iterator[RunFolder]:
        """A copy of the records, which is gone at the end."""
        base = self.root if path == "." else f"{self.root}/{path}"
        records = {record for record, *_ in list_stamped()}
        with scratch.make_folder("history") as folder:
            inner = folder / _name_safely(PurePosixPath(base).name)
            inner.mkdir()
            with _explain_failures(self.name):
                listed = self._ask(lambda: self.files.find(base, detail=True))
                for name, info in listed.items():
                    place = name.removeprefix(base).lstrip("/")
                    parts = PurePosixPath(place).parts
                    is_count = len(parts) == 3 and parts[0] == COUNTS
                    if is_count or _is_measured(place) or (len(parts) == 1 and place in records):
                        file = inner.joinpath(*map(_name_safely, parts))
                        file.parent.mkdir(parents=True, exist_ok=True)
                        self._copy(name, info, file)
            yield RunFolder(inner)

    def _copy(self, name: str, info: dict[str, Any], file: Path) -> None:
        if (info.get("size") or 0) > LARGEST_BYTES:
            raise UsageError(f"{name} is too large for a record of a run")
        self._ask(lambda: self.files.get_file(name, str(file)))

    def locate(self, path: str) -> str:
        """The URL, without its password."""
        return self.name.rstrip("/") if path == "." else f"{self.name.rstrip('/')}/{path}"

    def read_points(self, runs: Sequence[FoundRun]) -> Mapping[str, bytes]:
        """Those beside the records, all asked for at once; else those in the cache."""
        names = {self._points[run.path]: run.path for run in runs if run.path in self._points}
        with _explain_failures(self.name):
            told = self._ask(lambda: self.files.cat([*names], on_error="omit")) if names else {}
        found = {names[name]: content for name, content in told.items() if name in names}
        for run in runs:
            kept = find_cached_points(self.locate(run.path))
            if run.path not in found and (content := read_plain_file(str(kept))) is not None:
                found[run.path] = content
        return found

    def write_points(self, run: FoundRun, content: bytes) -> None:
        """Beside the records; in the cache where nobody may write there."""
        base = self.root if run.path == "." else f"{self.root}/{run.path}"
        try:
            self._ask(lambda: self.files.pipe_file(f"{base}/{POINTS}", content))
        except Exception:  # each file system refuses in its own way
            write_cached_points(self.locate(run.path), content)


@contextmanager
def _explain_failures(url: str) -> Iterator[None]:
    """What a file system fails with, in a sentence: each has errors of its own."""
    try:
        yield
    except (UsageError, HostError):
        raise
    except FileNotFoundError as error:
        cause = mask_password(" ".join(str(error).split()))
        raise UsageError(f"there is nothing at {url}", cause=cause) from None
    except Exception as error:
        cause = mask_password(" ".join(str(error).split())) or type(error).__name__
        hint = "credentials are fsspec's own: see the documentation of its scheme"
        raise HostError(f"cannot read {url}", cause=cause, hint=hint) from error


def _is_measured(place: str) -> bool:
    """Return whether it is a file of a run's trials, or what its instrument has in their place."""
    folders = "|".join(name for _, *inner in list_stamped() for name in inner)
    return re.fullmatch(rf"({folders})/[0-9]+\.json", place) is not None


def _get_parent(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _list_parents(path: str) -> list[str]:
    return [str(parent) for parent in PurePosixPath(path).parents]


def _split_at_run(name: str, runs: Collection[str]) -> tuple[str, str]:
    """The run that a file is of, and its place there; empty words where it is of none."""
    parts = PurePosixPath(name).parts
    for count in (1, 2):
        path = "/".join(parts[:-count]) or "."
        if len(parts) >= count and path in runs:
            return path, "/".join(parts[-count:])
    return "", ""


def _name_safely(name: str) -> str:
    """A name of object storage as a folder's: nothing of it leads elsewhere."""
    cleaned = re.sub(r"[^A-Za-z0-9@._+=,-]", "_", name)[:200]
    return cleaned if cleaned.strip(".") else "run"
