"""Sixty secrets in every place where text of others gets into a run: the packed run has none of
them, and is judged as the run was.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT

from dyno.cli import judged_run
from dyno.judge.analysis.judge import judge
from dyno.runs.pack.archive import PackOptions, pack_run, unpack_run
from dyno.runs.pack.hidden import Hiding
from dyno.runs.run_folder import RunFolder

#: Statements and words of programs, as logs and servers' errors quote them; `{}` is the secret.
TEXTS = [
    "CREATE USER app IDENTIFIED WITH caching_sha2_password BY '{}'",
    'ALTER USER app IDENTIFIED BY "{}" REQUIRE SSL',
    "ALTER USER app IDENTIFIED BY\n   '{}';",
    "CREATE USER app IDENTIFIED WITH mysql_native_password AS '$A$005${}'",
    "ALTER USER app IDENTIFIED BY 'first' REPLACE '{}'",
    "CREATE USER app IDENTIFIED VIA ed25519 USING PASSWORD('{}')",
    "GRANT ALL ON *.* TO app IDENTIFIED BY PASSWORD '*{}'",
    "SET PASSWORD FOR 'app'@'%' = '{}'",
    "SET PASSWORD = PASSWORD('{}')",
    "ALTER ROLE app PASSWORD E'{}'",
    "ALTER ROLE app WITH ENCRYPTED PASSWORD $${}$$",
    "ALTER ROLE app PASSWORD $body${}$body$ VALID UNTIL 'infinity'",
    "CHANGE MASTER TO MASTER_HOST='a', MASTER_PASSWORD='{}'",
    "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = '{}'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'app', PASSWORD '{}')",
    "CREATE SUBSCRIPTION s CONNECTION 'host=a password={} user=app' PUBLICATION p",
    "SELECT dblink_connect('host=a password={}')",
    "SET GLOBAL init_connect = 'SET @key = ''{}'''",
    '{{"user": "app", "password": "{}"}}',
    '{{"auth": {{"passwd" : "{}"}}}}',
    "password: {}",
    "password={}, retrying",
    "the password is {}",
    "mysql -uapp -p{} -h db",
    "mysqldump --password {} shop",
    "mysqldump --password={} shop",
    "psql --db-password '{}'",
    "MYSQL_PWD={} mysql shop",
    "PGPASSWORD='{}' psql",
    "sslkey=client.key sslpassword={}",
    "export API_TOKEN={}",
    "Authorization: Bearer {}",
    "cannot reach postgres://app:{}@127.0.0.1:5432/shop",
    "cannot reach mysql://app@127.0.0.1/shop?password={}",
    "Duplicate entry '{}' for key 'customers.email'",
    "DETAIL:  Key (email)=({}) already exists.",
    'invalid input syntax for type integer: "{}"',
    "INSERT INTO customers VALUES (1, '{}')",
    "could not translate host name {} to address",
    "connection to server at {}, port 5432 failed",
    "unknown variable 'loose-thing={}'",
    "could not open file /srv/{}/pg_hba.conf",
]
ADDRESSES = ["fd12:3456:789a::77", "fe80::c0ff:ee12", "169.254.7.77", "100.64.7.77", "10.77.7.7"]
#: Where a text of others stands in a trial; `{}` is the whole of it.
TRIAL: list[tuple[str, ...]] = [
    ("failure", "message"),
    ("failure", "cause"),
    ("failure", "hint"),
    ("settings", "init_connect"),
    ("settings", "primary_conninfo"),
    ("settings", "report_password"),
    ("unexplained", "SELECT 1"),
    ("plans", "SELECT 1"),
    ("log",),
]


@dataclass
class Secretive:
    """A run with secrets, each a word that stands nowhere else."""

    run: Path
    secrets: list[str] = field(default_factory=list)

    def make(self, form: str = "{}") -> str:
        """A text with one more secret in it."""
        self.secrets.append(f"zQx{len(self.secrets):02}vw7Kj")
        return form.format(self.secrets[-1])


def put_secrets(home: Path) -> Secretive:
    """The example's run with all of it."""
    run = home / "20261128T000000Z-secrets"
    shutil.copytree(ROOT / "docs" / "example-run", run)
    made = Secretive(run)
    (run / "logs").mkdir(exist_ok=True)
    texts = [made.make(form) for form in TEXTS]
    lines = [f"2026-11-28T16:00:00.000001Z 7 [Note] [MY-010116] [Server] {text}" for text in texts]
    lines += [f"connection from {address} refused" for address in ADDRESSES]
    (run / "logs" / "0001.log").write_text("\n".join([*lines, "InnoDB: Initialization has ended."]))
    record = json.loads((run / "run.json").read_text())
    record["command"] += made.make(" -w /srv/{}/load.lua") + made.make(" --set password={}")
    record["question"] = made.make("is {}.internal slower?")
    record["workloads"][0]["script"] = made.make("/srv/{}/load.lua")
    record["workloads"][0]["options"]["mysql-password"] = made.make()
    record["workloads"][0]["ledger"][0]["sql"] = made.make(
        "SELECT COUNT(*) FROM sbtest1 WHERE c = '{}'"
    )
    record["candidates"][0]["settings"]["init_file"] = made.make("/etc/{}/init.sql")
    record["candidates"][0]["build"]["address"] = made.make("mysql://app:{}@127.0.0.1/x")
    record["survey"][0]["found"] += made.make(", busy with {}")
    (run / "run.json").write_text(json.dumps(record))
    failed = json.loads((run / "trials" / "0001.json").read_text())
    for place in TRIAL:
        holder: dict[str, Any] = failed
        for name in place[:-1]:
            holder[name] = holder = holder.get(name) or {}
        form = "{}" if place[-1] == "report_password" else "password='{}'"
        holder[place[-1]] = made.make(form)
    failed["left_behind"] = [made.make("table {} stays")]
    stream = failed["phases"][0]["streams"][0]
    stream["errors"] = {made.make(f"{code} Duplicate entry '{{}}'"): 2 for code in (1062, 1063)}
    (run / "trials" / "0001.json").write_text(json.dumps(failed))
    return made


