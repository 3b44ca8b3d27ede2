"""Calls every function of dyno_kit.so as no server should: a bounded loop, each case from its seed.

The library is called by its C interface (`xxx_init`, `xxx`, `xxx_clear`, `xxx_add`, `xxx_deinit`)
in a child process: arguments made at random, each ending where a page begins that nobody may read,
memory and the time of a case bounded. A finding is a case that ends the child (a crash, a loop, too
much memory), that panics, or whose answer breaks the interface. `--case` plays one again, `--keep`
adds findings to the corpus, which every run plays first.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import mmap
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_cases import COLUMNS, FUNCTIONS, INDEX, LINES, STRING, Case, make_case

from dyno.servers.kit.library import find_own_library

CORPUS = Path(__file__).parents[1] / "tests/golden/kit_cases.jsonl"
#: What a child may take: twice the two largest bitmaps of a call, and Python.
MEMORY_BYTES = 3 << 30
CASE_CPU_S = 20
RESULT_BYTES_MAX = 64 << 20
MESSAGE_BYTES = 512
ARENA_BYTES = 4 << 20
ARENAS = 8
#: The child's exit code for an answer that breaks the interface; a panic is seen by its words.
BROKEN = 3


class Init(ctypes.Structure):
    """`UDF_INIT`."""

    _fields_ = (
        ("maybe_null", ctypes.c_char),
        ("decimals", ctypes.c_uint),
        ("max_length", ctypes.c_ulong),
        ("state", ctypes.c_void_p),
        ("const_item", ctypes.c_char),
        ("extension", ctypes.c_void_p),
    )


class Args(ctypes.Structure):
    """`UDF_ARGS`."""

    _fields_ = (
        ("count", ctypes.c_uint),
        ("kinds", ctypes.POINTER(ctypes.c_int)),
        ("values", ctypes.POINTER(ctypes.c_void_p)),
        ("lengths", ctypes.POINTER(ctypes.c_ulong)),
        ("maybe_null", ctypes.c_char_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_lengths", ctypes.c_void_p),
        ("extension", ctypes.c_void_p),
    )


class Broken(Exception):
    """An answer that the interface does not allow."""


def guarded_ends() -> list[int]:
    """Addresses that end a stretch of memory each: the byte there may not be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    ends = []
    for _ in range(ARENAS):
        size = ARENA_BYTES + mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        begin = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        end = begin + ARENA_BYTES
        if begin == ctypes.c_void_p(-1).value or libc.mprotect(end, mmap.PAGESIZE, 0):
            raise OSError(ctypes.get_errno(), "no memory for the arguments")
        ends.append(end)
    return ends


