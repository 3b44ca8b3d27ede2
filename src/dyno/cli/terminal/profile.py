"""What the terminal says of a profile of a server: layers, waits, statements; of one or of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.judge.analysis.server_profiles import (
    ProfileRow,
    compare_rows,
    compare_statements,
    list_cpu_series,
    list_unlike,
    list_wait_events,
    list_wait_series,
    sum_by_layer,
    tell_rows,
)
from dyno.printable import escape_line
from dyno.record.server_profile import ServerProfile
from dyno.report.html.server_profile import (
    BATCHES,
    SOURCES,
    STATEMENT_HEADS,
    WAIT_HEADS,
    describe_profile,
    describe_taking,
    format_core,
    format_core_ends,
    list_difference_cells,
    list_statement_cells,
    name_wait,
    shorten_text,
)

if TYPE_CHECKING:
    from rich.live import Live

#: So much of a statement, and so many rows, a terminal shows; the page has all.
TEXT_SHOWN, LAYERS_SHOWN, STATEMENTS_SHOWN, EVENTS_SHOWN = 50, 14, 10, 2


def print_profile(profile: ServerProfile, base: ServerProfile | None = None) -> None:
    screen.print_paragraph(describe_profile(profile))
    _print_layers(profile, base)
    _print_waits(profile, base)
    _print_statements(profile, base)
    screen.print_gap()
    screen.print_paragraph(describe_taking(profile))
    if base:
        screen.print_paragraph(BATCHES)
        for each in list_unlike(base, profile):
            screen.print_paragraph(each)
    for each in profile.missing:
        screen.print_paragraph(f"missing: {each}")


def _print_layers(profile: ServerProfile, base: ServerProfile | None) -> None:
    series = list_cpu_series(profile)
    before = list_cpu_series(base) if base else {}
    if not series:
        return
    screen.print_gap()
    layers = sum_by_layer(series)
    if before:
        rows = compare_rows(sum_by_layer(before), layers)[:LAYERS_SHOWN]
        heads = ("layer, % of a core", "before", "now", "difference", "interval", "")
        screen.print_table(heads, map(_list_compared_cells, rows), right=(1, 2, 3))
        return
    whole, *others = tell_rows(layers)
    cells = [
        (
            row.name,
            format_core(row.value),
            format_core_ends(row.low, row.high),
            f"{100 * row.value / whole.value:.1f} %" if whole.value else "",
        )
        for row in (whole, *others[:LAYERS_SHOWN])
    ]
    screen.print_table(("layer", "% of a core", "interval", "share"), cells, right=(1, 3))


def _list_compared_cells(row: ProfileRow) -> Sequence[str]:
    ends = format_core_ends(row.low, row.high, signed=True)
    sides = (format_core(row.value), format_core(row.other or 0.0))
    return (row.name, *sides, f"{100 * row.difference:+.3g}", ends, row.word or "")


def _print_waits(profile: ServerProfile, base: ServerProfile | None) -> None:
    series, events = list_wait_series(profile), list_wait_events(profile)
    if not series:
        return
    screen.print_gap()
    before = list_wait_series(base) if base else {}
    if before:
        rows = [
            (
                name_wait(row.name),
                f"{row.value:.2f}",
                f"{row.other or 0.0:.2f}",
                f"{row.difference:+.2f}",
                row.word or "",
            )
            for row in compare_rows(before, series)
        ]
        screen.print_table(("wait", "before", "now", "difference", ""), rows, right=(1, 2, 3))
        return
    told = tell_rows(series)
    total = sum(row.value for row in told) or 1.0
    shown = []
    for row in told:
        named = [name for name, _ in events.get(row.name, Counter()).most_common() if name]
        share = f"{100 * row.value / total:.1f} %"
        most = ", ".join(named[:EVENTS_SHOWN])
        shown.append((name_wait(row.name), f"{row.value:.2f}", share, most))
    screen.print_table(WAIT_HEADS, shown, right=(1, 2))


def _print_statements(profile: ServerProfile, base: ServerProfile | None) -> None:
    if not profile.statements:
        return
    screen.print_gap()
    if base and (rows := compare_statements(base, profile)):
        heads = ("query", "before", "now", "difference", "interval", "")
        cells = [
            (shorten_text(row.name, TEXT_SHOWN), *list_difference_cells(row))
            for row in rows[:STATEMENTS_SHOWN]
        ]
        screen.print_table(heads, cells, right=(1, 2, 3))
        return
    cells = [
        (shorten_text(it.text, TEXT_SHOWN), *list_statement_cells(profile, it))
        for it in profile.statements[:STATEMENTS_SHOWN]
    ]
    screen.print_table(STATEMENT_HEADS, cells, right=(2, 3, 4, 5))
    screen.print_paragraph(SOURCES[profile.statement_source])
    if planned := next((it for it in profile.statements if it.plan), None):  # which took most
        screen.print_line(f"plan of {shorten_text(planned.text, TEXT_SHOWN)}:")
        for line in planned.plan.splitlines():
            screen.print_line(f"  {line}")


class ProfileScreen:
    """A profile while it is taken: a moving panel on a terminal, nothing on a pipe unless asked."""

    def __init__(self, is_wanted: bool) -> None:
        self._live: Live | None = None
        self._is_wanted = is_wanted
        self._last: ServerProfile | None = None

    def __enter__(self) -> ProfileScreen:
        if self._is_wanted:
            from rich.live import Live

            self._live = Live(console=screen.make_console(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    @property
    def look(self) -> Callable[[ServerProfile], None] | None:
        return self._show if self._is_wanted else None

    def _show(self, profile: ServerProfile) -> None:
        from rich.console import Group
        from rich.text import Text

        heading = f"{profile.name}: {profile.elapsed_s:.0f} s of {profile.asked_s:.0f} s"
        lines = [heading, "", *_list_live_lines(profile)]
        assert self._live
        self._live.update(Group(*(Text(escape_line(line)) for line in lines)), refresh=True)


def _list_live_lines(profile: ServerProfile) -> Iterator[str]:
    if series := list_cpu_series(profile):
        whole, *layers = tell_rows(sum_by_layer(series))
        yield f"{'layer':<40} % of a core   share"
        for row in (whole, *layers[:LAYERS_SHOWN]):
            share = 100 * row.value / (whole.value or 1.0)
            yield f"{row.name:<40} {format_core(row.value):>11}  {share:5.1f} %"
        yield ""
    if waits := tell_rows(list_wait_series(profile)):
        yield f"{'wait':<40}    sessions"
        yield from (f"{name_wait(row.name):<40} {row.value:>11.2f}" for row in waits)
        yield ""
    if profile.statements:
        yield f"{'query':<{TEXT_SHOWN}} per_second     avg_ms   sessions"
        for it in profile.statements[:STATEMENTS_SHOWN]:
            _, per_second, each_ms, sessions, _ = list_statement_cells(profile, it)
            text = shorten_text(it.text, TEXT_SHOWN)
            yield f"{text:<{TEXT_SHOWN}} {per_second:>10} {each_ms:>10} {sessions:>10}"
