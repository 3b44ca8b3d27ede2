"""A matrix of jobs as data: which I/O is played, on which sides, from a TOML file.

A job has `name`, `pattern`, and where they differ from a plain 4 KB request `block`, `access`,
`engine`, `depth`, `users`, `sync`, `writes_per_sync`; a list of `depth`, `users`, `block` or
`engine` makes a job of each. `[[sides]]` are what a matrix compares within one folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from dyno import numbers
from dyno.errors import UsageError, build_unknown_error
from dyno.record.disk import DiskAccess, DiskContent, DiskJob, DiskSync, PublishedFigure

PATTERNS = ("randread", "read", "randwrite", "write")
ENGINES = ("psync", "libaio", "io_uring")
#: Requests in flight, and users, at most.
MOST = 64
BLOCK_LEAST, BLOCK_MOST = 512, 16 << 20
#: What a published figure has.
PUBLISHED = PublishedFigure.__struct_fields__
#: Fields of a job that may be lists.
MULTIPLE = ("block", "access", "engine", "depth", "users", "sync")
#: What each field of a job takes, where it is one of some words.
WORDS: dict[str, tuple[str, ...]] = {
    "pattern": PATTERNS,
    "engine": ENGINES,
    "access": get_args(DiskAccess),
    "sync": get_args(DiskSync),
}


@dataclass(frozen=True)
class MatrixSide:
    """What a matrix compares in a folder: `loop`, a device over the file in place of the file."""

    name: str
    loop: bool = False
    content: DiskContent = "filled"


@dataclass(frozen=True)
class Matrix:
    """A matrix; without `sides` it is played on whatever is named."""

    name: str
    question: str
    jobs: tuple[DiskJob, ...]
    sides: tuple[MatrixSide, ...] = ()
    published: tuple[PublishedFigure, ...] = ()


def list_matrices() -> list[str]:
    """Those that come along, by name."""
    found = files("dyno.instruments.disk").joinpath("matrices").iterdir()
    return sorted(each.name.removesuffix(".toml") for each in found if each.name[-5:] == ".toml")


def read_matrix(word: str) -> Matrix:
    """The matrix of that name, or of that file; `UsageError` where there is none, or a mistake."""
    if word in list_matrices():
        text = (
            files("dyno.instruments.disk").joinpath("matrices", f"{word}.toml").read_text("utf-8")
        )
    elif Path(word).is_file():
        text = Path(word).read_text("utf-8", errors="replace")
    else:
        raise build_unknown_error("matrix", word, list_matrices())
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{word} is no TOML", cause=error) from None
    return parse_matrix(Path(word).stem, data)


def parse_matrix(name: str, data: Mapping[str, Any]) -> Matrix:
    """TOML's data as a matrix; `UsageError` names the field that is wrong."""
    check_keys(name, data, ("question", "jobs", "sides", "published"))
    check_texts(name, data, ("question",))
    jobs = [job for each in _list_tables(data, "jobs") for job in _expand_job(each)]
    if not jobs:
        raise UsageError(f"{name} has no jobs", hint="[[jobs]] with a name and a pattern")
    names = [job.name for job in jobs]
    for job in jobs:
        if names.count(job.name) > 1:
            raise UsageError(f"{name} has two jobs named '{job.name}'")
    sides = []
    for each in _list_tables(data, "sides"):
        check_keys("a side", each, ("name", "loop", "content"))
        check_texts("a side", each, ("name",))
        if not each.get("name"):
            raise UsageError("a side needs a name")
        if not isinstance(each.get("loop", False), bool):
            raise UsageError(f"loop of side '{each['name']}' is true or false")
        if each.get("content", "filled") not in get_args(DiskContent):
            raise build_unknown_error("content", str(each["content"]), get_args(DiskContent))
        sides.append(MatrixSide(**each))
    published = tuple(_parse_published(each) for each in _list_tables(data, "published"))
    return Matrix(name, data.get("question", ""), tuple(jobs), tuple(sides), published)


def _parse_published(data: Mapping[str, Any]) -> PublishedFigure:
    check_keys("a published figure", data, PUBLISHED)
    check_texts("a published figure", data, [key for key in PUBLISHED if key != "factor"])
    if missing := [key for key in PUBLISHED if key not in data]:
        raise UsageError(f"a published figure needs {missing[0]}")
    if isinstance(data["factor"], bool) or not isinstance(data["factor"], int | float):
        raise UsageError(f"factor of a published figure is a number (got '{data['factor']}')")
    return PublishedFigure(**data)


