"""What shippers of logs (syslog, Docker, Kubernetes, cloud services) write before each line, and
how they cut lines: taken off again, so that a reader sees what the server wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from dyno.workloads.replay.logs import LIMIT, Reasons, replace_no_letters

NO_LINE_OF_IT = "a line that the shipper of the log did not write"
OTHER_STREAM = "a line of another container or program"
OTHER_FILE = "a line of another file that tail followed"


class NumberedLine(NamedTuple):
    """A line of a file, and its number; `at` and `process` as of a `ShippedLine`."""

    number: int
    text: str
    at: str = ""
    process: str = ""


class ShippedLine(NamedTuple):
    """A line without what its shipper wrote before it.

    `stream`: which container or program it is of. `writer`: lines of one writer are joined across
    those of others; `begins` a message of it, which the following continue. `joins`: it continues
    the line before; `is_cut`: the next one continues it. `at`: when it was shipped, as PostgreSQL
    writes a time, and `process`: its writer; "" if unknown.
    """

    stream: str
    text: str
    writer: str = ""
    begins: bool = False
    joins: bool = False
    is_cut: bool = False
    at: str = ""
    process: str = ""


class Shipper(Protocol):
    name: str

    def unpack(self, line: str) -> ShippedLine | None:
        """A line as it was shipped; None where it is none of this shipper's."""


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)"
#: The year of times that say none; it has a 29th of February.
YEAR = 2000


def _convert_time(text: str) -> str:
    if text[:1].isdigit():
        time, offset = re.match(r"([\d:.]+)Z?(.*)", text[11:]).groups()  # type: ignore[union-attr]
        return f"{text[:10]} {time} {offset}".rstrip()
    return f"{YEAR}-{_MONTHS.index(text[:3]) + 1:02d}-{int(text[4:6]):02d} {text[7:]}"


class Syslog:
    """The lines of a syslog daemon (RFC 3164, RFC 5424, rsyslog's own form), of journalctl, and of
    Heroku's Logplex.
    """

    name = "syslog"
    _form = re.compile(
        rf"^(?:<\d+>)?(?:1 )?((?:{'|'.join(_MONTHS)}) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|{_ISO}) "
        r"(?:(\S+) ([^\s\[:]+)(?:\[(\d+)\]:| (\d+|-) \S+ (?:-|\[.*?\]))"
        r"|(?:d\.\S+ )?app\[([\w-]+)\.(\d+)\]:? \[\w+\])(?: (.*))?$"
    )
    _chunk = re.compile(r"^\[(\d+)-(\d+)\] ?")
    #: Daemons write a tab and a return so; six digits behind a quote are taken for a colour.
    _code = re.compile(r"(?<![\"'])#(011|015)|#(011|015)(?![0-9A-Fa-f]{3}\b)")
    #: Messages of their own, though the server numbers them as parts of another.
    _own = re.compile(r"\b(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):  ")

    def unpack(self, line: str) -> ShippedLine | None:
        found = self._form.match(line)
        if found is None:
            return None
        stream = found[6] or f"{found[2]} {found[3]}"
        process, text = found[4] or found[5] or found[7] or "", (found[8] or "")
        at, chunk = _convert_time(found[1]), self._chunk.match(text)
        if chunk is None:
            return ShippedLine(stream, self._decode(text), at=at, process=process)
        text = self._decode(text[chunk.end() :])
        begins = chunk[2] == "1"
        joins = not (begins or text.startswith("\t") or self._own.search(text))
        return ShippedLine(stream, text, process, begins, joins, at=at, process=process)

    def _decode(self, text: str) -> str:
        return self._code.sub(lambda it: chr(int(it[1] or it[2], 8)), text)


class ContainerRuntime:
    """Files of containers in Kubernetes (CRI): time, stream, F for a full line, P for a part."""

    name = "a container's runtime"
    _form = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (stdout|stderr) ([FP])(?:$| (.*))")

    def unpack(self, line: str) -> ShippedLine | None:
        found = self._form.match(line)
        return ShippedLine(found[1], found[3] or "", is_cut=found[2] == "P") if found else None


class Compose:
    """`docker compose logs`, `docker service logs`: a container's name and a bar."""

    name = "docker compose"
    # a name with a letter; possessive, for a line may be one long word
    _form = re.compile(
        r"^(?:\x1b\[\d+m)?(?=[\w.@-]*?[A-Za-z])([\w.@-]++)\s++\|(?:\x1b\[0m)?(?: (.*)|)$"
    )

    def unpack(self, line: str) -> ShippedLine | None:
        found = self._form.match(line)
        return ShippedLine(found[1], found[2] or "") if found else None


class Pods:
    """`kubectl logs --prefix`: the pod and the container in brackets."""

    name = "kubectl"
    _form = re.compile(r"^\[(pod/[^\s\]]+)\](?: (.*)|)$")

    def unpack(self, line: str) -> ShippedLine | None:
        found = self._form.match(line)
        return ShippedLine(found[1], found[2] or "") if found else None


class Timestamps:
    """`kubectl logs --timestamps`, `docker logs --timestamps`, CloudWatch's exports."""

    name = "timestamps"
    _form = re.compile(rf"^({_ISO})(?: (.*)|)$")

    def unpack(self, line: str) -> ShippedLine | None:
        found = self._form.match(line)
        return ShippedLine("", found[2] or "", at=_convert_time(found[1])) if found else None


