"""The host's side of a fleet, with a stand-in for `dyno shard`: what ends it, what comes back."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fleet_plays import wait_until

from dyno.compare.experiment import Experiment
from dyno.compare.fleet.agent import Agent
from dyno.compare.fleet.messages import (
    GREETING,
    Ended,
    FileReceiver,
    FleetExperiment,
    FleetMessage,
    HostFacts,
    MessageReader,
    Refused,
    ShareNumber,
    make_message,
)

#: Writes a record, waits as long as it is told to, writes another at its end.
STAND_IN = """
import pathlib, signal, sys, time
words = sys.argv[1:]
folder = pathlib.Path(words[words.index("--dir") + 1])
(folder / "trials").mkdir(parents=True, exist_ok=True)
(folder / "home").mkdir(exist_ok=True)
(folder / "home" / "data").write_text("an engine's")
(folder / "link").symlink_to("/etc/passwd")
(folder / "run.json").write_text(" ".join(words))
(folder / "trials" / "0001.json").write_text("first")
def stop(*_):
    (folder / "trials" / "0002.json").write_text("torn")
    print("was told to stop", file=sys.stderr)
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
print("block 1/1", flush=True)
time.sleep(float((pathlib.Path.cwd() / "seconds").read_text()))
sys.exit(int((pathlib.Path.cwd() / "exit").read_text()))
"""
EXPERIMENT = FleetExperiment("fleet-1", "h1", "", "e.toml", (), (), 2)


def refuse_all(file: Path, words: object) -> Experiment:
    raise AssertionError(f"{file} {words}")


@dataclass
class Conversation:
    """The caller's end of an agent that runs in a thread."""

    agent: Agent
    to_agent: int
    from_agent: int
    thread: threading.Thread
    seen: list[FleetMessage] = field(default_factory=list)
    reader: MessageReader = field(default_factory=MessageReader)

    def say(self, message: FleetMessage) -> None:
        os.write(self.to_agent, message.encode())

    def hear(self, kind: str) -> FleetMessage:
        """The next message of that kind; those before it are kept in `seen`."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            for at, message in enumerate(self.seen):
                if message.kind == kind:
                    del self.seen[at]
                    return message
            data = os.read(self.from_agent, 1 << 16)
            assert data, f"the agent has ended without '{kind}'"
            self.seen += self.reader.cut(data.removeprefix(GREETING))
        raise AssertionError(f"no '{kind}'")


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Conversation]]:
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    begun: list[Conversation] = []

    def begin_one(silence_s: float = 20.0) -> Conversation:
        theirs, ours = os.pipe()
        back, out = os.pipe()
        agent = Agent(refuse_all, [sys.executable, str(stand_in)], theirs, out, silence_s)
        thread = threading.Thread(target=agent.serve, daemon=True)
        thread.start()
        made = Conversation(agent, ours, back, thread)
        begun.append(made)
        return made

    yield begin_one
    for each in begun:
        for handle in (each.to_agent, each.from_agent):
            with suppress(OSError):
                os.close(handle)
        each.thread.join(15)
        assert not each.thread.is_alive()


def start_share(talk: Conversation, state: Path, seconds: float, code: int = 0) -> Path:
    """Has the agent begin share 1; its folder."""
    assert talk.hear("hello").read_as(HostFacts).slot
    talk.say(make_message("experiment", EXPERIMENT))
    files = state / "fleet" / "fleet-1" / "files"
    wait_until(files.is_dir, "the folder for files")
    (files / "seconds").write_text(str(seconds))
    (files / "exit").write_text(str(code))
    talk.say(make_message("play", ShareNumber(1)))
    return state / "fleet" / "fleet-1" / "shares" / "0001"


def take_files(talk: Conversation, folder: Path) -> set[str]:
    receiver = FileReceiver(folder)
    for message in talk.seen:
        if message.kind == "piece":
            receiver.take_piece(message)
    return {str(it.relative_to(folder)) for it in folder.rglob("*") if it.is_file()}


def test_records_come_back_and_neither_data_nor_links(
    begin: Callable[..., Conversation], state: Path, tmp_path: Path
) -> None:
    talk = begin()
    start_share(talk, state, 0.1)
    assert talk.hear("ended").read_as(Ended) == Ended(0, "")
    assert take_files(talk, tmp_path / "back") == {"run.json", "trials/0001.json"}
    words = (tmp_path / "back" / "run.json").read_text()
    assert words.startswith("shard 1/2 e.toml --dir ") and "--host h1" in words


def test_a_record_comes_back_while_the_share_plays(
    begin: Callable[..., Conversation], state: Path
) -> None:
    talk = begin()
    start_share(talk, state, 30)
    first = talk.hear("piece")
    assert first.content
    talk.say(FleetMessage("stop"))
    ended = talk.hear("ended").read_as(Ended)
    assert ended == Ended(130, "was told to stop")
    assert any(it.content == b"torn" for it in talk.seen), "the torn trial's record did not come"


def test_a_failure_brings_the_end_of_its_errors(
    begin: Callable[..., Conversation], state: Path
) -> None:
    talk = begin()
    start_share(talk, state, 0.1, code=64)
    assert talk.hear("ended").read_as(Ended).exit_code == 64


@pytest.mark.parametrize("ending", ["closed", "silent"])
def test_a_caller_that_is_gone_ends_what_is_played(
    begin: Callable[..., Conversation], state: Path, ending: str
) -> None:
    talk = begin(silence_s=1.0 if ending == "silent" else 20.0)
    folder = start_share(talk, state, 60)
    talk.hear("piece")
    if ending == "closed":
        os.close(talk.to_agent)
    talk.thread.join(15)
    assert not talk.thread.is_alive()
    assert (folder / "trials" / "0002.json").read_text() == "torn", "it was not told to stop"


def test_a_second_caller_finds_the_slot_taken_and_may_not_play(
    begin: Callable[..., Conversation], state: Path
) -> None:
    first, second = begin(), None
    assert first.hear("hello").read_as(HostFacts).slot
    second = begin()
    assert not second.hear("hello").read_as(HostFacts).slot
    second.say(make_message("experiment", EXPERIMENT))
    second.say(make_message("play", ShareNumber(1)))
    said = second.hear("refused").read_as(Refused)
    assert said.sentence == "another dyno plays on this host"
    assert not (state / "fleet" / "fleet-1" / "shares").exists()


def test_what_is_asked_before_an_experiment_is_refused(begin: Callable[..., Conversation]) -> None:
    talk = begin()
    talk.say(make_message("play", ShareNumber(1)))
    assert "no experiment was named" in talk.hear("refused").read_as(Refused).sentence


def test_no_run_is_named_out_of_the_state_folder(
    begin: Callable[..., Conversation], state: Path
) -> None:
    talk = begin()
    bad = FleetExperiment("../../evil", "h1", "", "e.toml", (), (), 2)
    talk.say(make_message("experiment", bad))
    assert talk.hear("refused")
    assert not (state.parent / "evil").exists()
