"""The cases of fuzz_kit.py: calls of the kit's functions made at random, the same for a seed."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import dataclass

from dyno.servers.kit.library import PARTS, VERSION

#: Every function: what it returns, and whether it is an aggregate.
FUNCTIONS = {
    function.name: (function.returns, function.aggregate)
    for function in (VERSION, *(each for part in PARTS.values() for each in part.functions))
}
#: `Item_result`.
STRING, REAL, INTEGER, ROW, DECIMAL = range(5)
KINDS = (STRING, REAL, INTEGER, ROW, DECIMAL)
ARGUMENTS_MAX = 6
#: How many each takes at least; 1 where it is not named. Some cases have other counts.
_OF_TWO = ("json_extract_all", "rapid_extract_all", "json_holds", "rb_contains")
ARGUMENTS = {
    "dyno_kit_version": 0,
    **dict.fromkeys((*_OF_TWO, "rb_or", "rb_and", "rb_xor", "rb_andnot"), 2),
    **dict.fromkeys(("fb_create", "fb_load", "fb_insert", "fb_query"), 2),
    **dict.fromkeys(("fb_inlist", "fb_delete"), 2),
    "fb_insert2": 5,
    "fb_list": 0,
}
Value = bytes | int | None


@dataclass(frozen=True)
class Case:
    """A call from its beginning to its end.

    `kinds` are the arguments' at the beginning; with `keeps_kinds` the rows have them, too,
    whatever the function asked for. `constant`: the first row's values are known beforehand.
    `repeats`: how often an aggregate is given a row; `clears`: whether its groups are begun.
    `damage`: which byte of an index's file is changed beforehand.
    """

    function: str
    kinds: tuple[int, ...]
    rows: tuple[tuple[Value, ...], ...]
    constant: bool = False
    keeps_kinds: bool = False
    clears: bool = True
    repeats: int = 1
    ends_twice: bool = False
    goes_on: bool = False
    damage: int | None = None

    def as_json(self) -> dict[str, object]:
        """As the corpus keeps it: bytes as hexadecimal digits."""
        rows = [[it.hex() if isinstance(it, bytes) else it for it in row] for row in self.rows]
        return {**vars(self), "rows": rows}

    @classmethod
    def of_json(cls, told: dict[str, object]) -> Case:
        """The inverse of `as_json`."""
        rows = tuple(
            tuple(bytes.fromhex(it) if isinstance(it, str) else it for it in row)
            for row in told.pop("rows")
        )
        return cls(kinds=tuple(told.pop("kinds")), rows=rows, **told)


def make_case(seed: int, number: int) -> Case:
    """The case of this number."""
    rng = random.Random(f"{seed}:{number}")
    function = sorted(FUNCTIONS)[number % len(FUNCTIONS)]
    count = ARGUMENTS.get(function, 1)
    if rng.random() < 0.2:
        count = rng.randrange(ARGUMENTS_MAX + 1)
    kinds = tuple(STRING if rng.random() < 0.7 else rng.choice(KINDS) for _ in range(count))
    rows = [tuple(a_value(rng, function, at) for at in range(count))]
    for _ in range(rng.randrange(4)):
        fresh = tuple(a_value(rng, function, at) for at in range(count))
        rows.append(rng.choice((rows[-1], fresh, rows[-1][:1] + fresh[1:])))
    return Case(
        function,
        kinds,
        tuple(rows),
        constant=rng.random() < 0.5,
        keeps_kinds=rng.random() < 0.05,
        clears=rng.random() < 0.9,
        repeats=rng.choice((0, 1, 1, 2, 3, 20)),
        ends_twice=rng.random() < 0.1,
        goes_on=rng.random() < 0.05,
        damage=rng.randrange(400) if function[:3] == "fb_" and rng.random() < 0.1 else None,
    )


def a_value(rng: random.Random, function: str, at: int) -> Value:
    """An argument: one that the function may like more often than not."""
    if function.startswith("fb_") and at == 0 and rng.random() < 0.9:
        return b"made" if function == "fb_create" else INDEX.encode()
    if rng.random() < 0.06:
        return None
    makers = [a_number, a_word, some_bytes]
    if function.startswith("rb_"):
        makers += [a_list, a_bitmap, a_bitmap, a_bitmap, a_number]
    elif function.startswith("fb_"):
        makers += [FILE_MAKERS.get(function, a_number)] * 30
    elif "uuid" in function:
        makers += [a_uuid] * 3
    else:
        makers += [a_document, a_document, a_document, a_list, nested]
    value = rng.choice(makers)(rng)
    if isinstance(value, bytes) and rng.random() < 0.15:
        return mutated(rng, value)
    return value


EDGES = (0, 1, -1, 2, 30, 31, 65, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -(2**63))


def a_number(rng: random.Random) -> Value:
    """Whole numbers: ends of ranges, and any."""
    return rng.choice((rng.choice(EDGES), rng.randrange(1000), rng.getrandbits(63)))


WORDS = (
    *("keys", "paths", "error", "null", "ignore", "", " ", "1.5", "-0", "1e5", "1e-400", "1E36"),
    *("1e99999999999999999999", "9" * 70, "0." + "1" * 80, "-", ".", "NaN", "a", "$.a", "id"),
)


def a_word(rng: random.Random) -> Value:
    """Options and numbers as text."""
    return rng.choice(WORDS).encode()


def some_bytes(rng: random.Random) -> Value:
    """Bytes without a sense."""
    return rng.randbytes(rng.choice((0, 1, 2, 8, 16, 64, 1000)))


def a_list(rng: random.Random) -> Value:
    """`1,2,3`, `[1, 2]`, or lines."""
    words = [str(a_number(rng)) for _ in range(rng.choice((0, 1, 5, 40)))]
    text = rng.choice((",", ", ", "\n", ",,")).join(words)
    return rng.choice((text, f"[{text}]", f"{text}\n")).encode()


def a_uuid(rng: random.Random) -> Value:
    """A UUID, as bytes or in one of the forms that text has."""
    raw = rng.randbytes(16)
    text = raw.hex()
    dashed = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return rng.choice((raw, *(it.encode() for it in (text, dashed, f"{{{dashed}}}"))))


def nested(rng: random.Random) -> Value:
    """Lists or objects within one another, sometimes without an end."""
    depth = rng.choice((10, 999, 1000, 1001, 20_000, 300_000 if rng.random() < 0.1 else 3))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return opening * depth + b"1" + closing * rng.choice((depth, depth, 0, depth // 2))


def a_document(rng: random.Random) -> Value:
    """A document of JSON, sometimes of many values."""
    if rng.random() < 0.002:
        many = [a_part(rng, 1) for _ in range(rng.choice((3000, 70_000)))]
        return json.dumps(many).encode()
    return json.dumps(a_part(rng, rng.randrange(5)), ensure_ascii=rng.random() < 0.5).encode()


TEXTS = ("a", "b", "id", "", "ä", "😀", "line\nbreak", 'a"b\\c', "a=b", "\x00", "x" * 300)
NUMBERS = (0, 1, -1, 1.5, 1e300, 5e-324, 2**63, -(2**64), 10**70)


def a_part(rng: random.Random, depth: int) -> object:
    """A value of a document."""
    kind = rng.randrange(7) if depth else rng.randrange(5)
    if kind == 5:
        return [a_part(rng, depth - 1) for _ in range(rng.randrange(5))]
    if kind == 6:
        return {rng.choice(TEXTS): a_part(rng, depth - 1) for _ in range(rng.randrange(5))}
    return (None, True, False, rng.choice(NUMBERS), rng.choice(TEXTS))[kind]


def a_bitmap(rng: random.Random) -> Value:
    """A Roaring bitmap by its public format, sometimes with sizes that are not true."""
    count = rng.choice((0, 1, 1, 2, 5, 300, 65_536) if rng.random() < 0.002 else (0, 1, 1, 2, 5))
    keys = sorted(rng.sample(range(65_536), count))
    if count > 1000 or rng.random() < 0.3:
        return _runs(rng, keys)
    heads, bodies = b"", []
    for key in keys:
        if rng.random() < 0.1:
            bits = rng.randbytes(8192)
            members = int.from_bytes(bits, "little").bit_count()
            bodies.append(bits)
        else:
            numbers = sorted(rng.sample(range(65_536), rng.choice((1, 3, 50))))
            members = len(numbers)
            bodies.append(struct.pack(f"<{members}H", *numbers))
        heads += struct.pack("<HH", key, _claimed(rng, members))
    at = 8 + 8 * len(keys)
    offsets = b""
    for body in bodies:
        offsets += struct.pack("<I", at)
        at += len(body)
    return struct.pack("<II", 12346, len(keys)) + heads + offsets + b"".join(bodies)


def _runs(rng: random.Random, keys: list[int]) -> bytes:
    """Only runs; where there are few containers no offsets stand before them."""
    heads, bodies = b"", []
    for key in keys:
        runs = rng.choice(([(0, 65_535)], [(5, 3)], [(0, 0), (2, 7), (65_530, 5)]))
        if rng.random() < 0.1:
            runs = [(rng.randrange(65_536), rng.randrange(65_536)) for _ in range(3)]
        members = sum(length + 1 for _, length in runs)
        heads += struct.pack("<HH", key, _claimed(rng, members))
        pairs = [number for run in runs for number in run]
        bodies.append(struct.pack(f"<{1 + len(pairs)}H", len(runs), *pairs))
    head = struct.pack("<HH", 12347, (len(keys) - 1) % 65_536) + b"\xff" * ((len(keys) + 7) // 8)
    offsets, at = b"", len(head) + len(heads) + 4 * len(keys)
    for body in bodies if len(keys) >= 4 else ():
        offsets += struct.pack("<I", at)
        at += len(body)
    return head + heads + offsets + b"".join(bodies)


def _claimed(rng: random.Random, members: int) -> int:
    return (members - 1 if rng.random() < 0.97 else rng.randrange(65_536)) % 65_536


#: The index that is there before a case of `fb_*` begins: its columns, and rows of every kind.
INDEX, COLUMNS = "t", "a:int, b:ulong, c:double, d:text"
LINES = b'1,2,0.5,x\n-7,18446744073709551615,-1e300,"a,""b"\n,,,\n1,0,0,\\N\n2,3,4,\xc3\xa4\n'


def some_columns(rng: random.Random) -> Value:
    """The columns of an index."""
    kinds = ("byte", "int", "ulong", "float", "double", "key", "text", "TEXT")
    count = rng.choice((1, 2, 5, 32, 33))
    return ",".join(f"{rng.choice('ab_')}{n}:{rng.choice(kinds)}" for n in range(count)).encode()


def a_row(rng: random.Random) -> Value:
    """One row of that index."""
    return b"|".join(rng.choice((b"1", b"0", b"", b"\\N")) for _ in range(4))


def some_lines(rng: random.Random) -> Value:
    """Rows of that index, or not quite."""
    fields = ("1", "-1", "0.5", "x", "", "\\N", '"a,\n"', '""', '"', "1e309", "9" * 30, "ä")
    mark = rng.choice(",,,,,|")
    lines = [
        mark.join((str(n), "7", "0.5", "x") if rng.random() < 0.95 else rng.choices(fields, k=4))
        for n in range(rng.choice((1, 1, 3, 1500)))
    ]
    return rng.choice(("\n", "\r\n")).join(lines).encode()


def a_condition(rng: random.Random) -> Value:
    """A condition over that index, or words in any order."""
    words = ("a", "b", "c", "d", "z", "1", "-1", "0.5", "1e9", "9" * 40, "'x'", "''", "`a`", "NULL")
    signs = ("=", "<", ">=", "<>", "AND", "OR", "XOR", "NOT", "!", "(", ")", ",", "IN (", "IS")
    if rng.random() < 0.15:
        return " ".join(rng.choice(words + signs) for _ in range(rng.randrange(1, 12))).encode()
    leaves = ("a < 2", "b IN (0, 2)", "c BETWEEN -1 AND 5", "d = 'x'", "d IS NULL", "1 < a <= 5")
    text = rng.choice(leaves)
    for _ in range(rng.choice((0, 1, 3, 300 if rng.random() < 0.1 else 2))):
        text = rng.choice((f"({text})", f"NOT {text}", f"{text} {rng.choice(signs[4:7])} a > 0"))
    return text.encode()


def a_query(rng: random.Random) -> Value:
    """A query of that index."""
    items = ("a", "b", "c", "d", "COUNT(*)", "SUM(a)", "SUM(b)", "AVG(c)", "MIN(d)", "MAX(b)")
    items += ("COUNT(DISTINCT d)", "COUNTDISTINCT(a)", "MAX(c)", "MIN(a)")
    items += ("SUM(d)", "SQRT(a)", "*") if rng.random() < 0.1 else ()
    text = ", ".join(rng.choice(items) for _ in range(rng.choice((1, 1, 2, 6))))
    where = b" WHERE " + bytes(a_condition(rng)) if rng.random() < 0.8 else b""
    return (
        text.encode()
        + where
        + rng.choice((b"", b"", b" LIMIT 1", b" LIMIT 1, 99", b" LIMIT 0 OFFSET 9"))
    )


FILE_MAKERS = {
    "fb_create": some_columns,
    "fb_load": some_lines,
    "fb_insert": a_row,
    "fb_query": a_query,
    "fb_inlist": a_query,
    "fb_delete": a_condition,
}


def mutated(rng: random.Random, value: bytes) -> bytes:
    """Bytes changed, cut off, doubled or added."""
    changed = bytearray(value)
    for _ in range(rng.choice((1, 1, 2, 10))):
        kind = rng.randrange(5)
        at = rng.randrange(min(len(changed), 64)) if changed else 0
        if kind == 0 and changed:
            changed[at] = rng.randrange(256)
        elif kind == 1 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del changed[rng.randrange(len(changed) + 1) :]
        elif kind == 3 and len(changed) < 100_000:
            changed += bytes(changed)
        else:
            changed[at:at] = rng.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\\u", b"["))
    return bytes(changed)
