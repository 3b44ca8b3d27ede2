"""Statements as trees of text, so that one can be made smaller and stay a statement.

A node knows what may stand in its place: a shorter text (`least`), any part of it of the same sort
(of `(a + b)` the `a`), and of a list fewer elements. Nothing is parsed: the generator makes trees,
and what an engine is sent is their text. A smaller tree may be refused; whoever tries it sees that.

A script that shows a difference is made smaller for as long as it shows the same one: statements
first, then columns, rows and expressions. Every trial begins with empty databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

#: Where a part of a tree is: the numbers of the parts on the way to it.
Path = tuple[int, ...]


@dataclass(frozen=True)
class SqlNode:
    """Some SQL. With a `joint` the parts are elements of a list behind its `lead`, which may be
    fewer unless they are `kept`; what has one `tag` may go together, in all statements: a column,
    its values, and what is said of it.
    """

    parts: tuple[str | SqlNode, ...]
    sort: str = ""
    least: tuple[str, ...] = ()
    joint: str | None = None
    tag: str = ""
    lead: str = ""
    kept: bool = False

    @cached_property
    def text(self) -> str:
        """What an engine is sent."""
        texts = [part if isinstance(part, str) else part.text for part in self.parts]
        if self.joint is None:
            return "".join(texts)
        listed = self.joint.join(filter(None, texts))
        return f"{self.lead}{listed}" if listed else ""


def make_list(parts: list[SqlNode], lead: str = "", *, kept: bool = False) -> SqlNode:
    """Elements of which some may go."""
    return SqlNode(tuple(parts), joint=", ", lead=lead, kept=kept)


def make_optional(*parts: str | SqlNode, tag: str = "") -> SqlNode:
    """What may go as a whole."""
    return SqlNode(parts, least=("",), tag=tag)


@dataclass(frozen=True)
class MadeStatement:
    """A statement, and whether it only reads."""

    tree: SqlNode
    reads: bool = False

    @property
    def sql(self) -> str:
        """Its text."""
        return self.tree.text


def list_paths(node: SqlNode, path: Path = ()) -> Iterator[Path]:
    """Yield where the parts are, the larger before what is in them."""
    yield path
    for at, part in enumerate(node.parts):
        if isinstance(part, SqlNode):
            yield from list_paths(part, (*path, at))


def find_part(node: SqlNode, path: Path) -> SqlNode:
    """Return the part at a place."""
    for at in path:
        part = node.parts[at]
        assert isinstance(part, SqlNode), "a path leads through nodes"
        node = part
    return node


def replace_part(node: SqlNode, path: Path, part: SqlNode) -> SqlNode:
    """Return the tree with another part at a place."""
    if not path:
        return part
    at, *rest = path
    inner = node.parts[at]
    assert isinstance(inner, SqlNode), "a path leads through nodes"
    parts = (*node.parts[:at], replace_part(inner, tuple(rest), part), *node.parts[at + 1 :])
    return replace(node, parts=parts)


def list_smaller(node: SqlNode) -> Iterator[SqlNode]:
    """Yield what may stand in a node's place, the shortest first."""
    found = {text: replace(node, parts=(text,), least=()) for text in node.least}
    if node.sort:
        for path in list_paths(node):
            part = find_part(node, path)
            if path and part.sort == node.sort:
                found.setdefault(part.text, part)
    if node.joint is not None and not node.kept:
        for kept in _list_fewer(node.parts):
            made = replace(node, parts=kept)
            found.setdefault(made.text, made)
    for text in sorted(found, key=lambda it: (len(it), it)):
        if len(text) < len(node.text) or (len(text) == len(node.text) and text < node.text):
            yield found[text]


def _list_fewer(parts: tuple[str | SqlNode, ...]) -> Iterator[tuple[str | SqlNode, ...]]:
    """Yield halves, quarters, …, and all but one: a list keeps one element."""
    size = len(parts) // 2
    while size >= 1:
        for start in range(0, len(parts), size):
            if kept := parts[:start] + parts[start + size :]:
                yield kept
        size //= 2