def _list_tables(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The tables `[[key]]`; `UsageError` for anything else of that name."""
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise UsageError(f"{key} is a list of tables", hint=f"each begins with [[{key}]]")
    return found


def check_texts(what: str, data: Mapping[str, Any], keys: Sequence[str]) -> None:
    """`UsageError` for a value of these keys that is no text."""
    for key in keys:
        if not isinstance(data.get(key, ""), str):
            raise UsageError(f"{key} of {what} is a text (got {data[key]!r})", hint="quote it")


def check_keys(what: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    """`UsageError` for a key that is none of those."""
    for key in data:
        if key not in known:
            raise build_unknown_error(f"key of {what}", key, known)


def _expand_job(data: Mapping[str, Any]) -> Iterator[DiskJob]:
    """A job for each combination of its lists, named by what differs."""
    known = [*(name for name in DiskJob.__struct_fields__ if name != "block_bytes"), "block"]
    check_keys("a job", data, known)
    check_texts("a job", data, ("name", "pattern"))
    if not data.get("name") or not data.get("pattern"):
        raise UsageError("a job needs a name and a pattern")
    lists = {key: data[key] for key in MULTIPLE if isinstance(data.get(key), list)}
    single = {key: value for key, value in data.items() if key not in lists and key != "name"}
    for values in product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        told = [f"{key} {value or 'none'}" for key, value in chosen.items()]
        yield make_job(", ".join([data["name"], *told]), single | chosen)


def make_job(name: str, values: Mapping[str, Any]) -> DiskJob:
    """A job of these values; `UsageError` for one that fio would misunderstand."""
    return change_job(DiskJob(name, str(values["pattern"])), values)


def change_job(job: DiskJob, values: Mapping[str, Any]) -> DiskJob:
    """The job with other values, texts or numbers; `UsageError` for one that cannot be."""
    made: dict[str, Any] = {}
    for key, value in values.items():
        if key in WORDS:
            if value not in WORDS[key]:
                raise build_unknown_error(key, str(value), [it or "none" for it in WORDS[key]])
            made[key] = value
        elif key == "block":
            made["block_bytes"] = _parse_block(str(value))
        else:
            made[key] = _parse_count(key, value)
    made_job = replace(job, **made)
    if made_job.engine == "psync" and made_job.depth > 1:
        hint = "io_uring and libaio have several requests in flight; or take more users"
        raise UsageError(f"{job.name}: psync has a depth of 1 (got {made_job.depth})", hint=hint)
    if made_job.engine == "libaio" and made_job.access == "buffered":
        hint = 'take io_uring, or access = "direct"'
        raise UsageError(f"{job.name}: libaio waits in each buffered request", hint=hint)
    if made_job.sync and not made_job.is_write:
        hint = "--only chooses jobs that write"
        raise UsageError(f"'{job.name}' reads, and has nothing to sync", hint=hint)
    if made_job.access == "direct" and made_job.block_bytes % BLOCK_LEAST:
        raise UsageError(f"{job.name}: direct requests are multiples of {BLOCK_LEAST} bytes")
    return made_job


def _parse_block(text: str) -> int:
    size = numbers.parse_size_bytes(text)
    binary = None if size is None else _to_binary(text, size)
    if binary is None or not BLOCK_LEAST <= binary <= BLOCK_MOST or binary % 1:
        raise UsageError(f"a block is {BLOCK_LEAST} bytes to 16M (got '{text}')")
    return int(binary)


def _to_binary(text: str, size: float) -> float:
    """Blocks are counted in powers of two, as fio does: `4K` is 4096."""
    letter = text.strip().rstrip("iIbB")[-1:].lower()
    power = {"k": 10, "m": 20}.get(letter, 0)
    return float(text.strip().rstrip("iIbBkKmM")) * 2**power if power else size


def _parse_count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not str(value).isdigit() or not 1 <= int(value) <= MOST:
        raise UsageError(f"{key} is 1 to {MOST} (got '{value}')")
    return int(value)


def choose_jobs(matrix: Matrix, only: Sequence[str]) -> tuple[DiskJob, ...]:
    """The jobs whose names match one of `only` (`read*`); all where there is none."""
    for pattern in only:
        if not any(_matches(job, pattern) for job in matrix.jobs):
            raise build_unknown_error("job", pattern, [job.name for job in matrix.jobs])
    return tuple(j for j in matrix.jobs if not only or any(_matches(j, p) for p in only))


def _matches(job: DiskJob, pattern: str) -> bool:
    return fnmatch(job.name.lower(), pattern.lower()) or pattern.lower() == job.name.lower()
