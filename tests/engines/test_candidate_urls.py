"""A candidate written as a URL: its password leaves the text at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dyno import passwords
from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.runs.experiment import candidates

URL = "postgres://joe:s3c%40ret@db.example:6543/bench"


@pytest.mark.parametrize(
    ("text", "shown", "secret"),
    [
        (URL, "postgres://joe:***@db.example:6543/bench", "s3c%40ret"),
        (
            "a=postgres://joe:p@ss@h/d?sslmode=require",
            "a=postgres://joe:***@h/d?sslmode=require",
            "p@ss",
        ),
        ("postgres://joe:p?s@h/d", "postgres://joe:***@h/d", "p?s"),
        ("postgres://joe:***@h/d", "postgres://joe:***@h/d", ""),
        ("postgres://joe@h:5432/d", "postgres://joe@h:5432/d", ""),
        (
            "postgres://h:5432/d?sslrootcert=/a@b.pem",
            "postgres://h:5432/d?sslrootcert=/a@b.pem",
            "",
        ),
        ("null@200us", "null@200us", ""),
    ],
)
def test_a_password_leaves_the_text_at_once(text: str, shown: str, secret: str) -> None:
    spec = candidates.parse_candidate(text)
    assert (spec.text, spec.secret, passwords.mask_password(text)) == (shown, secret, shown)
    assert not secret or secret not in repr(spec)
    again = candidates.parse_candidate(spec.text)
    assert (again.name, again.engine, again.build) == (spec.name, spec.engine, spec.build)


def test_a_malformed_url_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError) as caught:
        candidates.parse_candidate("a/b=postgres://joe:secret@h/d")
    assert "secret" not in str(caught.value) and "***" in str(caught.value)


MISTYPED = (
    "postgres:/boss:s3cret@host/db",
    "postgres//u:s3cret@h",
    "mysql:u:s3cret@h",
    "mysql:s3cret@h",
    "postgres:///u:s3cret@h/db",
    "postgres@u:s3cret@h/db",
    "mysql@//u:s3cret@h/db",
    "pg://u:s3cret@h/db",
    "postgres::u:s3cret@h/db",
    "postgresql:\\u:s3cret@h/db",
    "a=postgres:/boss:s3cret@host/db",
    "postgres:/boss:s3cret/s3cret@host/db",
    "postgres:/boss:s3cret s3cret@host/db",
    "postgres://boss:s3cret",
    "postgres://boss:s3cret/db",
)


@pytest.mark.parametrize("word", MISTYPED)
def test_a_mistyped_url_is_refused_without_its_password(
    word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in (
        ["play", word, "-w", "insert"],
        ["compare", "null", word, "-w", "insert"],
        ["plan", "null", word],
        ["show", word],
    ):
        assert run_words(words) == 64
        assert "s3cret" not in "".join(capsys.readouterr()), words
    file = tmp_path / "mine.toml"
    text = word.replace("\\", "\\\\")
    file.write_text(f'candidates = ["null", "{text}"]\n[[workload]]\nname = "insert"\n')
    assert run_words(["run", str(file)]) == 64
    assert "s3cret" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "sentence",
    [
        "'postgres://ann@h:5432/d?x=a@b' is off",
        "null@200us: mysql://[::1]:3306/db, postgres://h:5432/d?sslrootcert=/a@b.pem",
        "cannot connect to 127.0.0.1:5432 as 'user'@'host': refused",
        "mine.toml:3: 'postgres://joe:***@h:5432/d' is read-only",
        "ssh:hosts.toml, ray://head:10001, or ray:auto on a node",
    ],
)
def test_what_holds_no_password_is_said_as_it_is(sentence: str) -> None:
    assert passwords.mask_sentence(sentence) == sentence


SHOWN = """
import sys
from pathlib import Path
from dyno.cli import hide_passwords
hide_passwords()
print(Path("/proc/self/cmdline").read_bytes().split(b"\\0")[3:])
"""


def test_the_list_of_processes_shows_stars() -> None:
    words = ["play", "postgres://joe:s3cr@t@h/d?pinning=0", "--set", "time=1", "mysql:u:pass@h"]
    done = subprocess.run([sys.executable, "-c", SHOWN, *words], capture_output=True, check=True)
    expected = [word.encode() for word in words]
    expected[1], expected[4] = b"postgres://joe:******@h/d?pinning=0", b"mysql:u:****@h"
    assert done.stdout.decode().strip() == str([*expected, b""])
