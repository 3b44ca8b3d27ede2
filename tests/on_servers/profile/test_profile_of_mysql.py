"""`dyno profile` of MySQL and MariaDB in use: digests where they are counted, else sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import private_servers
import pytest
from profiled_servers import profile, url_of, working

from dyno import driver
from dyno.engines import Server
from dyno.errors import TrialFailed, UsageError
from dyno.servers.profile.target import find_target, read_statement_log

pytestmark = [pytest.mark.timeout(180)]

WORK = "SELECT COUNT(*) FROM item a JOIN item b ON a.kind = b.kind WHERE a.id < 200"
FILL = "INSERT INTO item SELECT NULL, id % 7 FROM item"
MADE = [
    "CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, kind INT)",
    "INSERT INTO item VALUES (NULL, 1), (NULL, 2)",
    *[FILL] * 10,
]


@pytest.fixture(scope="module", params=["mysql-5.6", "mysql-8.0", "mariadb-innodb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    # MariaDB stays as it comes, without
    more = {"performance_schema": "ON"} if "mysql" in request.param else {}
    with private_servers.serving(request.param, **more) as made:
        driver.ask(made.session, MADE)
        yield made


def is_counting(server: Server) -> bool:
    return driver.ask(server.session, ["SELECT @@performance_schema"])[0][0][0] == "1"


def test_a_server_in_use_has_layers_waits_statements_and_a_plan(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with working(server.session, WORK):
        found = profile(url_of(server.session), "--for", "3s", output=tmp_path / "now.json")
    assert found.cpu and found.cpu.profile.samples > 50 and found.cpu.charged_ns
    assert "executor" in {each.layer for each in found.cpu.profile.functions}
    assert "running" in {state.kind for each in found.waits for state in each.states}
    first = found.statements[0]
    if is_counting(server):
        assert found.statement_source == "performance_schema"
        assert first.calls and first.rows == first.calls and first.time_ns > 0.3e9
        assert not any("PROCESSLIST" in each.text for each in found.statements)
    else:
        assert found.statement_source == "sampled sessions" and first.calls is None
        assert any("performance_schema is off" in each for each in found.missing)
    assert "kind" in first.text and "200" not in first.text
    assert "full table scan" in first.plan, first.unplanned
    page = (tmp_path / "now.html").read_text()
    assert len(page) < 500_000 and "full table scan" in page
    assert str(server.session["password"]) not in page + (tmp_path / "now.json").read_text()
    assert "avg_ms" in capsys.readouterr().out


def test_nothing_can_be_written_over_the_sessions_of_a_profile(server: Server) -> None:
    found = find_target(driver.ask, url_of(server.session)).server
    assert found
    with pytest.raises(TrialFailed, match=r"READ ONLY|read.only"):
        driver.ask(found.session, ["INSERT INTO dyno.item VALUES (NULL, 1)"])


def test_a_user_without_rights_is_told_what_is_missing(server: Server, tmp_path: Path) -> None:
    grants = [
        "CREATE USER guest@localhost IDENTIFIED BY 'Guest-1-guest'",
        "GRANT SELECT ON dyno.* TO guest@localhost",
    ]
    driver.ask(server.session, grants)
    try:
        with working(server.session, WORK):
            words = (url_of(server.session, "guest:Guest-1-guest"), "--for", "1500ms")
            found = profile(*words, output=tmp_path / "a.json")
    finally:
        driver.ask(server.session, ["DROP USER guest@localhost"])
    assert any("GRANT PROCESS" in each for each in found.missing)
    assert found.statement_source == "sampled sessions"
    assert found.cpu and found.cpu.profile.samples


def test_samples_of_statements_are_a_log_and_what_has_none_is_refused_by_name(
    server: Server,
) -> None:
    url = url_of(server.session)
    if server.session["kind"] != "mysql" or not has_samples(server):
        with pytest.raises(UsageError, match="keeps no statement with its values"):
            read_statement_log(driver.ask, url)
        return
    driver.ask(server.session, ["TRUNCATE performance_schema.events_statements_summary_by_digest"])
    sums = f"SELECT {'1 + ' * 600}1"
    driver.ask(server.session, ["SELECT MAX(id) FROM item", "SELECT MAX(id) FROM item", sums])
    driver.ask(server.session, ["UPDATE item SET kind = 3 WHERE id = 7", "COMMIT"])
    driver.ask(server.session, ["PREPARE a FROM 'SELECT 1 FROM item'", "EXECUTE a"])
    log = read_statement_log(driver.ask, url)
    log = read_statement_log(driver.ask, url)  # asked again: what it asked before is none of it
    sent = {it.sql: it.calls for it in log.entries if it.calls and "TRUNCATE" not in it.sql}
    assert sent.pop("UPDATE item SET kind = 3 WHERE id = 7") == 1
    assert sent.pop("SELECT MAX(id) FROM item") == 2
    assert not any("VERSION" in it or "events_statements" in it for it in sent), sent
    why = {it.digest.split()[0]: it.why for it in log.unplayed}
    assert "cut" in why["SELECT"] and "prepared before" in why["EXECUTE"]


def has_samples(server: Server) -> bool:
    (((version,),),) = driver.ask(server.session, ["SELECT VERSION()"])
    return str(version) >= "8."
