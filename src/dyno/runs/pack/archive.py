"""Writes a run as one zip file, and opens one: records, logs and the page made from them.

A record is scrubbed value by value and stays a record; a log line by line. What is derived is made
anew from the scrubbed records, when packing (`derive`), so that it holds nothing else. All of
it is then searched for the names that it must not hold.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dyno import private_files, scratch
from dyno.errors import HostError, InternalError, UsageError, find_fullest
from dyno.record.decode import load_json
from dyno.runs.pack.hidden import Hiding, Known
from dyno.runs.run_folder import FLEET_RECORD, LARGEST_BYTES, POINTS, list_records

SUFFIX = ".dyno.zip"
#: Files of a run that are derived: left out, and made anew from what is packed.
DERIVED = {"verdict.json", POINTS, "report.html", "trials.csv"}
#: An engine's data; and how a cluster is reached, with the files that were sent to its nodes.
LEFT_OUT = {"home", "loaded", FLEET_RECORD, "files"}
#: Text beside records that travels; anything else of a run (data, callgrind's files) stays behind.
LOGS = {".log", ".txt", ".lua", ".sql", ".pgbench"}
#: What an archive may unpack to, at most: a file from elsewhere may be made to fill a disk.
BYTES_MAX, MEMBER_BYTES_MAX, FILES_MAX = 2 << 30, LARGEST_BYTES, 100_000
#: A name of a member; one that begins with a dot or a dash means more than a name to programs.
_NAME = re.compile(r"[A-Za-z0-9@_+=,][A-Za-z0-9@._+=, -]*")
#: What may stand in the name of a folder in an archive.
_PLAIN_NAME = re.compile(r"[^A-Za-z0-9@._+=, -]")

#: How a value of a record is shown, by the key that it stands under, or one above it. As it is, but
#: for names and secrets: what things are called, and what was computed or built.
_AS_IT_IS = frozenset(
    re.findall(
        r"\w+",
        """
    base began_utc boot candidate candidates caller callee commit created_utc cflags compile_options
    compiler counters defines digest driver_sha256 due dyno engine engine_counts event
    experiment_sha256 first_utc flags fio function functions group host index instrumentation job
    jobs kind label last_utc layer layers libraries machine matrix metric name optimisation
    parents percentiles_ns phase probe running scheduler script_sha256 sha256 side source_id
    source_sha256 sources_sha256 started_utc stream suite_compiler suite_sha256 survey texts title
    transaction transactions unit valgrind version version_compile_machine version_compile_os
    workload
    """,
    )
)
#: Statements and plans that have no values any more; and those that may have some.
_WITHOUT_VALUES = {"text", "plans", "plans_before", "generic_plans", "statement", "shape"}
_WITH_VALUES = {"sql"}
#: Text of others, as in a log: errors, and what was said of them.
_TOLD = frozenset(
    re.findall(
        r"\w+",
        """
    cause errors hint left_behind message missing notes refused unexplained unread untried
    """,
    )
)
#: Places of files.
_PLACES = {"module", "object", "source"}
#: Encoded histograms: no text.
_ENCODED = {"hdr"}
_LOG = re.compile(r"logs/\d{1,9}\.log")
#: The key of a value that is a secret by its name.
_SECRET_KEY = re.compile(r"(?i)(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?)$")


def list_keys(value: Any) -> Iterator[str]:
    """The words of a record that say what a value is: its keys, and the names of engines. Texts of
    others that are keys are none.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key == "engine" and isinstance(inner, str):
                yield inner
            if key not in _TOLD | _WITHOUT_VALUES:
                yield from list_keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from list_keys(inner)


def read_records(folder: Path) -> dict[str, Any]:
    """The JSON records of a run's folder, by their place in it, that of its kind first."""
    files = [file for file in folder.rglob("*.json") if not _is_left_out(folder, file)]
    known = list_records()
    files.sort(key=lambda file: (file.name not in known, file))
    records = {}
    for file in files:
        try:
            records[str(file.relative_to(folder))] = load_json(file.read_text())
        except ValueError as error:
            raise UsageError(f"{file} is damaged", cause=str(error)) from None
    if not records:
        raise UsageError(f"there is no run in {folder}")
    return records


