"""What a test needs of its user: skipped on a laptop, with the reason, and failed in CI; and what
another user, who has no rights, meets.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


def need_root(what: str) -> None:
    """Goes on for root; else skips the test, or fails it in CI, which is root's."""
    if os.geteuid() == 0:
        return
    message = f"takes root: {what}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


#: A user and group that own nothing.
NOBODY = 65534


def ask_as_nobody(ask: Callable[[], str]) -> str:
    """What `ask` answers to somebody without rights, in a process of its own; what it raises is
    the answer too. It has to have imported all that it needs: our files are root's.
    """
    need_root("to be somebody else")
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                answer = ask()
            except Exception as error:
                answer = f"{error} {getattr(error, 'hint', '')}"
            os.write(theirs, answer.encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answered:
        told = answered.read()
    os.waitpid(child, 0)
    return told
