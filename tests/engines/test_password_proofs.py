"""What of a password may leave for a server that has not proved who it is: the words of a URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.engines.postgres.attached import make_client_session
from dyno.errors import UsageError
from dyno.runs.experiment import candidates


def _proof(url: str) -> dict[str, Any]:
    """What the driver is told by the session that a URL opens."""
    seen: list[Session] = []

    class Asked(Exception):
        """Enough is known."""

    def ask(session: Session, _: Sequence[str]) -> list[list[list[str | None]]]:
        seen.append(session)
        raise Asked

    spec = candidates.parse_candidate(url)
    with pytest.raises(Asked):
        find_engine(spec.engine, ask).program(spec.with_password, spec.keys, lambda _: None)
    return dict(seen[0].get("proof", {}))


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_mysqls_opt_ins_are_its_clients_own(engine: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("a key")
    at = f"{engine}://joe@db.example/d"
    assert _proof(at) == {}
    assert _proof(f"{at}?get-server-public-key=on") == {"get_server_public_key": True}
    assert _proof(f"{at}?enable-cleartext-plugin=on") == {"enable_cleartext_plugin": True}
    assert _proof(f"{at}?server-public-key-path={key}") == {"server_public_key": str(key)}
    for word, says in [
        ("get-server-public-key=yes", "must be on or off"),
        ("server-public-key-path=/nowhere", "there is no file"),
        ("require_auth=md5", "unknown build flag"),
    ]:
        with pytest.raises(UsageError, match=says):
            _proof(f"{at}?{word}")


def test_postgresqls_opt_in_is_libpqs_require_auth() -> None:
    at = "postgres://joe@db.example/d"
    assert _proof(at) == {}
    assert _proof(f"{at}?require_auth=md5") == {"require_auth": ["md5"]}
    with pytest.raises(UsageError, match="unknown value of require_auth"):
        _proof(f"{at}?require_auth=gss")


def test_a_proof_is_bound_to_the_certificate_in_libpqs_words() -> None:
    at = "postgres://joe@db.example/d"
    for word in ("disable", "prefer", "require"):
        assert _proof(f"{at}?channel_binding={word}") == {"channel_binding": word}
        told = {"PGHOST": "db.example", "PGCHANNELBINDING": word}
        assert make_client_session({}, told, "pgbench")["proof"] == {"channel_binding": word}
        line = {"dbname": f"host=db.example dbname=d channel_binding={word}"}
        assert make_client_session(line, {}, "pgbench")["proof"] == {"channel_binding": word}
    with pytest.raises(UsageError, match="unknown value of channel_binding"):
        _proof(f"{at}?channel_binding=always")
    with pytest.raises(UsageError, match="unknown value of channel_binding"):
        make_client_session({}, {"PGHOST": "db.example", "PGCHANNELBINDING": "yes"}, "pgbench")


def test_the_environment_of_postgresqls_programs_has_the_same_opt_in() -> None:
    told = {"PGHOST": "db.example", "PGUSER": "joe", "PGREQUIREAUTH": "md5,scram-sha-256"}
    session = make_client_session({}, told, "pgbench")
    assert session["proof"] == {"require_auth": ["md5", "scram-sha-256"]}
    assert "proof" not in make_client_session({}, {"PGHOST": "db.example"}, "pgbench")