def _is_left_out(folder: Path, file: Path) -> bool:
    inner = file.relative_to(folder)
    return (
        file.name in DERIVED or inner.parts[0] in LEFT_OUT or file.is_symlink()
    ) or not file.is_file()


def name_groups_and_hosts(value: Any) -> dict[str, str]:
    """Words in the places of the hosts' groups, and of the names that users gave to the hosts of
    shares; in the records themselves they are replaced. A word follows from the name alone, so that
    runs of one group stay in one series, and two hosts two.
    """
    found: dict[str, str] = {}
    for record in _walk(value):
        host, label = record.get("host"), record.get("label")
        group = host.get("group") if isinstance(host, dict) else None
        if isinstance(host, dict) and isinstance(group, str) and group:
            host["group"] = found.setdefault(group, _name_by_digest("group", group))
        if isinstance(label, str) and label and "suite_sha256" in record:
            record["label"] = found.setdefault(label, _name_by_digest("host", label))
    for record in _walk(value):
        if isinstance(record.get("host"), str) and "candidate" in record:
            record["host"] = found.get(record["host"], record["host"])
    return found


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary in a record, the outer ones first."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _walk(each)


def _name_by_digest(kind: str, name: str) -> str:
    return f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def list_names(value: Any) -> set[str]:
    """What candidates, workloads and runs of records are called."""
    keys = ("candidates", "workloads")
    lists = [each[key] for each in _walk(value) for key in keys if isinstance(each.get(key), list)]
    inner = {str(it.get("name", "")) for own in lists for it in own if isinstance(it, dict)}
    runs = {str(each.get("name", "")) for each in _walk(value) if "candidates" in each}
    return inner | runs


def name_client_hosts(value: Any) -> dict[str, str]:
    """A word in the place of each client host in the records, by its name and its parts; how it was
    reached is taken out.
    """
    found: dict[str, str] = {}
    if isinstance(value, dict):
        hosts = value.get("client_hosts")
        for host in (it for it in hosts if isinstance(it, dict)) if isinstance(hosts, list) else ():
            for name in (str(host.get("name", "")), str(host.get("ssh", ""))):
                found.setdefault(name, f"client{len({*found.values()}) + 1}")
                found.setdefault(name.rpartition("@")[2], found[name])
            for key in host.keys() - {"name", "cores"}:
                del host[key]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        found = name_client_hosts(each) | found
    return {name: word for name, word in found.items() if name}


