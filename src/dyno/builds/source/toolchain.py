"""What this machine builds with: compilers, tools, jobs, and the environment of all steps."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, deb, suite_tree
from dyno.builds.source.recipe import BuildCost, BuildRecipe, parse_version
from dyno.builds.suite_tree import SuiteProgram
from dyno.errors import HostError, build_unknown_error

#: Tools that write what is compiled, or choose its flags: another release makes another program.
GENERATORS = ("cmake", "bison", "flex")
#: Compilers that are fetched by name, and the suite of Debian that has each; and the programs that
#: one calls.
COMPILERS = {"gcc-9": "bullseye", "gcc-10": "bullseye", "gcc-11": "bookworm"}
COMPILERS |= {"gcc-12": "bookworm", "gcc-13": "trixie", "gcc-14": "trixie", "gcc-15": "sid"}
COMPILERS |= {"clang-11": "bullseye", "clang-14": "bookworm", "clang-16": "bookworm"}
COMPILERS |= {"clang-19": "bookworm"}
PARTS = ("cc1", "cc1plus", "collect2", "lto1", "lto-wrapper")
#: What a program may take to tell its version.
VERSION_S = 60.0
#: Variables of the user's that would change a build without being told of.
DROPPED = {
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "MFLAGS",
    "DESTDIR",
    "MAKELEVEL",
}
#: Where a compiler looks for OpenSSL's version.
OPENSSL_HEADERS = ("/usr/include/openssl/opensslv.h", "/usr/local/include/openssl/opensslv.h")
MB = 1 << 20


@dataclass(frozen=True)
class Toolchain:
    """Compilers as commands, their version lines, jobs, and the environment of all steps.

    `versions` are those of what a diagnosis may need: `gcc`, `cmake`, `openssl`, …. `fetched` are
    packages that bring what the machine lacks, `generators` the version lines of its own of
    `GENERATORS`: they decide what comes out.
    """

    cc: str
    cxx: str
    compiler: str
    jobs: int
    environment: Mapping[str, str]
    cxx_compiler: str = ""
    fetched: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    ccache: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)


def find_toolchain(recipe: BuildRecipe, say: Say, wanted: str = "") -> Toolchain:
    """Return the machine's compilers (`$CC`, `$CXX`), or those of `COMPILERS` that are `wanted`;
    and tools, fetched if it has none of its own.

    `HostError` if a compiler or a tool is absent and cannot be fetched.
    """
    cc, cxx = os.environ.get("CC") or "cc", os.environ.get("CXX") or "c++"
    if wanted:
        cc, cxx = fetch_compiler(wanted, say, is_cxx=recipe.is_cxx)
    compiler, cxx_compiler = (_read_first_line(it.split()) for it in (cc, cxx))
    if wanted.startswith("gcc"):  # its own name has the number too
        compiler = f"gcc {compiler.partition(' ')[2]}"
        cxx_compiler = f"g++ {cxx_compiler.partition(' ')[2]}"
    if not compiler:
        hint = "install gcc or clang (Debian: build-essential), or set CC to a compiler"
        raise HostError(f"no C compiler: {cc} does not run", hint=hint)
    environment = {k: v for k, v in os.environ.items() if k not in DROPPED} | {"LC_ALL": "C"}
    found, fetched = _find_tools(recipe, say)
    environment |= found
    for program in recipe.needs:
        if shutil.which(program, path=environment["PATH"]) is None:
            raise HostError(
                f"cannot build {recipe.title}: no {program} on PATH", hint=_install(program)
            )
    cached = shutil.which("ccache") is not None
    before = "ccache " if cached else ""
    cores, cost = len(os.sched_getaffinity(0)), recipe.cost
    used = {*recipe.needs, *recipe.tools}
    return Toolchain(
        cc=before + cc,
        cxx=before + cxx,
        compiler=compiler,
        jobs=max(1, min(cores, cost.jobs_most, read_available_mb() // cost.memory_mb)),
        environment=environment,
        cxx_compiler=cxx_compiler if recipe.is_cxx else "",
        fetched=fetched,
        generators=tuple(filter(None, (_read_first_line([it]) for it in GENERATORS if it in used))),
        ccache=cached,
        versions=_read_versions(compiler),
    )


def fetch_compiler(name: str, say: Say, *, is_cxx: bool) -> tuple[str, str]:
    """Return the commands of a C and a C++ compiler, fetched from the suite that has them; they
    compile against this system's headers and libraries, and link by its linker.

    `UsageError` for one that no suite has, `HostError` if it cannot be had or cannot link C++ here.
    """
    if name not in COMPILERS:
        raise build_unknown_error("compiler to fetch", name, COMPILERS)
    kind, number = name.split("-")
    if kind == "clang":
        return _fetch_clang(COMPILERS[name], number, say)
    return _fetch_gcc(COMPILERS[name], number, say, is_cxx=is_cxx)


def _fetch_clang(suite: str, number: str, say: Say) -> tuple[str, str]:
    """A clang brings its own headers alone: it takes the C++ library from this system's gcc."""
    home = f"usr/lib/llvm-{number}/bin"
    packages = (f"clang-{number}", f"libclang-common-{number}-dev")
    tree = suite_tree.fetch_tree(SuiteProgram(suite, packages, (f"{home}/clang",)), "", say)
    return str(tree.folder / home / "clang"), str(tree.folder / home / "clang++")


