"""What real MySQL servers refuse: settings of other versions, values, places; with what words."""

from __future__ import annotations

from pathlib import Path

import pytest
from mysql_family import build, processes_left_in, running

from dyno.engines import Accepts
from dyno.errors import TrialFailed, UsageError

pytestmark = [pytest.mark.timeout(1200)]

OLD, NEW = "mysql@5.6.24", "mysql@8.0.33"


def test_a_setting_that_the_server_changes_fails_the_trial(home: Path) -> None:
    changed = "innodb_buffer_pool_size=268435456, though 130M was asked for"
    with (
        running(f"{NEW}?innodb_buffer_pool_size=130M", home) as (engine, server),
        pytest.raises(TrialFailed, match=changed),
    ):
        engine.settings(server)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{OLD}?innodb_redo_log_capacity=1G", "unknown variable of mysql 5.6.24"),
        (f"{NEW}?query_cache_size=1M", "unknown variable of mysql 8.0.33"),
        (f"{OLD}?max_connections=lots", "'lots' to 'max_connections'"),
    ],
)
def test_a_build_refuses_what_it_has_not_before_any_trial(text: str, says: str) -> None:
    engine, program, settings = build(text)
    assert isinstance(engine, Accepts)
    with pytest.raises(UsageError, match="mysql") as caught:
        engine.accept(program, settings)
    assert says in str(caught.value)


def test_a_server_that_cannot_start_tells_its_last_words(home: Path) -> None:
    engine, program, settings = build(f"{NEW}?innodb_undo_directory=/nowhere")
    with pytest.raises(TrialFailed, match=r"mysql 8\.0\.33 did not start") as caught:
        engine.start(program, home, settings)
    said = str(caught.value)
    assert "[ERROR]" in said and "InnoDB" in said
    assert processes_left_in(home) == []
