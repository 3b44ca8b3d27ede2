"""Words and files that name client hosts, and those that name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.driver import clients
from dyno.errors import UsageError
from dyno.record.clients import ClientHost


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ssh:", "no usable name|has neither"),
        ("ssh:a,a", "named twice"),
        ("/nowhere/hosts.toml", "cannot read the client hosts"),
        ("[[host]]\nname = 3\nssh = 'a'", "neither one 'ssh' nor one 'command'"),
        ("[[host]]\nname = 'a'", "neither one 'ssh' nor one 'command'"),
        ("[[host]]\nname = 'a'\nssh = 'a'\ncommand = ['b']", "neither one 'ssh' nor"),
        ("[[host]]\nname = 'a'\nssh = '-oProxyCommand=x'", "no usable name"),
        ("[[host]]\nname = 'a'\ncommand = ['b']\noptions = ['-4']", "not words for its 'ssh'"),
        ("[[host]]\nname = 'a'\nssh = 'b'\noptions = '-4'", "not words for its 'ssh'"),
        ("[[host]]\nname = 'a'\ncommand = ['b']\ncores = 3", "unknown key of a client host"),
        ("host = 3", "no list of client hosts"),
        ("hosts = []", "unknown key 'hosts'"),
        ("[[host", "is not TOML"),
    ],
)
def test_words_that_name_no_hosts_are_refused(tmp_path: Path, text: str, says: str) -> None:
    if "\n" in text or text.startswith(("host", "[")):
        file = tmp_path / "hosts.toml"
        file.write_text(text)
        text = str(file)
    with pytest.raises(UsageError, match=says):
        clients.parse_client_hosts(text)


def test_hosts_are_read_from_words_and_from_a_file(tmp_path: Path) -> None:
    assert [host.ssh for host in clients.parse_client_hosts("ssh:a,me@b")] == ["a", "me@b"]
    file = tmp_path / "hosts.toml"
    file.write_text('[[host]]\nname = "c1"\ncommand = ["ip", "netns", "exec", "c1"]\n')
    assert clients.parse_client_hosts(str(file)) == (
        ClientHost("c1", ("ip", "netns", "exec", "c1")),
    )
