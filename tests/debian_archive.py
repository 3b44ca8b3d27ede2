"""A small archive of Debian's form, signed by a key of its own and served on loopback: apt reads it
as it reads a mirror. Its one engine is a program of a line, with the C library of this system.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: What a program of ours may take.
CALL_S = 60.0
TRIPLET = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
SUITE, PACKAGE, VERSION = "sid", "mysql-server-core", "9.7.4-2"
#: Tells its version as MySQL's server does, and nothing else.
SERVER = """#include <stdio.h>
int main(void) { return puts("mysqld  Ver 9.7.4-2 for debian-linux-gnu (Debian)") < 0; }
"""
INDEX = "main/binary-{0}/Packages"


def run(*words: object, given: str | None = None) -> str:
    """What a program writes, that must not fail."""
    done = subprocess.run(
        [str(word) for word in words],
        input=given,
        capture_output=True,
        text=True,
        timeout=CALL_S,
        check=True,
    )
    return done.stdout


class SigningKey:
    """A key pair in a folder of its own, and the ring that holds its public half."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._gpg = ("gpg", "--homedir", str(folder), "--batch", "--quiet", "--yes")
        words = ("--passphrase", "", "--quick-generate-key", "archive of a test")
        run(*self._gpg, *words, "ed25519", "sign", "never")
        self.ring = folder.with_name(f"{folder.name}.gpg")
        run(*self._gpg, "--output", self.ring, "--export")

    def sign(self, text: str) -> str:
        """The text with a signature around it."""
        return run(*self._gpg, "--clearsign", given=text)


@contextmanager
def make_keys(*names: str) -> Iterator[list[SigningKey]]:
    """Keys by these names; gpg's agent ends with them, and its socket wants a short path."""
    with tempfile.TemporaryDirectory(prefix="dyno-keys-") as folder:
        try:
            yield [SigningKey(Path(folder, name)) for name in names]
        finally:
            for name in names:
                run("gpgconf", "--homedir", Path(folder, name), "--kill", "all")


@dataclass(frozen=True)
class Package:
    """A package: its files are a folder as `/` would look."""

    name: str
    version: str
    section: str
    depends: str
    files: Path

    @property
    def control(self) -> dict[str, str]:
        """The fields that it tells of itself."""
        return {
            "Package": self.name,
            "Version": self.version,
            "Architecture": find_architecture(),
            "Maintainer": "a test <test@localhost>",
            "Section": self.section,
            **({"Depends": self.depends} if self.depends else {}),
            "Description": "a small package",
        }


def find_architecture() -> str:
    """This system's, as dpkg calls it."""
    return run("dpkg", "--print-architecture").strip()


def format_fields(fields: dict[str, Any]) -> str:
    """Fields as a stanza."""
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def build_packages(folder: Path) -> list[Package]:
    """The engine and its C library, each with its files in `folder`."""
    engine, library = folder / "engine", folder / "library"
    (engine / "usr" / "sbin").mkdir(parents=True)
    program = engine / "usr" / "sbin" / "mysqld"
    run("cc", "-x", "c", "-", "-o", program, given=SERVER)
    messages = engine / "usr" / "share" / "mysql" / "english"
    messages.mkdir(parents=True)
    (messages / "errmsg.sys").write_text("none\n")
    libraries = library / "usr" / "lib" / TRIPLET
    libraries.mkdir(parents=True)
    words = (word for line in run("ldd", program).splitlines() for word in line.split())
    for file in (Path(word) for word in words if word.startswith("/")):
        shutil.copy(file, libraries / file.name)
    return [
        Package(PACKAGE, VERSION, "database", "libc6 (>= 2.1)", engine),
        Package("libc6", "2.43-7", "libs", "", library),
    ]


