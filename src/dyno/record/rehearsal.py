"""What a rehearsal of an upgrade came to: a verdict for each class of the log's statements."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from dyno.record.cause import PlanChange
from dyno.record.contents import ComparedStatement
from dyno.record.integrity import IntegrityCheck
from dyno.record.schema import Finite, Int64, Record

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


class ClassTime(Record):
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


class ClassVerdict(Record):
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
    def sent(self) -> int:
        """How often the user's server was sent it: as the log has it, or as the server counted."""
        return self.answers.sent or self.calls

    @property
    def is_grave(self) -> bool:
        """It is not to be met unread: by its word, or because its other plan is slower."""
        return self.word in GRAVE or self.is_slower

    @property
    def is_slower(self) -> bool:
        """Its time is, whatever its word."""
        return self.time is not None and self.time.word == "slower"


#: The gravest first: NEW refuses what OLD takes; it says of it what OLD does not.
OptionWord = Literal["fails", "warned of", "refused by OLD", "refused by both", "accepted", "taken"]


class OptionVerdict(Record):
    """A setting of the user's own file (`--config`), and what OLD and NEW say of it: a refusal or a
    warning in their own words, empty where they take it in silence. `held` says what it belongs to
    where it is not applied on this host.
    """

    name: str
    word: OptionWord
    value: str = ""
    old: str = ""
    new: str = ""
    held: str = ""

    def without_value(self, stars: str) -> OptionVerdict:
        """The same with `stars` in the place of its value."""
        if not self.value:
            return self
        old, new = (words.replace(self.value, stars) for words in (self.old, self.new))
        return replace(self, value=stars, old=old, new=new)


class LeftOut(Record):
    """What of the `log` or the `dump` was not played, for one reason: how many, and where the first
    are, with the beginnings of their texts.
    """

    of: Literal["log", "dump"]
    count: Int64
    why: str
    where: str


class FolderUpgrade(Record):
    """OLD's data folder, upgraded by NEW's own means: how long that took, their words, and what the
    tables were asked then. `failed`: NEW cannot begin with it.
    """

    duration_s: Finite
    words: str
    checks: tuple[IntegrityCheck, ...] = ()
    failed: bool = False

    @property
    def faults(self) -> tuple[IntegrityCheck, ...]:
        """Of the checks those that found something."""
        return tuple(it for it in self.checks if it.faults)


class Rehearsal(Record):
    """All classes, the gravest first, and the rows that tables hold in the end.

    `base` and `own` are what OLD and NEW are called. `others` is the time of all classes together
    that have none of their own. `plans` statements had their plans compared. `failure` says why no
    answer was. `options` are the settings of the user's file, `upgrade` is how
    NEW came by its data where it took over OLD's folder. `left_out` is what was played nowhere.
    """

    base: str
    own: str
    sentence: str
    exit_code: Int64
    classes: tuple[ClassVerdict, ...] = ()
    tables: tuple[ClassVerdict, ...] = ()
    others: ClassTime | None = None
    blocks: Int64 = 0
    plans: Int64 = 0
    failure: str = ""
    options: tuple[OptionVerdict, ...] = ()
    upgrade: FolderUpgrade | None = None
    left_out: tuple[LeftOut, ...] = ()

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
