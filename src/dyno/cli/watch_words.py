"""The words of `dyno watch`: a time, and how a record's rows are shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from dyno.cli.options import SECONDS, Context, Duration, Param

#: So much of a cell is shown.
CELL = 60


class MomentType(click.ParamType[datetime]):
    """`now`, `10m` (ago), `03:10` (the last one), `2026-11-22`, `2026-11-22T03:10:00`: in UTC."""

    name = "time"

    def convert(self, value: Any, param: Param, ctx: Context) -> datetime:
        """The time."""
        if isinstance(value, datetime):
            return value
        now, text = datetime.now(UTC), value.strip()
        if text == "now":
            return now
        if re.fullmatch(rf"(?:\d+(?:\.\d+)?(?:{'|'.join(SECONDS)}))+", text):
            return now - timedelta(seconds=Duration().convert(text, param, ctx))
        clock = re.fullmatch(r"\d{1,2}:\d{2}(?::\d{2})?", text)
        try:
            if clock:
                today = f"{now:%Y-%m-%d}T{text.zfill(len(text) + (text.index(':') == 1))}"
                found = datetime.fromisoformat(today).replace(tzinfo=UTC)
                return found if found <= now else found - timedelta(days=1)
            found = datetime.fromisoformat(text.replace(" ", "T"))
        except ValueError:
            self.fail(f"'{value}' is no time: now, 10m, 03:10, 2026-11-22T03:10", param, ctx)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def format_cell(text: str | None) -> str:
    """A field on one line, of a bearable length."""
    line = " ".join((text or "").split())
    return line if len(line) <= CELL else f"{line[: CELL - 1]}…"


def format_time(at: datetime) -> str:
    """A time as all are written."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
