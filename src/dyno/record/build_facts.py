"""How a build was made, read from a candidate's record: what its loose keys and a server's own
report tell of compiler, flags and options, typed. What nobody told is empty, and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

#: Flags that change what is said of a program and not the program.
SILENT = re.compile(r"-W.*|-g\d?|-f(?:debug|file|macro)-prefix-map=.*|-D.*|-I.*|-pipe")
LEVEL = re.compile(r"(?:^|\s)(-O\S*)")
#: Compilers' names and releases, without who packed them.
COMPILER = re.compile(
    r"(gcc|g\+\+|clang|cc)\b[^\d]{0,60}?(?:\([^)]{0,80}\)\s{0,9})?(\d+(?:\.\d+)*)", re.I
)
#: SQLite's own words of its compiler.
COMPILED_BY = re.compile(r"\bCOMPILER=(\S+)")
#: Options of a build that a program reports, by what they are: the report's name.
REPORTED = {"machine": "version_compile_machine", "allocator": "version_malloc_library"}
#: The commit at the end of what a build's record says of its source in git, in records that have
#: no more of it.
COMMIT = re.compile(r"^git .* \(([0-9a-f]{12})\)$")
#: An address that a page may link to; records may be anybody's.
REPOSITORY = re.compile(r"https?://[\w.-]+(?::\d+)?/[\w./~-]+")
HASH = re.compile(r"[0-9a-f]{7,64}")
#: So much of a hash tells commits apart.
HASH_LETTERS = 12
THREADS = re.compile(r"\b(THREADSAFE=\d)")
#: PostgreSQL's words for configure, as its view `pg_config` has them, and what it can by them.
CONFIGURED = "built with CONFIGURE"
ABILITIES = {
    "JIT": ("--with-llvm", "compiles expressions of large queries"),
    "LZ4": ("--with-lz4", "compresses long values and the log by LZ4"),
    "ZSTD": ("--with-zstd", "compresses the log and backups by Zstandard"),
    "ICU": ("--with-icu", "sorts by ICU's collations"),
    "TLS": ("--with-(?:open)?ssl", "encrypts connections"),
    "NUMA": ("--with-libnuma", "knows where memory lies"),
    "io_uring": ("--with-liburing", "reads by io_uring"),
    "PAM": ("--with-pam", "asks PAM for passwords"),
}


@dataclass(frozen=True)
class BuildFacts:
    """`compiler` and its release; `flags` that change the program; `level`, the optimisation;
    `source`, where it came from; `assertions` ("on", "off") and `instrumentation`; `options` by
    kind; `abilities`, of `ABILITIES`, None if the program does not tell them. `by_suite` says that
    the compiler is the one of the distribution's release, since the program does not name its own.
    """

    compiler: str = ""
    compiler_version: str = ""
    flags: frozenset[str] = frozenset()
    level: str = ""
    source: str = ""
    assertions: str = ""
    instrumentation: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    abilities: frozenset[str] | None = None
    by_suite: bool = False

    @property
    def tells_how(self) -> bool:
        """Is anything known of how it was compiled? That it carries no assertions is not enough."""
        return bool(self.compiler or self.level or self.flags or self.instrumentation)

    def list_differences(self, other: BuildFacts) -> list[str]:
        """What of both is known and differs: the compiler, the flags, an option."""
        found = [] if _is_like(self, other) else ["compiler"]
        mine, others = self.flags or {self.level}, other.flags or {other.level}
        if all(mine) and all(others) and mine != others:
            found.append("flags")
        both = self.options.keys() & other.options.keys()
        return found + sorted(kind for kind in both if self.options[kind] != other.options[kind])

    def __str__(self) -> str:
        told = " (its suite's)" if self.by_suite else ""
        compiler = f"{self.compiler} {self.compiler_version}{told}" if self.compiler else ""
        return " ".join(filter(None, (compiler, self.level)))


def find_commit(build: Mapping[str, str]) -> str:
    """Return the first letters of the hash of a build's commit; empty if it is not from git."""
    found = COMMIT.search(build.get("source", ""))
    return build.get("commit", "")[:HASH_LETTERS] or (found[1] if found else "")


def describe_commit(build: Mapping[str, str]) -> str:
    """Return `1a2b3c4d5e6f, the first line of its message`; empty if it is not from git."""
    return ", ".join(filter(None, (find_commit(build), build.get("subject", ""))))


def link_commit(build: Mapping[str, str]) -> str:
    """Return where the commit can be looked at; empty if its repository has no known address."""
    repository, commit = build.get("repository", ""), build.get("commit", "")
    is_known = REPOSITORY.fullmatch(repository) and HASH.fullmatch(commit)
    return f"{repository}/commit/{commit}" if is_known else ""


def read_build_facts(
    build: Mapping[str, str], reported: Mapping[str, str] | None = None
) -> BuildFacts:
    """The facts in `Candidate.build`, and in what its server reports (`Trial.settings`).

    Who compiled the program here knows better than what its file tells.
    """
    known = {**(reported or {}), **build}
    options = known.get("compile_options", "")
    named = known.get("compiler") or "".join(COMPILED_BY.findall(options)[:1])
    suite = "" if named else known.get("suite_compiler", "")
    compiler, release = _read_compiler(named or suite)
    own = [value for name, value in known.items() if name.lower().endswith("cflags") and value]
    flags = known.get("flags") or (own[0] if own else "")
    level = known.get("optimisation") or (LEVEL.findall(own[0] if own else flags) or [""])[-1]
    level = level or ("-O0" if own else "")
    kinds = {kind: known[name] for kind, name in REPORTED.items() if known.get(name)}
    if threads := THREADS.search(options):
        kinds["threads"] = threads[1]
    return BuildFacts(
        compiler=compiler,
        compiler_version=release,
        flags=frozenset(each for each in flags.split() if not SILENT.fullmatch(each)),
        level=level,
        source=known.get("source", ""),
        assertions=known.get("assertions", ""),
        instrumentation=known.get("instrumentation", ""),
        options=kinds,
        abilities=read_configured_abilities(
            known.get(CONFIGURED, ""), known.get("version") or known.get("server_version", "")
        ),
        by_suite=bool(suite and compiler),
    )


def read_configured_abilities(words: str, version: str) -> frozenset[str] | None:
    """Return what PostgreSQL's configure was told to build in, None if nothing is known; from 16 on
    ICU is, unless it is left out.
    """
    if not words:
        return None
    found = {name for name, (pattern, _) in ABILITIES.items() if re.search(pattern, words)}
    major = re.match(r"\d+", version)
    if major and int(major[0]) >= 16 and "--without-icu" not in words:
        found.add("ICU")
    return frozenset(found)


def _read_compiler(words: str) -> tuple[str, str]:
    found = COMPILER.search(words)
    if not found:
        return "", ""
    # Debian's `cc` is gcc, and so is the C++ compiler of the same release
    return ("clang" if "clang" in found[1].lower() else "gcc"), found[2]


def _is_like(one: BuildFacts, other: BuildFacts) -> bool:
    """Nothing known speaks against one compiler; a suite tells its release only in part."""
    if not (one.compiler and other.compiler):
        return True
    first, second = one.compiler_version.split("."), other.compiler_version.split(".")
    shared = min(len(first), len(second)) if one.by_suite or other.by_suite else None
    return one.compiler == other.compiler and first[:shared] == second[:shared]
