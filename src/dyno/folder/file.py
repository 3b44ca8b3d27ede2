"""A file of a run: read and checked; written whole or not at all, whatever kills us.

It is written under a temporary name, synced and renamed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from dyno import plain
from dyno.errors import HostError, UsageError
from dyno.record import SCHEMA

T = TypeVar("T")


def read(kind: type[T], file: Path) -> T:
    """A file of a run as a `kind`; `UsageError` where it is missing, broken, or too new."""
    try:
        data = json.loads(file.read_text())
    except FileNotFoundError:
        raise UsageError(f"there is no {file}") from None
    except OSError as error:
        raise HostError(f"cannot read {file}", cause=(error.strerror or "").lower()) from error
    except ValueError as error:
        raise _damaged(file, f"it is not JSON, {str(error)[:1].lower()}{str(error)[1:]}") from error
    _refuse_newer(file, data)
    try:
        return plain.load(kind, data)
    except ValueError as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, cause: object) -> UsageError:
    hint = "nothing can be told without it"
    if file.parent.name == "trials":
        hint = "move it away; `dyno resume` then plays another block for the one that it was in"
    elif file.name == "verdict.json":
        hint = "remove it; `dyno report` makes it again"
    return UsageError(f"{file} is damaged", cause=cause, hint=hint)


def _refuse_newer(file: Path, data: Any) -> None:
    written = data.get("schema", 0) if isinstance(data, dict) else 0
    if isinstance(written, int) and written > SCHEMA:
        raise UsageError(
            f"{file} is of schema {written}, from a newer dyno; this one reads up to {SCHEMA}",
            hint="use the dyno that wrote it, or a newer one",
        )


def write(file: Path, data: dict[str, Any]) -> Path:
    """Writes a file of a run, whole or not at all; `HostError` where the disk is full."""
    new = file.with_name(f".{file.name}.new")
    try:
        with new.open("w") as out:
            json.dump(data, out, separators=(",", ":"))
            out.flush()
            os.fsync(out.fileno())
        new.rename(file)
        _sync(file.parent)
    except OSError as error:
        new.unlink(missing_ok=True)
        hint = "what was written before is kept; dyno resume goes on from there"
        if file.name == "verdict.json":
            hint = "`dyno show RUN` only reads; to judge it anew, copy the run where you may write"
        raise HostError(f"cannot write {file}", cause=error.strerror, hint=hint) from error
    return file


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
