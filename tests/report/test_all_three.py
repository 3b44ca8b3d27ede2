"""Each section says the same in HTML, on a terminal and in Markdown, and nothing is lost in any."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from dyno.report import Book, load_sections
from dyno.report import document as doc
from dyno.report.render.html import render_html
from dyno.report.render.markdown import escape_markdown, render_markdown
from report.book import make_book
from report.page_text import print_document, words
from report.sampled_book import make_sampled_book
from report.test_effects import make_book as make_crossed_book

SECTIONS = load_sections()
HOSTILE = "<script>x</script> @you \x1b[31m|`_[a](b)"


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> list[Book]:
    made = make_book(tmp_path_factory.mktemp("run"))
    return [made, make_sampled_book(tmp_path_factory.mktemp("sampled")), make_crossed_book()]


def list_texts(thing: Any, folded: bool = True) -> Iterator[str]:
    """Every text of a document, down to the spans; pictures and what only a pointer sees aside."""
    if isinstance(thing, str):
        yield from (it.text for it in doc.list_spans(thing))
    elif isinstance(thing, doc.TextSpan):
        yield thing.text
    elif isinstance(thing, list | tuple):
        for each in thing:
            yield from list_texts(each, folded)
    elif isinstance(thing, doc.RowTable | doc.Items) and not (
        thing.rows if isinstance(thing, doc.RowTable) else thing.items
    ):
        return  # not shown
    elif isinstance(thing, doc.Terms):
        yield from list_texts([[name, *own] for name, own in thing.rows if own], folded)
    elif isinstance(thing, doc.Details) and not (folded or thing.is_printed):
        yield from list_texts(thing.summary)
    elif not isinstance(thing, doc.Figure | doc.Flame | doc.Forest | doc.Bars):
        for field in dataclasses.fields(thing):
            if field.name not in ("anchor", "tone", "kind"):
                value = getattr(thing, field.name)
                yield from () if isinstance(value, bool | int) else list_texts(value, folded)


def squeeze(text: str) -> str:
    return "".join(text.replace("`", "").split())


@pytest.mark.parametrize("name", SECTIONS)
def test_every_word_of_a_section_is_in_all_three(books: list[Book], name: str) -> None:
    built = [SECTIONS[name].build(book) for book in books]
    for document in built:
        texts = [text for text in list_texts(list(document)) if text.strip()]
        page, told = squeeze(words(render_html(document))), squeeze(print_document(document, 3000))
        plain = squeeze(render_markdown(document))
        for text in texts:
            assert squeeze(text) in page, f"{name} in HTML"
            said = any(squeeze(it) in plain for it in (text, escape_markdown(text)))
            assert said, f"{name} in Markdown"
        for text in list_texts(list(document), folded=False):
            assert squeeze(text) in told, f"{name} on a terminal"


def test_most_sections_have_something_to_say_of_these_runs(books: list[Book]) -> None:
    silent = {name for name, it in SECTIONS.items() if not any(it.build(book) for book in books)}
    assert silent <= {"client_hosts", "hosts", "instructions", "sizes", "suite", "sweep"}


def test_text_of_others_is_no_markup_in_any_block() -> None:
    span = doc.TextSpan(HOSTILE, link="#a", why=HOSTILE)
    cell = doc.TableCell(span, beside=HOSTILE)
    columns = doc.make_columns(HOSTILE, HOSTILE)
    document: doc.Document = [
        doc.Heading(HOSTILE),
        doc.Prose(span),
        doc.Items([HOSTILE], HOSTILE),
        doc.Terms([(HOSTILE, [doc.Prose(HOSTILE)])]),
        doc.Tiles([(span, HOSTILE)]),
        doc.RowTable(columns, [doc.Group(HOSTILE), (cell, HOSTILE)], HOSTILE),
        doc.Bars((HOSTILE,), [(HOSTILE, [(HOSTILE, 1.0, HOSTILE)])]),
        doc.Details(HOSTILE, [doc.Prose(HOSTILE)]),
    ]
    page, told, plain = render_html(document), print_document(document), render_markdown(document)
    assert "<script" not in page and "<script" not in plain and "@you" not in plain
    assert "\x1b" not in page and "\x1b" not in told and "\x1b" not in plain
