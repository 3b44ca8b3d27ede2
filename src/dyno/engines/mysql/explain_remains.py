"""Did a rollback leave something? The checksums of all tables that were reached, before and after,
where they are small.
"""

from __future__ import annotations

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines.mysql.attached import quote_name
from dyno.engines.mysql.reach import Reach
from dyno.errors import TrialFailed

#: Bytes of tables whose checksums are compared: a tenth of a second, before and after.
SUMMED_BYTES_MOST = 16 << 20


class Remains:
    """The tables' checksums as they were when it was made; those of a statement that only reads are
    not asked.
    """

    def __init__(self, ask: Ask, session: Session, reach: Reach) -> None:
        self._session = session
        self._tables = list(reach.tables.values()) if reach.writes else []
        self._size = sum(it.size_bytes for it in self._tables)
        self._sums, self._missing = self._read_sums(ask)

    def _read_sums(self, ask: Ask) -> tuple[dict[str, str | None], str]:
        """The checksums; or none, and why."""
        if self._size > SUMMED_BYTES_MOST:
            size, most = self._size >> 20, SUMMED_BYTES_MOST >> 20
            return {}, f"their checksums would read {size:,} MiB, and {most} MiB is the most"
        if not self._tables:
            return {}, "there are none"
        named = ", ".join(f"{quote_name(it.schema)}.{quote_name(it.name)}" for it in self._tables)
        try:
            # a table that another session locks is left alone
            _, rows = ask(self._session, ["SET lock_wait_timeout = 1", f"CHECKSUM TABLE {named}"])
        except TrialFailed as refused:
            return {}, refused.sentence
        if unread := [str(name) for name, total in rows if total is None]:
            return {}, f"no checksum of {', '.join(unread)} (locked by others, or gone)"
        return {str(name): total for name, total in rows}, ""

    def describe(self, ask: Ask) -> str:
        """What the checksums say now, in a clause; empty where nothing could be left."""
        if not self._tables:
            return ""
        now, missing = ({}, self._missing) if self._missing else self._read_sums(ask)
        if missing:
            return f"tables reached: not checked: {missing}"
        if changed := [name for name, total in self._sums.items() if now.get(name) != total]:
            return (
                f"tables reached: checksums DIFFER: {', '.join(changed)}: other sessions wrote "
                "there meanwhile, or the rollback left something"
            )
        return f"tables reached: checksums equal: {', '.join(self._sums)}"
