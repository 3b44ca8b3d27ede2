"""`hosts.toml`: what it holds, and each fault with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.compare.fleet.hosts_file import ListedHost, read_hosts
from dyno.compare.fleet.ssh import build_command
from dyno.errors import UsageError


def write(folder: Path, text: str) -> Path:
    file = folder / "hosts.toml"
    file.write_text(text)
    return file


def test_a_host_needs_a_name_only(tmp_path: Path) -> None:
    found = read_hosts(write(tmp_path, '[[host]]\nname = "db1"\n'))
    assert found == [ListedHost("db1", "db1")]


def test_every_key_of_a_host_is_read(tmp_path: Path) -> None:
    text = """
[[host]]
name = "db1"
address = "10.0.0.1"
user = "bench"
port = 2222
dyno = "env DYNO_STATE=/x ~/venv/bin/dyno"
options = ["-i", "keys/fleet"]
group = "rack-a"
"""
    (found,) = read_hosts(write(tmp_path, text))
    assert found == ListedHost(
        "db1",
        "10.0.0.1",
        "rack-a",
        "bench",
        2222,
        "env DYNO_STATE=/x ~/venv/bin/dyno",
        ("-i", "keys/fleet"),
    )
    command = build_command(found)
    assert command[0] == "ssh" and command[1:3] == ["-i", "keys/fleet"]
    assert command[-7:] == [
        *("-p", "2222", "-l", "bench", "--", "10.0.0.1"),
        "env DYNO_STATE=/x ~/venv/bin/dyno fleet-host",
    ]
    assert "BatchMode=yes" in command, "ssh would ask for a password"


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("", 1, "no hosts"),
        ("hosts = 1\n", 1, "unknown key 'hosts'"),
        ('host = "db1"\n', 1, "'host' is not a list"),
        ('[[host]]\nname = "a"\n\n[[host]]\naddress = "b"\n', 4, "a host's name: it has none"),
        ('[[host]]\nname = "a b"\n', 2, "a host's name: 'a b'"),
        ('[[host]]\nname = "../a"\n', 2, "a host's name: '../a'"),
        ('[[host]]\nname = "a"\n[[host]]\nname = "b"\nprot = 1\n', 5, "unknown key 'prot'"),
        ('[[host]]\nname = "a"\nport = 22\n[[host]]\nname = "b"\nport = 0\n', 6, "out of range"),
        ('[[host]]\nname = "a"\nport = "22"\n', 3, "'port' is not a whole number"),
        ('[[host]]\nname = "a"\naddress = "-oProxyCommand=x"\n', 3, "'address' is not one"),
        ('[[host]]\nname = "a"\nuser = "x y"\n', 3, "'user' is not one"),
        ('[[host]]\nname = "a"\noptions = [1]\n', 3, "'options' are words in quotes"),
        ('[[host]]\nname = "a"\n[[host]]\nname = "a"\n', 4, "'a' is the same host as 'a'"),
        (
            '[[host]]\nname = "a"\naddress = "x"\n[[host]]\nname = "b"\naddress = "x"\n',
            6,
            "'b' is the same host as 'a'",
        ),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, line: int, sentence: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_hosts(file)
    assert caught.value.sentence.startswith(f"{file}:{line}: "), caught.value.sentence
    assert sentence in caught.value.sentence


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file of hosts"):
        read_hosts(tmp_path / "gone.toml")
    with pytest.raises(UsageError, match="is not TOML"):
        read_hosts(write(tmp_path, "[[host]\n"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_hosts(tmp_path)