class JsonLines:
    """A JSON object a line: Docker's json-file, Google Cloud's exports, journald's, Fluent's."""

    name = "JSON lines"
    #: Where the text stands, and what names the stream.
    _forms = (
        ("log", ("stream",)),
        ("textPayload", ("logName",)),
        ("MESSAGE", ("SYSLOG_IDENTIFIER", "_COMM")),
        ("message", ("@timestamp",)),
    )
    _times = ("timestamp", "time", "@timestamp")

    def unpack(self, line: str) -> ShippedLine | None:
        """A line; Docker cuts long ones, whose parts do not end."""
        if not line.startswith("{"):
            return None
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):  # also of a number of 5,000 digits
            return None
        for name, streams in self._forms if isinstance(said, dict) else ():
            text, stream = said.get(name), next((it for it in streams if it in said), "")
            if isinstance(text, str) and stream and "error_severity" not in said:
                which = "" if stream == "@timestamp" else str(said[stream])
                is_cut = name == "log" and not text.endswith("\n")
                when = next((str(said[it]) for it in self._times if it in said), "")
                at = _convert_time(when) if re.fullmatch(_ISO, when) else ""
                text = replace_no_letters(text.removesuffix("\n"))
                return ShippedLine(which, text, is_cut=is_cut, at=at)
        return None


SHIPPERS: tuple[Shipper, ...] = (
    *(Syslog(), ContainerRuntime(), Compose(), Pods(), Timestamps(), JsonLines()),
)
#: Shippers within each other, and the share of a head's lines that one has to have written.
DEPTH, SHARE = 3, 0.9
#: Characters of messages that wait for more of their lines.
WAITING = 2 * LIMIT


#: What `tail -F` writes between the lines of one file and those of another.
TAIL_HEADER = re.compile(r"^==> (.+) <==$")


def split_tailed(head: Iterable[str]) -> dict[str, list[str]]:
    """The first lines of each file that `tail` followed, by its name; none without its headers."""
    files, name = dict[str, list[str]](), ""
    for line in head:
        if header := TAIL_HEADER.match(line):
            name = header[1]
        else:
            files.setdefault(name, []).append(line)
    return files if files.keys() - {""} else {}


def choose_tailed(
    lines: Iterable[NumberedLine], name: str, skipped: Reasons
) -> Iterator[NumberedLine]:
    """Lines of one of the files that `tail` followed."""
    current = ""
    for line in lines:
        if header := TAIL_HEADER.match(line.text):
            current = header[1]
        elif current == name:
            yield line
        elif line.text.strip():
            skipped.add(OTHER_FILE, line.number)


class Unwrapping(NamedTuple):
    """A shipper, and the stream of it that is read ("": all of it)."""

    shipper: Shipper
    stream: str = ""


def find_shipper(head: Sequence[str]) -> tuple[Shipper, dict[str, list[str]]] | None:
    """The shipper of these lines, and the lines of each of its streams."""
    written = [line for line in head if line.strip()]
    for shipper in SHIPPERS:
        found = [it for line in written if (it := shipper.unpack(line))]
        if found and len(found) >= SHARE * len(written):
            streams = dict[str, list[str]]()
            unpacked = ((at, shipper.unpack(line)) for at, line in enumerate(written, 1))
            for line in put_together((at, it) for at, it in unpacked if it):
                streams.setdefault(line[0], []).extend(line[1].text.split("\n"))
            return shipper, streams
    return None


def unpack_lines(
    lines: Iterable[NumberedLine], unwrapping: Unwrapping, skipped: Reasons
) -> Iterator[NumberedLine]:
    """Lines without what their shipper wrote, those of one stream."""

    def choose() -> Iterator[tuple[int, ShippedLine]]:
        for number, text, at, process in lines:
            shipped = unwrapping.shipper.unpack(text)
            if shipped is None:
                if text.strip():
                    skipped.add(NO_LINE_OF_IT, number)
            elif unwrapping.stream and shipped.stream != unwrapping.stream:
                skipped.add(OTHER_STREAM, number)
            else:
                at, process = shipped.at or at, shipped.process or process
                yield number, shipped._replace(at=at, process=process)

    for _, line in put_together(choose()):
        for text in line.text.split("\n"):
            yield line._replace(text=text)


class _Waiting:
    """Lines of one writer's message that may not be whole."""

    def __init__(self, number: int, shipped: ShippedLine) -> None:
        self.stream, self.size = shipped.stream, 0
        self.lines = list[tuple[NumberedLine, list[str]]]()
        self.add(number, shipped, False)

    def add(self, number: int, shipped: ShippedLine, is_joined: bool) -> None:
        self.size += len(shipped.text)
        if is_joined:
            self.lines[-1][1].append(shipped.text)
        else:
            line = NumberedLine(number, "", shipped.at, shipped.process)
            self.lines.append((line, [shipped.text]))

    def end(self) -> Iterator[tuple[str, NumberedLine]]:
        for line, parts in self.lines:
            yield self.stream, line._replace(text="".join(parts))


def put_together(
    shipped_lines: Iterable[tuple[int, ShippedLine]],
) -> Iterator[tuple[str, NumberedLine]]:
    """Whole lines, those of a writer's message behind each other, with their streams."""
    waiting, size, cut = dict[str, _Waiting](), 0, set[str]()
    for number, it in shipped_lines:
        key = f"{it.stream}\0{it.writer}"
        before = waiting.get(key)
        is_going_on = bool(it.writer and not it.begins) or key in cut
        if before is not None and is_going_on:
            before.add(number, it, it.joins or key in cut)
            size += len(it.text)
        else:
            if before is not None:
                size -= waiting.pop(key).size
                yield from before.end()
            waiting[key] = _Waiting(number, it)
            size += len(it.text)
        (cut.add if it.is_cut else cut.discard)(key)
        if not (it.writer or it.is_cut):
            done = waiting.pop(key)
            size -= done.size
            yield from done.end()
        while size > WAITING:
            done = waiting.pop(next(iter(waiting)))
            size -= done.size
            yield from done.end()
    for rest in waiting.values():
        yield from rest.end()
