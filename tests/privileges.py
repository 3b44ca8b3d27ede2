"""What a test needs of its user: skipped on a laptop, with the reason, and failed in CI."""

from __future__ import annotations

import os

import pytest


def need_root(what: str) -> None:
    """Goes on for root; else skips the test, or fails it in CI, which is root's."""
    if os.geteuid() == 0:
        return
    message = f"takes root: {what}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
