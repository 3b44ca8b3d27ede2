"""Servers for benchmarks: started by our engines on core 0, while clients work on core 1."""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dyno import driver, engines
from dyno.engines import Server, StartConditions
from dyno.runs.experiment import candidates

SERVER_CORE, CLIENT_CORE = 0, 1


def pinned(core: int) -> tuple[str, ...]:
    """The words before a command that keep it on a core."""
    return ("taskset", "--cpu-list", str(core))


def command(name: str, servers: Sequence[str]) -> ArgumentParser:
    """The options that every benchmark of servers has."""
    parser = ArgumentParser(prog=f"bench/run {name}")
    parser.add_argument("--server", nargs="+", default=servers, help="engine@build, one or more")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    return parser


def timed(parser: ArgumentParser) -> ArgumentParser:
    """Lets the user say how much is played, where clients play for a time; read by `budget`."""
    parser.add_argument("--seconds", type=int, help="how long a client plays at a time")
    parser.add_argument("--rounds", type=int, help="how often each client plays")
    return parser


def budget(words: Namespace) -> tuple[int, int]:
    """Seconds and rounds: the user's own, or the benchmark's."""
    seconds, rounds = (1, 3) if words.quick else (2, 10)
    return words.seconds or seconds, words.rounds or rounds


def say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def serving(spec: str, **settings: str) -> Iterator[Server]:
    """A server for `engine@build?key=value`, in a home that is gone with it.

    `settings` are the benchmark's own; those of the spec win.
    """
    if (os.cpu_count() or 1) < 2:
        raise SystemExit("a server and its client need a core each")
    parsed = candidates.parse_candidate(spec)
    engine = engines.find_engine(parsed.engine, driver.ask)
    build = engine.program(parsed.build, {}, say)
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as home:
        Path(home).chmod(0o755)  # the server's user, who is not root, passes through
        private = Path(home) / "server"
        private.mkdir()
        keys, under = settings | parsed.keys, StartConditions(pinned(SERVER_CORE))
        server = engine.start(build, private, keys, under)
        try:
            yield server
        finally:
            engine.stop(server)
