"""What a rehearsal of an upgrade came to: a verdict for each class of the log's statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dyno.record.cause import PlanChange
from dyno.record.contents import ComparedStatement

#: The gravest first; a class has the first that holds of it.
ClassWord = Literal[
    "fails",
    "answers otherwise",
    "types or warnings",
    "plan changed",
    "slower",
    "faster",
    "accepted",
    "not compared",
    "same",
]
#: Of these an upgrade is not to be made unread: exit code 1.
GRAVE: tuple[ClassWord, ...] = ("fails", "answers otherwise", "types or warnings", "slower")

#: `not shown`: the interval is open, which is not *same*.
TimeWord = Literal["slower", "not slower", "faster", "not shown"]


@dataclass(frozen=True)
class ClassTime:
    """What a class takes: means of an execution over the timed blocks, in ns, the change in percent
    with its interval, and `cost_ns`, calls × difference of means.

    `word` is that of the interval, by Holm among all classes; `why` tells why it says less than it
    seems to. `share_percent` is the class's part of the base's time.
    """

    base_ns: float
    own_ns: float
    change_percent: float
    low_percent: float
    high_percent: float
    cost_ns: float
    share_percent: float
    word: TimeWord
    why: str = ""


@dataclass(frozen=True)
class ClassVerdict:
    """A statement class with its gravest word, and why; `time` is None where it was not measured
    by itself, `plan` where no plan is known to have changed.
    """

    word: ClassWord
    why: str
    answers: ComparedStatement
    plan: PlanChange | None = None
    time: ClassTime | None = None

    @property
    def calls(self) -> int:
        """Executions in the log, compared or not."""
        it = self.answers
        return it.same + it.differs + it.undecidable + it.not_compared

    @property
    def is_grave(self) -> bool:
        """It is not to be met unread: by its word, or because its other plan is slower."""
        return self.word in GRAVE or self.is_slower

    @property
    def is_slower(self) -> bool:
        """Its time is, whatever its word."""
        return self.time is not None and self.time.word == "slower"


@dataclass(frozen=True)
class Rehearsal:
    """All classes, the gravest first, and the rows that tables hold in the end.

    `base` and `own` are what OLD and NEW are called. `others` is the time of all classes together
    that have none of their own. `plans` statements had their plans compared. `failure` says why no
    answer was.
    """

    base: str
    own: str
    sentence: str
    exit_code: int
    classes: tuple[ClassVerdict, ...] = ()
    tables: tuple[ClassVerdict, ...] = ()
    others: ClassTime | None = None
    blocks: int = 0
    plans: int = 0
    failure: str = ""

    @property
    def calls(self) -> int:
        """Executions of all classes."""
        return sum(each.calls for each in self.classes)

    @property
    def unjudged(self) -> dict[str, int]:
        """Executions that say nothing of NEW, by the reason's name. Not of classes that answer
        otherwise on NEW: what their other executions would say adds nothing.
        """
        told = ("fails", "answers otherwise", "types or warnings")
        answers = [each.answers for each in self.classes if each.word not in told]
        unsteady = sum(it.unsteady for it in answers)
        downstream = sum(it.downstream for it in answers)
        found = {
            "not compared": sum(it.not_compared for it in answers) - downstream,
            "unsteady on OLD itself": unsteady,
            "downstream of an earlier difference": downstream,
            "may differ by right": sum(it.undecidable for it in answers) - unsteady,
        }
        return {name: count for name, count in found.items() if count > 0}
