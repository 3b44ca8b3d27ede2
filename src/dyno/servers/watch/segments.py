"""The segments of a record: which count, and those that a disk has damaged, which are set aside.

Of a segment that is lost nobody knows what its counters grew by: whoever reads a time that it
belongs to is told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.errors import TrialFailed
from dyno.private_files import make_folder

PART, HOUR = "%Y%m%dT%H%M%S.%fZ", "%Y%m%dT%HZ"
#: The folder in a record for those that were set aside: a pattern of one level does not meet them.
DAMAGED = "damaged"
#: With this a file of Parquet begins and ends; before the end stands how long its footer is.
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Segment:
    """A folder with a Parquet file per source: its name's time, and how long it is of."""

    folder: Path
    begins: datetime
    is_hour: bool

    @property
    def hour(self) -> datetime:
        return self.begins.replace(minute=0, second=0, microsecond=0)

    @property
    def ends(self) -> datetime:
        return self.hour + timedelta(hours=1)

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())

    @property
    def sentence(self) -> str:
        """Return the message about one that cannot be read."""
        what = f"the hour of {self.begins:%Y-%m-%d %H:%M}" if self.is_hour else "a part"
        when = "" if self.is_hour else f" that begins at {self.begins:%Y-%m-%d %H:%M:%S}"
        return f"{what}{when} UTC is damaged ({self.folder.name}): its counts are missing here"


def list_segments(folder: Path) -> list[Segment]:
    """Every segment that counts, in time's order: parts only of hours that are not whole."""
    found = list_all_segments(folder)
    whole = {each.begins for each in found if each.is_hour}
    kept = [each for each in found if each.is_hour or each.hour not in whole]
    return sorted(kept, key=lambda each: each.begins)


def list_all_segments(folder: Path) -> list[Segment]:
    """Parts that stand beside their hour, too."""
    return [found for path in folder.iterdir() if (found := _parse_segment(path))]


def list_lost_segments(folder: Path) -> list[Segment]:
    """Return those that were set aside, in time's order, but for hours whose parts are there."""
    aside = folder / DAMAGED
    lost = list_all_segments(aside) if aside.is_dir() else []
    hours = {each.hour for each in list_segments(folder)}
    kept = [each for each in lost if not (each.is_hour and each.begins in hours)]
    return sorted(kept, key=lambda each: each.begins)


def _parse_segment(path: Path) -> Segment | None:
    for form, is_hour in ((PART, False), (HOUR, True)):
        try:
            begins = datetime.strptime(path.name, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return Segment(path, begins, is_hour)
    return None


def set_aside(segment: Segment) -> None:
    """Move a damaged segment to where it counts no more. `OSError` if we may not."""
    place = segment.folder.parent / DAMAGED
    make_folder(place, exist_ok=True)
    segment.folder.rename(place / segment.folder.name)


def is_torn(segment: Segment) -> bool:
    """Return whether any of its files lacks its beginning or its end, or it has none. Costs two
    reads a file.

    One that goes meanwhile, into its hour, is not torn.
    """
    try:
        files = list(segment.folder.iterdir())
        return not files or not all(map(_has_ends, files))
    except FileNotFoundError:
        return False


def _has_ends(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(size - 8, 0))
        tail = file.read(8)
    footer_bytes = int.from_bytes(tail[:4], "little")
    return head == tail[4:] == _MAGIC and footer_bytes <= size - 12


def find_unreadable(found: Sequence[Segment], ask: Ask, duckdb: Session) -> list[Segment]:
    """Return those of which a file cannot be read to its end; every page of it is tried."""
    return [each for each in found if _is_unreadable(each, ask, duckdb)]


def _is_unreadable(segment: Segment, ask: Ask, duckdb: Session) -> bool:
    if is_torn(segment):
        return True
    files = sorted(segment.folder.glob("*.parquet"))
    try:
        ask(duckdb, [f"SELECT count(hash(COLUMNS(*))) FROM read_parquet('{it}')" for it in files])
    except TrialFailed:
        return segment.folder.exists()
    return False
