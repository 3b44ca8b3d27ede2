"""What a verdict rests on, in sentences: controls, restarts and losses, known error rates.

Of each control: what it held still, what it found before, and where it could do nothing. Of the
restarts: how many were played, how many count, and what became of the rest. Of the method: what
calibration found of its errors on the run's host.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dyno import numbers
from dyno.judge.analysis.sentence import describe_slices
from dyno.record import Conditions, Finding, Run, Score, Trial, Verdict, compute_host_score
from dyno.record.clients import summarize_client_loads
from dyno.record.decode import encode
from dyno.report import Book, facts, words
from dyno.report.document import TextSpan, Tiles
from dyno.report.headline import list_decisive

#: What is said of a control that the host did not allow, before the reason.
REFUSED = "not controllable here"
#: The value of a control that leaves things as they are.
KEEP = "keep"
#: What a control finds where the host has no such knob.
ABSENT = "none"
#: Parts of a record that are told elsewhere.
_TOLD = ("before", "value", "set", "state")


@dataclass(frozen=True)
class ControlSummary:
    """One control over a whole run: its value by candidate, the base first.

    `before` is what it found, `refused` why it could do nothing (in some trial), `done` the rest
    of what it wrote down; `crossed` says that it is a factor of the run.
    """

    control: str
    values: dict[str, str]
    before: str
    refused: str
    done: dict[str, str]
    crossed: bool = False

    @property
    def differs(self) -> bool:
        return len(set(self.values.values())) > 1

    @property
    def is_kept(self) -> bool:
        return set(self.values.values()) == {KEEP}

    @property
    def sentence(self) -> str:
        """`aslr on`, `aslr on (old, newer), off (new)`, or `aslr on or off, crossed`."""
        sides: dict[str, list[str]] = defaultdict(list)
        for name, value in self.values.items():
            sides[value].append(name)
        if self.crossed:
            return f"{self.control} {' or '.join(sides)}, crossed"
        places = self.done.get("driver"), self.done.get("engine")
        if not self.differs and all(places):
            cores = "driver on core {}, engine on {}".format(*places)
            alike = f"driver and engine on core {places[0]}"
            return f"{self.control} {''.join(sides)} ({alike if len(set(places)) == 1 else cores})"
        each = (f"{value} ({', '.join(names)})" for value, names in sides.items())
        return f"{self.control} {', '.join(each if self.differs else sides)}"


def summarize_controls(book: Book) -> list[ControlSummary]:
    """Every control of the run: those that differ, those refused, those held, those left."""
    names = {name for side in book.run.candidates for name in side.controls}
    names |= book.run.design.controls.keys()
    trials = [trial for trial in book.view.played_trials if trial.status == "ok"]
    held = [_summarize_control(book, name, trials) for name in sorted(names)]
    return sorted(held, key=lambda h: (not h.differs, not h.refused, h.is_kept))


def _summarize_control(book: Book, control: str, trials: list[Trial]) -> ControlSummary:
    sides = {side.name: side for side in book.run.candidates}
    every = book.run.design.controls.get(control, "")
    found = [list_control_facts(t.conditions, control) for t in trials]
    texts = {key: format_values([f[key] for f in found if key in f]) for key in _list_keys(found)}
    refusals = [f["state"] for f in found if "state" in f]
    return ControlSummary(
        control=control,
        values={n: sides[n].controls.get(control, every) for n in book.view.candidates},
        before=texts.get("before", ""),
        refused=" or ".join(dict.fromkeys(refusals)),
        done={key: text for key, text in texts.items() if key not in _TOLD},
        crossed=control in {factor.name for factor in book.run.factors},
    )


def list_control_facts(conditions: Conditions, control: str) -> dict[str, str]:
    """What a control did, by name, as the page shows it; empty where it is not on record."""
    found = conditions.controls.get(control)
    if found is None:
        return {}
    facts = {"before": found.before, "set": found.set, "value": found.value}
    if found.refused:
        facts["state"] = f"{REFUSED}: {found.refused}"
    if control == "pinning" and conditions.pinning:
        facts["driver"] = _format_cores(conditions.pinning.driver)
        facts["engine"] = _format_cores(conditions.pinning.engine)
    return {name: text for name, text in facts.items() if text} | found.details


def _format_cores(cores: Sequence[int]) -> str:
    return ",".join(map(str, cores))


def list_condition_facts(conditions: Conditions) -> dict[str, dict[str, str]]:
    """All conditions of a trial as the page shows them: each by name, its facts by name."""
    found = {name: list_control_facts(conditions, name) for name in conditions.controls}
    for name in ("driver", "load", "storage", "data"):
        part = getattr(conditions, name)
        facts = encode(part) if part else {}
        decided_by = facts.pop("decided_by", {})
        found[name] = {
            fact: _format_cores(value) if isinstance(value, tuple) else str(value)
            for fact, value in (facts | decided_by).items()
            if value not in (None, "")
        }
    return found


def _list_keys(found: list[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(key for each in found for key in each))


def format_values(values: list[str], most: int = 4) -> str:
    """The values, with how many trials had each where there are several."""
    counts = Counter(values)
    if len(counts) < 2:
        return next(iter(counts), "")
    each = [
        f"{value} ({numbers.format_count(n, 'trial')})" for value, n in counts.most_common(most)
    ]
    more = len(counts) - most
    return ", ".join(each) + (f" and {more} other values" if more > 0 else "")


def describe_controls(controls: list[ControlSummary]) -> str:
    """`aslr on, pinning apart (driver on core 1, engine on 0); 10 more are left as
    this host has them; not available here: turbo`; refused ones aside.
    """
    told = [h.sentence for h in controls if not h.is_kept and not h.refused]
    absent = [h.control for h in controls if h.is_kept and h.before == ABSENT]
    kept = sum(h.is_kept for h in controls) - len(absent)
    parts = [
        ", ".join(told),
        f"{kept} more are left as this host has them" if kept else "",
    ]
    parts += [f"not available here: {', '.join(absent)}"] if absent else []
    return "; ".join(filter(None, parts))


def describe_limits(run: Run) -> str:
    """`foreign ≤ 10 %, steal ≤ 2 %`: what a block was dropped for."""
    told = []
    for name, most in sorted(run.design.limits.items()):
        plain = name.removesuffix("_percent")
        told.append(f"{plain.replace('_', ' ')} ≤ {most:g}" + (" %" if plain != name else ""))
    return ", ".join(told)


@dataclass(frozen=True)
class RestartSummary:
    """`counted` restarts, on which `loads`, how they vary (`spread`), and each loss."""

    counted: str
    loads: str
    spread: str
    losses: list[str]


def summarize_restarts(book: Book) -> RestartSummary:
    """All of it; a clause is empty where there is nothing to say."""
    return RestartSummary(
        _describe_restarts(book),
        _describe_loads(book),
        _describe_spread(book),
        _describe_losses(book),
    )


def _describe_restarts(book: Book) -> str:
    """`18 restarts in 6 blocks of 3`; by workload where there are several."""
    parts = []
    for workload in book.run.workloads:
        trials = book.view.list_counted(workload.name)
        if trials:
            blocks = len({trial.block for trial in trials})
            where = f" of {workload.name}" if len(book.run.workloads) > 1 else ""
            restarts = numbers.format_count(len(trials), "restart")
            told = f"{restarts} in {numbers.format_count(blocks, 'block')}"
            parts.append(told + where)
    if parts and (slices := describe_slices(book.run)):
        parts.append(f"interleaved in slices of {slices}")
    return ", ".join(parts) or "no restart counts"


def _describe_loads(book: Book) -> str:
    trials = list(book.view.counted_trials)
    numbers_of: dict[str, set[int]] = defaultdict(set)
    for trial in trials:
        if trial.conditions.load:
            numbers_of[trial.workload].add(trial.conditions.load.number)
    if not trials:
        return ""
    if not numbers_of:
        return "the data loaded anew for each"
    each = [f"{numbers.format_count(len(n), 'load')} of {w}" for w, n in numbers_of.items()]
    return f"on {', '.join(each)} for each candidate"


def _describe_losses(book: Book) -> list[str]:
    """What does not count, and why: blocks dropped, trials that failed, blocks begun anew."""
    dropped = [
        f"{each.workload} block {each.block + 1} dropped: {each.reason}"
        for each in book.verdict.dropped
    ]
    failed = [t for t in book.view.played_trials if t.status != "ok"]
    lost = [
        f"trial {t.number} ({t.candidate}) {t.status}" + (f": {t.why_failed}" if t.failure else "")
        for t in failed
    ]
    torn = book.view.torn_numbers - {t.number for t in failed}
    anew = [f"{numbers.format_count(len(torn), 'trial')} of blocks begun anew"] if torn else []
    left = [f"trial {t.number}: {each}" for t in book.view.trials for each in t.left_behind]
    return [*dropped, *lost, *anew, *left]


def _describe_spread(book: Book) -> str:
    found = sorted(book.verdict.spread, key=lambda each: -each.cov_percent)
    if not found:
        return ""
    widest, narrowest = found[0], found[-1]
    reach = numbers.format_percent(widest.cov_percent)
    if narrowest is not widest:
        reach = f"{numbers.format_percent(narrowest.cov_percent)} to {reach}"
    where = f"{widest.candidate}, {words.format_full_metric(widest.metric)}"
    worst = f"best to worst {numbers.format_percent(widest.range_percent)}"
    return f"vary by {reach} (CoV), most in {where}: {worst}"


NOT_CALIBRATED = "dyno calibrate measures how often it errs"
MADE_UP = "synthetic"


@dataclass(frozen=True)
class CalibrationSummary:
    """`when` bounds the comparisons, empty where there are none; `own` are the scores on the run's
    engines by what the run rests on, `without` those engines that have none; `worst` has the most
    false alarms of those on made-up blocks; `rest` are the others.
    """

    when: str = ""
    dyno: str = ""
    stale: tuple[str, ...] = ()
    own: Sequence[Score] = ()
    worst: Score | None = None
    rest: Sequence[Score] = ()
    without: Sequence[str] = ()


def summarize_calibration(run: Run) -> CalibrationSummary:
    known = run.calibration
    if known is None:
        return CalibrationSummary()
    engines = dict.fromkeys(candidate.engine for candidate in run.candidates)
    by = run.design.by
    own = [
        s
        for s in known.scores
        if s.engine in engines and s.kind != MADE_UP and s.settings.get("by", "time") == by
    ]
    made_up = [s for s in known.scores if s.kind == MADE_UP and not s.effect_percent]
    worst = max(made_up, key=lambda s: s.slower_percent, default=None)
    first, last = known.first_utc[:10], known.last_utc[:10]
    return CalibrationSummary(
        when=first if first == last else f"{first} to {last}",
        dyno=known.dyno,
        stale=known.stale,
        own=own,
        worst=worst,
        rest=[s for s in known.scores if s not in own and s is not worst],
        without=[name for name in engines if name not in {s.engine for s in own}],
    )


def format_score(score: Score) -> str:
    """`A/A on x (same build): 2 of 40 called slower, 5.0 % [0.61, 16.9]`."""
    ends = numbers.format_interval(score.low_percent, score.high_percent, "{:.3g}".format)
    share = f"{score.slower_percent:.3g} % {ends}"
    called = "found" if score.effect_percent else "called slower"
    where = f" on {score.engine}" if score.engine and score.kind != MADE_UP else ""
    size = score.injected_percent
    measured = (
        f"measured {numbers.format_signed_percent(size)} %" if score.effect_percent and size else ""
    )
    by = "by CPU time" if score.settings.get("by") == "cpu" else ""
    what = ", ".join(filter(None, (score.what, score.settings.get("design"), by, measured)))
    told = f"{score.slower:,} of {score.comparisons:,} {called}, {share}"
    return f"{score.kind}{where} ({what}): {told}"


def describe_clients(book: Book) -> str:
    """`clients on c1 (12,300 events/s, busiest thread 41 %) and c2 (…)`; the medians over restarts,
    of the longest phase that several played.
    """
    shared = [r for t in book.view.counted_trials for r in t.phases if len(r.clients) > 1]
    if not shared:
        return ""
    longest = max(shared, key=lambda record: record.duration_s).phase
    loads = (load for r in shared if r.phase == longest for load in r.list_client_loads())
    return f"clients on {words.format_client_loads(summarize_client_loads(loads))}"


def list_tiles(book: Book) -> Tiles:
    """What a reader asks at first glance: losses, audits, the host, how often the method errs."""
    survey, known = book.run.survey, summarize_calibration(book.run)
    poor = [o.name for o in survey or () if o.mark == "poor"]
    host = "host not surveyed" if survey is None else f"host {compute_host_score(survey)} of 100"
    if hosts := {trial.host for trial in book.view.counted_trials if trial.host}:
        host = f"{numbers.format_count(len(hosts), 'host')}, the worst: {host}"
    called = ("stale: " if known.stale else "") + known.when
    tiles = [
        _describe_blocks(book),
        _count_audits(book.verdict.findings),
        (TextSpan(host, link="#host"), f"{', '.join(poor)} poor" if poor else ""),
        (TextSpan("calibrated", link="#trust"), called)
        if known.when
        else (TextSpan("not calibrated", link="#trust"), NOT_CALIBRATED),
    ]
    if book.run.design.quick:
        tiles.append((TextSpan("QUICK", link="#trust"), _describe_quick(book.verdict)))
    return Tiles(tiles)


def _count_audits(findings: Sequence[Finding]) -> tuple[TextSpan, str]:
    """How many are of the worst word, with their names where that is no praise, and the rest."""
    applying = [it for it in findings if it.soundness != "does not apply"]
    if not applying:
        return TextSpan("no audit", link="#audits"), "has judged this run"
    (worst, number), *others = facts.count_findings(applying).items()
    is_bad = worst in ("invalid", "doubtful")
    names = dict.fromkeys(it.audit for it in applying if it.soundness == worst)
    told = [facts.format_findings(*each) for each in others]
    told = [", ".join(names)] * is_bad + [", ".join(told)]
    figure = f"{numbers.format_count(number, 'audit')} {worst}"
    tone = facts.TONES[worst] if is_bad else ""
    return TextSpan(figure, tone, link="#audits"), "; ".join(filter(None, told))


def _describe_blocks(book: Book) -> tuple[TextSpan, str]:
    counted, dropped = list(book.view.counted_trials), book.verdict.dropped
    blocks = numbers.format_count(
        len({(trial.workload, trial.block) for trial in counted}), "block"
    )
    if book.verdict.complete and book.verdict.overall in ("slower", "not slower", "faster"):
        blocks = f"decided at {blocks}"
    lost = len(summarize_restarts(book).losses) - len(dropped)
    gone = f"{len(dropped)} dropped ({dropped[-1].reason})" if dropped else "none dropped"
    restarts = numbers.format_count(len(counted), "restart")
    told = (restarts, gone, f"{lost} lost" if lost > 0 else "")
    return TextSpan(blocks, link="#trust"), ", ".join(filter(None, told))


def _describe_quick(verdict: Verdict) -> str:
    shares = [it for row in list_decisive(verdict) if (it := row.share_unseen_percent)]
    if not shares:
        return "shortened by --quick"
    unseen = f"a slow mode in under {max(shares):.0f} % of restarts could be missed"
    return f"shortened by --quick: {unseen}"
