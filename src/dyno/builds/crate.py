"""Source `crate`: what a Rust package brings along, fetched by cargo and checked by it.

cargo's own client is used, by package name, so that a user's mirrors, proxies and credentials
apply, and so that its checksums are verified.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dyno import scratch
from dyno.builds import RegistryClient, Say, cache
from dyno.errors import HostError
from dyno.tails import extract_last_lines

#: How long cargo may take over a slow line, the registry's index included.
FETCH_S = 900.0
CLIENT = RegistryClient(
    absent=("no matching package", "failed to select a version"),
    install="install Rust (cargo), or name a library by its path",
    reach="cargo's configuration",
)

#: A package that depends on nothing but the crate; its own workspace, whatever lies around it.
MANIFEST = """[package]
name = "fetched"
version = "0.0.0"
edition = "2018"
[lib]
path = "lib.rs"
[dependencies]
{name} = {{ version = "={version}", default-features = false }}
[workspace]
"""


def fetch(name: str, version: str, say: Say, limit_s: float = FETCH_S) -> Path:
    """The folder of crate `name` at exactly `version`; `HostError` where cargo cannot get it."""

    def make(folder: Path) -> None:
        say(f"fetching crate {name} {version}")
        with scratch.make_folder("crate") as package:
            (package / "Cargo.toml").write_text(MANIFEST.format(name=name, version=version))
            (package / "lib.rs").touch()
            # the package's dependencies come into `vendor/`, each checksum verified
            crate = f"{name} {version}"
            command = ["cargo", "vendor", "--quiet", "vendor"]
            done = CLIENT.run(command, package, f"crate {crate}", say, limit_s)
            if done.returncode:
                tail = extract_last_lines(done.stderr, 12)
                hint = "cargo must reach a registry; a mirror goes into cargo's own configuration"
                raise HostError(
                    f"cannot fetch crate {crate}", cause=f"cargo says\n{tail}", hint=hint
                )
            shutil.copytree(package / "vendor" / name, folder, dirs_exist_ok=True)

    return cache.ensure_entry(*build_entry_pattern(name, version), make, say)


def build_entry_pattern(name: str, version: str) -> tuple[str, str]:
    return "crate", f"{name}-{version}"
