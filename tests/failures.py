"""What builds and servers write when they fail, kind by kind, as the tools of the time write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Example:
    """The words of a failure, of which engine and version, and the tools' versions."""

    words: str
    engine: str = "small"
    version: str = "1.2"
    tools: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A real tool that fails: the entry that it is, its script in the tree, and its files; the
    programs that it needs of the machine, and one that is `fetched`.
    """

    entry: str
    script: str
    files: Mapping[str, str]
    programs: tuple[str, ...] = ()
    fetched: str = ""


_SSL = """CMake Error at cmake/ssl.cmake:63 (MESSAGE):
  Please install the appropriate openssl developer package.

Call Stack (most recent call first):
  cmake/ssl.cmake:306 (FATAL_SSL_NOT_FOUND_ERROR)"""

BUILDS = {
    "openssl-version-header": Example(_SSL, "mysql", "5.7.39", {"openssl": "3.0"}),
    "openssl-3-too-new": Example(_SSL, "mysql", "8.0.28", {"openssl": "3.0"}),
    "openssl-absent": Example(_SSL, "mysql", "8.0.36"),
    "cmake-4-policy": Example(
        "CMake Error at CMakeLists.txt:30 (CMAKE_MINIMUM_REQUIRED):\n"
        "  Compatibility with CMake < 3.5 has been removed from CMake.\n"
    ),
    "cmake-too-old": Example(
        "CMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n"
        "  CMake 3.30 or higher is required.  You are running version 3.25.1\n"
    ),
    "make-absent": Example(
        "CMake Error: CMake was unable to find a build program corresponding to "
        '"Unix Makefiles".  CMAKE_MAKE_PROGRAM is not set.'
    ),
    "compiler-crashed": Example("g++: internal compiler error: Segmentation fault signal"),
    "meson-too-old": Example(
        "meson.build:1:0: ERROR: Meson version is 1.0.1 but project requires >=1.3.0"
    ),
    "macro-unknown": Example(
        "./configure: line 2103: syntax error near unexpected token `ICU,'\n"
        "./configure: line 2103: `PKG_CHECK_MODULES(ICU, icu-uc icu-i18n)'"
    ),
    "programs-do-not-start": Example(
        "checking whether we are cross compiling... configure: error: in `/x':\n"
        "configure: error: cannot run C compiled programs.\n"
    ),
    "dependency-absent": Example(
        "configure: error: Package requirements (libzstd >= 1.4.0) were not met:"
    ),
    "boost-version": Example(
        "CMake Warning at cmake/boost.cmake:266 (MESSAGE):\n"
        "  Boost minor version found is 74 we need 59\n",
        "mysql",
        "5.7.39",
    ),
    "boost-place": Example(
        "-- Could not find (the correct version of) boost.\n"
        "CMake Error at cmake/boost.cmake:88 (MESSAGE):\n"
        "  You can download it with -DDOWNLOAD_BOOST=1 -DWITH_BOOST=<directory>\n",
        "mysql",
        "5.7.39",
    ),
    "bundled-submodule": Example(
        "CMake Error at cmake/submodules.cmake:30 (MESSAGE):\n"
        "  Run git submodule update --init --recursive and try again\n",
        "mariadb",
        "10.11.18",
    ),
    "rocksdb-version-file": Example(
        "CMake Error at storage/rocksdb/CMakeLists.txt:100 (ADD_LIBRARY):\n"
        "  Cannot find source file:\n\n    /src/rocksdb/util/build_version.cc\n",
        "mysql",
        "5.6.35",
    ),
    "curl-absent": Example(
        "-- Could NOT find CURL (missing: CURL_LIBRARY CURL_INCLUDE_DIR) \n"
        "CMake Error at cmake/curl.cmake:246 (ADD_LIBRARY):\n"
        '  ADD_LIBRARY cannot create ALIAS target "ext::curl" because target\n'
        '  "curl_interface" does not already exist.\n\n'
        "CMake Error at CMakeLists.txt:2076 (MESSAGE):\n"
        "  -DWITH_CURL=system, but missing system libraries.\n"
    ),
    "ncurses-absent": Example(
        "CMake Error at cmake/readline.cmake:64 (MESSAGE):\n  Curses library not found.  Please\n"
    ),
    "rpcgen": Example(
        "CMake Error at plugin/CMakeLists.txt:9 (MESSAGE):\n  Could not find rpcgen\n"
    ),
    "readline-absent": Example(
        "configure: error: readline library not found\nIf you have readline"
    ),
    "icu-absent": Example("configure: error: ICU library not found\nIf you have ICU already"),
    "zlib-absent": Example("configure: error: zlib library not found\nIf you have zlib already"),
    "jit-compiler-absent": Example(
        "configure: error: clang not found, but required when compiling --with-llvm, specify with"
        " CLANG=",
        "postgres",
        "18.6",
    ),
    "feature-library-absent": Example(
        "configure: error: library 'pam' is required for PAM", "postgres", "18.6"
    ),
    "bison-flex-absent": Example("configure: error: bison not found"),
    "perl-module": Example(
        "Can't locate FindBin.pm in @INC (you may need to install the FindBin module) (@INC "
        "contains: /usr/share/perl5) at gen_node_support.pl line 3."
    ),
    "compiler-absent": Example("configure: error: no acceptable C compiler found in $PATH"),
    "in-source-build": Example(
        "configure: error: source directory already configured; run 'make distclean' there first"
    ),
    "pkg-config-absent": Example(
        "meson.build:400:10: ERROR: Dependency lookup for icu-uc with method 'pkg-config' failed: "
        "Pkg-config for machine host machine not found. Giving up."
    ),
    "tcl-absent": Example("make: tclsh: command not found", "sqlite", "3.40.1"),
    "register-cxx17": Example(
        "/src/include/m_string.h:99:3: error: ISO C++17 does not allow 'register' storage class "
        "specifier [-Wregister]"
    ),
    "dynamic-exception": Example(
        "a.cc:3:20: error: ISO C++17 does not allow dynamic exception specifications"
    ),
    "stdint": Example("my_time.h:12:3: error: 'uint64_t' does not name a type"),
    "bool-typedef": Example("c.h:448:16: error: 'bool' cannot be defined via 'typedef'"),
    "old-function-types": Example(
        "hash.c:60:5: error: too many arguments to function 'hash'; expected 0, have 2"
    ),
    "implicit-function": Example(
        "a.c:10:3: error: implicit declaration of function 'memcpy' "
        "[-Wimplicit-function-declaration]"
    ),
    "incompatible-pointer": Example(
        "a.c:10:3: error: assignment to 'int *' from incompatible pointer type 'long *' "
        "[-Wincompatible-pointer-types]"
    ),
    "incompatible-function": Example(
        "a.c:2:24: error: incompatible function pointer types initializing 'int (*)(int *)' with "
        "an expression of type 'int (char *)' [-Wincompatible-function-pointer-types]"
    ),
    "narrowing": Example(
        "a.cc:2:40: error: narrowing conversion of '200' from 'int' to 'char' [-Wnarrowing]"
    ),
    "warnings-are-errors": Example(
        "a.c:3:5: error: variable 'x' set but not used [-Werror=unused-but-set-variable]"
    ),
    "openssl-opaque": Example(
        "viosslfactories.c:71:7: error: invalid use of incomplete typedef 'DH' {aka }",
        "mysql",
        "5.6.27",
    ),
    "include-string": Example(
        "mysqltest.cc:186:31: error: expected ')' before 'label'\n"
        "note: 'std::string' is defined in header '<string>'"
    ),
    "include-memory": Example(
        "a.cc:3:6: error: 'unique_ptr' in namespace 'std' does not name a template type\n"
        "note: 'std::unique_ptr' is defined in header '<memory>'"
    ),
    "include-functional": Example(
        "a.cc:3:6: error: 'function' in namespace 'std' does not name a template type\n"
        "note: 'std::function' is defined in header '<functional>'"
    ),
    "include-limits": Example("a.cc:4:8: error: 'numeric_limits' is not a member of 'std'"),
    "cxx17-removed": Example(
        "a.cc:3:15: error: no template named 'unary_function' in namespace 'std'"
    ),
    "implicit-int": Example("a.c:1:1: error: return type defaults to 'int' [-Wimplicit-int]"),
    "int-conversion": Example(
        "a.c:2:21: error: returning 'int' from a function with return type 'int *' makes pointer "
        "from integer without a cast [-Wint-conversion]"
    ),
    "march-unknown": Example("cc1: error: bad value 'znver5' for '-march=' switch"),
    "llvm-api": Example(
        "llvmjit.c:15:10: fatal error: llvm-c/OrcBindings.h: No such file or directory",
        "postgres",
        "13.16",
    ),
    "generator-too-old": Example("sql_yacc.yy:29.10-14: error: require bison 3.0.4, but have 2.3"),
    "rpc-header": Example("a.c:2:10: fatal error: rpc/rpc.h: No such file or directory"),
    "sys-errlist": Example(
        "my_error.c:5:3: error: 'sys_errlist' undeclared (first use in this function)"
    ),
    "copy-file-range": Example(
        "copy_fetch.c:159:1: error: static declaration of 'copy_file_range' follows non-static "
        "declaration",
        "postgres",
        "9.6.10",
    ),
    "libxml2-error-handler": Example(
        "xml.c:1199:45: error: passing argument 2 of 'xmlSetStructuredErrorFunc' from incompatible "
        "type\nnote: expected 'xmlStructuredErrorFunc'"
    ),
    "icu-true-false": Example("pg_locale.c:1600:20: error: 'TRUE' undeclared (first use)"),
    "icu-signatures": Example(
        "collationcmds.c:400:9: error: too few arguments to function 'ucol_getDisplayName'\n"
        "ucol_open: too few arguments"
    ),
    "bison-too-new": Example("sql_yacc.yy:31.1-12: error: invalid directive: '%pure_parser'"),
    "perl-core-header": Example("plperl.c:20:10: fatal error: EXTERN.h: No such file or directory"),
    "missing-header": Example("a.c:2:10: fatal error: numa.h: No such file or directory"),
    "fips-mode": Example(
        "my_openssl_fips.cc:30:10: error: 'FIPS_mode' was not declared in this scope",
        "mysql",
        "8.0.28",
    ),
    "cannot-find-library": Example("/usr/bin/ld: cannot find -laio: No such file or directory"),
    "multiple-definition": Example(
        "/usr/bin/ld: b.o:(.bss+0x0): multiple definition of `shared'; a.o: first defined here\n"
        "collect2: error: ld returned 1 exit status"
    ),
    "undefined-atomic": Example("a.cc:(.text+0x1): undefined reference to `__atomic_load_16'"),
    "assembler-unknown": Example("/tmp/cc.s:40: Error: no such instruction: `vp2intersectd'"),
    "killed-compiler": Example("g++: fatal error: Killed signal terminated program cc1plus"),
    "disk-full": Example("/tmp/cc1.s: fatal error: error writing to a.o: No space left on device"),
    "download": Example("curl: (6) Could not resolve host: example.invalid"),
    "clock-skew": Example("make: warning:  Clock skew detected.  Your build may be incomplete."),
    "locale": Example("perl: warning: Setting locale failed."),
    "archive-cut-short": Example(
        "gzip: stdin: unexpected end of file\ntar: Child returned status 1"
    ),
    "permission": Example("install: cannot create directory '/usr/local/x': Permission denied"),
    "too-many-files": Example("/usr/bin/ld: fatal error: a.o: Too many open files"),
    "no-rule": Example(
        "make[2]: *** No rule to make target '../rocksdb/db/c.cc', needed by 'c.o'.  Stop."
    ),
}

STARTS = {
    "libaio-renamed": "mysqld: error while loading shared libraries: libaio.so.1: cannot open "
    "shared object file: No such file or directory",
    "libtinfo-5": "mysqld: error while loading shared libraries: libtinfo.so.5: cannot open shared "
    "object file: No such file or directory",
    "glibc-too-old": "mysqld: /lib/libc.so.6: version `GLIBC_2.38' not found (required by mysqld)",
    "plugin-directory": "[ERROR] Can't open shared library '/usr/lib/mysql/plugin/ha_rocksdb.so'",
    "secure-file-priv": "[ERROR] Failed to access directory for --secure-file-priv.",
    "data-of-another-version": "FATAL:  database files are incompatible with server\n"
    "DETAIL:  The data directory was initialized by PostgreSQL version 19, which is not compatible "
    "with this version 18.6 (Debian 18.6-3).",
    "initdb-locale": "initdb: error: invalid locale settings; check LANG",
    "shared-memory": "FATAL:  could not create shared memory segment: Invalid argument",
    "truncated-program": "error while loading shared libraries: libpq.so.5: file too short",
}

_CMAKE = "cmake_minimum_required(VERSION 3.5)\nproject(x NONE)\n"
TOOLS = {
    "g++ and register": Tool(
        "register-cxx17",
        "g++ -std=c++17 -pedantic-errors -c a.cc",
        {"a.cc": "int f() { register int x = 1; return x; }\n"},
    ),
    "g++ and throw()": Tool(
        "dynamic-exception", "g++ -std=c++17 -c a.cc", {"a.cc": "void f() throw(int);\n"}
    ),
    "g++ and uint64_t": Tool("stdint", "g++ -c a.cc", {"a.cc": "uint64_t x;\n"}),
    "gcc and Sun RPC": Tool("rpc-header", "gcc -c a.c", {"a.c": "#include <rpc/rpc.h>\n"}),
    "gcc and a header": Tool("missing-header", "gcc -c a.c", {"a.c": "#include <no_such.h>\n"}),
    "g++ and <string>": Tool(
        "include-string",
        "g++ -c a.cc",
        {"a.cc": "#include <new>\nstruct A { A(std::string label); };\nstd::string text;\n"},
    ),
    "g++ and <memory>": Tool(
        "include-memory", "g++ -c a.cc", {"a.cc": "#include <new>\nstd::unique_ptr<int> p;\n"}
    ),
    "g++ and <functional>": Tool(
        "include-functional",
        "g++ -c a.cc",
        {"a.cc": "#include <new>\nstd::function<void()> f;\n"},
    ),
    "g++ and <limits>": Tool(
        "include-limits",
        "g++ -c a.cc",
        {"a.cc": "#include <new>\nint n = std::numeric_limits<int>::max();\n"},
    ),
    "g++ and std::uint16_t": Tool(
        "stdint", "g++ -c a.cc", {"a.cc": "#include <new>\nstd::uint16_t n;\n"}
    ),
    "gcc and no type": Tool(
        "implicit-int", "gcc -Werror=implicit-int -c a.c", {"a.c": "f(void) { return 1; }\n"}
    ),
    "gcc and an integer for a pointer": Tool(
        "int-conversion",
        "gcc -Werror=int-conversion -c a.c",
        {"a.c": "int *f(void) { return 7; }\n"},
    ),
    "gcc and a processor": Tool(
        "march-unknown", "gcc -march=no-such-one -c a.c", {"a.c": "int x;\n"}
    ),
    "gcc and sys_errlist": Tool(
        "sys-errlist",
        "gcc -c a.c",
        {"a.c": "#include <stdio.h>\nconst char *f(int n) { return sys_errlist[n]; }\n"},
    ),
    "gcc and copy_file_range": Tool(
        "copy-file-range",
        "gcc -D_GNU_SOURCE -c a.c",
        {"a.c": "#include <unistd.h>\nstatic void copy_file_range(const char *p) { (void)p; }\n"},
    ),
    "gcc and an undeclared function": Tool(
        "implicit-function",
        "gcc -Werror=implicit-function-declaration -c a.c",
        {"a.c": "int f(void) { return g(); }\n"},
    ),
    "g++ and a value too large": Tool("narrowing", "g++ -c a.cc", {"a.cc": "char a[] = {200};\n"}),
    "gcc and -Werror": Tool(
        "warnings-are-errors", "gcc -Wall -Werror -c a.c", {"a.c": "void f(void) { int x; }\n"}
    ),
    "gcc and a full disk": Tool("disk-full", "cat a.c > /dev/full", {"a.c": "int x;\n" * 9000}),
    "ld and a library": Tool(
        "cannot-find-library", "gcc a.c -lno_such", {"a.c": "int main(void) { return 0; }\n"}
    ),
    "ld and two variables": Tool(
        "multiple-definition",
        "gcc -fno-common a.c b.c",
        {"a.c": "int x;\nint main(void) { return 0; }\n", "b.c": "int x;\n"},
    ),
    "make and a file": Tool("no-rule", "make -f m", {"m": "all: gone.c\n"}),
    "perl and a module": Tool(
        "perl-module", "perl a.pl", {"a.pl": "use No::Such::Module;\n"}, ("perl",)
    ),
    "tar and half an archive": Tool(
        "archive-cut-short",
        "tar cf - big | gzip > a.tgz && head -c 300 a.tgz > b.tgz && tar xzf b.tgz",
        {"big": "".join(str(n) for n in range(20000))},
    ),
    "cmake and its version": Tool(
        "cmake-too-old",
        "cmake -S . -B b",
        {"CMakeLists.txt": "cmake_minimum_required(VERSION 99.0)\n"},
        ("cmake",),
    ),
    "cmake and Boost": Tool(
        "boost-place",
        "cmake -S . -B b",
        {"CMakeLists.txt": _CMAKE + "find_package(Boost 1.59 EXACT REQUIRED)\n"},
        ("cmake",),
    ),
    "cmake and a submodule": Tool(
        "bundled-submodule",
        "mkdir empty; cmake -S . -B b",
        {"CMakeLists.txt": _CMAKE + "add_subdirectory(empty)\n"},
        ("cmake",),
    ),
    "cmake and no compiler": Tool(
        "compiler-absent",
        "CC=/none/cc cmake -S . -B b",
        {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.5)\nproject(x C)\n"},
        ("cmake",),
    ),
}
#: Old C and C++ as the engines had it, by what a compiler of today says of it.
_OLD_C = {
    "openssl-opaque": "typedef struct dh_st DH;\nint f(DH *d) { return d->length; }\n",
    "llvm-api": "int LLVMBuildCall(int, int);\nint f(void) { return LLVMBuildCall(1); }\n",
    "icu-true-false": "int f(void) { return TRUE; }\n",
    "perl-core-header": "#include <EXTERN.h>\n",
    "assembler-unknown": '__asm__("no_such_instruction");\n',
    "undefined-atomic": "_Atomic __int128 x;\nint main(void) { return (int)x; }\n",
}
_OLD_CXX = {
    "icu-signatures": "int u_count(int);\nint f() { return u_count(); }\n",
    "fips-mode": "int f() { return FIPS_mode(); }\n",
}
TOOLS |= {f"gcc and {it}": Tool(it, "gcc a.c", {"a.c": text}) for it, text in _OLD_C.items()}
TOOLS |= {f"g++ and {it}": Tool(it, "g++ -c a.cc", {"a.cc": text}) for it, text in _OLD_CXX.items()}
TOOLS |= {
    "make and open files": Tool("too-many-files", "ulimit -n 4; make -j2 -f /dev/null", {}),
    "perl and a locale": Tool("locale", "LC_ALL=xx_XX.UTF-8 perl -e 'exit 1'", {}, ("perl",)),
    "bison and its version": Tool(
        "generator-too-old", "bison a.y", {"a.y": '%require "99.1"\n%%\na: ;\n'}, fetched="bison"
    ),
}
