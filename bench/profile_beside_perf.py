"""`dyno profile` and `perf record` of the same seconds, beside others' clients: same functions?

pgbench plays on PostgreSQL and sysbench on MySQL; both samplers look at the server meanwhile, each
with its own clock. A function's share of the samples is compared where either sampler saw it in
half a per cent or more: two samples of one multinomial differ by the square root of p (1 − p) of
both counts. Names are compared without what compilers append.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pgbench
import sysbench
from serving import CLIENT_CORE, command, pinned, serving

from dyno.driver.plan import Session
from dyno.engines import Server
from dyno.host.processes import list_process_family
from dyno.profile.callgrind import tidy_name
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import read_json
from dyno.servers.profile.statements import PERIOD_NS

SERVERS = ("postgres@18", "mysql@8.0.33")
#: Of all samples, that a function has at least.
LEAST = 0.005
CONNECTIONS, SHOWN = 2, 12
#: What either calls code without a symbol.
UNNAMED = "(no symbol)"


def list_client_words(session: Session, word: str, seconds: int) -> list[object]:
    """pgbench or sysbench, as its users call it."""
    if session["kind"] == "postgres":
        folder, port = pgbench.postgres_socket(session)
        at = ["-h", folder, "-p", port, "-U", session["user"], session["database"]]
        how = ["-i", "-q", "-s", 5] if word == "prepare" else ["-c", CONNECTIONS, "-T", seconds]
        return ["pgbench", *how, *at]
    options = {"threads": CONNECTIONS, "time": seconds, "tables": 2, "table_size": 20_000}
    return sysbench.command(session, "oltp_read_write", word, options)


@contextmanager
def playing(session: Session, seconds: int) -> Iterator[None]:
    words = list(map(str, list_client_words(session, "run", seconds)))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*pinned(CLIENT_CORE), *words], **quiet) as client:
        time.sleep(2)
        try:
            yield
        finally:
            client.kill()


def url_of(session: Session) -> str:
    word = f":{session['password']}" if session["password"] else ""
    host = quote(str(session["host"]), safe="")
    return f"{session['kind']}://{session['user']}{word}@{host}/{session['database']}"


def sample_both(server: Server, seconds: int, home: Path) -> tuple[ServerProfile, Counter[str]]:
    """What either met in the same seconds."""
    file, data = home / "a.json", home / "perf.data"
    dyno = [sys.executable, "-m", "dyno.cli", "profile", url_of(server.session)]
    dyno += ["--for", f"{seconds}s", "--output", str(file)]
    perf = ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-c", str(PERIOD_NS), "-o", str(data)]
    with subprocess.Popen(dyno, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as ours:
        assert ours.stderr
        while b"Ctrl-C" not in (line := ours.stderr.readline()):
            assert line, "dyno profile did not begin"
        subprocess.run([*perf, "--", "sleep", str(seconds)], check=True, stderr=subprocess.DEVNULL)
        assert ours.wait(120) == 0
    family = {str(pid) for pid in list_process_family(server.pid)}
    fields = ["perf", "script", "-i", str(data), "-F", "pid,ip,sym,dso"]
    lines = subprocess.run(fields, capture_output=True, text=True, check=True).stdout.splitlines()
    return read_json(ServerProfile, file), count_lines(lines, family)


def count_lines(lines: list[str], family: set[str]) -> Counter[str]:
    """perf's samples by function: `PID ADDRESS SYMBOL (FILE)`."""
    found: Counter[str] = Counter()
    for line in lines:
        pid, _, rest = line.strip().partition(" ")
        if pid in family:
            symbol, _, file = rest.strip().partition(" ")[2].rpartition(" (")
            name = symbol.strip().split("+0x")[0]
            found[name_function(name if name != "[unknown]" else "", file.rstrip(")"))] += 1
    return found


def name_function(name: str, file: str) -> str:
    """As both tell it, without what templates are made of. The C library is one: perf reads debug
    files of Debian's beside it.
    """
    if Path(file).name.startswith("libc"):
        return "C library"
    plain, depth = tidy_name(name), 1
    while depth:  # the innermost first: what stands between two templates is kept
        plain, depth = re.subn(r"<[^<>]*>", "", plain)
    plain = plain.rpartition(" ")[2]
    return plain or f"{UNNAMED} {Path(file).name}"


def compare(ours: Counter[str], theirs: Counter[str]) -> None:
    """Each function's shares, and how many standard errors they are apart."""
    totals = ours.total(), theirs.total()
    shares = {name: (ours[name] / totals[0], theirs[name] / totals[1]) for name in {*ours, *theirs}}
    rows = []
    for name, (own, other) in shares.items():
        pooled = (ours[name] + theirs[name]) / sum(totals)
        if max(own, other) >= LEAST:
            error = math.sqrt(pooled * (1 - pooled) * sum(1 / n for n in totals))
            rows.append(((own - other) / error, own, other, name))
    apart = 50 * sum(abs(a - b) for a, b in shares.values())
    far = [abs(row[0]) for row in rows]
    print(
        f"  {totals[0]:,} and {totals[1]:,} samples, {len(rows)} functions of at least"
        f" {100 * LEAST:g} %: {sum(it > 2 for it in far)} apart by more than 2 standard errors"
        f" ({0.046 * len(rows):.1f} by chance), {sum(it > 3 for it in far)} by more than 3,"
        f" the farthest {max(far):.1f}; {apart:.1f} % of the samples stand elsewhere,"
        f" {100 * draw_distance(ours + theirs, totals):.1f} % by chance"
    )
    largest = sorted(rows, key=lambda row: -row[1])
    beyond = [row for row in largest[SHOWN:] if abs(row[0]) > 3]
    for z, own, other, name in [*largest[:SHOWN], *beyond]:
        print(f"  {name[:60]:<60} {100 * own:6.2f} % {100 * other:6.2f} % {z:+5.1f}")


def draw_distance(both: Counter[str], totals: tuple[int, int]) -> float:
    """How far two samplers of the same functions are apart by chance, on average."""
    rng = np.random.default_rng(1)
    shares = np.array(list(both.values())) / both.total()
    drawn = [rng.multinomial(n, shares, size=200) / n for n in totals]
    return float(np.abs(drawn[0] - drawn[1]).sum(axis=1).mean() / 2)


def main() -> None:
    parser = command("profile-beside-perf", SERVERS)
    parser.add_argument("--seconds", type=int, help="how long both sample")
    words = parser.parse_args()
    seconds = words.seconds or (4 if words.quick else 60)
    clients = {"postgres": "pgbench", "mysql": "sysbench"}
    for spec in words.server:
        client = clients.get(spec.partition("@")[0])
        if not client:
            parser.error(f"{spec}: nobody's client is known for it")
        lacking = [it for it in ("perf", client) if not shutil.which(it)]
        if lacking:
            print(f"{spec}: left out, there is no {' and no '.join(lacking)}")
            continue
        with serving(spec) as server, tempfile.TemporaryDirectory() as home:
            prepare = list(map(str, list_client_words(server.session, "prepare", 0)))
            subprocess.run(prepare, check=True, capture_output=True)
            with playing(server.session, seconds + 30):
                profile, theirs = sample_both(server, seconds, Path(home))
            assert profile.cpu
            ours: Counter[str] = Counter()
            for each in profile.cpu.profile.functions:
                ours[name_function(each.name, each.module)] += each.samples
            print(f"{spec}, {seconds} s, dyno profile and perf:", flush=True)
            compare(ours, theirs)


if __name__ == "__main__":
    main()