def _hide_inside(value: Any, hiding: Hiding, key: str = "") -> Any:
    """The value of a record under `key` as it may be seen."""
    if isinstance(value, str):
        return _hide_text(value, hiding, key)
    if isinstance(value, list):
        return [_hide_inside(inner, hiding, key) for inner in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, inner in value.items():
        shown = hiding.mask(name) if key == "errors" else hiding.hide_texts(name)
        while shown in made and not isinstance(inner, int):
            shown += "'"  # two texts that differ in values alone
        # rows of people's tables stay with them: the packed record has their digests
        is_data = (key, name) == ("evidence", "rows")
        own = _hide_inside([] if is_data else inner, hiding, name if _is_key(name, key) else key)
        made[shown] = made[shown] + own if shown in made else own
    return made


#: Maps from names of people, settings or texts to values: what stands in them is no key of ours.
_MAPS = frozenset(
    re.findall(
        r"\w+",
        """
    blocks build controls counters dealt decided_by details engine_counts errors host layers levels
    options settings sweep
    """,
    )
)


def _is_key(name: str, above: str) -> bool:
    """Does `name`, below `above`, say how its value is shown?"""
    if above == "build":
        return name in _AS_IT_IS
    if above == "survey":
        return name == "found"
    if above == "settings" and name.startswith("version"):
        return True
    if above in ("plans", "plans_before", "generic_plans", "unexplained", *_MAPS):
        return _SECRET_KEY.search(name) is not None
    return True


def _hide_text(text: str, hiding: Hiding, key: str) -> str:
    if key in _ENCODED or _LOG.fullmatch(text):
        return text
    if _SECRET_KEY.search(key):
        return hiding.hide_whole(text)
    if key in _WITHOUT_VALUES:
        return hiding.hide_texts(text)
    if key in _WITH_VALUES:
        return hiding.hide_values(text)
    if key in _PLACES:
        return hiding.hide_folders(text)
    if key in _AS_IT_IS:
        return hiding.hide(text)
    if key in _TOLD:
        return hiding.mask(text)
    return hiding.mask(text, numbers=True, apart=True)


def _list_texts(value: Any, key: str = "") -> Iterator[str]:
    """All texts of a record, the secrets among them with their key."""
    if isinstance(value, str):
        yield f"{key}={value}" if _SECRET_KEY.search(key) else value
    elif isinstance(value, list):
        for inner in value:
            yield from _list_texts(inner, key)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _list_texts(inner, name)


def make_hiding(
    runs: Sequence[dict[str, Any]], options: PackOptions, logs: Iterable[str] = ()
) -> Hiding:
    """What hides alike in the records of runs and their logs; in the records the hosts that users
    named have other names now. `UsageError` for a word that it cannot hide.
    """
    texts = [*dict.fromkeys(_list_texts(list(runs))), *logs]
    names = {*options.names, *options.wanted}
    told, keys = list_names(list(runs)), list(list_keys(list(runs)))
    words = {part for key in keys for part in re.split(r"\W|_", key)}
    named = name_groups_and_hosts(list(runs))
    given = {name: word for name, word in named.items() if name not in told | words}
    hiding = Hiding(names, texts, Known(keys, told, name_client_hosts(list(runs)), given))
    if stay := [word for word in options.wanted if not hiding.is_hidden(word)]:
        cause = "it is short, or a word of the records or of every host"
        raise UsageError(f"'{stay[0]}' cannot be hidden", cause=cause)
    return hiding


def check_hidden(files: Iterable[Path], hiding: Hiding) -> None:
    """`InternalError` where a name still stands in one of the files."""
    for file in files:
        if left := hiding.find_left(file.read_text(errors="replace") + file.name):
            raise InternalError(f"'{left}' still stands in {file.name}; nothing was written")


def write_scrubbed(records: dict[str, Any], target: Path, hiding: Hiding | None) -> None:
    """Writes records into a new folder, without what is hidden, if anything is."""
    private_files.make_folder(target)
    for place, record in records.items():
        if hiding is None:
            _write(target / place, json.dumps(record))
            continue
        _write(target / hiding.hide(place), json.dumps(_hide_inside(record, hiding)))


def _read_logs(folder: Path) -> dict[str, str]:
    """The texts beside the records, by their place."""
    return {
        str(file.relative_to(folder)): file.read_text(errors="replace")
        for file in sorted(folder.rglob("*"))
        if file.suffix in LOGS and not _is_left_out(folder, file)
    }


def _write(file: Path, text: str) -> None:
    _make_parents(file)
    private_files.write_whole(file, text)


def _make_parents(file: Path) -> None:
    for parent in reversed(file.parents):
        if not parent.is_dir():
            private_files.make_folder(parent)


@dataclass(frozen=True)
class PackOptions:
    """What is hidden and what comes along: `names` are hidden unless words of the records,
    `wanted` must be hidden; logs come along or not.
    """

    names: frozenset[str] = frozenset()
    wanted: tuple[str, ...] = ()
    logs: bool = True


def pack_run(
    folder: Path, out: Path | None, options: PackOptions, derive: Callable[[Path], None]
) -> Path:
    """Packs the run in `folder` as the file `out`, or one of the run's own name here, without names
    of others; it appears whole or not at all. `derive` makes the page of the scrubbed run in the
    folder that it is handed. `UsageError` for a word that cannot be hidden.
    """
    records = read_records(folder)
    logs = _read_logs(folder) if options.logs else {}
    hiding = make_hiding([records], options, logs.values())
    name = _PLAIN_NAME.sub("_", hiding.hide(folder.resolve().name)).lstrip(".- ") or "run"
    out = out or Path(f"{name}{SUFFIX}")
    if out.exists():
        raise UsageError(f"{out} already exists", hint="name another file")
    with scratch.make_folder("pack") as parent:
        inner = parent / name
        write_scrubbed(records, inner, hiding)
        for place, text in logs.items():
            _write(inner / hiding.hide(place), hiding.mask(text))
        derive(inner)
        files = [file for file in sorted(inner.rglob("*")) if file.is_file()]
        check_hidden(files, hiding)
        made = parent / "packed"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.relative_to(parent))
        try:
            private_files.write_bytes_whole(out, made.read_bytes())
        except OSError as error:
            cause = f"{error.strerror}{find_fullest(error, out.parent)}"
            raise HostError(f"cannot write {out}", cause=cause) from error
    return out


