"""A packed run: names and secrets put into it are gone, and it is judged as before."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import zipfile
from pathlib import Path

import pytest
from gathered_runs import make_gathered, play_gathered
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.runs.pack.archive import PackOptions, pack_run, unpack_run
from dyno.runs.pack.hidden import Hiding, Known, list_own_names
from dyno.runs.run_folder import RunFolder, create_run

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "example-run"
LOAD = ["load-one.example.org", "load-two.example.org"]
NAMES = ["alice", "Alice Liddell", "wonder.example.org", "tea-party", "s3cr3t", "10.1.2.3"]


def name_somebody(folder: Path) -> Path:
    """The example's run as somebody's of this name, on a server of this host."""
    run = folder / "20261127T000000Z-alice-tea-party"
    shutil.copytree(EXAMPLE, run)
    record = json.loads((run / "run.json").read_text())
    record["command"] = "dyno compare postgres://alice:s3cr3t@wonder.example.org/x /home/alice/b"
    record["question"] = "Alice Liddell asks on tea-party: run=run, host=wonder.example.org"
    (run / "run.json").write_text(json.dumps(record))
    (run / "logs").mkdir(exist_ok=True)
    log = "ALTER ROLE alice PASSWORD 's3cr3t'\nfrom 10.1.2.3 port 5, /home/alice/pg\n"
    (run / "logs" / "0001.log").write_text(log)
    (run / "home").mkdir()
    (run / "home" / "table.json").write_text('{"alice": 1}')
    return run


def pack(run: Path, out: Path) -> bytes:
    names = frozenset({"alice", "Alice Liddell", "tea-party"})
    pack_run(run, out, PackOptions(names), lambda _: None)
    with zipfile.ZipFile(out) as archive:
        return b"".join(each.filename.encode() + archive.read(each) for each in archive.infolist())


def test_no_name_or_secret_is_in_a_packed_file(tmp_path: Path) -> None:
    held = pack(name_somebody(tmp_path), tmp_path / "x.dyno.zip")
    assert not [word for word in NAMES if word.encode() in held]
    assert b"server1" in held and b"/home/user/pg" in held and b"table" not in held
    assert stat.S_IMODE((tmp_path / "x.dyno.zip").stat().st_mode) == 0o600


def test_a_commit_stays_and_of_its_subject_no_name(tmp_path: Path) -> None:
    run = name_somebody(tmp_path)
    record = json.loads((run / "run.json").read_text())
    facts = {"commit": "1a" * 20, "parents": "2b" * 20, "subject": "Merge Zaphod's queue"}
    record["candidates"][0]["build"] |= facts
    (run / "run.json").write_text(json.dumps(record))
    held = pack(run, tmp_path / "x.dyno.zip")
    assert b"1a" * 20 in held and b"2b" * 20 in held
    assert b"Zaphod" not in held and b"subject" in held


def test_rows_of_peoples_tables_are_not_in_a_packed_file(tmp_path: Path) -> None:
    run = name_somebody(tmp_path)
    file = run / "trials" / "0002.json"
    record = json.loads(file.read_text())
    entry = {"name": "all", "sql": "SELECT 1", "expected": 0, "found": "1", "digest": "1f" * 16}
    record["evidence"] = [entry | {"rows": [["48151623", "sesame"]], "session": "sqlite"}]
    file.write_text(json.dumps(record))
    held = pack(run, tmp_path / "x.dyno.zip")
    assert b"1f" * 16 in held and b"48151623" not in held and b"sesame" not in held


def test_client_hosts_have_words_of_their_own_and_no_way_to_them(tmp_path: Path) -> None:
    run = name_somebody(tmp_path)
    record = json.loads((run / "run.json").read_text())
    hosts = [{"name": f"ops@{name}", "ssh": f"ops@{name}", "machine": "boot-id"} for name in LOAD]
    record["client_hosts"] = [{**host, "cores": 8} for host in hosts]
    record["question"] += f" from {LOAD[0]} and ops@{LOAD[1]}"
    record["command"] += f" --client-hosts ssh:ops@{LOAD[0]},ops@{LOAD[1]}"
    (run / "run.json").write_text(json.dumps(record))
    held = pack(run, tmp_path / "x.dyno.zip")
    assert not [word for word in (*LOAD, "boot-id") if word.encode() in held]
    assert b"client1" in held and b"client2" in held


@pytest.mark.parametrize("group", ["Alice-ci", "rack of acme", "ci.malice", "ci", "left"])
def test_a_host_group_has_a_word_of_its_own_which_is_always_the_same(
    tmp_path: Path, group: str
) -> None:
    run = name_somebody(tmp_path)
    record = json.loads((run / "run.json").read_text())
    record["host"]["group"] = group
    record["command"] += f" --host-group '{group}'"
    (run / "run.json").write_text(json.dumps(record))
    held = pack(run, tmp_path / "x.dyno.zip")
    assert f'"group": "{group}"'.encode() not in held
    kept = group in ("ci", "left")  # two letters, and a word of the records' own keys
    assert (f"--host-group '{group}'".encode() in held) == kept
    word = f"group-{hashlib.sha256(group.encode()).hexdigest()[:8]}"
    assert f'"group": "{word}"'.encode() in held, "runs of one group stay in one series"
    assert b'"cpu": ' in held, "the other facts of the host stay"


def test_hosts_of_shares_that_users_named_stay_apart_and_nameless(tmp_path: Path) -> None:
    run = make_gathered({"select": [2, 2]})
    assert run.gathered
    labels = ("db1.acme", "new")  # a candidate is called so, too
    shares = [
        replace(each, share=replace(each.share, label=label))
        for each, label in zip(run.gathered.shares, labels, strict=True)
        if each.share
    ]
    run = replace(run, gathered=replace(run.gathered, shares=tuple(shares)))
    folder = create_run(replace(run, command="dyno gather db1.acme-share"), tmp_path / "runs")
    for trial in play_gathered(run, {"select": [[0.0, 0.1], [0.0, 0.1]]}):
        folder.write_trial(replace(trial, host=labels[trial.share - 1]))
    held = pack(folder.path, tmp_path / "x.dyno.zip")
    assert b"acme" not in held and b'"host": "new"' not in held and b'"label": "new"' not in held
    opened = RunFolder(unpack_run(tmp_path / "x.dyno.zip", tmp_path / "opened"))
    hosts = {(trial.share, trial.host) for trial in opened.read_trials()}
    assert len(hosts) == 2 and all(host.startswith("host-") for _, host in hosts)
    assert {side.name for side in opened.read_run().candidates} == {"old", "new"}


def test_a_packed_run_is_judged_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.dyno.zip"
    assert (
        run_words(
            ["pack", str(name_somebody(tmp_path)), "--output", str(out), "--hide", "tea-party"]
        )
        == 0
    )
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "elsewhere"))
    capsys.readouterr()
    assert run_words(["report", str(out), "--json", str(tmp_path / "packed.json")]) == 0
    assert "is not slower than 3.24.0" in capsys.readouterr().out
    assert run_words(["report", str(out)]) == 0
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    copied = tmp_path / "as-it-was"
    shutil.copytree(EXAMPLE, copied)
    assert run_words(["report", str(copied), "--json", str(tmp_path / "before.json")]) == 0
    packed, before = (
        json.loads((tmp_path / f"{name}.json").read_text()) for name in ("packed", "before")
    )
    assert packed["comparisons"] == before["comparisons"] and packed["overall"] == before["overall"]


def test_two_servers_stay_two_and_a_name_has_one_word() -> None:
    text = "postgres://bob@old.db/x postgres://bob@new.db/x"
    hiding = Hiding([], [text])
    assert hiding.hide(text) == "postgres://user@server1/x postgres://user@server2/x"
    assert hiding.hide("postgres-bob-old.db is slower") == "postgres-hidden-server1 is slower"
    assert hiding.find_left("bobsled") == "" and hiding.find_left("by bob!") == "bob"


def test_a_word_of_the_records_is_no_name() -> None:
    hiding = Hiding(["run", "ab", "root", "carol"], (), Known(["run"]))
    assert hiding.hide("run ab root carol /home/run/x") == "run ab root hidden /home/user/x"


def test_a_version_is_no_address() -> None:
    text = "mysql 8.0.33.1, mariadb-10.11.5.1, 10.11.5 and http://a.example/x"
    assert Hiding([], [text]).hide(text) == text


def test_this_account_and_host_are_known() -> None:
    assert list_own_names() and "" not in list_own_names()


@pytest.mark.parametrize(
    "member", ["../x/run.json", "/x/run.json", "x/../../run.json", "run.json", "x/trials/1.json"]
)
def test_a_file_that_is_no_packed_run_is_refused(tmp_path: Path, member: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(member, "{}")
    with pytest.raises(UsageError, match="is no packed run"):
        unpack_run(tmp_path / "x.zip", tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("x/run.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UsageError, match="is no packed run"):
        unpack_run(tmp_path / "x.zip", tmp_path / "home")


def test_another_run_of_the_same_name_is_not_overwritten(tmp_path: Path) -> None:
    run, out, home = name_somebody(tmp_path), tmp_path / "x.dyno.zip", tmp_path / "runs"
    pack(run, out)
    there = unpack_run(out, home)
    assert unpack_run(out, home) == there
    (there / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="another run is in"):
        unpack_run(out, home)


def test_a_damaged_record_is_said_and_nothing_is_packed(tmp_path: Path) -> None:
    run, out = name_somebody(tmp_path), tmp_path / "x.dyno.zip"
    (run / "trials" / "0001.json").write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        pack(run, out)
    assert not out.exists()


def test_a_word_that_cannot_be_hidden_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'name' cannot be hidden"):
        pack_run(
            name_somebody(tmp_path),
            tmp_path / "x.zip",
            PackOptions(wanted=("name",)),
            lambda _: None,
        )