@dataclass
class Archive:
    """An archive in a folder: `dists/` and `pool/`; `days` shifts the day it says it was made."""

    folder: Path
    key: SigningKey
    days: int = 0
    stanzas: dict[str, str] = field(default_factory=dict)

    def add(self, package: Package) -> None:
        """Packs it into the pool."""
        control = package.files / "DEBIAN" / "control"
        control.parent.mkdir(exist_ok=True)
        control.write_text(format_fields(package.control))
        (self.folder / "pool").mkdir(exist_ok=True)
        archive = self.folder / "pool" / f"{package.name}.deb"
        run("dpkg-deb", "--root-owner-group", "-Znone", "--build", package.files, archive)
        content = archive.read_bytes()
        about = {
            "Filename": f"pool/{archive.name}",
            "Size": len(content),
            "SHA256": hashlib.sha256(content).hexdigest(),
        }
        self.stanzas[package.name] = format_fields({**package.control, **about})

    def find_dist(self) -> Path:
        """Where the suite's lists lie."""
        return self.folder / "dists" / SUITE

    def find_index(self) -> Path:
        """The list of packages."""
        return self.find_dist() / INDEX.format(find_architecture())

    def publish(self) -> None:
        """Writes the lists, signed."""
        index = self.find_index()
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text("\n".join(self.stanzas.values()))
        content = index.read_bytes()
        made = datetime.now(UTC) + timedelta(days=self.days)
        form = "%a, %d %b %Y %H:%M:%S UTC"
        lines = {
            "Origin": "a test",
            "Suite": SUITE,
            "Codename": SUITE,
            "Date": made.strftime(form),
            "Valid-Until": (made + timedelta(days=7)).strftime(form),
            "Architectures": find_architecture(),
            "Components": "main",
            "SHA256": "",
        }
        name = INDEX.format(find_architecture())
        text = format_fields(lines).replace("SHA256: ", "SHA256:")
        text += f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n"
        (self.find_dist() / "InRelease").write_text(self.key.sign(text))

    def copy_to(self, folder: Path) -> Archive:
        """The same in another folder, to be changed there."""
        shutil.copytree(self.folder, folder)
        return Archive(folder, self.key, self.days, dict(self.stanzas))


def make_archive(folder: Path, key: SigningKey) -> Archive:
    """The archive with all its packages."""
    folder.mkdir()
    archive = Archive(folder, key)
    for package in build_packages(folder.with_name("packages")):
        archive.add(package)
    archive.publish()
    return archive


class Mirror:
    """Serves a folder: what was asked for stands in `asked`; `stall` names files of which half is
    sent and then nothing, until the mirror ends; `refuse` a code that answers everything.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        self.stall: Callable[[str], bool] = lambda path: False
        self.refuse = 0
        self.stalled, self._ended = threading.Event(), threading.Event()

    @contextmanager
    def serve(self) -> Iterator[str]:
        """The mirror's address, while it serves."""
        handler = partial(Handler, mirror=self, directory=str(self.folder))
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/"
            finally:
                self._ended.set()
                server.shutdown()
                thread.join()

    def hold(self) -> None:
        """Waits for the mirror's end."""
        self.stalled.set()
        self._ended.wait(CALL_S)


class Handler(SimpleHTTPRequestHandler):
    """One request of apt's."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *words: Any, mirror: Mirror, **more: Any) -> None:
        self._mirror = mirror
        super().__init__(*words, **more)

    def do_GET(self) -> None:
        """Answers with the file, half of it, or a refusal."""
        self._mirror.asked.append(self.path)
        if self._mirror.refuse:
            self.send_error(self._mirror.refuse)
        elif self._mirror.stall(self.path):
            self._send_half()
        else:
            super().do_GET()

    def _send_half(self) -> None:
        content = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", self.date_time_string(0))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self._mirror.hold()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def write_apt_settings(folder: Path, url: str, ring: Path) -> Path:
    """A file for `APT_CONFIG`: of this system's settings and sources nothing is read, and its own
    packages come from `url`.
    """
    sources = folder / "system.sources"
    about = {"Types": "deb", "URIs": url, "Suites": SUITE, "Components": "main", "Signed-By": ring}
    sources.write_text(format_fields(about))
    settings: Sequence[tuple[str, object]] = (
        ("Dir::Etc::main", "/dev/null"),
        ("Dir::Etc::parts", "/dev/null"),
        ("Dir::Etc::sourcelist", sources),
        ("Dir::Etc::sourceparts", "/dev/null"),
        ("Acquire::http::Proxy", "DIRECT"),
        ("Acquire::Retries", 0),
    )
    file = folder / "apt.conf"
    file.write_text("".join(f'{name} "{value}";\n' for name, value in settings))
    return file