def list_tags(node: SqlNode) -> set[str]:
    """Return the tags in a tree."""
    inner = [list_tags(part) for part in node.parts if isinstance(part, SqlNode)]
    return {node.tag} - {""} | set().union(*inner)


def remove_tag(node: SqlNode, tag: str) -> SqlNode:
    """Return the tree without what has this tag."""
    parts = tuple(
        remove_tag(part, tag) if isinstance(part, SqlNode) else part
        for part in node.parts
        if not (isinstance(part, SqlNode) and part.tag == tag)
    )
    return node if parts == node.parts else replace(node, parts=parts)


#: Plays that a reduction may take.
TRIALS = 1500
#: Statements of a script in which one may take another's place.
FEW_STATEMENTS = 9

Shows = Callable[[Sequence[MadeStatement]], bool]


@dataclass
class Reducer:
    """Reduces a script whose last statement differs; `shows` plays one, and says whether its last
    statement still differs in the same way.
    """

    shows: Shows
    most: int = TRIALS
    trials: int = 0

    def shorten(self, script: Sequence[MadeStatement]) -> list[MadeStatement]:
        """Return the smallest script that was found; it may not be the smallest that there is."""
        made, before = list(script), ""
        while before != (before := "\n".join(it.sql for it in made)):
            made = self._drop_statements(made)
            made = self._move_statements(made)
            made = self._drop_tags(made)
            for at in reversed(range(len(made))):
                made = self._shorten_statement(made, at)
            if not self.is_left:
                break
        return made

    @property
    def is_left(self) -> bool:
        """Return whether a trial may be played."""
        return self.trials < self.most

    def _try(self, script: list[MadeStatement]) -> bool:
        if not self.is_left:
            return False
        self.trials += 1
        return self.shows(script)

    def _drop_statements(self, script: list[MadeStatement]) -> list[MadeStatement]:
        """Delta debugging (Zeller, Hildebrandt 2002) over all but the last, by complements."""
        size = max(1, (len(script) - 1) // 2)
        while size and self.is_left:
            end = len(script) - 1
            for start in range((end - 1) // size * size if end else -1, -1, -size):
                fewer = script[:start] + script[min(start + size, len(script) - 1) :]
                if len(fewer) < len(script) and self._try(fewer):
                    script = fewer
            size //= 2
        return script

    def _move_statements(self, script: list[MadeStatement]) -> list[MadeStatement]:
        """An earlier statement in the place of a later one: an INSERT behind BEGIN shows what a
        DELETE of its row does. Only few are tried, each with each.
        """
        pairs = ((at, to) for to in range(len(script) - 1) for at in range(to))
        for at, to in pairs if len(script) <= FEW_STATEMENTS else ():
            fewer = [*script[:at], *script[at + 1 : to], script[at], *script[to + 1 :]]
            if self._try(fewer):
                return fewer
        return script

    def _drop_tags(self, script: list[MadeStatement]) -> list[MadeStatement]:
        """Columns, and joins with what is said of them."""
        for tag in sorted(set().union(*(list_tags(it.tree) for it in script))):
            fewer = [replace(it, tree=remove_tag(it.tree, tag)) for it in script]
            if fewer != script and self._try(fewer):
                script = fewer
        return script

    def _shorten_statement(self, script: list[MadeStatement], at: int) -> list[MadeStatement]:
        """Parts of one statement, the large ones first."""
        place = 0
        while self.is_left:
            tree = script[at].tree
            paths = list(list_paths(tree))
            if place >= len(paths):
                break
            for smaller in list_smaller(find_part(tree, paths[place])):
                changed = replace(script[at], tree=replace_part(tree, paths[place], smaller))
                made = [*script[:at], changed, *script[at + 1 :]]
                if self._try(made):
                    script = made
                    break
            else:
                place += 1
        return script
