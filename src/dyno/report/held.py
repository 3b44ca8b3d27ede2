"""What each control held still, what it found before, and where it could do nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from dyno.record import Trial
from dyno.report import Book, facts, words

#: How a control's record begins to say that the host did not let it.
REFUSED = "not controllable here"
#: The value of a control that leaves things as they are.
KEEP = "keep"
#: What a control finds where the host has no such knob.
ABSENT = "none"
#: Parts of a record that are told elsewhere.
_TOLD = ("before", "value", "set", "state")


@dataclass(frozen=True)
class Held:
    """One control over a whole run: its value by candidate, the base first.

    `before` is what it found, `refused` why it could do nothing (in some trial), `done` the rest
    of what it wrote down; `crossed` says that it is a factor of the run.
    """

    control: str
    values: dict[str, str]
    before: str
    refused: str
    done: dict[str, str]
    crossed: bool = False

    @property
    def differs(self) -> bool:
        """Do the candidates differ in it?"""
        return len(set(self.values.values())) > 1

    @property
    def kept(self) -> bool:
        """Was it left as it was, for all candidates?"""
        return set(self.values.values()) == {KEEP}

    @property
    def told(self) -> str:
        """`aslr on`, `aslr on (old, newer), off (new)`, or `aslr on or off, crossed`."""
        sides: dict[str, list[str]] = defaultdict(list)
        for name, value in self.values.items():
            sides[value].append(name)
        if self.crossed:
            return f"{self.control} {' or '.join(sides)}, crossed"
        each = (f"{value} ({', '.join(names)})" for value, names in sides.items())
        return f"{self.control} {', '.join(each if self.differs else sides)}"


def controls(book: Book) -> list[Held]:
    """Every control of the run: those that differ, those refused, those held, those left."""
    names = {name for side in book.run.candidates for name in side.controls}
    names |= book.run.design.controls.keys()
    trials = [trial for trial in facts.played(book) if trial.status == "ok"]
    held = [_held(book, name, trials) for name in sorted(names)]
    return sorted(held, key=lambda h: (not h.differs, not h.refused, h.kept))


def _held(book: Book, control: str, trials: list[Trial]) -> Held:
    sides = {side.name: side for side in book.run.candidates}
    every = book.run.design.controls.get(control, "")
    found = [t.conditions[control] for t in trials if control in t.conditions]
    texts = {key: told([f[key] for f in found if key in f]) for key in _keys(found)}
    refusals = [v for f in found for v in f.values() if v.startswith(REFUSED)]
    return Held(
        control=control,
        values={n: sides[n].controls.get(control, every) for n in facts.candidates(book)},
        before=texts.get("before", ""),
        refused=" or ".join(dict.fromkeys(refusals)),
        done={key: text for key, text in texts.items() if key not in _TOLD},
        crossed=control in {factor.name for factor in book.run.factors},
    )


def _keys(found: list[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(key for each in found for key in each))


def told(values: list[str], most: int = 4) -> str:
    """The values, with how many trials had each where there are several."""
    counts = Counter(values)
    if len(counts) < 2:
        return next(iter(counts), "")
    each = [f"{value} ({words.plural(n, 'trial')})" for value, n in counts.most_common(most)]
    more = len(counts) - most
    return ", ".join(each) + (f" and {more} other values" if more > 0 else "")


def summary(controls: list[Held]) -> str:
    """`aslr on, pinning apart; 10 left as found; no such knob here: turbo`; refused ones aside."""
    told = [h.told for h in controls if not h.kept and not h.refused]
    absent = [h.control for h in controls if h.kept and h.before == ABSENT]
    kept = sum(h.kept for h in controls) - len(absent)
    parts = [", ".join(told), f"{kept} left as found" if kept else ""]
    parts += [f"no such knob here: {', '.join(absent)}"] if absent else []
    return "; ".join(filter(None, parts))
