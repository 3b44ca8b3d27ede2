"""`report.html`: the whole run on one page that opens anywhere and asks nobody for anything.

Style, script and drawn charts are inside, and a content security policy forbids the browser to
fetch anything else, should a mistake here ever try. Files are written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from dyno import private_files
from dyno.judge.analysis.effect_words import describe_word
from dyno.report import Book, load_sections
from dyno.report.accepted import list_accepted
from dyno.report.document import Block, Document, Heading, Prose
from dyno.report.headline import build_headline, describe_largest, list_decisive
from dyno.report.html.markup import read_asset, render
from dyno.report.names import describe_candidate, name_compared, name_measurements
from dyno.report.rehearsal import build_rehearsal
from dyno.report.render.html import render_html
from dyno.report.result import Result


def replace_file(path: Path, content: str | bytes, mode: int = private_files.FILE) -> Path:
    """Writes `content` whole or not at all, private unless `mode` is another (`private_files`)."""
    try:
        private_files.write_whole(path, content, mode)
    except OSError as error:
        # a write that fails does not say of which file
        error.filename = str(path)
        raise
    return path


def write_user_file(path: Path, content: str | bytes) -> None:
    """Writes a file that a user named: as `replace_file` does, but through a link, a pipe or a
    device (/dev/stdout), which a rename would put a file in the place of.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        replace_file(path, content, private_files.ANYBODYS)


@dataclass(frozen=True)
class PageHead:
    """What stands above the parts; `candidates`, where there are any, is the legend of colours.
    `descriptions` say what each of them is. Where the first part `leads`, it stands before the list
    of all, and its title is for those who cannot see it.
    """

    title: str
    eyebrow: str
    heading: str
    question: str
    aside: str
    candidates: Sequence[str] = ()
    quick: bool = False
    leads: bool = False
    descriptions: Sequence[str] = ()


def build_page(front: PageHead, document: Document) -> str:
    """The page as text; each heading with an anchor begins a part of it."""
    own: list[tuple[Heading, list[Block]]] = []
    for block in document:
        if isinstance(block, Heading) and block.anchor and not block.within:
            own.append((block, []))
        else:
            own[-1][1].append(block)
    parts = [(it, render_html(blocks)) for it, blocks in own]
    flame = any('<figure class="flame"' in body for _, body in parts)
    return render(
        read_asset("page.html"),
        front=front,
        parts=parts,
        style=Markup(read_asset("page.css") + read_asset("flame.css") * flame),
        script=Markup(read_asset("page.js") + read_asset("flame.js") * flame),
    )


def write_page(book: Book) -> Path:
    """Writes the page into the run's folder, whole or not at all, and answers its path."""
    return replace_file(book.folder / book.page, build_run_page(book))


def build_run_page(book: Book) -> str:
    run = book.run
    verdict = book.verdict
    if verdict.rehearsal:
        result = Result("a rehearsal", run.name, verdict.sentence, run.created_utc)
        question, document = run.question or f"Dyno rehearsal: {run.name}", build_rehearsal(book)
        sides = run.candidates
        return render_result(replace(result, question=question, sides=sides, document=document))
    named = name_measurements(run, list_decisive(verdict))
    largest = describe_largest(verdict, named)
    compared = run.name if run.factors else name_compared(run.candidates, run.name)
    front = PageHead(
        title=f"{compared}: {'doubtful: ' if verdict.doubts else ''}{verdict.overall}",
        eyebrow=run.question or f"Dyno report: {compared}",
        heading=f"{build_headline(run.candidates, verdict)}.",
        question=f"{largest[0].upper()}{largest[1:]}." if largest else "",
        aside=f"{run.name}, {run.created_utc}",
        candidates=book.view.candidates,
        quick=run.design.quick,
        leads=True,
        descriptions=[describe_candidate(side) for side in run.candidates],
    )
    return build_page(front, list_sections(book))


def render_result(it: Result) -> str:
    """The page of what any kind of run came to: all that its document has."""
    word = describe_word(it.rows[0].row.metric, it.verdict.overall) if it.rows else it.headline
    doubtful = "doubtful: " if it.verdict.doubts else ""
    front = PageHead(
        title=f"{name_compared(it.sides, it.name)}: {doubtful}{word}",
        eyebrow=it.question,
        heading=it.headline,
        question="",
        aside=f"{it.name}, {it.created_utc}",
        candidates=[side.name for side in it.sides],
        leads=True,
        descriptions=[describe_candidate(side) for side in it.sides],
    )
    accepted = [Prose(told, boxed=True) for told in list_accepted(it.losses, it.verdict)]
    return build_page(front, [*it.body[:1], *accepted, *it.body[1:]])


def list_sections(book: Book) -> Document:
    built = ((name, it.title, it.build(book)) for name, it in load_sections().items())
    return [it for name, title, own in built if own for it in (Heading(title, name), *own)]
