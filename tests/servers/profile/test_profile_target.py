"""What is profiled, by words that name nothing, a server elsewhere, or the wrong process."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.driver import Conversation
from dyno.driver.events import AskMode, ServerNotice, TimedAnswer
from dyno.driver.plan import Session
from dyno.errors import TrialFailed, UsageError
from dyno.servers.profile import postgres
from dyno.servers.profile.source import NotPlanned, StatementCount, StatementServer, StatementText
from dyno.servers.profile.statements import LINES_KEPT, StatementTimes
from dyno.servers.profile.target import find_target

Rows = list[list[list[str | None]]]


def answer(session: Session, statements: Sequence[str]) -> Rows:
    """A PostgreSQL without the extension."""
    known: dict[str, list[list[str | None]]] = {
        postgres.ABOUT[0]: [["18.1"]],
        "SHOW default_transaction_read_only": [["on"]],
        postgres.ABOUT[1]: [["t"]],
        postgres.ABOUT[2]: [["5", "shop"]],
        postgres.ABOUT[3]: [["1024"]],
        postgres.EXTENSION: [],
    }
    return [known.get(each, [["1"]]) for each in statements]


@contextmanager
def pooling(folder: Path) -> Iterator[str]:
    """A Unix socket that another program than a server listens on."""
    path = folder / ".s.PGSQL.6432"
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(path))
        line.listen()
        over = threading.Event()

        def accept() -> None:
            with suppress(OSError):
                while not over.is_set():
                    line.accept()[0].close()

        threading.Thread(target=accept, daemon=True).start()
        yield str(folder).replace("/", "%2F")
        over.set()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nobody", "names no server"),
        ("sqlite@3.54.1", "names no server"),
        ("postgres@18", "no URL is named"),
        ("duckdb://localhost/x", "names no server"),
    ],
)
def test_a_word_that_names_no_server_is_refused(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_target(answer, word)


def test_of_a_server_elsewhere_there_is_no_cpu_profile_and_that_is_said() -> None:
    found = find_target(answer, "postgres://ann@198.51.100.7/shop?sslmode=disable")
    assert found.process is None and found.engine == "postgres"
    assert any("no process of this host listens there" in each for each in found.missing)


def test_a_server_that_did_not_make_the_session_read_only_is_refused() -> None:
    def answer_off(session: Session, statements: Sequence[str]) -> Rows:
        rows = answer(session, statements)
        return [
            [["off"]] if each.endswith("read_only") else row
            for each, row in zip(statements, rows, strict=True)
        ]

    with pytest.raises(UsageError, match="did not make the session read-only"):
        find_target(answer_off, "postgres://ann@198.51.100.7/shop?sslmode=disable")


def test_a_pooler_in_front_is_not_taken_for_the_server(tmp_path: Path) -> None:
    with pooling(tmp_path) as host:
        found = find_target(answer, f"postgres://ann@{host}:6432/shop")
    assert found.process is None
    assert any("no CPU profile: process" in each for each in found.missing)


def test_a_pooler_that_holds_an_engines_library_is_no_server(tmp_path: Path) -> None:
    with sqlite3.connect(":memory:"), pooling(tmp_path) as host:
        found = find_target(answer, f"postgres://ann@{host}:6432/shop")
    assert found.process is None


def test_a_process_of_another_engine_is_not_the_server_s() -> None:
    with pytest.raises(UsageError):
        find_target(answer, "postgres://ann@localhost/shop", os.getpid())
    with pytest.raises(UsageError, match="--pid goes with a URL"):
        find_target(answer, str(os.getpid()), 1)


def test_the_name_of_a_server_has_no_password() -> None:
    found = find_target(answer, "postgres://ann:secret-word@localhost/shop")
    assert found.server and "secret-word" not in found.name + repr(found.missing)


class Telling(Conversation):
    """A PostgreSQL's answers to what a statement calls, which is nothing."""

    def __call__(self, session: Session, statements: Sequence[str]) -> Rows:
        return [[["on"]] for _ in statements]

    def ask_timed(
        self, session: Session, statements: Sequence[str], mode: AskMode = "rows"
    ) -> list[TimedAnswer]:
        if mode == "prepares":
            tree = ServerNotice("parse tree:", "", "{QUERY :commandType 1}")
            return [TimedAnswer([], 1, notices=(tree,))]
        return [TimedAnswer([["on"]] if "superuser" in it else [], 1) for it in statements]


def find_server() -> StatementServer:
    found = find_target(answer, "postgres://ann@localhost/shop").server
    assert isinstance(found, postgres.PostgresServer)
    return replace(found, converse=Telling)


def explain(text: str) -> str:
    return find_server().explain(answer, StatementText("shop", text, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("COMMIT", "plans no such statement"),
        ("SELECT 1; DROP TABLE item", "several statements"),
        ("SELECT 'a;b' ; SELECT 2", "several statements"),
        (f"SELECT 1 FROM item WHERE id IN ({'1, ' * 400}1)", "longer than what the server keeps"),
    ],
)
def test_what_must_not_or_cannot_be_explained_is_not_asked(text: str, said: str) -> None:
    with pytest.raises(NotPlanned, match=said):
        explain(text)


def test_a_semicolon_in_a_text_is_none() -> None:
    assert explain("SELECT 'a;b' FROM item;") == "1"


def test_a_refused_plan_says_why() -> None:
    def refuse(session: Session, statements: Sequence[str]) -> Rows:
        raise TrialFailed('EXPLAIN failed: relation "item" does not exist')

    with pytest.raises(NotPlanned, match=r'^relation "item" does not exist'):
        find_server().explain(
            refuse, StatementText("shop", "SELECT 1 FROM item", "SELECT 1 FROM item")
        )


def test_counts_that_began_anew_are_whole() -> None:
    now, before = StatementCount(5, 50, 5), StatementCount(9, 90, 9)
    assert now - before == now and before - now == StatementCount(4, 40, 4) and now - None == now


def test_a_profile_of_another_engine_is_no_base(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["profile", "1", "--against", str(tmp_path / "none.json")]) == 64
    assert "none.json" in capsys.readouterr().err


def test_a_plan_of_thousands_of_lines_is_cut_and_that_is_said() -> None:
    def tell_many(session: Session, statements: Sequence[str]) -> Rows:
        return [[[f"Scan {at}"] for at in range(5_000)]] * len(statements)

    told = StatementTimes(tell_many, find_server())
    plan, why = told.explain(StatementText("shop", "SELECT 1", "SELECT 1"))
    assert not why and plan.count("\n") == LINES_KEPT and plan.endswith("and 4900 lines more")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [("none.json", None, "there is no file"), ("shop.sql", "CREATE TABLE x", "is no profile")],
)
def test_a_file_that_is_no_profile_is_refused_by_name(
    name: str, content: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if content:
        file.write_text(content)
    assert run_words(["profile", str(file)]) == 64
    assert why in capsys.readouterr().err
