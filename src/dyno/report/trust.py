"""Section: what the verdict rests on, where a sceptic looks first."""

from __future__ import annotations

from collections import Counter

from dyno.record import host_score
from dyno.report import Book, facts, held, links
from dyno.report.calibrated import calibrated, sentence
from dyno.report.markup import asset, render
from dyno.report.played import played

#: Of losses and of the host's observations; the rest is folded.
_SHOWN = 5


class _Trust:
    title = "What the verdict rests on"
    place = 12

    def render(self, book: Book) -> str:
        """Restarts, audits, conditions, host and calibration, each in a few lines."""
        survey, controls = book.run.survey, held.controls(book)
        findings = facts.worst_first(book.verdict.findings)
        return render(
            asset("trust.html"),
            candidates=facts.candidates(book),
            played=played(book),
            counts=Counter(f.soundness for f in findings),
            unsound=[f for f in findings if f.soundness != "sound"],
            sound=[f for f in findings if f.soundness == "sound"],
            links=links.trials,
            controls=controls,
            summary=held.summary(controls),
            differing=[h for h in controls if h.differs],
            refused=[h for h in controls if h.refused],
            survey=None if survey is None else [o for o in survey if o.mark != "unknown"],
            unseen=[o.name for o in survey or () if o.mark == "unknown"],
            score=host_score(survey or ()),
            calibration=calibrated(book.run),
            sentence=sentence,
            shown=_SHOWN,
        )


SECTION = _Trust()
