"""Source `npm`: what a package of Node's brings along, fetched by npm and checked by it.

npm's own client is used, by package name, so that a user's mirrors, proxies and credentials apply.
`npm pack` holds what it fetched against the integrity that the registry tells, and runs no script.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

from dyno import scratch
from dyno.builds import RegistryClient, Say, cache, tar
from dyno.errors import HostError
from dyno.tails import extract_last_lines

#: The folder that every package is packed into.
PACKED = "package/"
#: How long npm may take over a slow line.
FETCH_S = 1800.0
#: Errors and nothing else. npm asks three times, by itself with long pauses: offline that would
#: be minutes without a word.
OWN = {
    "npm_config_loglevel": "error",
    "npm_config_update_notifier": "false",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "5000",
}
CLIENT = RegistryClient(
    absent=("E404", "ETARGET", "ENOVERSIONS"),
    install="install Node.js with npm, or name a build of your own by its path",
    reach="npm's configuration",
    environment=OWN,
)


def fetch(name: str, version: str, say: Say, limit_s: float = FETCH_S) -> Path:
    """The folder of package `name` at exactly `version`; `HostError` where npm cannot get it."""

    def make(folder: Path) -> None:
        say(f"fetching npm package {name} {version}")
        with scratch.make_folder("npm") as place:
            _unpack(_pack(place, f"{name}@{version}", say, limit_s), folder)

    return cache.ensure_entry(*build_entry_pattern(name, version), make, say)


def build_entry_pattern(name: str, version: str) -> tuple[str, str]:
    return "npm", f"{name.lstrip('@').replace('/', '-')}-{version}"


def _pack(place: Path, package: str, say: Say, limit_s: float) -> Path:
    command = ["npm", "pack", "--ignore-scripts", "--pack-destination", "."]
    done = CLIENT.run([*command, package], place, package, say, limit_s)
    archives = list(place.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        tail = extract_last_lines(done.stderr, 12) or "nothing"
        hint = "npm must reach a registry; a mirror goes into npm's own configuration"
        raise HostError(f"cannot fetch npm package {package}", cause=f"npm says\n{tail}", hint=hint)
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack the files of the package, without the folder around them; nothing outside `folder`."""
    try:
        tar.unpack(archive, folder, lambda name: name.removeprefix(PACKED))
    except tarfile.TarError as broken:
        hint = "fetch again; if it stays, empty npm's cache (npm cache clean --force)"
        raise HostError(f"cannot unpack {archive.name}", cause=broken, hint=hint) from None