class Caller:
    """The library, called as a server calls it."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.ends = guarded_ends()
        self.message = ctypes.create_string_buffer(MESSAGE_BYTES)

    def play(self, case: Case) -> str:
        """What became of a case: 'refused', 'faulted' or 'answered'. `Broken` for an answer that
        the interface does not allow.
        """
        count = len(case.kinds)
        kinds = (ctypes.c_int * (count + 1))(*case.kinds, 0)
        constants = case.rows[0] if case.constant else (None,) * count
        init = Init()
        args = self._args(kinds, constants)
        refused = self._entry(case.function, "_init", ctypes.c_bool)(
            ctypes.byref(init), ctypes.byref(args), self.message
        )
        if refused:
            if b"\0" not in self.message.raw or not self.message.value:
                raise Broken("a refusal without words")
            self._entry(case.function, "_deinit")(ctypes.byref(init))
            return "refused"
        if case.keeps_kinds:
            kinds = (ctypes.c_int * (count + 1))(*case.kinds, 0)
        copy = Init.from_buffer_copy(init)
        told = [self._row(case, init, kinds, row) for row in case.rows]
        self._entry(case.function, "_deinit")(ctypes.byref(init))
        if case.ends_twice:
            # as MariaDB ends both copies of a call in a view's WHERE
            self._entry(case.function, "_deinit")(ctypes.byref(copy))
        if case.goes_on:
            told.append(self._row(case, init, kinds, case.rows[0]))
            if told[-1] != "faulted":
                raise Broken("an answer after the end")
        return "faulted" if "faulted" in told else "answered"

    def prepare_index(self, case: Case) -> None:
        """Makes the index that cases of `fb_*` find, and damages a file of it where that is asked
        for: nothing of an earlier case is left.
        """
        root = Path(os.environ["DYNO_KIT_FILES"])
        shutil.rmtree(root)
        root.mkdir()
        name = INDEX.encode()
        for function, text in (("fb_create", COLUMNS.encode()), ("fb_load", LINES)):
            if self.play(Case(function, (STRING, STRING), ((name, text),))) != "answered":
                raise Broken(f"{function} fails")
        if case.damage is not None:
            files = sorted((root / INDEX).iterdir())
            file = files[case.damage % len(files)]
            content = bytearray(file.read_bytes())
            content[case.damage % len(content)] ^= 1 << case.damage % 8
            file.write_bytes(content)

    def _entry(self, name: str, what: str, returns: type | None = None) -> ctypes._NamedFuncPointer:
        entry = getattr(self.library, name + what)
        entry.restype = returns
        return entry

    def _args(self, kinds: ctypes.Array[ctypes.c_int], row: tuple[bytes | int | None, ...]) -> Args:
        count = len(row)
        values, lengths = (ctypes.c_void_p * (count + 1))(), (ctypes.c_ulong * (count + 1))()
        for index, value in enumerate(row):
            if value is None:
                continue
            if kinds[index] != STRING:
                number = value if isinstance(value, int) else len(value)
                value = (number % 2**64).to_bytes(8, sys.byteorder)
            elif isinstance(value, int):
                value = b"%d" % value
            values[index] = self.ends[index] - len(value)
            lengths[index] = len(value)
            ctypes.memmove(values[index], value, len(value))
        args = Args(count, kinds, values, lengths)
        args.keep = (kinds, values, lengths)
        return args

    def _row(
        self,
        case: Case,
        init: Init,
        kinds: ctypes.Array[ctypes.c_int],
        row: tuple[bytes | int | None, ...],
    ) -> str:
        returns, aggregate = FUNCTIONS[case.function]
        args = ctypes.byref(self._args(kinds, row))
        is_null, error = ctypes.c_char(0), ctypes.c_char(0)
        flags = (ctypes.byref(is_null), ctypes.byref(error))
        this = ctypes.byref(init)
        if aggregate:
            if case.clears:
                self._entry(case.function, "_clear")(this, *flags)
            for _ in range(case.repeats):
                self._entry(case.function, "_add")(this, args, *flags)
        if returns == "INTEGER":
            self._entry(case.function, "", ctypes.c_longlong)(this, args, *flags)
            return "faulted" if error.value != b"\0" else "answered"
        length = ctypes.c_ulong(0)
        entry = self._entry(case.function, "", ctypes.c_void_p)
        told = entry(this, args, None, ctypes.byref(length), *flags)
        if error.value != b"\0":
            return "faulted"
        if is_null.value == b"\0":
            check_answer(case.function, told, length.value)
        return "answered"


def check_answer(function: str, address: int | None, length: int) -> None:
    """`Broken` where there are no such bytes, too many, or text that is no UTF-8."""
    if not address or length > RESULT_BYTES_MAX:
        raise Broken(f"an answer of {length} bytes at {address}")
    answer = ctypes.string_at(address, length)
    if not function.startswith("rb_") and function not in ("uuid_to_bin", "json_tokens"):
        try:
            answer.decode()
        except UnicodeDecodeError as error:
            raise Broken(f"an answer that is no UTF-8: {error}") from error


def corpus() -> list[Case]:
    """The cases that once failed."""
    return [Case.of_json(json.loads(line)) for line in CORPUS.read_text().splitlines()]


def cases_from(seed: int, begin: int, step: int) -> Iterator[tuple[int, Case]]:
    """Numbered cases: those of the corpus first, below zero; then each, or every `step`-th one."""
    kept = corpus()
    for number in range(begin, 0):
        yield number, kept[number + len(kept)]
    for number in itertools.count(max(begin, 0), step):
        yield number, make_case(seed, number)


def play_child(asked: argparse.Namespace) -> None:
    """The child: plays cases until the time is up, each one's number written down beforehand."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["DYNO_KIT_FILES"] = str(asked.child.parent / "indexes")
    Path(os.environ["DYNO_KIT_FILES"]).mkdir(exist_ok=True)
    caller, counts = Caller(asked.library), Counter[str]()
    with asked.child.open("r+b") as file, mmap.mmap(file.fileno(), 8) as current:
        for number, case in cases_from(asked.seed, asked.begin, asked.step):
            current[:] = number.to_bytes(8, "little", signed=True)
            # its default is the end of the process
            signal.setitimer(signal.ITIMER_VIRTUAL, CASE_CPU_S)
            try:
                if case.function.startswith("fb_"):
                    caller.prepare_index(case)
                counts[f"{case.function} {caller.play(case)}"] += 1
            except Broken as broken:
                print(broken, file=sys.stderr, flush=True)
                os._exit(BROKEN)
            if os.fstat(2).st_size:
                os._exit(BROKEN)
            if asked.only or (number >= 0 and time.monotonic() > asked.until):
                break
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"counts": counts, "peak_mib": peak_mib}))


