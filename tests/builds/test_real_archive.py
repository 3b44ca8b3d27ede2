"""An engine of a suite by the real apt, from an archive of the test's own: each way to fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import outside
from debian_archive import (
    PACKAGE,
    Archive,
    Mirror,
    SigningKey,
    make_archive,
    make_keys,
    write_apt_settings,
)
from processes import wait_for

from dyno.builds import cache, deb, suites
from dyno.cli import run_words

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_sleeps")]

#: What is installed: the engine of the archive's suite.
WANTED = "mysql@9.7"
#: `dyno` in a process of its own, with the archive's keys.
DYNO = """
import sys
from pathlib import Path
from dyno.builds import suite_tree, suites
suites.KEYRINGS, patchelf = (Path(sys.argv[1]),), sys.argv[2]
suite_tree._find_patchelf = lambda found=suite_tree._find_patchelf: patchelf or found()
from dyno.cli import main
sys.argv[1:] = ["engines", "install", "mysql@9.7"]
main()
"""


@dataclass
class Whole:
    """An archive that nobody changes, and a key that nobody trusts."""

    archive: Archive
    stranger: SigningKey


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    for program in ("apt-get", "gpg"):
        outside(program)
    with make_keys("known", "strange") as (known, strange):
        folder = tmp_path_factory.mktemp("archive")
        yield Whole(make_archive(folder / "archive", known), strange)


@dataclass
class Site:
    """An archive that may be changed, what serves it, and how `dyno` is asked for its engine."""

    whole: Whole
    archive: Archive
    mirror: Mirror
    capture: pytest.CaptureFixture[str]

    def install(self) -> tuple[int, str]:
        """The exit code, and what was said."""
        self.capture.readouterr()
        code = run_words(["engines", "install", WANTED])
        told = self.capture.readouterr()
        return code, told.out + told.err

    def begin(self, patchelf: str = "") -> subprocess.Popen[str]:
        """The same in a process of its own."""
        return subprocess.Popen(
            self.list_words(patchelf), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def list_words(self, patchelf: str = "") -> list[str]:
        """The command that installs it."""
        return [sys.executable, "-c", DYNO, str(self.archive.key.ring), patchelf]

    def check_installed(self) -> None:
        """The engine can be had, and runs."""
        code, said = self.install()
        assert code == 0 and "mysql 9.7.4" in said, said
        (entry,) = cache.find_entries("deb")
        program = entry.path / "usr" / "sbin" / "mysqld"
        done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=True)
        assert "Ver 9.7.4-2" in done.stdout
        assert cache.list_unfinished() == []


@pytest.fixture
def site(
    whole: Whole,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Site]:
    archive = whole.archive.copy_to(tmp_path / "archive")
    mirror = Mirror(archive.folder)
    monkeypatch.setenv("DYNO_CACHE", str(home / "cache"))
    monkeypatch.setattr(suites, "KEYRINGS", (archive.key.ring,))
    with mirror.serve() as url:
        settings = write_apt_settings(tmp_path, url, archive.key.ring)
        monkeypatch.setenv("APT_CONFIG", str(settings))
        yield Site(whole, archive, mirror, capsys)


def test_an_engine_comes_from_a_signed_archive_and_starts_by_its_own_loader(site: Site) -> None:
    site.check_installed()
    asked = len(site.mirror.asked)
    site.check_installed()
    assert len(site.mirror.asked) == asked, "what is cached was asked for again"


def tamper(file: Path, old: str, new: str) -> None:
    """Changes a file so that nothing else tells."""
    content = file.read_bytes()
    assert old.encode() in content
    file.write_bytes(content.replace(old.encode(), new.encode()))


def _sign_by_a_stranger(site: Site) -> None:
    Archive(site.archive.folder, site.whole.stranger, stanzas=site.archive.stanzas).publish()


def _publish_on_another_day(site: Site, days: int) -> None:
    Archive(site.archive.folder, site.archive.key, days, site.archive.stanzas).publish()


def _leave_out(site: Site, name: str) -> None:
    stanzas = {other: text for other, text in site.archive.stanzas.items() if other != name}
    Archive(site.archive.folder, site.archive.key, stanzas=stanzas).publish()


def _pool(site: Site) -> Path:
    return site.archive.folder / "pool" / f"{PACKAGE}.deb"


def _replace_by_no_package(site: Site) -> None:
    """What is signed for is not what dpkg can read."""
    file = _pool(site)
    file.write_bytes(b"no package")
    stanza = site.archive.stanzas[PACKAGE].splitlines()
    import hashlib

    told = {"Size": "10", "SHA256": hashlib.sha256(b"no package").hexdigest()}
    lines = [f"{n}: {told.get(n, v)}" for n, _, v in (line.partition(": ") for line in stanza)]
    stanzas = site.archive.stanzas | {PACKAGE: "\n".join(lines) + "\n"}
    Archive(site.archive.folder, site.archive.key, stanzas=stanzas).publish()


@dataclass(frozen=True)
class Damage:
    """What is done to an archive or its mirror, and words of the sentence and of the hint."""

    do: Callable[[Site], object]
    told: str
    hint: str


DAMAGES = {
    "a list's signature no longer fits": Damage(
        lambda site: tamper(site.archive.find_dist() / "InRelease", "Suite: sid", "Suite: bad"),
        "its signature is not by a key that this system trusts",
        "nothing unsigned is used",
    ),
    "a key that nobody trusts": Damage(
        _sign_by_a_stranger, "its signature is not by a key that this system trusts", "keyring"
    ),
    "no signature": Damage(
        lambda site: (site.archive.find_dist() / "InRelease").rename(
            site.archive.find_dist() / "Release"
        ),
        "its signature is not by a key that this system trusts",
        "keyring",
    ),
    "a suite that is gone": Damage(
        lambda site: (site.archive.find_dist() / "InRelease").unlink(),
        "the mirror has no such suite, or no longer",
        "another suite",
    ),
    "a list of the past": Damage(
        lambda site: _publish_on_another_day(site, -30), "its lists are too old", "clock"
    ),
    "a list of the future": Damage(
        lambda site: _publish_on_another_day(site, 30), "its lists are of a day to come", "clock"
    ),
    "an index that is not what was signed": Damage(
        lambda site: tamper(site.archive.find_index(), "9.7.4-2", "9.7.4-3"),
        "what came is not what the archive signed for",
        "another mirror",
    ),
    "an index of another size": Damage(
        lambda site: tamper(site.archive.find_index(), "9.7.4-2", "9.7.4-25"),
        "what came is not what the archive signed for",
        "another mirror",
    ),
    "a package that is not what was signed": Damage(
        lambda site: tamper(_pool(site), "9.7.4-2 for", "9.7.4-3 for"),
        "what came is not what the archive signed for",
        "another mirror",
    ),
    "a package in part": Damage(
        lambda site: os.truncate(_pool(site), 1000),
        "what came is not what the archive signed for",
        "another mirror",
    ),
    "a package that is only listed": Damage(
        lambda site: _pool(site).unlink(), "the mirror lists it and does not have it", "later"
    ),
    "a package that is none": Damage(
        _replace_by_no_package, "mysql-server-core_9.7.4-2_amd64.deb is damaged", "start again"
    ),
    "an engine that the suite has not": Damage(
        lambda site: _leave_out(site, PACKAGE), "sid has no package mysql-server-core", "another"
    ),
    "a mirror that fails": Damage(
        lambda site: setattr(site.mirror, "refuse", 503), "503", "mirrors"
    ),
}


@pytest.mark.parametrize("name", list(DAMAGES))
def test_each_damage_is_a_sentence_and_the_next_call_goes_on(
    name: str, site: Site, tmp_path: Path
) -> None:
    damage = DAMAGES[name]
    damage.do(site)
    code, said = site.install()
    assert code == 64 and said.count("dyno: ") == 1, said
    sentence, _, hint = said.partition("\nhint: ")
    assert damage.told in sentence and damage.hint in hint, said
    assert cache.find_entries("deb") == [], "what is damaged was kept"
    site.archive.folder.rename(tmp_path / "damaged")
    site.whole.archive.copy_to(site.archive.folder)
    site.mirror.refuse = 0
    site.check_installed()


def test_lists_that_the_mirror_has_outrun_are_fetched_anew(site: Site) -> None:
    """Those of today stay for a day, and a suite that moves on changes every few hours."""
    _leave_out(site, PACKAGE)
    assert "sid has no package" in site.install()[1]
    site.archive.publish()
    site.check_installed()


def test_a_libraries_lists_that_the_mirror_has_outrun_are_fetched_anew(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(deb, "LISTS", tmp_path / "none")
    version = deb.find_installable_version("libc6")
    stanza = site.archive.stanzas["libc6"]
    (site.archive.folder / "pool" / "libc6.deb").rename(site.archive.folder / "pool" / "moved.deb")
    site.archive.stanzas["libc6"] = stanza.replace("pool/libc6.deb", "pool/moved.deb")
    site.archive.publish()
    folder = deb.fetch("libc6", version, lambda _: None)
    assert list(folder.glob("usr/lib/*/libc.so.6"))


#: Plays an install on a disk of so many kB, and again with room.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size="$1"k none "$DYNO_CACHE" && shift || exit 99
"$@"; echo "ended with $?"
mount -o remount,size=100m "$DYNO_CACHE" || exit 99
"$@"; echo "ended with $?"
"""


