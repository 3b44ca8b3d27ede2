"""An execution of each statement that a run has sent so far: the same in all of its trials."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dyno.driver import Execution
from dyno.record import StatementKind

#: Workload and engine: engines have other words for the same.
Place = tuple[str, str]


@dataclass(frozen=True)
class KnownText:
    """A statement's text without its literals, and executions of it; none where they are too long
    to be kept.
    """

    text: str
    kind: StatementKind
    executions: tuple[Execution, ...]


@dataclass
class KnownStatements:
    """By workload, engine and the text's digest the execution that stands for it, and the names and
    statements that an engine did explain, with the block that they are known since.

    The first one known stays, so that two plans never differ by the values in them. Trials that are
    interleaved share it.
    """

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _examples: dict[Place, dict[str, str]] = field(default_factory=dict)
    _explained: dict[Place, dict[str, tuple[int, str]]] = field(default_factory=dict)
    _refused: set[Place] = field(default_factory=set)
    _texts: dict[tuple[str, str], tuple[KnownText, ...]] = field(default_factory=dict)

    def add(self, place: Place, examples: Mapping[str, str]) -> dict[str, str]:
        """Takes in what a trial has sent; answers all that is known, by digest."""
        with self._lock:
            known = self._examples.setdefault(place, {})
            for digest, sql in examples.items():
                known.setdefault(digest, sql)
            return dict(known)

    def note_texts(self, workload: str, candidate: str, texts: Iterable[KnownText]) -> None:
        """Takes in what a candidate's trial has sent in its phases; the first to send any stays."""
        with self._lock:
            if found := tuple(texts):
                self._texts.setdefault((workload, candidate), found)

    def find_texts(self, workload: str, candidate: str) -> tuple[KnownText, ...]:
        """What that was; empty where no trial has ended."""
        with self._lock:
            return self._texts.get((workload, candidate), ())

    def note_explained(self, place: Place, block: int, statements: Mapping[str, str]) -> None:
        """Takes in the statements of a block that the engine explained, by name."""
        with self._lock:
            known = self._explained.setdefault(place, {})
            for name, sql in statements.items():
                known.setdefault(name, (block, sql))

    def list_explained_before(self, place: Place, block: int) -> dict[str, str]:
        """Those of earlier blocks: each trial of a block is asked for the same. None where an
        engine has refused before: it would again.
        """
        with self._lock:
            known = {} if place in self._refused else self._explained.get(place, {})
            return {name: sql for name, (since, sql) in known.items() if since < block}

    def has_refused(self, place: Place) -> bool:
        """Is an engine not to be asked before a phase?"""
        with self._lock:
            return place in self._refused

    def note_refusal(self, place: Place) -> None:
        """An engine does not explain while the users' connections are open: one of them may hold
        a lock, or the engine lets one process in.
        """
        with self._lock:
            self._refused.add(place)
