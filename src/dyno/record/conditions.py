"""The conditions of a trial: what it stood under beside the load, as found and as set."""

from __future__ import annotations

from dyno.record.schema import Finite, Int64, Record


class ControlCondition(Record):
    """What a control did in a trial: the value asked for, what it found `before`, what it `set`.

    `refused` says why it could not be held, and is empty where it was; `details` are further facts
    by name, for the reader (`library`, `devices`, `tables`).
    """

    value: str
    before: str = ""
    set: str = ""
    refused: str = ""
    details: dict[str, str] = {}


class PinningCondition(Record):
    """The driver's cores, and the engine's; empty: not placed, or not by us."""

    driver: tuple[Int64, ...]
    engine: tuple[Int64, ...]

    @property
    def both(self) -> tuple[int, ...]:
        """All cores that driver and engine may use; empty where one of them may use any."""
        return tuple(sorted({*self.driver, *self.engine})) if self.driver and self.engine else ()


class LoadCondition(Record):
    """The kept load that a trial began with: `number` (from 1) of `of`, its name in the cache, and
    how long loading it had taken.

    `texts` is a digest of the statements' texts, `sent` how many they were and `rows_changed` what
    they changed; empty and None of loads that were kept before these were noted.
    """

    number: Int64
    of: Int64
    name: str
    duration_s: Finite
    texts: str = ""
    sent: Int64 | None = None
    rows_changed: Int64 | None = None


class StorageCondition(Record):
    """The file system under the data; `limits` are the lines of `io.max` that bound it."""

    file_system: str
    size_bytes: Int64
    free_bytes: Int64
    limits: str = ""


class DataCondition(Record):
    """What the engine held at the end: rows and indexes, the most that its own cache takes, what
    the profile claims of the two (`cached`, `io-bound`); None and empty: not known.

    `survives` is what outlives a commit (`engines.SURVIVES`), `decided_by` the settings it follows
    from. `flushes_per_commit` is what each commit that changed rows needs for itself then; 0: those
    of several connections may share one. `autocommits` says whether a statement outside a
    transaction commits by itself; None: not known.
    """

    size_bytes: Int64 | None = None
    cache_bytes: Int64 | None = None
    claim: str = ""
    survives: str = ""
    decided_by: dict[str, str] = {}
    autocommits: bool | None = None
    flushes_per_commit: Int64 = 0


class DriverCondition(Record):
    """How the driver was started: its environment, the command before it, its cores, its seed."""

    environment: str
    prefix: str
    cpus: tuple[Int64, ...]
    seed: Int64


class Conditions(Record):
    """All of a trial's; None: not known, or not there. `controls` are by name."""

    controls: dict[str, ControlCondition] = {}
    pinning: PinningCondition | None = None
    driver: DriverCondition | None = None
    load: LoadCondition | None = None
    storage: StorageCondition | None = None
    data: DataCondition | None = None

    @property
    def load_name(self) -> str:
        """The kept load's name; empty where the data were loaded anew."""
        return self.load.name if self.load else ""

    @property
    def engine_cores(self) -> tuple[int, ...]:
        """The cores that the engine was pinned to; empty where it was not."""
        return self.pinning.engine if self.pinning else ()
