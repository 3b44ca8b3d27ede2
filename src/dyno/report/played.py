"""How much was played, how much of it counts, and what became of the rest, in sentences."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from dyno.record import Run
from dyno.report import Book, facts, numbers, words


def limits(run: Run) -> str:
    """`foreign ≤ 10 %, steal ≤ 2 %`: what a block was dropped for."""
    told = []
    for name, most in sorted(run.design.limits.items()):
        plain = name.removesuffix("_percent")
        told.append(f"{plain.replace('_', ' ')} ≤ {most:g}" + (" %" if plain != name else ""))
    return ", ".join(told)


@dataclass(frozen=True)
class Played:
    """`counted` restarts, on which `loads`, how they vary (`spread`), and each loss."""

    counted: str
    loads: str
    spread: str
    losses: list[str]


def played(book: Book) -> Played:
    """All of it; a clause is empty where there is nothing to say."""
    return Played(_counted(book), _loads(book), _spread(book), _losses(book))


def _counted(book: Book) -> str:
    """`18 restarts in 6 blocks of 3`; by workload where there are several."""
    parts = []
    for workload in book.run.workloads:
        trials = facts.counted(book, workload.name)
        if trials:
            blocks = len({trial.block for trial in trials})
            where = f" of {workload.name}" if len(book.run.workloads) > 1 else ""
            told = f"{words.plural(len(trials), 'restart')} in {words.plural(blocks, 'block')}"
            parts.append(told + where)
    return ", ".join(parts) or "no restart counts"


def _loads(book: Book) -> str:
    """On how many loads of the data that rests."""
    trials = [t for w in book.run.workloads for t in facts.counted(book, w.name)]
    numbers_of: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        if "load" in trial.conditions:
            numbers_of[trial.workload].add(trial.conditions["load"].get("number", ""))
    if not trials:
        return ""
    if not numbers_of:
        return "the data loaded anew for each"
    each = [f"{words.plural(len(n), 'load')} of {w}" for w, n in numbers_of.items()]
    return f"on {', '.join(each)} for each candidate"


def _losses(book: Book) -> list[str]:
    """What does not count, and why: blocks dropped, trials that failed, blocks begun anew."""
    dropped = [f"{_block(key)} dropped: {why}" for key, why in book.verdict.dropped.items()]
    failed = [t for t in facts.played(book) if t.status != "ok"]
    lost = [
        f"trial {t.number} ({t.candidate}) {t.status}" + (f": {t.failure}" if t.failure else "")
        for t in failed
    ]
    torn = facts.torn(book) - {t.number for t in failed}
    anew = [f"{words.plural(len(torn), 'trial')} of blocks begun anew"] if torn else []
    return [*dropped, *(line.partition("\n")[0] for line in lost), *anew]


def _block(key: str) -> str:
    """`select/3` as the judge names it: `select block 3`."""
    workload, slash, number = key.rpartition("/")
    return f"{workload} block {number}" if slash else key


def _spread(book: Book) -> str:
    """The spreads in one clause, with the widest named."""
    found = sorted(book.verdict.spread, key=lambda each: -each.cov_percent)
    if not found:
        return ""
    widest, narrowest = found[0], found[-1]
    reach = numbers.percent(widest.cov_percent)
    if narrowest is not widest:
        reach = f"{numbers.percent(narrowest.cov_percent)} to {reach}"
    where = f"{widest.candidate}, {words.full(widest.metric)}"
    worst = f"best to worst {numbers.percent(widest.range_percent)}"
    return f"vary by {reach} (CoV), at most in {where}: {worst}"
