"""The builds' room: sources, the compiler, and a cache that never holds half an entry."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from dyno.builds import cache, crate, npm, path
from dyno.builds.compiler import Recipe, compiled
from dyno.errors import HostError, UsageError
from dyno.plugins import things

SAID: list[str] = []


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    SAID.clear()
    monkeypatch.setattr("dyno.builds.attempts.PAUSE_S", 0.0)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def answer(tmp_path: Path) -> Recipe:
    source = tmp_path / "answer.c"
    source.write_text("int answer(void) { return ANSWER; }\n")
    return Recipe("answer", source, "-O1", "ANSWER=42")


def _stub(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def _write(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "content").write_text(text)

    return make


def test_every_source_offers_fetch() -> None:
    assert {"crate", "npm", "path"} <= set(things("dyno.builds", "fetch"))


def test_the_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.root() == tmp_path / "cache"
    monkeypatch.delenv("DYNO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg" / "dyno"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cache.root() == Path("/var/cache/dyno")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache.root() == Path.home() / ".cache" / "dyno"


def test_an_entry_is_made_once_listed_and_removed() -> None:
    first = cache.get("program", "one", _write("first"), SAID.append)
    again = cache.get("program", "one", _write("second"), SAID.append)
    assert (again / "content").read_text() == "first" and again == first
    (entry,) = cache.entries()
    assert (entry.kind, entry.name, entry.size_bytes) == ("program", "one", 5)
    assert stat.S_IMODE(first.stat().st_mode) == 0o755
    cache.remove(entry)
    cache.remove(entry)
    assert cache.entries() == [] and list((cache.root() / "program").iterdir()) == []


def test_the_longest_unused_entry_stands_first() -> None:
    for name in ("old", "new"):
        cache.get("program", name, _write(name), SAID.append)
    os.utime(cache.root() / "program" / "new", (1, 1))
    assert [entry.name for entry in cache.entries()] == ["new", "old"]
    cache.get("program", "new", _write(""), SAID.append)
    assert [entry.name for entry in cache.entries()] == ["old", "new"]


def test_a_failed_entry_leaves_nothing_behind() -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise UsageError("no")

    with pytest.raises(UsageError):
        cache.get("program", "one", fail, SAID.append)
    assert list((cache.root() / "program").iterdir()) == []


def test_what_a_killed_process_left_is_swept() -> None:
    left = cache.root() / "program" / ".making-one-abc"
    left.mkdir(parents=True)
    assert cache.entries() == []
    cache.get("program", "one", _write("whole"), SAID.append)
    assert not left.exists()


def test_a_cache_that_cannot_be_written_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "file"))
    with pytest.raises(HostError, match="cannot fill the cache") as caught:
        cache.get("program", "one", _write(""), SAID.append)
    assert "DYNO_CACHE" in caught.value.hint


def test_of_two_processes_one_makes_and_the_other_waits() -> None:
    """The first one makes until the second has said that it waits."""
    code = (
        "import sys\nfrom dyno.builds import cache\n"
        "def make(folder):\n    print('making', flush=True)\n    sys.stdin.read()\n"
        "cache.get('program', 'one', make, lambda clause: print(clause, flush=True))"
    )
    words, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout and first.stdout.readline() == "making\n"
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as second:
            assert second.stdout and second.stdout.readline().startswith("waiting for one")
            assert first.communicate()[0] == ""
            assert second.communicate()[0] == ""
    assert (first.returncode, second.returncode) == (0, 0)


def test_two_entries_are_made_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=20)
    errors: list[BaseException] = []

    def meet(folder: Path) -> None:
        meeting.wait()

    def make(name: str) -> None:
        try:
            cache.get("program", name, meet, SAID.append)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(cache.entries()) == 2


def test_what_is_compiled_runs_and_its_flags_are_recorded(answer: Recipe) -> None:
    made = compiled(answer, SAID.append)
    assert ctypes.CDLL(str(made.program)).answer() == 42
    assert made.facts["cflags"] == "-O1" and made.facts["defines"] == "ANSWER=42"
    assert made.facts["compiler"] and len(made.facts["sha256"]) == 64
    assert compiled(answer, SAID.append) == made
    assert SAID == ["compiling answer (-O1)"]


def test_other_flags_or_another_source_make_another_entry(answer: Recipe) -> None:
    compiled(answer, SAID.append)
    compiled(Recipe("answer", answer.source, "-O0", answer.defines), SAID.append)
    compiled(Recipe("answer", answer.source, "-O1", "ANSWER=43"), SAID.append)
    answer.source.write_text("int answer(void) { return ANSWER + 1; }\n")
    compiled(answer, SAID.append)
    assert len(cache.entries()) == 4


def test_another_compiler_makes_another_entry(
    answer: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(answer, SAID.append)
    script = 'case "$1" in --version) echo other 1.0;; *) exec cc "$@";; esac'
    _stub(tmp_path / "bin", "other", script)
    monkeypatch.setenv("CC", str(tmp_path / "bin" / "other"))
    assert compiled(answer, SAID.append).facts["compiler"] == "other 1.0"
    assert len(cache.entries()) == 2


def test_a_failed_compilation_shows_the_last_lines_and_leaves_no_entry(answer: Recipe) -> None:
    answer.source.write_text("int answer(void) { return ; } }\n")
    with pytest.raises(UsageError, match="cannot compile answer") as caught:
        compiled(answer, SAID.append)
    assert "answer.c:1" in str(caught.value) and "-O1 ANSWER=42" in caught.value.hint
    assert cache.entries() == []


def test_unbalanced_quotes_in_flags_are_an_error(answer: Recipe) -> None:
    with pytest.raises(UsageError, match="cannot read the flags"):
        compiled(Recipe("answer", answer.source, "'", ""), SAID.append)


def test_a_missing_compiler_or_cargo_says_what_to_install(
    answer: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no C compiler") as caught:
        compiled(answer, SAID.append)
    assert "gcc" in caught.value.hint
    with pytest.raises(HostError, match="no cargo") as caught:
        crate.fetch("some-crate", "1.0.0", SAID.append)
    assert "Rust" in caught.value.hint


def test_a_crate_is_what_cargo_vendored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "grep -q '=1.2.3' Cargo.toml && mkdir -p vendor/some-crate && touch $3/some-crate/a.c"
    _stub(tmp_path / "bin", "cargo", script.replace("$3", "vendor"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    folder = crate.fetch("some-crate", "1.2.3", SAID.append)
    assert [file.name for file in folder.iterdir()] == ["a.c"]
    assert SAID == ["fetching crate some-crate 1.2.3"]


def test_what_cargo_complains_of_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _stub(tmp_path / "bin", "cargo", "echo 'no network today' >&2; exit 101")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(HostError, match="no network today"):
        crate.fetch("some-crate", "1.2.3", SAID.append)
    assert cache.entries() == []


def test_a_path_must_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lib.so"
    file.touch()
    assert path.fetch("library", str(file), SAID.append) == file
    for wrong, why in ((tmp_path, "is a folder"), (tmp_path / "none", "does not exist")):
        with pytest.raises(UsageError, match=why):
            path.fetch("library", str(wrong), SAID.append)


def test_a_library_is_found_where_the_loader_finds_it() -> None:
    assert path.library("libc.so.6", "libc6").is_file()
    with pytest.raises(HostError, match=r"no libnone\.so\.1") as caught:
        path.library("libnone.so.1", "libnone1")
    assert "libnone1" in caught.value.hint


def test_an_entry_in_use_is_young() -> None:
    cache.get("program", "one", _write(""), SAID.append)
    assert abs(cache.entries()[0].used_s - time.time()) < 60


def test_npm_that_is_missing_or_offline_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(HostError, match="no npm on PATH") as caught:
        npm.fetch("@some/thing", "1.0.0", SAID.append)
    assert "install Node.js" in caught.value.hint
    _stub(tmp_path / "bin", "npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    with pytest.raises(HostError, match=r"(?s)@some/thing@1\.0\.0.*ENOTFOUND") as caught:
        npm.fetch("@some/thing", "1.0.0", SAID.append)
    assert "mirror" in caught.value.hint
    assert not [entry for entry in cache.entries() if entry.kind == "npm"]


@pytest.mark.parametrize(("source", "client"), [(npm, "npm"), (crate, "cargo")])
def test_a_registry_that_never_answers_is_given_up(
    source: ModuleType, client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(source, "FETCH_S", 0.2)
    _stub(tmp_path / "bin", client, "exec /bin/sleep 30")
    with pytest.raises(HostError, match=f"{client} fetched .*thing.* for 0 s") as caught:
        source.fetch("thing", "1.0.0", SAID.append)
    assert "reachable?" in caught.value.hint


def test_a_package_is_what_npm_packed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "lib.so").write_text("a library")
    with tarfile.open(tmp_path / "it.tgz", "w:gz") as packed:
        packed.add(tmp_path / "package", "package")
    script = f'[ "$1" = pack ] && for last; do :; done; echo $last; cp {tmp_path}/it.tgz it.tgz'
    _stub(tmp_path / "bin", "npm", f'{script}; [ "$last" = @some/thing@1.2.3 ]')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    folder = npm.fetch("@some/thing", "1.2.3", SAID.append)
    assert folder.name == "some-thing-1.2.3" and (folder / "lib.so").read_text() == "a library"
    assert SAID == ["fetching npm package @some/thing 1.2.3"]
    monkeypatch.setenv("PATH", "")
    assert npm.fetch("@some/thing", "1.2.3", SAID.append) == folder


def test_a_package_that_reaches_out_of_its_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with tarfile.open(tmp_path / "it.tgz", "w:gz") as packed:
        packed.addfile(tarfile.TarInfo("package/../../evil"))
    _stub(tmp_path / "bin", "npm", f"cp {tmp_path}/it.tgz it.tgz")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(HostError, match=r"cannot unpack it\.tgz"):
        npm.fetch("thing", "1.0.0", SAID.append)
    assert not list(tmp_path.rglob("evil"))
