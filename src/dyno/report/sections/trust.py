"""Section: what the verdict rests on; where a sceptic looks first."""

from __future__ import annotations

from dyno.judge.analysis.sentence import pilot_words
from dyno.record import host_score
from dyno.report import Book, basis, facts
from dyno.report.basis import calibration_summary, score_sentence
from dyno.report.block_cost import block_cost_words
from dyno.report.html import markup
from dyno.report.html.markup import asset, render

#: Of losses and of the host's observations; the rest is folded.
_SHOWN = 5


class _Trust:
    title = "What the verdict rests on"
    place = 12

    def render(self, book: Book) -> str:
        """Restarts, audits, conditions, host and calibration, each in a few lines."""
        survey, controls = book.run.survey, basis.control_summaries(book)
        findings = facts.worst_first(book.verdict.findings)
        return render(
            asset("trust.html"),
            candidates=book.view.candidates,
            played=basis.restart_summary(book),
            limits=basis.limits_sentence(book.run),
            cost=block_cost_words(book),
            piloted=pilot_words(book.run),
            machine=_machine(book.run.host),
            counts=facts.count_findings(findings),
            unsound=[f for f in findings if f.soundness in ("invalid", "doubtful")],
            unchecked=[f for f in findings if f.soundness == "not checked"],
            inapplicable=[f for f in findings if f.soundness == "does not apply"],
            sound=[f for f in findings if f.soundness == "sound"],
            count_words=facts.count_words,
            links=markup.trial_links,
            controls=controls,
            summary=basis.controls_sentence(controls),
            differing=[h for h in controls if h.differs],
            refused=[h for h in controls if h.refused],
            survey=None if survey is None else [o for o in survey if o.mark != "unknown"],
            unseen=[o.name for o in survey or () if o.mark == "unknown"],
            score=host_score(survey or ()),
            calibration=calibration_summary(book.run),
            sentence=score_sentence,
            shown=_SHOWN,
        )


def _machine(host: dict[str, str]) -> str:
    """The host in a line: processor, cores, kernel, as far as they are on record."""
    parts = (("", "cpu", ""), ("", "cores", " cores"), ("kernel ", "kernel", ""))
    return ", ".join(f"{a}{host[name]}{z}" for a, name, z in parts if name in host)


SECTION = _Trust()
