"""A MySQL that runs already: met, never configured, its password told to nobody."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, Attaches, CountsWork, LimitsConnections, Remarks, find_engine
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment import candidates

URL = "mysql://joe:s3c%40ret@db.example:3307/bench"


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)


def _told(read_only: str = "0", seen: list[tuple[Session, str]] | None = None) -> Ask:
    """A server that answers so, and keeps what it was asked over which session."""
    answers: dict[str, list[list[str | None]]] = {
        "SELECT VERSION()": [["8.0.11-TiDB-v7.5.0"]],
        "SELECT @@GLOBAL.read_only": [[read_only]],
        "SHOW GLOBAL VARIABLES": [["version", "8.0.11-TiDB-v7.5.0"], ["max_connections", "0"]],
        "SELECT CURRENT_USER()": [["joe@%"]],
    }

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        if seen is not None:
            seen.extend((session, statement) for statement in statements)
        return [answers.get(statement, [["t", "InnoDB"]]) for statement in statements]

    return ask


def _met(url: str, ask: Ask, **flags: str) -> Build:
    spec = candidates.parse_candidate(url)
    return find_engine(spec.engine, ask).program(
        spec.with_password, spec.keys | flags, lambda _: None
    )


def test_a_server_is_met_as_the_url_says() -> None:
    seen: list[tuple[Session, str]] = []
    found = _met(URL, _told(seen=seen))
    assert (found.version, found.attached) == ("8.0.11-TiDB-v7.5.0", True)
    assert found.name == "//joe@db.example:3307/bench" and "s3c" not in repr(found)
    session = seen[0][0]
    assert (session["host"], session["port"], session["user"]) == ("db.example", 3307, "joe")
    assert (session["password"], session["database"]) == ("s3c@ret", "bench")
    assert session["tls"] == {"mode": "require", "ca": None}


@pytest.mark.parametrize("answer", [[], [[]]])
@pytest.mark.parametrize("url", [URL, URL.replace("mysql:", "postgres:")])
def test_a_server_that_answers_a_question_with_ok_is_none(
    url: str, answer: list[list[str | None]]
) -> None:
    with pytest.raises(UsageError, match=r"is not \w+SQL: it answers 'SELECT \w+\(\)' with no row"):
        _met(url, lambda _, statements: [answer for _ in statements])


def test_an_attached_database_is_tried_with_a_table_of_our_own_alone() -> None:
    seen: list[tuple[Session, str]] = []
    _met(URL, _told(seen=seen))
    written = [it for _, it in seen if not it.startswith(("SELECT", "SHOW"))]
    assert len(written) == 4 and all(" dyno_probe_" in statement for statement in written)
    assert (written[0], written[0][:4]) == (written[-1], "DROP")


def test_what_a_server_does_not_know_is_told_once_and_done_without(tmp_path: Path) -> None:
    """It speaks the protocol: no catalogue, no variables but the session's."""

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        unknown = ("@@", "SHOW ", "information_schema", "CURRENT_USER")
        for statement in statements:
            if any(word in statement for word in unknown):
                raise TrialFailed("the engine refused a statement: ERROR 1105 unknown")
        return _told()(session, statements)

    for keys, listed in (({"empty": "on"}, True), ({}, False)):
        engine, found = find_engine("mysql", ask), _met(URL, ask, **keys)
        assert isinstance(engine, Remarks) and isinstance(engine, Attaches)
        assert isinstance(engine, LimitsConnections)
        (remark,) = engine.list_remarks(found, {})
        assert "does not know read_only (" in remark and "variables (no settings" in remark
        if not listed:
            with pytest.raises(UsageError) as unlisted:
                engine.list_tables(found)
            assert "?empty=on" in unlisted.value.hint
            continue
        assert engine.list_tables(found) == []
        assert engine.find_most_connections(found, {}) > 10_000
        server = engine.start(found, tmp_path, {})
        assert engine.settings(server) == {}
        engine.settle(server)
        assert isinstance(engine, CountsWork) and engine.count_work(server, False) == {}


@pytest.mark.parametrize("refused", ["DROP", "CREATE", "INSERT"])
def test_a_right_that_is_missing_is_told_and_nothing_stays(refused: str) -> None:
    there: set[str] = set()

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        for statement in statements:
            verb = statement.split()[0]
            if verb == refused:
                raise TrialFailed(f"the engine refused a statement: {verb} command denied to joe")
            if verb in ("CREATE", "DROP"):
                {"CREATE": there.add, "DROP": there.discard}[verb]("probe")
        return _told()(session, statements)

    with pytest.raises(UsageError, match=f"tables in 'bench': {refused} command denied") as caught:
        _met(URL, ask)
    assert "GRANT ALL ON `bench`.*" in caught.value.hint
    assert not there


def test_a_server_that_only_says_so_at_a_write_is_read_only_too() -> None:
    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        if statements[0].startswith("DROP"):
            raise TrialFailed("the engine refused a statement: in a READ ONLY transaction")
        return _told()(session, statements)

    with pytest.raises(UsageError, match=r"db\.example is read-only: in a READ ONLY"):
        _met(URL, ask)


def test_the_clients_words_for_tls_are_understood(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    found = _met(URL, _told(), **{"ssl-mode": "VERIFY_IDENTITY", "ssl-ca": str(ca)})
    assert (found.facts["sslmode"], found.facts["sslrootcert"]) == ("verify-full", str(ca))
    with pytest.raises(UsageError, match="value of ssl-mode 'PREFERRED'"):
        _met(URL, _told(), **{"ssl-mode": "PREFERRED"})
    with pytest.raises(UsageError, match="no file /nowhere"):
        _met(URL, _told(), **{"ssl-ca": "/nowhere"})


def test_the_password_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "hidden")
    found = _met("mariadb://joe@localhost/d", _told())
    assert (found.engine, found.secret, found.facts["sslmode"]) == ("mariadb", "hidden", "disable")


def test_a_socket_tells_its_process(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s.sock"))
        listening.listen()
        place = str(tmp_path / "s.sock").replace("/", "%2F")
        found = _met(f"mysql://joe@{place}/d", _told())
        server = find_engine("mysql", _told()).start(found, tmp_path, {})
    assert (server.session["host"], server.session["port"]) == (str(tmp_path / "s.sock"), 0)
    assert server.pid is not None


def test_an_attached_server_is_analysed_and_nothing_of_it_is_set(tmp_path: Path) -> None:
    seen: list[tuple[Session, str]] = []
    engine = find_engine("mysql", _told(seen=seen))
    server = engine.start(_met(URL, _told()), tmp_path, {})
    engine.settle(server)
    told = engine.settings(server)
    engine.stop(server)
    assert told["max_connections"] == "0" and told["skip_grant_tables"] == "OFF"
    statements = [statement for _, statement in seen]
    assert "ANALYZE TABLE `t`" in statements
    assert not [it for it in statements if it.startswith(("SET", "FLUSH", "ALTER"))]


def test_what_cannot_be_written_to_or_is_told_to_be_configured_is_refused() -> None:
    with pytest.raises(UsageError, match=r"db\.example is read-only"):
        _met(URL, _told(read_only="1"))
    with pytest.raises(UsageError, match="names no database"):
        _met("mysql://joe@db.example", _told())
    with pytest.raises(UsageError, match="cannot be configured: 'max_connections'"):
        engine = find_engine("mysql", _told())
        engine.check("//joe@h/d", {}, {"max_connections": "5"})  # type: ignore[attr-defined]