def _fetch_gcc(suite: str, number: str, say: Say, *, is_cxx: bool) -> tuple[str, str]:
    target = f"{platform.machine()}-linux-gnu"
    # since 13 the compiler itself lies in a package of its target's name
    tail, folder = ("", "lib") if int(number) < 13 else (f"-{target.replace('_', '-')}", "libexec")
    front = [f"{it}-{number}{tail}" for it in ("gcc", "g++", "cpp")]
    libraries = [f"{it}-{number}-dev" for it in ("libgcc", "libstdc++")]
    drivers = [f"usr/bin/{target}-{it}-{number}" for it in ("gcc", "g++")]
    inner = [f"usr/{folder}/gcc/{target}/{number}/{it}" for it in PARTS]
    program = SuiteProgram(suite, (*front, *libraries), (*drivers, *inner))
    tree = suite_tree.fetch_tree(program, "", say)
    theirs = parse_version(suite_tree.strip_packaging(tree.packages[suite_tree.C_LIBRARY]))
    ours = parse_version((os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2])
    if is_cxx and theirs > ours:
        cause = f"its C++ library is of {suite}, whose C library is newer than this system's"
        hint = "it compiles C; of C++ take an older one, or a clang, which uses this system's"
        raise HostError(f"gcc-{number} cannot link C++ here", cause=cause, hint=hint)
    # the system's linker cannot load a plugin of another release
    cc, cxx = (f"{tree.folder / it} -fno-use-linker-plugin" for it in drivers)
    return cc, cxx


def read_available_mb() -> int:
    """Return the memory that is available now without swapping."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) >> 10 if found else 1 << 20


def check_space(folder: Path, cost: BuildCost) -> None:
    """Raise `HostError` if the disk of `folder` has not the room that the build takes."""
    free_mb = shutil.disk_usage(folder).free // MB
    if free_mb < cost.disk_mb:
        hint = "free some (dyno clean), or set DYNO_CACHE to another disk"
        what = f"the build takes up to {cost.disk_mb} MB, and {folder} has {free_mb} MB free"
        raise HostError(what, hint=hint)


def _find_tools(recipe: BuildRecipe, say: Say) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment in which tools and headers that were fetched are found, and what brings them;
    only the path where none was. They are Debian's packages, unpacked: a tool finds its own files
    by a variable.
    """
    path = os.environ.get("PATH", os.defpath)
    lacking = {
        name: recipe.tools[name] for name in recipe.tools if not shutil.which(name, path=path)
    }
    headers = {n: recipe.headers[n] for n in recipe.headers if not Path("/usr/include", n).exists()}
    told, fetched = {"PATH": path}, []
    if lacking:
        usr, packages = _fetch_packages(recipe, lacking, say)
        fetched.append(packages)
        told = {"PATH": f"{usr / 'bin'}:{path}", "BISON_PKGDATADIR": str(usr / "share/bison")}
        told |= {"M4": str(usr / "bin" / "m4")} if (usr / "bin" / "m4").exists() else {}
        told |= {"LD_LIBRARY_PATH": ":".join(map(str, sorted(usr.glob("lib/*-linux-gnu"))))}
    if headers:
        usr, packages = _fetch_packages(recipe, headers, say)
        fetched.append(packages)
        told |= {"CPATH": str(usr / "include"), "CMAKE_PREFIX_PATH": str(usr)}
        told |= {"LIBRARY_PATH": ":".join(map(str, sorted(usr.glob("lib/*-linux-gnu"))))}
    return told, tuple(fetched)


def _fetch_packages(
    recipe: BuildRecipe, lacking: Mapping[str, Sequence[str]], say: Say
) -> tuple[Path, str]:
    """The `usr` of the packages that bring what this machine lacks, and their names: the first's
    version tells those beside it, which were fetched with it.
    """
    first, *beside = dict.fromkeys(package for packages in lacking.values() for package in packages)
    try:
        version = deb.find_installable_version(first, say)
        folder = deb.fetch(first, version, say, beside)
    except HostError as why:
        name = next(iter(lacking))
        hint = f"{_install(name)}; {why.message}"
        raise HostError(f"cannot build {recipe.title}: no {name} here", hint=hint) from why
    return folder / "usr", " ".join([first, version, *beside])


def _install(program: str) -> str:
    return f"install {program}, with your system's packages"


def _read_versions(compiler: str) -> dict[str, str]:
    """Return versions of what diagnoses ask for; one that is absent has none."""
    found = {
        "cmake": _format_number(_read_first_line(["cmake"])),
        "openssl": _read_openssl_version(),
        "gcc": _format_number(compiler.rpartition(")")[2]) if "clang" not in compiler else "",
    }
    return {name: version for name, version in found.items() if version}


def _read_openssl_version() -> str:
    """The version in the header that a compiler reads: since 3.0 by parts, before as one number."""
    for place in OPENSSL_HEADERS:
        try:
            text = Path(place).read_text(errors="replace")
        except OSError:
            continue
        major = re.search(r"define\s+OPENSSL_VERSION_MAJOR\s+(\d+)", text)
        minor = re.search(r"define\s+OPENSSL_VERSION_MINOR\s+(\d+)", text)
        if major and minor:
            return f"{major[1]}.{minor[1]}"
        if old := re.search(r"OPENSSL_VERSION_NUMBER\s+0x(\d)0(\d)", text):
            return f"{old[1]}.{old[2]}"
    return ""


def _format_number(text: str) -> str:
    found = re.search(r"(?<!\d)\d++(?:\.\d++)+", text)
    return found[0] if found else ""


def _read_first_line(command: Sequence[str]) -> str:
    try:
        done = subprocesses.run([*command, "--version"], VERSION_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.strip().splitlines() or [command[0]])[0]
