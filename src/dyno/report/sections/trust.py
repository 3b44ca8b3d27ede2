"""Section: what the verdict rests on; where a sceptic looks first."""

from __future__ import annotations

from dyno.judge.analysis.sentence import describe_pilot
from dyno.record import compute_host_score
from dyno.report import Book, basis, facts
from dyno.report.basis import format_score, summarize_calibration
from dyno.report.block_cost import describe_block_cost
from dyno.report.html import markup
from dyno.report.html.markup import read_asset, render

#: Of losses and of the host's observations; the rest is folded.
_SHOWN = 5


class _Trust:
    title = "What the verdict rests on"
    place = 12

    def render(self, book: Book) -> str:
        """Restarts, audits, conditions, host and calibration, each in a few lines."""
        survey, controls = book.run.survey, basis.summarize_controls(book)
        findings = facts.sort_worst_first(book.verdict.findings)
        return render(
            read_asset("trust.html"),
            candidates=book.view.candidates,
            played=basis.summarize_restarts(book),
            limits=basis.describe_limits(book.run),
            cost=describe_block_cost(book),
            piloted=describe_pilot(book.run),
            machine=_describe_machine(book.run.host),
            counts=facts.count_findings(findings),
            unsound=[f for f in findings if f.soundness in ("invalid", "doubtful")],
            unchecked=[f for f in findings if f.soundness == "not checked"],
            inapplicable=[f for f in findings if f.soundness == "does not apply"],
            sound=[f for f in findings if f.soundness == "sound"],
            count_words=facts.format_count,
            links=markup.link_trials,
            controls=controls,
            summary=basis.describe_controls(controls),
            differing=[h for h in controls if h.differs],
            refused=[h for h in controls if h.refused],
            survey=None if survey is None else [o for o in survey if o.mark != "unknown"],
            unseen=[o.name for o in survey or () if o.mark == "unknown"],
            score=compute_host_score(survey or ()),
            calibration=summarize_calibration(book.run),
            sentence=format_score,
            shown=_SHOWN,
        )


def _describe_machine(host: dict[str, str]) -> str:
    """The host in a line: processor, cores, kernel, as far as they are on record."""
    parts = (("", "cpu", ""), ("", "cores", " cores"), ("kernel ", "kernel", ""))
    return ", ".join(f"{a}{host[name]}{z}" for a, name, z in parts if name in host)


SECTION = _Trust()
