"""`dyno history` of runs in places that fsspec opens: its memory and local file systems."""

from __future__ import annotations

import builtins
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import fsspec
import pytest
from nightly_runs import write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.compare.history import homes
from dyno.compare.history.remote_home import RemoteHome
from dyno.errors import HostError, UsageError
from dyno.runs.run_folder import POINTS

URL = "memory://bucket/runs"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("made") / "runs"
    write_nightly_runs(runs, [0.0] * 8 + [0.1] * 8)
    write_run(runs, 20, {"1.2": 0.0, "1.12": 0.1}, restarts=8)
    return runs


@pytest.fixture(autouse=True)
def bucket(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The runs in fsspec's memory."""
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    files.put(f"{made}/", URL, recursive=True)
    yield files
    files.rm("/bucket", recursive=True)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def ask_history(*words: str, code: int = 0) -> str:
        assert run_words(["history", *words]) == code
        out, err = capsys.readouterr()
        return out + err

    return ask_history


def test_runs_of_a_bucket_tell_what_those_of_a_folder_do(
    made: Path,
    tmp_path: Path,
    bucket: Any,
    say: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(made, tmp_path / "runs")
    local = say(str(tmp_path / "runs"))
    assert "flagged: " in local and "slower" in local
    assert say(f"file://{tmp_path}/runs") == local
    assert say(URL) == local
    assert len(bucket.glob(f"{URL}/*/{POINTS}")) == 17
    monkeypatch.setattr(type(bucket), "get_file", None)
    assert say(URL) == local, "by their points"


def test_points_that_came_along_into_a_bucket_are_taken(
    made: Path,
    tmp_path: Path,
    bucket: Any,
    say: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(made, tmp_path / "runs")
    time.sleep(2 * homes.SETTLED_S)
    local = say(str(tmp_path / "runs"))
    bucket.put(f"{tmp_path}/runs/", "memory://bucket/again", recursive=True)
    own, copied = type(bucket).get_file, set[str]()

    def get_file(self: object, path: str, *rest: Any, **words: Any) -> None:
        copied.add(path.split("/")[3])
        own(self, path, *rest, **words)

    monkeypatch.setattr(type(bucket), "get_file", get_file)
    assert say("memory://bucket/again") == local
    assert len(copied) == 1, "more than the fresh comparison was read"


def test_a_record_that_changed_in_a_bucket_is_read_again(
    bucket: Any, say: Callable[..., str]
) -> None:
    first = say(URL)
    (trial, *_) = sorted(bucket.glob("/bucket/runs/*/trials/0001.json"))
    time.sleep(0.01)
    bucket.pipe_file(trial, b"{")
    assert "0001.json is damaged" in say(URL) and "memory://bucket" in say(URL)
    assert "is damaged" not in first


def test_a_bucket_that_nobody_may_write_has_its_points_in_the_cache(
    bucket: Any, say: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, path: str, value: bytes) -> None:
        raise PermissionError("access denied")

    monkeypatch.setattr(type(bucket), "pipe_file", refuse)
    first = say(URL)
    assert not bucket.glob(f"{URL}/*/{POINTS}")
    assert len(list((tmp_path / "cache" / "history").iterdir())) == 17 + 1
    monkeypatch.setattr(type(bucket), "get_file", None)
    assert say(URL) == first


def test_a_key_of_a_bucket_leads_nowhere_else(
    bucket: Any, say: Callable[..., str], tmp_path: Path
) -> None:
    (run, *_) = sorted(bucket.glob("/bucket/runs/*/run.json"))
    content = bucket.cat_file(run)
    bucket.pipe_file("/bucket/runs/../../../../x/run.json", content)
    bucket.pipe_file("/bucket/runs/a/trials/../../../../../y/run.json", content)
    say(URL)
    assert not (tmp_path / "x").exists() and not Path("/x").exists() and not Path("/y").exists()


REFUSED = {
    "nothing://bucket": "cannot open nothing://bucket",
    "memory://nowhere": "there is no run under memory://nowhere",
    "s4://bucket/x?a=1": "cannot open s4://bucket",
    "file:///nowhere/at/all": "there is no folder /nowhere/at/all",
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_place_without_runs_is_refused_in_a_sentence(url: str, say: Callable[..., str]) -> None:
    told = say(url, code=64)
    assert REFUSED[url] in told and "hint: " in told and "Traceback" not in told


def test_a_failing_store_is_the_hosts_fault_and_told_without_its_secret(
    bucket: Any, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, path: str, **words: object) -> None:
        raise RuntimeError("403 for memory://key:s3cr3t@bucket")

    with monkeypatch.context() as patch:
        patch.setattr(type(bucket), "find", fail)
        told = say("memory://key:s3cr3t@bucket/runs", code=64)
    assert "cannot read memory://key:***@bucket/runs" in told and "s3cr3t" not in told


def test_a_url_without_fsspec_says_what_to_install(
    say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = builtins.__import__

    def import_less(name: str, *rest: Any, **words: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return own(name, *rest, **words)

    monkeypatch.setattr(builtins, "__import__", import_less)
    told = say(URL, code=64)
    assert "needs fsspec" in told and "pip install 'dyno-bench[history]'" in told


def test_a_store_that_never_answers_is_given_up_and_one_without_the_bucket_says_so(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = Event()
    with monkeypatch.context() as patch:
        patch.setattr(type(bucket), "exists", lambda *_: never.wait(600))
        with pytest.raises(HostError, match=r"does not answer within 0\.01 s"):
            RemoteHome(URL, answer_s=0.01).find_records()
    never.set()

    def miss(self: object, path: str, **words: object) -> None:
        raise FileNotFoundError("The specified bucket does not exist")

    with monkeypatch.context() as patch:
        patch.setattr(type(bucket), "find", miss)
        with pytest.raises(UsageError, match="there is nothing at memory://") as told:
            RemoteHome(URL).find_records()
    assert "bucket does not exist" in str(told.value.cause)
