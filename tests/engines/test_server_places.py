"""Where a server may live and as whom: its user, its socket's place."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from dyno.access import account
from dyno.engines._server import process
from dyno.errors import HostError, InternalError, TrialFailed


def test_a_program_whose_parent_died_first_does_not_run(home: Path) -> None:
    guarded = account.build_account_prefix(account.find_server_account(), signal.SIGKILL)
    command = [*guarded[:-1], "1", "echo", "it runs"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1 and done.stdout == b""
    assert process.run_tool(["echo", "it runs"], home) == "it runs\n"


def test_a_tool_that_fails_says_why(home: Path) -> None:
    assert process.run_tool(["cat"], home, given="CREATE") == "CREATE"
    with pytest.raises(TrialFailed, match=r"sh failed: its last words are\nno disk"):
        process.run_tool(["sh", "-c", "echo no disk >&2; exit 1"], home)


def test_a_socket_moves_where_its_path_would_be_too_long(home: Path) -> None:
    near = account.place_socket(home, "s.sock")
    assert near.path == home / "s.sock" and not near.passing
    far = account.place_socket(home / ("deep" * 25), "s.sock")
    assert far.passing and len(str(far.path)) <= 107
    folder = far.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_uid == account.find_server_account().uid
    far.remove()
    assert not folder.exists()
    with pytest.raises(HostError, match="is too long for a socket"):
        account.place_socket(home, "s" * 120)


def test_the_user_is_who_called_sudo_else_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_UID", raising=False)
    assert (account.find_server_account().name, account.find_server_account().switch) == (
        "nobody",
        True,
    )
    monkeypatch.setenv("SUDO_UID", "1")
    assert (account.find_server_account().uid, account.find_server_account().switch) == (1, True)
    monkeypatch.setenv("SUDO_UID", "4000000")
    with pytest.raises(HostError, match="do not run as root"):
        account.find_server_account()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not account.find_server_account().switch


def test_a_closed_folder_on_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed" / "open").mkdir(parents=True)
    tmp_path.chmod(0o700)
    stranger = account.Account("stranger", 4_000_000, 4_000_000, switch=True)
    with pytest.raises(HostError, match="stranger, as whom servers run, may not enter") as caught:
        account.check_reach(stranger, tmp_path / "closed" / "open", "set DYNO_TMP")
    assert "DYNO_TMP" in caught.value.hint
    account.check_reach(stranger, Path("/usr/bin/env"), "set DYNO_CACHE")


def test_without_setpriv_no_server_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="setpriv is not on PATH") as caught:
        account.build_account_prefix(account.find_server_account(), signal.SIGKILL)
    assert "util-linux" in caught.value.hint


def test_no_folder_of_the_system_is_given_away() -> None:
    """None that there is: a guard that fails must not cost this machine its owners."""
    with pytest.raises(InternalError, match="is no home of a server's"):
        account.give_folder(account.find_server_account(), Path("/no-such-folder-of-a-system"))