def read_archive(file: Path) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_none_of_sixty_secrets_is_in_a_packed_run(tmp_path: Path) -> None:
    made = put_secrets(tmp_path)
    assert len(made.secrets) >= 60

    def derive(folder: Path) -> None:
        judged_run.derive_files(RunFolder(folder))

    out = pack_run(made.run, tmp_path / "x.dyno.zip", PackOptions(), derive)
    held = read_archive(out)
    everything = "\n".join([*held, *held.values()])
    assert [word for word in (*made.secrets, *ADDRESSES) if word in everything] == []
    assert any(name.endswith("report.html") for name in held)


def test_what_is_needed_to_judge_again_and_to_find_a_fault_is_still_there(tmp_path: Path) -> None:
    made = put_secrets(tmp_path)
    out = pack_run(made.run, tmp_path / "x.dyno.zip", PackOptions(), lambda _: None)
    packed = RunFolder(unpack_run(out, tmp_path / "opened"))
    before, after = (
        judge(folder.read_run(), folder.read_trials()) for folder in (RunFolder(made.run), packed)
    )
    assert after.comparisons == before.comparisons and after.overall == before.overall
    said = [[(each.audit, each.soundness) for each in them.findings] for them in (before, after)]
    assert said[0] == said[1]
    trial = packed.read_trials()[0]
    assert sum(trial.phases[0].streams[0].errors.values()) == 4, "counts of errors add up"
    settings = packed.read_trials()[2].settings
    assert settings["page_size"] == "4096" and settings["journal_mode"] == "wal"
    log = (packed.path / "logs" / "0001.log").read_text()
    assert "2026-11-28T16:00:00.000001Z ? [Note] [MY-010116] [Server] " in log
    assert "InnoDB: Initialization has ended." in log
    assert "Duplicate entry '?' for key" in log and "connection from server1 refused" in log


def test_a_secret_that_was_seen_once_is_hidden_wherever_it_stands() -> None:
    hiding = Hiding((), ["ALTER ROLE app PASSWORD 'zQx99-vw7Kj'"])
    assert "zQx99" not in hiding.hide("a plan for zQx99-vw7Kj, and its name")
    assert hiding.find_left("c:zQx99-vw7Kj") == "zQx99-vw7Kj"
    quoted = Hiding((), ['password="zQx\'99&vw"'])
    assert quoted.find_left("<p>zQx&#x27;99&amp;vw</p>")


@pytest.mark.parametrize(
    "text",
    [
        "8.0.33 and 16.4 at 12:30:45 on 2026-11-28",
        "::1 and 127.0.0.1 and ::",
        "std::sort and a::b",
        "password authentication failed",
        "SET GLOBAL default_password_lifetime=3",
        "password_history=6 password_require_current=on",
    ],
)
def test_a_version_a_time_a_setting_a_name_of_code_and_a_loopback_address_stay(text: str) -> None:
    assert Hiding((), [text]).hide(text) == text


@pytest.mark.parametrize(
    "text",
    ["password_lifetime=Sx9qLw", "app_password_lifetime_x=3", "password=31", "pwd_history=7"],
)
def test_a_setting_about_passwords_lets_no_secret_through(text: str) -> None:
    assert Hiding((), [text]).hide(text).endswith("=***")