@dataclass
class Outcome:
    """What came of a run: executions by function and end, and what was found."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    peak_mib: int = 0
    executions: int = 0


def fuzz(
    library: Path, seed: int, seconds: float, only: int | None, function: str | None
) -> Outcome:
    """Plays cases for so long, or one, or those of one function; after a finding goes on with the
    next one.
    """
    outcome, until, step = Outcome(), time.monotonic() + seconds, 1
    begin = -len(corpus()) if only is None else only
    if function is not None:
        # the function of a case follows from its number
        begin, step = sorted(FUNCTIONS).index(function), len(FUNCTIONS)
    child = [sys.executable, __file__, "--library", str(library), "--seed", str(seed)]
    child += ["--until", str(until), "--step", str(step)]
    child += ["--only"] if only is not None else []
    # in memory where there is such a folder: indexes wait for the disk at every write
    memory = Path("/dev/shm")
    place_of_all = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dyno-fuzz-", dir=place_of_all) as folder:
        place, words = Path(folder) / "case", Path(folder) / "words"
        while True:
            place.write_bytes(begin.to_bytes(8, "little", signed=True))
            words.write_bytes(b"")
            with words.open("r+b") as errors:
                done = subprocess.run(
                    [*child, "--child", str(place), "--begin", str(begin)],
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    check=False,
                )
            last = int.from_bytes(place.read_bytes(), "little", signed=True)
            outcome.executions += (last - begin) // step + 1
            if done.returncode == 0:
                told = json.loads(done.stdout)
                outcome.counts.update(told["counts"])
                outcome.peak_mib = max(outcome.peak_mib, told["peak_mib"])
                return outcome
            if done.returncode == 1:
                raise RuntimeError(f"a defect of this program:\n{words.read_text()}")
            outcome.findings.append((last, why(done.returncode, words)))
            begin = last + step
            if only is not None or time.monotonic() > until:
                return outcome


def why(code: int, words: Path) -> str:
    """What ended a child, in a line."""
    first = " ".join(words.read_text(errors="replace").split())[:300]
    ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"{ended}: {first}"


def main() -> int:
    """Prints what was played and found; 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--case", type=int, help="plays this one again; below zero: the corpus's")
    parser.add_argument("--function", choices=sorted(FUNCTIONS), help="plays this one alone")
    parser.add_argument("--library", type=Path, default=find_own_library())
    parser.add_argument("--keep", action="store_true", help="adds what is found to the corpus")
    for name, kind in (("--child", Path), ("--begin", int), ("--until", float), ("--step", int)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--only", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        play_child(asked)
        return 0
    outcome = fuzz(asked.library, asked.seed, asked.seconds, asked.case, asked.function)
    for name in [asked.function] if asked.function else sorted(FUNCTIONS):
        ends = {end: outcome.counts[f"{name} {end}"] for end in ("answered", "faulted", "refused")}
        print(f"{name:20}", *(f"{count:9,} {end}" for end, count in ends.items()))
    print(
        f"seed {asked.seed}: {outcome.executions:,} cases, {len(outcome.findings)} findings,"
        f" at most {outcome.peak_mib} MiB"
    )
    for number, reason in outcome.findings:
        print(f"case {number} ({reason}): tools/fuzz_kit.py --seed {asked.seed} --case {number}")
    if asked.keep and outcome.findings:
        with CORPUS.open("a") as file:
            for number, _ in outcome.findings:
                if number >= 0:
                    file.write(json.dumps(make_case(asked.seed, number).as_json()) + "\n")
    return 1 if outcome.findings else 0


if __name__ == "__main__":
    sys.exit(main())
