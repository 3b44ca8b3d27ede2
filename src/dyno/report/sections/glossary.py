"""Section: how to read the page, for first-time readers."""

from __future__ import annotations

from dyno.report import Book, Section
from dyno.report.document import Document, Prose, Terms

TERMS = {
    "Trial": "One restart: fresh data, the engine in a fresh process, warm-up, phases measured, "
    "audits, stop. It is the unit of all statistics here, since work inside one process agrees far "
    "better with itself than processes agree with one another.",
    "Block": "Every candidate once, interleaved or one after the other. Only the trials of one "
    "block are compared with each other, so that a machine that drifts drifts for both.",
    "Phase and stream": "A phase is a stretch of a trial with its own work, a stream the users in "
    "it that do the same. Rates count a stream's units (rows, queries) per second.",
    "Slowdown": "The candidate's time divided by the base's, minus one: 210\u00a0µs after "
    "200\u00a0µs is +5\u00a0%. Rates are turned into times first, so "
    "positive is worse in every metric.",
    "Interval": "Where the slowdown lies, at the stated confidence, with the price of every "
    "earlier look at the data paid. It comes from the differences within blocks.",
    "Margin": "The largest slowdown that would be accepted, declared before the run. Slower: the "
    "interval lies above zero and reaches the margin. Not slower: it ends below the margin. "
    "Faster: it lies below zero, and a gain as large as the margin is not ruled out. "
    "Inconclusive: it allows too much; more blocks would tell. Sizes are larger or smaller, costs "
    "dearer or cheaper, by the same rule.",
    "MDE80": "The smallest slowdown that this many blocks would find in four runs of five. An "
    "effect below it may well be there unseen.",
    "Primary and exploratory": "Primaries were chosen before the run, set the verdict and are held "
    "to one error rate together (Holm). Exploratory metrics are held to a false discovery rate "
    "(Benjamini–Hochberg), may give ideas and never set the exit code.",
    "Dropped block": "A block in which the machine was busy with others beyond the limits declared "
    "before. It is dropped before its result is looked at, counted, and played anew.",
    "Audit": "A check on the measurement itself, for instance that the rows inserted are there. "
    "Sound, doubtful or invalid; an invalid measurement gets no other verdict.",
    "Latency": "From the time at which a request was meant to be sent, so that waiting behind a "
    "stalled engine counts. No request is left out to keep a pace.",
}


def build(book: Book) -> Document:
    return [Terms([(term, [Prose(meaning)]) for term, meaning in TERMS.items()])]


SECTION = Section("How to read this page", 99, build)
