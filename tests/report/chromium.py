"""A headless Chromium over its debugging pipe, nothing installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from report.tab import Tab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Chromium rings home when it starts, unless told not to.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
#: Moves both ends out of each other's way first: either may be 3 or 4 itself.
LAUNCHER = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def program() -> str | None:
    """The first Chromium on PATH."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def needed() -> str:
    """The same; without one a test is skipped on a laptop, and fails where `CI=true`."""
    if binary := program():
        return binary
    told = "no Chromium on PATH: the page has NOT been tried in a browser"
    if os.environ.get("CI") == "true":
        pytest.fail(told)
    pytest.skip(told)


@contextmanager
def browser(binary: str, profile: Path) -> Iterator[Tab]:
    """A Chromium with a new profile; killed at the end.

    It reads its commands from descriptor 3 and answers on 4, hence the launcher.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    ends = (str(theirs_in), str(theirs_out))
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *ends, binary, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        tab = Tab(ours_in, ours_out)
        tab.attach()
        yield tab
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        os.close(ours_in)
        os.close(ours_out)
