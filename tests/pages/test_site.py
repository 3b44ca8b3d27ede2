"""A published site: whole or not at all, without names, over nothing of somebody else's."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import pytest
from mixed_runs import STEADY, write_comparison, write_home

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.pages.site import MARKER, SiteOptions, write_site
from dyno.runs.pack.archive import PackOptions
from dyno.runs.run_summary import list_run_places

SCRUBBED = SiteOptions(PackOptions(frozenset({"alice", "teaparty"})))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def site(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "site"
    assert run_words(["publish", str(home), str(out)]) == 0
    return out


def write_few(home: Path, out: Path, options: SiteOptions = SCRUBBED) -> int:
    return write_site(list_run_places(home), out, options).pages


def name_somebody(home: Path) -> None:
    """Puts a name, a host and a password into the records of the only run."""
    (run,) = home.glob("*/run.json")
    record = json.loads(run.read_text())
    record["command"] = "dyno compare postgres://alice:s3cr3t@wonder.example.org/x /home/alice/b"
    record["question"] = "alice asks on teaparty"
    run.write_text(json.dumps(record))


def test_a_site_has_a_list_reports_heat_maps_pairs_and_a_history(site: Path) -> None:
    found = [str(it.relative_to(site)) for it in site.rglob("*.html")]
    kinds = [name.partition("/")[0] for name in found]
    assert {"index.html", "matrix.html", "beside.html", "history.html"} <= set(found)
    assert (kinds.count("runs"), kinds.count("heat"), kinds.count("beside")) == (9, 4, 6)


def test_every_link_of_a_site_leads_to_a_page_of_it(site: Path) -> None:
    seen = 0
    for file in site.rglob("*.html"):
        text = file.read_text()
        for address in re.findall(r'href="([^"#][^"]*)"', text):
            if address.startswith("data:"):
                continue
            assert ":" not in address and not address.startswith("/"), f"{file}: {address}"
            target = file.parent / unquote(address.partition("#")[0])
            assert target.resolve().is_file(), f"{file.relative_to(site)} leads to {address}"
            seen += 1
    assert seen > 50


def test_what_is_published_has_no_name_and_no_secret(tmp_path: Path) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    write_comparison(home, {"null@120us": STEADY})
    name_somebody(home)
    write_few(home, out)
    text = "".join(file.read_text() for file in out.rglob("*") if file.is_file())
    assert "hidden asks on hidden" in text and "server1" in text
    words = ("alice", "teaparty", "s3cr3t", "wonder.example.org", str(tmp_path))
    assert [word for word in words if word in text] == []
    write_few(home, out, SiteOptions(None))
    text = "".join(file.read_text() for file in out.rglob("*") if file.is_file())
    assert "alice asks on teaparty" in text and "with all that the records hold" in text


def test_a_site_of_ours_is_replaced_in_whole_and_its_own_old_pages_go(tmp_path: Path) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    first = write_comparison(home, {"null@120us": STEADY})
    write_few(home, out)
    assert (out / "runs" / f"{first.name}.html").is_file()
    first.rename(tmp_path / "elsewhere")
    second = write_comparison(home, {"null@130us": STEADY}, day=2)
    write_few(home, out)
    assert [file.stem for file in (out / "runs").iterdir()] == [second.name]
    assert sorted(it.name for it in tmp_path.iterdir()) == ["elsewhere", "runs", "site"]


@pytest.mark.parametrize("place", ["notes.txt", "runs/notes.txt", ".git/config"])
def test_a_folder_with_something_of_somebody_else_stays_as_it_is(
    tmp_path: Path, place: str
) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    write_comparison(home, {"null@120us": STEADY})
    for was_ours in (False, True):
        if was_ours:
            (out / place).unlink()
            write_few(home, out)
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        (out / place).write_text("mine")
        before = {it: it.stat().st_ino for it in out.rglob("*")}
        with pytest.raises(UsageError, match=f"it holds {re.escape(place)}"):
            write_few(home, out)
        assert {it: it.stat().st_ino for it in out.rglob("*")} == before


def test_a_marker_that_lists_what_is_not_ours_removes_nothing_outside(tmp_path: Path) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    write_comparison(home, {"null@120us": STEADY})
    out.mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (out / MARKER).write_text(json.dumps(["../mine.txt", "/etc/hostname", 7]))
    write_few(home, out)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_an_empty_folder_is_taken_and_a_file_is_not(tmp_path: Path) -> None:
    home = tmp_path / "runs"
    write_comparison(home, {"null@120us": STEADY})
    (tmp_path / "empty").mkdir()
    assert write_few(home, tmp_path / "empty") == 6
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is no folder"):
        write_few(home, tmp_path / "file")


def test_a_damaged_run_is_told_and_the_site_stays_as_it_was(tmp_path: Path) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    run = write_comparison(home, {"null@120us": STEADY})
    write_few(home, out)
    before = (out / "index.html").read_bytes()
    (run / "trials" / "0001.json").write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        write_few(home, out)
    assert (out / "index.html").read_bytes() == before
    assert sorted(it.name for it in tmp_path.iterdir()) == ["runs", "site"]


def test_pairs_that_are_named_stand_side_by_side_and_others_do_not(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (
        "20260101T000000Z-null@100us-vs-null@120us",
        "20260102T000000Z-null@100us-vs-null@101us",
    )
    words = ["publish", str(home / one), str(home / other), str(tmp_path / "site")]
    assert run_words([*words, "--pair", f"{home / one},{home / other}"]) == 0
    assert [it.parent.name for it in tmp_path.glob("site/beside/*/*.html")] == [one]
    assert run_words([*words, "--pair", f"{home / one}"]) == 64
    assert "is not of the form RUN,RUN" in capsys.readouterr().err
    assert run_words([*words, "--hide", "x", "--unscrubbed"]) == 64


@pytest.mark.chaos
def test_a_kill_in_the_middle_leaves_the_site_that_was_there_and_the_next_one_sweeps(
    tmp_path: Path,
) -> None:
    home, out = tmp_path / "runs", tmp_path / "site"
    write_comparison(home, {"null@120us": STEADY})
    write_few(home, out)
    before = (out / "index.html").stat().st_ino
    line = [sys.executable, "-P", "-m", "dyno.cli", "publish", str(home), str(out)]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 40
    while not list(tmp_path.glob("dyno-publish-*")) and time.monotonic() < end:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    assert (out / "index.html").stat().st_ino == before
    write_few(home, out)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["runs", "site"]