@pytest.mark.parametrize("size_kb", [8, 1000, 2600])
def test_a_full_disk_is_a_sentence_and_the_next_call_goes_on(
    size_kb: int, site: Site, home: Path
) -> None:
    (home / "cache").mkdir()
    alone = ["unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",))]
    words = [*alone, "sh", "-c", ON_A_SMALL_DISK, "sh", str(size_kb), *site.list_words()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = done.stdout + done.stderr
    _, _, second = done.stdout.partition("ended with 64\n")
    assert done.returncode == 0 and "mysql 9.7.4" in second and "ended with 0" in second, said
    assert done.stderr.count("dyno: ") == 1 and "hint: " in done.stderr, said
    assert "full" in done.stderr or "no space left" in done.stderr, said


def test_no_network_is_a_sentence(site: Site, tmp_path: Path) -> None:
    with Mirror(site.archive.folder).serve() as url:
        pass
    write_apt_settings(tmp_path, url, site.archive.key.ring)
    code, said = site.install()
    assert code == 64 and said.count("dyno: ") == 1, said
    assert "the mirror cannot be reached" in said and "hint: " in said


def test_no_apt_is_a_sentence(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = site.install()
    assert code == 64 and "no apt-get on PATH" in said and "hint: " in said, said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_download_that_is_ended_leaves_no_process_and_goes_on(
    number: signal.Signals, site: Site, home: Path
) -> None:
    site.mirror.stall = lambda path: path.endswith("/libc6.deb")
    with site.begin() as process:
        assert site.mirror.stalled.wait(60), process.communicate(timeout=60)
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 130) and "Traceback" not in said, said
    _wait_until_nobody_works_in(home)
    assert cache.find_entries("deb") == []
    site.mirror.stall = lambda path: False
    before = len(site.mirror.asked)
    site.check_installed()
    assert all("dists" not in path for path in site.mirror.asked[before:])


def test_a_kill_before_the_program_has_its_loader_leaves_nothing_in_part(
    site: Site, home: Path, tmp_path: Path
) -> None:
    begun, patchelf = tmp_path / "begun", tmp_path / "patchelf"
    patchelf.write_text(
        f'#!/bin/sh\nfor file; do :; done\necho half > "$file"\ntouch {begun}\n'
        "cd $(dirname $file) && exec sleep 60\n"
    )
    patchelf.chmod(0o755)
    with site.begin(str(patchelf)) as process:
        wait_for(begun.exists)
        process.kill()
    _wait_until_nobody_works_in(home)
    assert cache.find_entries("deb") == []
    before = len(site.mirror.asked)
    site.check_installed()
    assert len(site.mirror.asked) == before + 2, "the two packages, and no lists"


def test_who_waits_for_an_install_that_is_killed_makes_it(site: Site) -> None:
    site.mirror.stall = lambda path: path.endswith("/libc6.deb")
    with site.begin() as one, site.begin() as other:
        assert site.mirror.stalled.wait(60)
        site.mirror.stall = lambda path: False
        first = one if one.pid in _find_parents_of_clients() else other
        first.kill()
        second = other if first is one else one
        said, _ = second.communicate(timeout=60)
    assert second.returncode == 0 and "which another dyno makes" in said, said
    site.check_installed()


def _find_parents_of_clients() -> set[int]:
    """Who runs an apt-get: the parents of those who guard one."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"guard" in words and b"apt-get" in words:
                found.add(int((process / "stat").read_text().rpartition(")")[2].split()[1]))
    return found


def test_two_installs_at_once_fetch_each_file_once(site: Site) -> None:
    with site.begin() as one, site.begin() as other:
        said = [process.communicate(timeout=120)[0] for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), said
    packages = [path for path in site.mirror.asked if "/pool/" in path]
    assert len(packages) == len(set(packages)) == 2
    site.check_installed()


def _wait_until_nobody_works_in(folder: Path) -> None:
    def find_words() -> list[bytes]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink().is_relative_to(folder):
                    found.append((process / "cmdline").read_bytes())
            except OSError:
                continue
        return found

    wait_for(lambda: not find_words())
