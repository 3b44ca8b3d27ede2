"""A private server of MySQL's family for a test, by candidate's text: `mysql@5.6.24`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from private_servers import choose_build, started
from processes import processes_left_in as processes_left_in

from dyno import driver
from dyno.builds import Build
from dyno.engines import Engine, Server, find_engine
from dyno.runs.experiment.candidates import parse_candidate


def build(text: str) -> tuple[Engine, Build, dict[str, str]]:
    """The engine, its build (from the cache, fetched once), and the settings."""
    spec = parse_candidate(choose_build(text))
    engine = find_engine(spec.engine, driver.ask)
    return engine, engine.program(spec.with_password, {}, lambda _: None), spec.keys


@contextmanager
def running(text: str, home: Path) -> Iterator[tuple[Engine, Server]]:
    """The engine and its server, stopped in the end if the test has not."""
    with started(text, home=home) as server:
        yield find_engine(parse_candidate(text).engine, driver.ask), server


def asked(server: Server, *statements: str) -> list[list[str | None]]:
    """The rows of the last statement."""
    return driver.ask(server.session, statements)[-1]


def answers(rows: Sequence[Sequence[str | None]]) -> dict[str, str]:
    """Rows of two columns."""
    return {str(name): str(value) for name, value in rows}
