"""A candidate written as a URL: its password leaves the text at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dyno.errors import UsageError
from dyno.experiment import candidates

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
    assert (spec.text, spec.secret, candidates.mask_password(text)) == (shown, secret, shown)
    assert not secret or secret not in repr(spec)
    again = candidates.parse_candidate(spec.text)
    assert (again.name, again.engine, again.build) == (spec.name, spec.engine, spec.build)


def test_a_malformed_url_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError) as caught:
        candidates.parse_candidate("a/b=postgres://joe:secret@h/d")
    assert "secret" not in str(caught.value) and "***" in str(caught.value)


SHOWN = """
import sys
from pathlib import Path
from dyno.cli import hide_passwords
hide_passwords()
print(Path("/proc/self/cmdline").read_bytes().split(b"\\0")[3:])
"""


def test_the_list_of_processes_shows_stars() -> None:
    words = ["play", "postgres://joe:s3cr@t@h/d?pinning=0", "--set", "time=1"]
    done = subprocess.run([sys.executable, "-c", SHOWN, *words], capture_output=True, check=True)
    expected = [word.encode() for word in words]
    expected[1] = b"postgres://joe:******@h/d?pinning=0"
    assert done.stdout.decode().strip() == str([*expected, b""])
