"""Small trees at which configure, make, cmake and meson fail, each in a way of its own."""

from __future__ import annotations

from collections.abc import Mapping

from failures import Tool

#: A server that nobody runs: its port is taken by none of ours.
NOWHERE = "http://127.0.0.1:9/x.tar.gz"
_C = "cmake_minimum_required(VERSION 3.5)\nproject(x C)\n"
_PLAIN = "cmake_minimum_required(VERSION 3.5)\nproject(x NONE)\n"
#: From here on nothing of this system's is found.
_ALONE = "set(CMAKE_FIND_ROOT_PATH /none)\n" + "".join(
    f"set(CMAKE_FIND_ROOT_PATH_MODE_{kind} ONLY)\n" for kind in ("LIBRARY", "INCLUDE", "PROGRAM")
)
#: No compiler compiles it in little memory.
_LARGE = "".join(f"int f{n}(int a) {{ return a * {n} + (a << 3); }}\n" for n in range(5000))
_AUTOCONF = "mkdir conf && autoconf -o conf/configure conf.ac && {0} sh conf/configure"
_MESON = "meson setup b"


def _configure(entry: str, text: str, before: str = "") -> Tool:
    files = {"conf.ac": f"AC_INIT([x], [1.2])\n{text}\nAC_OUTPUT\n"}
    return Tool(entry, _AUTOCONF.format(before), files, ("perl",), "autoconf")


def _meson(entry: str, text: str, before: str = "", **more: str) -> Tool:
    files = {name.replace("__", "/").replace("_", "."): it for name, it in more.items()}
    return Tool(entry, f"{before} {_MESON}", {"meson.build": text, **files}, fetched="meson")


def _cmake(entry: str, text: str, script: str = "cmake -S . -B b") -> Tool:
    return Tool(entry, script, {"CMakeLists.txt": text}, ("cmake",))


def _make(entry: str, text: str, before: str = "") -> Tool:
    return Tool(entry, f"{before} make -f m", {"m": text, "a.c": _LARGE})


BUILD_SYSTEMS: Mapping[str, Tool] = {
    "configure and no compiler": _configure("compiler-absent", "AC_PROG_CC", "CC=/none/cc"),
    "configure and flags of another compiler": _configure(
        "compiler-absent", "AC_PROG_CC", "CFLAGS=--no-such-flag"
    ),
    "configure and programs that do not start": _configure(
        "programs-do-not-start", "AC_PROG_CC", "LDFLAGS=-Wl,--dynamic-linker=/none"
    ),
    "configure and a library": _configure(
        "readline-absent",
        "AC_PROG_CC\nAC_CHECK_LIB([no_such_readline], [readline], [],"
        " [AC_MSG_ERROR([readline library not found])])",
    ),
    "configure and PAM": _configure(
        "feature-library-absent",
        "AC_PROG_CC\nAC_CHECK_LIB([no_such_pam], [x], [],"
        " [AC_MSG_ERROR([library 'pam' is required for PAM])])",
    ),
    "configure and clang": _configure(
        "jit-compiler-absent",
        "AC_CHECK_PROG([CLANG], [no-such-clang], [yes])\n"
        'test -n "$CLANG" || AC_MSG_ERROR([clang not found, but required])',
    ),
    **{
        f"configure and {name}": _configure(
            kind,
            f"AC_PROG_CC\nAC_CHECK_LIB([no_such_one], [x], [], [AC_MSG_ERROR([{name} library not"
            " found])])",
        )
        for kind, name in (("icu-absent", "ICU"), ("zlib-absent", "zlib"))
    },
    "configure and another package's macro": _configure(
        "macro-unknown", "PKG_CHECK_MODULES(NO, no_such)"
    ),
    "autoconf and another package's macro": _configure("macro-unknown", "AM_NO_SUCH_MACRO"),
    "make and a parser generator": _make(
        "bison-flex-absent", "export PATH = /none\nall:\n\tbison gram.y\n"
    ),
    "make and tclsh": _make("tcl-absent", "export PATH = /none\nall:\n\ttclsh x.tcl\n"),
    "make and rpcgen": _make("rpcgen", "export PATH = /none\nall:\n\trpcgen x.x > x.h\n"),
    "make and a clock that runs behind": _make(
        "clock-skew", "all: a.c\n\tfalse\n", "touch -d '+2 days' a.c;"
    ),
    "make and memory": _make("killed-compiler", "all:\n\tulimit -v 60000; gcc -O2 -c a.c\n"),
    "make and a compiler that crashes": _make(
        "compiler-crashed", "all:\n\tulimit -v 30000; gcc -O2 -c a.c\n"
    ),
    "make and a folder of another's": _make(
        "permission", "all:\n\tmkdir /proc/none || mkdir: /x: Permission denied\n"
    ),
    "cmake and OpenSSL": _cmake(
        "openssl-absent", _PLAIN + _ALONE + "find_package(OpenSSL REQUIRED)\n"
    ),
    "cmake and Curses": _cmake("ncurses-absent", _C + _ALONE + "find_package(Curses REQUIRED)\n"),
    "cmake and curl": _cmake("curl-absent", _C + _ALONE + "find_package(CURL REQUIRED)\n"),
    "cmake and RocksDB's version": _cmake(
        "rocksdb-version-file", _C + "add_library(r STATIC rocksdb/util/build_version.cc)\n"
    ),
    "cmake and bison": _cmake(
        "bison-flex-absent", _PLAIN + _ALONE + "find_package(BISON REQUIRED)\n"
    ),
    "cmake and pkg-config": _cmake(
        "pkg-config-absent", _PLAIN + _ALONE + "find_package(PkgConfig REQUIRED)\n"
    ),
    "cmake and no make": _cmake(
        "make-absent", _PLAIN, "cmake -S . -B b -DCMAKE_MAKE_PROGRAM=NOTFOUND -G 'Unix Makefiles'"
    ),
    "cmake and another library": _cmake(
        "dependency-absent", _PLAIN + _ALONE + "find_package(LibXml2 REQUIRED)\n"
    ),
    "cmake and a compiler that compiles nothing": _cmake(
        "compiler-absent", _C, "CC=/bin/false cmake -S . -B b"
    ),
    "cmake and a download": _cmake(
        "download", f"{_PLAIN}file(DOWNLOAD {NOWHERE} x EXPECTED_HASH MD5={'0' * 32})\n"
    ),
    "meson and its version": _meson("meson-too-old", "project('x', 'c', meson_version: '>=99')\n"),
    "meson and no compiler": _meson("compiler-absent", "project('x', 'c')\n", "CC=/none/cc"),
    "meson and a dependency": _meson(
        "dependency-absent", "project('x', 'c')\ndependency('no_such')\n"
    ),
    "meson and a download": _meson(
        "download",
        "project('x')\nsubproject('other')\n",
        subprojects__other_wrap=f"[wrap-git]\nurl = {NOWHERE}\nrevision = head\n",
    ),
}
