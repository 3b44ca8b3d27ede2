"""Stand-ins for MySQL's old trees: small, and failing with today's tools as the real ones do.

`cmake/ssl.cmake` reads OpenSSL's version from a line that OpenSSL 3 does not have, and blames a
missing package; the server uses `register`, which C++17 has not; Facebook's names a file of
RocksDB's that only RocksDB's own Makefile makes. As in the real ones `storage/` and `plugin/` have
no Makefile of their own, and clients and test plugins do not compile.
"""

from __future__ import annotations

from pathlib import Path

LISTS = """cmake_minimum_required(VERSION 3.5)
project(MySQL C CXX)
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -pedantic-errors")
list(APPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/cmake)
include(ssl)
MYSQL_CHECK_SSL()
add_subdirectory(sql)
add_subdirectory(sql/share)
file(GLOB plugins storage/*/CMakeLists.txt plugin/*/CMakeLists.txt)
foreach(plugin ${plugins})
  get_filename_component(plugin ${plugin} DIRECTORY)
  add_subdirectory(${plugin})
endforeach()
add_subdirectory(scripts)
add_subdirectory(client)
"""
SQL = """add_executable(mysqld mysqld.cc)
{more}
install(TARGETS mysqld DESTINATION bin)
"""
SHARE = "install(DIRECTORY english DESTINATION share)\n"
PLUGIN = "add_library({0} MODULE {0}.c)\ninstall(TARGETS {0} DESTINATION lib/plugin)\n"
#: A client that no compiler of today's compiles: who plays servers has no use for it.
CLIENT = "add_executable(mysqltest mysqltest.cc)\ninstall(TARGETS mysqltest DESTINATION bin)\n"
SSL = """macro(FATAL_SSL_NOT_FOUND_ERROR)
  message(FATAL_ERROR "Please install the appropriate openssl developer package.\\n")
endmacro()
macro(MYSQL_CHECK_SSL)
  file(STRINGS "${CMAKE_SOURCE_DIR}/opensslv.h" LINE REGEX "define OPENSSL_VERSION_NUMBER +0x[0-9]")
  string(REGEX REPLACE ".*0x([0-9]).*" "\\\\1" OPENSSL_MAJOR_VERSION "${LINE}")
  if(OPENSSL_MAJOR_VERSION STREQUAL "1")
    set(OPENSSL_FOUND TRUE)
  else()
    FATAL_SSL_NOT_FOUND_ERROR()
  endif()
endmacro()
"""
#: What OpenSSL 3 says of its version, in so far as it matters.
OPENSSL_3 = """#define OPENSSL_VERSION_MAJOR 3
#define OPENSSL_VERSION_NUMBER ((OPENSSL_VERSION_MAJOR<<28) | 0x0L)
"""
SERVER = """#include <cstdio>
int main() {
  register int major = MAJOR;
  std::printf("mysqld  Ver %d.MINOR\\n", major);
  return 0;
}
"""
ROCKSDB = """add_library(rocksdb STATIC
  ${CMAKE_SOURCE_DIR}/rocksdb/util/build_version.cc
)
"""
MORE = "target_link_libraries(mysqld rocksdb)"
USES_ROCKSDB = """extern const char* rocksdb_build_git_sha;
const char* revision() { return rocksdb_build_git_sha; }
"""


def mysql_tree(folder: Path, version: str, *, facebook: bool = False) -> Path:
    """A stand-in for MySQL's tree of a version, or Facebook's."""
    major, minor, patch = version.split(".")
    more = MORE if facebook else ""
    server = SERVER.replace("MAJOR", major).replace("MINOR", f"{minor}.{patch}")
    files = {
        "VERSION": "".join(
            f"MYSQL_VERSION_{name}={value}\n"
            for name, value in (("MAJOR", major), ("MINOR", minor), ("PATCH", patch))
        ),
        "CMakeLists.txt": LISTS,
        "sql/CMakeLists.txt": SQL.format(more=more),
        "plugin/semisync/CMakeLists.txt": PLUGIN.format("semisync"),
        "plugin/semisync/semisync.c": "int semisync;\n",
        "plugin/test_services/CMakeLists.txt": PLUGIN.format("test_services"),
        "plugin/test_services/test_services.c": "#error no run needs it\n",
        "scripts/CMakeLists.txt": "",
        "client/CMakeLists.txt": CLIENT,
        "client/mysqltest.cc": "std::string label;\n",
        "cmake/ssl.cmake": SSL,
        "opensslv.h": OPENSSL_3,
        "sql/mysqld.cc": server + (USES_ROCKSDB if facebook else ""),
        "sql/share/CMakeLists.txt": SHARE,
        "sql/share/english/errmsg.sys": "",
    }
    files |= {"storage/rocksdb/CMakeLists.txt": ROCKSDB} if facebook else {}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
