"""What two sides answered to the same statements, on fresh copies of the same data."""

from __future__ import annotations

from dyno.record.schema import Finite, Int64, Record

#: What may differ in answers of the same rows.
LESS_GRAVE = ("types", "warnings")
#: Kinds of statements that the workload did not send.
KINDS_OF_OURS = ("table", "rule")


class ComparedStatement(Record):
    """Executions of one statement, its literals aside: how many were answered alike, otherwise, by
    rows that may differ by right, and how many were not compared.

    `kind` is the driver's (`read`, `update`, …), `table` for the rows that a table held in the end,
    `rule` for what breaks a constraint. `after_writes`: a read that was asked once more then.
    `example` is the execution that `why` tells of: the first that differs, else the first that
    could not be judged, else, of a log, the first; `base` and `own` are rows of both sides there;
    `what` differs in it (`error`, `rows`, `order`, `types`, `warnings`, …).

    Of those that differ the candidate refuses `failed`, which the base answers; of those answered
    alike both refuse `failed_both`, with the error in `why` where nothing else is told. The base
    answers `unsteady` of the undecidable otherwise when it plays them again. `downstream` of what
    is not compared differ in a table whose rows had differed before. `name` is what times of a
    log's statements are counted under, empty where they have no name of their own. The user's
    server was `sent` so many, where that is not what was played (0: it is).
    """

    text: str
    kind: str
    same: Int64 = 0
    differs: Int64 = 0
    undecidable: Int64 = 0
    not_compared: Int64 = 0
    why: str = ""
    example: str = ""
    base: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    what: str = ""
    after_writes: bool = False
    name: str = ""
    failed: Int64 = 0
    failed_both: Int64 = 0
    unsteady: Int64 = 0
    downstream: Int64 = 0
    sent: Int64 = 0


class Contents(Record):
    """The answers of a candidate beside those of `base`; `seconds` is what asking for them took.

    `base` is empty for the first side's own trial, which has nothing to be held against. `is_log`:
    a log was played in its order, session by session, and not its statements by themselves.
    """

    base: str
    seconds: Finite
    statements: tuple[ComparedStatement, ...] = ()
    is_log: bool = False