def unpack_run(file: Path, home: Path) -> Path:
    """The run of an archive as a folder under `home`: unpacked, or there already with the same
    records. `UsageError` for a file that `pack_run` has not written, or that is not whole.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = _check_members(file, archive)
            name = members[0].filename.partition("/")[0]
            target = home / name
            if target.exists():
                return _check_same(archive, members, target)
            with scratch.make_staging("unpack", _make_home(home)) as parent:
                for member in members:
                    _write_bytes(parent / member.filename, _read_member(archive, member))
                (parent / name).rename(target)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError) as error:
        raise UsageError(f"{file} is no packed run", cause=str(error).lower()) from None
    except OSError as error:
        cause = f"{error.strerror}{find_fullest(error, home)}"
        raise HostError(f"cannot unpack {file}", cause=cause) from error
    return target


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """What a member holds, which is no more than it says beforehand."""
    with archive.open(member) as opened:
        content = opened.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise zipfile.BadZipFile(f"{member.filename[:80]} is not of the size that it says")
    return content


def _make_home(home: Path) -> Path:
    private_files.make_folder(home, exist_ok=True)
    return home


def _check_members(file: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    hint = "`dyno pack RUN` writes one"
    if len(members) > FILES_MAX or sum(each.file_size for each in members) > BYTES_MAX:
        raise UsageError(f"{file} unpacks to more than a run has", hint=hint)
    for member in members:
        parts = PurePosixPath(member.filename).parts
        plain = len(parts) > 1 and all(_NAME.fullmatch(part) and part != ".." for part in parts)
        if member.flag_bits & 1:
            raise UsageError(f"{file} is no packed run", cause="it is encrypted", hint=hint)
        if member.file_size > MEMBER_BYTES_MAX:
            cause = f"{member.filename[:80]} unpacks to {member.file_size:,} bytes"
            raise UsageError(f"{file} unpacks to more than a run has", cause=cause, hint=hint)
        if member.is_dir() or not plain or member.external_attr >> 28 not in {0, 8}:
            cause = f"it has a member '{member.filename[:80]}'"
            raise UsageError(f"{file} is no packed run", cause=cause, hint=hint)
    names = {member.filename.partition("/")[0] for member in members}
    inner = {member.filename.partition("/")[2] for member in members}
    if len(names) != 1 or not inner & set(list_records()):
        raise UsageError(f"{file} is no packed run", cause="it has no record of one", hint=hint)
    return members


def _check_same(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], target: Path) -> Path:
    for member in members:
        place = target / member.filename.partition("/")[2]
        if place.name in DERIVED:
            continue
        if not place.is_file() or place.read_bytes() != _read_member(archive, member):
            hint = "move it away, or name another folder for runs with DYNO_RUNS"
            raise UsageError(f"another run is in {target}", hint=hint)
    return target


def _write_bytes(file: Path, content: bytes) -> None:
    _make_parents(file)
    private_files.write_bytes_whole(file, content)
