"""A forecast of scaling as a document: its curves, what an operation needs, what was played."""

from __future__ import annotations

from collections.abc import Iterator

from dyno import numbers
from dyno.judge.analysis.scaling import CORES, CandidateForecast, ScaleForecast
from dyno.judge.analysis.scaling_verdict import describe_full, format_idle, format_rate
from dyno.record import Verdict
from dyno.record.scaling import ScalePlay, ScaleRun
from dyno.report import document as doc
from dyno.report.charts import (
    Axis,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    Mark,
    choose_colour,
    log_ends,
    make_linear_axis,
)
from dyno.report.headline import build_headline, list_reasons
from dyno.report.result import Cell, Result
from dyno.report.sections.verdict import choose_tone

#: How an audit's word is to be taken.
AUDITED: dict[str, doc.Tone] = {"sound": "good", "doubtful": "doubt"}


def build_scale_result(run: ScaleRun, forecast: ScaleForecast, verdict: Verdict) -> Result:
    """Return what a run came to."""
    (workload,) = run.run.workloads
    measured = {
        (side.name, run.metric): [
            it.rate_per_s
            for it in run.plays
            if it.candidate == side.name and it.users == run.users[-1] and not it.watched
        ]
        for side in run.run.candidates
    }
    return Result(
        noun="a forecast of scaling",
        name=run.run.name,
        headline=f"{build_headline((), verdict)}.",
        created_utc=run.run.created_utc,
        question="What would more cores do?",
        command=run.run.command,
        verdict=verdict,
        sides=run.run.candidates,
        workloads=[workload.name],
        values=measured,
        numbers=_list_numbers(run, forecast),
        basis=_list_basis(run),
        document=_build_document(run, forecast, verdict),
    )


def _list_numbers(run: ScaleRun, forecast: ScaleForecast) -> tuple[list[str], list[list[Cell]]]:
    unit = run.metric.unit
    columns = ["candidate", "cores", "users", f"forecast {unit}", "low", "high", "idle share"]
    rows: list[list[Cell]] = [
        [
            it.side.name,
            at.cores,
            at.users,
            at.rate_per_s.middle,
            at.rate_per_s.low,
            at.rate_per_s.high,
            at.idle.middle,
        ]
        for it in forecast.candidates
        for at in it.points
    ]
    return columns, rows


def build_answer(run: ScaleRun, forecast: ScaleForecast, verdict: Verdict) -> doc.Document:
    """The first screen: the verdict and the forecast in numbers."""
    tone = choose_tone(verdict)
    return [
        doc.Prose(f"{build_headline((), verdict)}.", tone, boxed=True),
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, ())),
        *doc.list_prose(f"{describe_full(it)}." for it in forecast.candidates),
        *doc.list_prose(
            f"{it.sentence}." for it in verdict.list_findings("sound") if it.audit == "forecast"
        ),
        _make_table(run, forecast),
    ]


def _build_document(run: ScaleRun, forecast: ScaleForecast, verdict: Verdict) -> doc.Document:
    findings = [
        (it.audit, doc.TextSpan(it.soundness, AUDITED.get(it.soundness, "quiet")), it.sentence)
        for it in verdict.findings
    ]
    caption = (
        "Forecast, not measured. Dots' intervals hold the spread of restarts, the times of a cache "
        "line's way and of a wake-up, and an operation's CPU time with few and with many users."
    )
    return [
        doc.Heading("Forecast", "verdict"),
        *build_answer(run, forecast, verdict)[:-1],
        doc.Figure([_make_chart(run, forecast)], caption),
        _make_table(run, forecast),
        doc.Heading("What an operation needs", "needs"),
        *(block for it in forecast.candidates for block in _list_needs(run, it)),
        doc.Heading("Forecast and measured on this host", "checks"),
        _make_checks(run, forecast),
        doc.Heading("Audits, and what is left out", "audits"),
        doc.RowTable(doc.make_columns("audit", after=("", "finding")), findings),
        doc.Heading("How it was measured", "basis"),
        *doc.list_prose(_list_basis(run)),
        _make_plays(run),
        doc.Listing(run.run.command, "to repeat"),
    ]


def _make_table(run: ScaleRun, forecast: ScaleForecast) -> doc.RowTable:
    names = [it.side.name for it in forecast.candidates]
    heads = [head for name in names for head in (f"{name}, {run.metric.unit}", "idle")]
    rows: list[doc.TableRow] = []
    for at, cores in enumerate(CORES):
        row: list[doc.Words | doc.TableCell] = [str(cores)]
        for it in forecast.candidates:
            point = it.points[at]
            rate = point.rate_per_s
            ends = numbers.format_interval(rate.low, rate.high, format_rate)
            idle = format_idle(point.idle.middle)
            row += [doc.TableCell(format_rate(rate.middle), ends), idle]
        rows.append(row)
    return doc.RowTable(doc.make_columns("cores", *heads), rows, "Forecast")


