"""A registry's client that fails once is run once more; what cannot be mended is told at once."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from dyno.builds import Say, crate, deb, maven, npm
from dyno.errors import HostError

#: Each source with its client, what that one does when all is well, and its word for "no such".
CLIENTS = [
    (npm, "npm", "cp {packed}/it.tgz .", "npm error code E404"),
    (crate, "cargo", "mkdir -p vendor/thing", "error: no matching package named `thing` found"),
    (deb, "apt-get", "true", "E: Unable to locate package thing"),
    (maven, "mvn", "cp {packed}/it.zip .", "Could not find artifact thing:thing:jar:1.0"),
]


def _fetched(source: ModuleType, say: Say = lambda _: None) -> Path:
    name = "some:thing" if source is maven else "thing"
    return Path(source.fetch(name, "1.0", say))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_sleeps: None) -> Path:
    """A file that gets a line whenever a client runs; the cache is the test's own."""
    with tarfile.open(tmp_path / "it.tgz", "w:gz"), zipfile.ZipFile(tmp_path / "it.zip", "w"):
        pass
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    # a system's lists of packages, wherever the test runs
    (tmp_path / "mirror_Packages").touch()
    monkeypatch.setattr(deb, "LISTS", tmp_path)
    return tmp_path / "runs"


def _stub(runs: Path, client: str, script: str) -> None:
    program = runs.with_name("bin") / client
    program.write_text(f"#!/bin/sh\necho run >> {runs}\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(("source", "client", "does", "absent"), CLIENTS)
def test_a_client_that_fails_once_is_run_once_more(
    source: ModuleType, client: str, does: str, absent: str, runs: Path
) -> None:
    del absent
    failing = f'[ "$(wc -l < {runs})" = 1 ] && echo "the line is down" >&2 && exit 1'
    _stub(runs, client, f"{failing}\n{does.format(packed=runs.parent)}")
    said: list[str] = []
    assert _fetched(source, said.append).is_dir()
    assert runs.read_text() == "run\n" * 2
    assert said[1:] == [f"{client} failed: trying once more"]


@pytest.mark.parametrize(("source", "client", "does", "absent"), CLIENTS)
def test_a_client_that_fails_again_is_believed_and_one_that_knows_better_at_once(
    source: ModuleType, client: str, does: str, absent: str, runs: Path
) -> None:
    del does
    for words, times in (("the line is down", 2), (absent, 1)):
        runs.unlink(missing_ok=True)
        _stub(runs, client, f"echo '{words}' >&2; exit 1")
        with pytest.raises(HostError):
            _fetched(source)
        assert runs.read_text() == "run\n" * times
