"""When two results are the same: answers as data, what a statement's text leaves open, and the
decision. Pure: no engine is asked here.
"""

from dyno.answers.answer import Answer, Column, Notice, Refusal, Sameness, Word
from dyno.answers.cells import matches_number
from dyno.answers.ordering import are_ordered
from dyno.answers.sameness import compare_answers

__all__ = [
    "Answer",
    "Column",
    "Notice",
    "Refusal",
    "Sameness",
    "Word",
    "are_ordered",
    "compare_answers",
    "matches_number",
]
