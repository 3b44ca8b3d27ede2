"""The named functions around a place of a program: what a stripped build tells of the others.

A stripped program keeps the names that other files may call, and drops those of static functions.
A linker lays out one source file's functions side by side, so a function without a name stands
among named ones of its own source file, most often; docs/evidence/neighbours.md says how often.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

#: A symbol of a file of 64 bits (System V ABI, "Symbol Table").
SYMBOL = np.dtype(
    [
        ("name", "<u4"),
        ("kind", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("address", "<u8"),
        ("size", "<u8"),
    ]
)
#: Functions of C++'s own library are made in every file that needs them: they tell of none.
EVERYWHERE = ("_ZNSt", "_ZNKSt", "_ZSt", "_ZNVSt", "_ZNSs", "_ZNKSs", "_ZN9__gnu", "_ZTh", "_ZTv")
#: Kinds of symbols that are code: functions, and those of which one is chosen at start (IFUNC).
CODE = (2, 10)


@dataclass(frozen=True)
class NamedFunctions:
    """Functions of a program by address; `segments` are its parts: offset, address, bytes.

    `entry` is where it starts: linkers put code before it that is seldom or often executed, of all
    files together. `names_all`: static functions have their names, too.
    """

    addresses: tuple[int, ...]
    names: tuple[str, ...]
    segments: tuple[tuple[int, int, int], ...]
    entry: int
    names_all: bool = True

    def find_address(self, offset: int) -> int | None:
        """Return where a place of the file is mapped; None if it is nowhere."""
        for begin, address, size_bytes in self.segments:
            if begin <= offset < begin + size_bytes:
                return offset - begin + address
        return None

    def find_around(self, address: int, most: int) -> tuple[list[str], list[str]]:
        """Return the names of up to `most` functions before and after, the nearest first."""
        at = bisect_right(self.addresses, address)
        before = self.names[max(0, at - most) : at][::-1]
        return [demangle(it) for it in before], [demangle(it) for it in self.names[at : at + most]]

    def measure_gap(self, address: int) -> int:
        """Return how many bytes lie between the functions before and after."""
        at = bisect_right(self.addresses, address)
        if not 0 < at < len(self.addresses):
            return 0
        return self.addresses[at] - self.addresses[at - 1]


@cache
def read_functions(path: str) -> NamedFunctions | None:
    """Return the functions that a program names; None where it cannot be read or names none."""
    try:
        with Path(path).open("rb") as file:
            elf = ELFFile(file)
            tables = {it["sh_type"]: it for it in elf.iter_sections()}
            table = tables.get("SHT_SYMTAB") or tables.get("SHT_DYNSYM")
            if table is None or elf.elfclass != 64 or not elf.little_endian:
                return None
            symbols = np.frombuffer(table.data(), SYMBOL)
            texts = elf.get_section(table["sh_link"]).data()
            entry = elf["e_entry"]
            loaded = [it for it in elf.iter_segments() if it["p_type"] == "PT_LOAD"]
    except (OSError, ELFError, ValueError, KeyError, TypeError):
        return None
    code = np.isin(symbols["kind"] & 15, CODE) & (symbols["section"] > 0)
    found = {
        int(each["address"]): texts[each["name"] : texts.find(b"\0", each["name"])].decode(
            errors="replace"
        )
        for each in symbols[code]
    }
    addresses = tuple(sorted(at for at, name in found.items() if not name.startswith(EVERYWHERE)))
    segments = tuple((it["p_offset"], it["p_vaddr"], it["p_filesz"]) for it in loaded)
    names_all = table["sh_type"] == "SHT_SYMTAB"
    names = tuple(found[it] for it in addresses)
    return NamedFunctions(addresses, names, segments, entry, names_all)


@cache
def demangle(name: str) -> str:
    """Return a C++ function's name as it is written; the name itself if it is not C++, or where
    this system has no C++ library.
    """
    if not name.startswith("_Z"):
        return name
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return name
    turn = library.__cxa_demangle  # Itanium C++ ABI, 3.4: the caller frees what it returns
    turn.argtypes, turn.restype = [ctypes.c_char_p, *[ctypes.c_void_p] * 3], ctypes.c_void_p
    made = turn(name.encode(), None, None, None)
    if not made:
        return name
    written = ctypes.string_at(made).decode(errors="replace")
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(made)
    return written
