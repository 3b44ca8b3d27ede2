"""What the served pages hand out, to whom, and what they refuse: by plain HTTP."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mixed_runs import STEADY, write_comparison, write_home
from served import Served, serving

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.webserver.guard import is_name_allowed, list_host_names, read_token

SECRET = "none of your business"
FIRST = "20260101T000000Z-null@100us-vs-null@120us"
SECOND = "20260102T000000Z-null@100us-vs-null@101us"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of every kind, a secret beside their folder, and links that lead to it."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "secret.html").write_text(SECRET)
    outside = write_comparison(folder / "outside", {"null@120us": STEADY})
    runs = write_home(folder / "runs")
    (runs / "linked").symlink_to(outside)
    (runs / SECOND / "report.html").symlink_to(folder / "secret.html")
    return runs


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    with serving(home) as it:
        yield it


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/index.html?q=select&sort=word&page=7",
        "/beside.html",
        f"/beside/{FIRST}/{SECOND}.html",
        f"/heat/{FIRST}.html",
        "/history.html",
        "/history.html?newest=30",
        "/live.html",
    ],
)
def test_every_page_of_ours_runs_only_our_own_script_and_may_not_be_framed(
    served: Served, path: str
) -> None:
    answer = served.ask(path)
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200 and answer.headers["cache-control"] == "no-store"
    assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
    assert "script-src 'sha256-" in policy and "script-src 'unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers


def test_what_plays_is_read_again_without_a_script(served: Served) -> None:
    text = served.read("/live.html")
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in text
    assert 'http-equiv="refresh"' not in served.read("/")


def test_a_report_runs_its_script_apart_from_the_site_and_reaches_nothing(served: Served) -> None:
    answer = served.ask(f"/runs/{FIRST}.html")
    policy = answer.headers["content-security-policy"]
    assert answer.status == 200 and "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy and "connect-src" not in policy
    assert "is slower than" in answer.text and "index.html" in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
@pytest.mark.parametrize("path", ["/", f"/runs/{FIRST}.html", "/live/events", "/nowhere"])
def test_any_method_but_get_and_head_is_refused(served: Served, method: str, path: str) -> None:
    answer = served.ask(path, method)
    assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD"


def test_head_of_the_events_ends_at_once(served: Served) -> None:
    answer = served.ask("/live/events", "HEAD")
    assert answer.status == 200 and answer.text == ""


def test_head_answers_as_get_does_without_a_body(served: Served) -> None:
    answer = served.ask("/", "HEAD")
    assert answer.status == 200 and answer.text == "" and answer.headers["content-length"] != "0"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../secret.html",
        "/runs/..%2fsecret.html",
        "/runs/..%2f..%2f..%2fetc%2fpasswd.html",
        "/runs/%2e%2e/secret.html",
        "/runs/....//secret.html",
        "/../secret.html",
        "/runs//etc/passwd.html",
        "/runs/%00.html",
        "/runs/linked.html",
        "/runs/outside.html",
        "/heat/..%2f..%2foutside.html",
        "/beside/..%2fx/..%2fy.html",
        "/run.json",
        f"/runs/{FIRST}/run.json",
        f"/runs/{FIRST}/../../secret.html",
        "/%ff%fe.html",
        "//secret.html",
    ],
)
def test_no_path_leads_out_of_the_runs_or_to_their_files(served: Served, path: str) -> None:
    answer = served.ask(path)
    assert answer.status in (303, 404), answer.text
    assert SECRET not in answer.text and "root:" not in answer.text
    assert "Traceback" not in answer.text


def test_a_report_that_is_a_link_is_not_followed_but_made_anew(served: Served) -> None:
    text = served.read(f"/runs/{SECOND}.html")
    assert SECRET not in text and "is not slower than" in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example"])
def test_another_host_name_is_refused_since_it_may_be_rebound(served: Served, host: str) -> None:
    answer = served.ask("/", headers={"Host": host})
    assert answer.status in (400, 421) and "null@" not in answer.text


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("localhost:9", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8642", True),
        ("[::1]:8642", True),
        ("[::1]", True),
        ("10.1.2.3", True),
        ("bench.example:443", True),
        ("localhost.evil", False),
        ("evil:80", False),
        ("localhost:x", False),
        ("", False),
        ("[::1", False),
        ("a@localhost", False),
    ],
)
def test_a_host_is_an_address_in_numbers_or_a_name_that_is_known(
    host: str, is_allowed: bool
) -> None:
    assert is_name_allowed(host, list_host_names(["bench.example"])) == is_allowed


def test_two_host_headers_are_refused(served: Served) -> None:
    with socket.create_connection((served.host, served.port), timeout=20) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert line.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.slow
def test_a_token_is_asked_for_once_in_the_address_or_in_every_request(home: Path) -> None:
    with serving(home, "--token") as it:
        assert len(it.token) >= 40
        for path in ("/", f"/runs/{FIRST}.html", "/live/events", "/nowhere"):
            refused = it.ask(path)
            assert refused.status == 401 and "null@" not in refused.text
        for wrong in ("x", it.token[:-1], f"{it.token}x", ""):
            assert it.ask(f"/?token={wrong}").status == 401
            assert it.ask("/", headers={"Authorization": f"Bearer {wrong}"}).status == 401
            assert it.ask("/", headers={"Cookie": f"dyno_token={wrong}"}).status == 401
        assert it.ask("/", headers={"Authorization": f"Bearer {it.token}"}).status == 200
        taken = it.ask(f"/index.html?q=a&token={it.token}")
        cookie = taken.headers["set-cookie"]
        assert (taken.status, taken.headers["location"]) == (303, "/index.html?q=a")
        assert "HttpOnly" in cookie and "SameSite" in cookie
        assert it.ask("/", headers={"Cookie": cookie.partition(";")[0]}).status == 200
        assert it.ask("/", "POST", {"Authorization": f"Bearer {it.token}"}).status == 405


@pytest.mark.slow
def test_beyond_this_host_a_token_is_made_where_none_is_given(home: Path) -> None:
    with serving(home, "--host", "0.0.0.0") as it:
        assert it.token and it.ask("/").status == 401
        it.process.send_signal(signal.SIGTERM)
        assert it.process.wait(20) == 0
        assert it.process.stderr
        notes = it.process.stderr.read()
        assert "plain HTTP" in notes and "names of hosts" in notes and it.token not in notes


def test_a_token_of_a_file_is_not_printed(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a" * 40 + "\n")
    file.chmod(0o600)
    with serving(home, "--token-file", file) as it:
        assert it.token == "" and it.ask("/").status == 401
        assert it.ask(f"/?token={'a' * 40}").status == 303


@pytest.mark.parametrize(
    ("text", "mode"),
    [("short", 0o600), ("a b" * 20, 0o600), ("a" * 40, 0o644), (None, 0o600)],
)
def test_a_token_file_that_is_none_is_refused(tmp_path: Path, text: str | None, mode: int) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    with pytest.raises(UsageError, match=r"no token|may read|cannot read"):
        read_token(file)


def test_a_port_in_use_and_a_folder_without_runs_are_told_in_a_sentence(
    home: Path, served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for words, said in (
        ([str(home), "--port", str(served.port)], f"port {served.port} of 127.0.0.1 is in use"),
        ([str(tmp_path / "empty")], "there is no run under"),
        ([str(tmp_path / "missing")], "there is no folder"),
        ([str(home), "--host", "192.0.2.1"], "cannot listen on 192.0.2.1 port 8642: "),
    ):
        assert run_words(["serve", *words]) == 64
        told = capsys.readouterr().err
        assert said in told and "Traceback" not in told


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert run_words(["serve", str(home)]) == 64
    assert "pip install 'dyno-bench[serve]'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_damaged_or_removed_while_it_is_served_is_a_sentence_beside_the_others(
    tmp_path: Path,
) -> None:
    home = tmp_path / "runs"
    paths = [write_comparison(home, {"null@120us": STEADY}, day=day) for day in (1, 2, 3)]
    with serving(home) as it:
        assert it.read("/").count("not slower") >= 3
        (paths[0] / "run.json").write_text("{")
        for file in paths[1].rglob("*.json"):
            file.write_text('{"schema": 99}')
        for path in (f"/runs/{paths[0].name}.html", f"/heat/{paths[1].name}.html"):
            answer = it.ask(path)
            assert answer.status == 500 and "cannot be shown" in answer.text
            assert "Traceback" not in answer.text
        for file in sorted(paths[2].rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        assert it.ask(f"/runs/{paths[2].name}.html").status in (404, 500)
        assert it.ask("/history.html").status == 200
        end = time.monotonic() + 20
        while "is damaged" not in (text := it.read("/")) and time.monotonic() < end:
            time.sleep(0.2)
        assert "is damaged" in text and paths[2].name not in text


@pytest.mark.slow
def test_a_killed_server_leaves_nothing_and_its_port_is_free(home: Path) -> None:
    before = sorted(home.rglob("*"))
    with serving(home) as it:
        it.read("/")
        it.read(f"/runs/{FIRST}.html")
        it.process.send_signal(signal.SIGKILL)
        it.process.wait(10)
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind((it.host, it.port))
        with pytest.raises(ProcessLookupError):
            os.killpg(it.process.pid, 0)
    assert sorted(home.rglob("*")) == before


@pytest.mark.slow
def test_a_page_that_follows_a_run_does_not_hold_the_server_up_at_its_end(home: Path) -> None:
    with serving(home) as it, socket.create_connection((it.host, it.port), timeout=20) as line:
        line.sendall(b"GET /live/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        told = line.recv(10_000)
        while b"event: state" not in told:
            told += line.recv(10_000)
        assert b"text/event-stream" in told
        data = told.partition(b"data: ")[2].partition(b"\n")[0]
        assert "Nothing is playing" in json.loads(data)
        it.process.send_signal(signal.SIGINT)
        assert it.process.wait(20) == 0