def _make_chart(run: ScaleRun, forecast: ScaleForecast) -> Chart:
    shown = [at.rate_per_s for it in forecast.candidates for at in it.points]
    low, high = log_ends([end for each in shown for end in (each.low, each.high)])
    tens = [10.0**power for power in range(13)]
    ticks = [(at * digit, format_rate(at * digit)) for at in tens for digit in (1, 2, 5)]
    x = Axis("cores", 0.9, CORES[-1] * 1.1, [(it, str(it)) for it in CORES if it != 24], log=True)
    rates: list[Mark] = []
    idles: list[Mark] = []
    for place, it in enumerate(forecast.candidates):
        colour, name = choose_colour(place), it.side.name
        dots = []
        for at in it.points:
            band = at.rate_per_s
            ends = numbers.format_interval(band.low, band.high, format_rate)
            tip = f"{name}, {at.cores} cores: {format_rate(band.middle)} {ends}, forecast"
            dots.append(Dot(at.cores, band.middle, tip, band.low, band.high))
        line = [(at.cores, at.rate_per_s.middle) for at in it.points]
        rates += [Line([line], colour, name, dashed=True), Dots(dots, colour, name, radius_px=3)]
        idle = [(float(at.cores), 100 * max(0.0, at.idle.middle)) for at in it.points]
        idles.append(Line([idle], colour, dashed=True))
    axis = Axis(f"forecast, {run.metric.unit}", low, high, ticks, log=True)
    idle_axis = make_linear_axis("idle, %", 0.0, 100.0)
    return Chart(
        label="forecast",
        described=f"forecast {run.metric.unit} and idle share against cores, by candidate",
        x=x,
        panels=[ChartPanel(axis, rates, 320), ChartPanel(idle_axis, idles, 140)],
    )


def _list_needs(run: ScaleRun, found: CandidateForecast) -> Iterator[doc.Block]:
    demand, write = found.demand, numbers.format_quantity
    told = [f"{write(demand.cpu_ns, 'ns')} of CPU time in the server"]
    if demand.syncs:
        told.append(f"{demand.syncs:.2g} syncs of {write(demand.sync_ns, 'ns')}")
    if demand.delay_ns:
        told.append(f"{write(demand.delay_ns, 'ns')} elsewhere (client, network, waking)")
    yield doc.Prose(f"{found.side.name}: an operation takes {', '.join(told)}.")
    plays = [it for it in run.plays if it.candidate == found.side.name and it.layers]
    layers = {name for it in plays for name in it.layers}
    means = {name: sum(it.layers.get(name, 0.0) for it in plays) / len(plays) for name in layers}
    rows: list[doc.TableRow] = [
        (name or "not known", write(ns, "ns"))
        for name, ns in sorted(means.items(), key=lambda it: -it[1])
    ]
    yield doc.RowTable(doc.make_columns("layer", "CPU time"), rows)
    locks: list[doc.TableRow] = [
        (name, found.kinds[name], f"{demand.acquired[name]:.3g}", write(ns, "ns"))
        for name, ns in sorted(demand.held_ns.items(), key=lambda it: -it[1])
    ]
    shared = sorted(demand.transfers.items(), key=lambda it: -it[1])
    locks += [(name, "shared", f"{times:.3g} ways", "") for name, times in shared]
    yield doc.RowTable(doc.make_columns(("lock", "kind"), "times", "held in all"), locks)


def _make_checks(run: ScaleRun, forecast: ScaleForecast) -> doc.RowTable:
    heads = ("users", f"forecast from 1 user, {run.metric.unit}", "measured", "off")
    rows: list[doc.TableRow] = [
        (
            it.side.name,
            str(at.users),
            doc.TableCell(
                format_rate(at.forecast.middle),
                numbers.format_interval(at.forecast.low, at.forecast.high, format_rate),
            ),
            format_rate(at.measured),
            f"{numbers.format_signed_percent(100 * at.off)} %",
        )
        for it in forecast.candidates
        for at in it.checks
    ]
    return doc.RowTable(doc.make_columns("candidate", *heads), rows)


def _make_plays(run: ScaleRun) -> doc.RowTable:
    heads = ("restart", "users", run.metric.unit, "server CPU", "client CPU", "switches", "syncs")
    rows = [_make_row(it) for it in run.plays]
    return doc.RowTable(doc.make_columns("candidate", *heads, after=("",)), rows, "Plays")


def _make_row(play: ScalePlay) -> doc.TableRow:
    return (
        play.candidate,
        str(play.restart + 1),
        str(play.users),
        format_rate(play.rate_per_s),
        numbers.format_quantity(play.server_cpu_ns, "ns"),
        numbers.format_quantity(play.client_cpu_ns, "ns"),
        numbers.format_digits(play.switches, 2),
        numbers.format_digits(play.syncs, 2),
        "locks watched" if play.watched else "",
    )


def _list_basis(run: ScaleRun) -> list[str]:
    (workload,) = run.run.workloads
    options = " ".join(f"{name}={value}" for name, value in workload.options.items())
    users = ", ".join(map(str, run.users))
    cores = numbers.format_count(run.plays[0].cores, "core") if run.plays else "all cores"
    told = [
        f"{workload.name} as a closed loop of {users} users for {run.time_s:g} s each, in "
        f"{run.restarts} restarts of each candidate, one of each in turn; server and client share "
        f"{cores}. Options: {options}.",
        "The forecast is of the server's cores; its clients are elsewhere, and as many as it takes."
        if run.users_per_core is None
        else f"The forecast is of the server's cores, with {run.users_per_core:g} users for each; "
        "its clients are elsewhere.",
    ]
    if run.line:
        ns = ", ".join(f"{it:.0f}" for it in (run.line.low_ns, run.line.high_ns))
        where = f"on {run.machine} " if run.machine else ""
        told.append(
            f"A cache line's way from core to core {where}takes {run.line.ns:.0f} ns [{ns}]"
            f" ({run.line.source})."
        )
    if run.wakeup:
        took, low, high = (
            numbers.format_quantity(it, "ns")
            for it in (run.wakeup.ns, run.wakeup.low_ns, run.wakeup.high_ns)
        )
        told.append(f"A thread that is woken here runs after {took} [{low}, {high}].")
    return told
