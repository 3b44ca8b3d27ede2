"""The rules, executable: each test is one rule, and none looks at behaviour."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest
import small_pieces
from figures import comments, figures, measurements, unused
from packages import FOLDERS, PACKAGES, SHARED

from dyno.runs.run_folder import load_instruments

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "dyno"
DRIVER = ROOT / "crates" / "driver" / "src"

LINE_LENGTH_MAX = 100
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
INTERFACE_METHODS_MAX = 5
DRIVER_WAY_MAX = 12
WAY_MAX = 25
#: The driver's packages: each may know those before it.
DRIVER_PACKAGES = ["plan", "schedule", "generate", "tally", "wire", "sessions", "dump", "script"]
DRIVER_PACKAGES += ["lua", "play", "commands"]
BANNED_MODULES = {"util", "utils", "common", "base", "manager", "helper", "helpers", "misc"}

#: Who may know the report, beside itself.
READERS = {"report", "pages", "cli"}

#: What tests may patch in the package, and why nothing is handed in.
PATCHED = {
    "deb.LISTS": "where the system keeps apt's lists: five functions would pass it on",
    "suites.KEYRINGS": "where the system keeps an archive's keys: six functions would pass it on",
    "inject.CONTROL.ensure_library": "what is preloaded, below whole trials of real servers",
    "judged_run.play_and_judge": "a whole comparison, below commands that click hands only words",
    "judged_run.tell_verdict": "a verdict that is doubtful on any host, below `dyno resume`",
}

RUST_FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([a-z]+\))? )?(?:unsafe )?(?:extern \S+ )?fn (\w+)")
#: The servers' interface for loadable functions is C's: one folder of the kit holds all of it.
UNSAFE_OF_KIT = {
    f"crates/kit/src/interface/{name}.rs"
    for name in ("mod", "entries", "exported", "hostile/mod", "states", "tests")
}
UNSAFE_ALLOWED = (
    {"wire/ring.rs", "plan/descriptors.rs"}
    | UNSAFE_OF_KIT
    | {
        f"sessions/{name}.rs"
        for name in (
            # a user's own engine is C, too: one file calls it
            "plugin/library",
            *("sqlite/library", "sqlite/connection", "sqlite/statement"),
            *(
                "duckdb/mod",
                "duckdb/library",
                "duckdb/statement",
                "duckdb/answer",
                "duckdb/appender",
            ),
        )
    }
)


@cache
def tracked(*patterns: str) -> list[Path]:
    """Files that git knows or would add, and that exist, by pattern."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def rust_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Functions by indentation, which `cargo fmt` makes reliable."""
    lines = path.read_text().splitlines()
    for start, line in enumerate(lines):
        found = "fn " in line and RUST_FUNCTION.match(line)
        if found and not line.endswith((";", "}")):
            close = found[1] + "}"
            end = next((n for n in range(start, len(lines)) if lines[n] == close), start)
            yield found[2], end - start + 1


def functions() -> Iterator[tuple[Path, str, int]]:
    for path in tracked("*.py"):
        yield from ((path, name, length) for name, length in python_functions(path))
    for path in tracked("*.rs"):
        yield from ((path, name, length) for name, length in rust_functions(path))


@cache
def imported(path: Path) -> list[str]:
    """What a file imports, name by name, wherever in the file the import stands."""
    names: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{shown(path)}:{node.lineno} is relative: say dyno."
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return names


def imports(path: Path) -> Iterator[str]:
    """The packages of ours that a file imports."""
    names = (name.split(".")[1:] for name in imported(path) if name.startswith("dyno."))
    yield from (package_named(parts) for parts in names)


def module_named(name: str, modules: Mapping[str, Path], separator: str) -> str:
    """The module that a name is, or stands in; empty where it is none of ours."""
    while name and name not in modules:
        name = name.rpartition(separator)[0]
    return name


def python_modules() -> dict[str, Path]:
    parts = {
        path: path.relative_to(PACKAGE.parent).with_suffix("").parts for path in package_files()
    }
    return {".".join(it).removesuffix(".__init__"): path for path, it in parts.items()}


def python_graph() -> dict[str, set[str]]:
    """Our modules, and for each those that it names in an import."""
    modules = python_modules()
    return {
        name: {module_named(it, modules, ".") for it in imported(path)} - {name, ""}
        for name, path in modules.items()
    }


def before_tests(path: Path) -> str:
    """A Rust file up to its first test: what follows may know the tests' helpers."""
    return re.split(r"#\[cfg\(test\)\]\n(?:#.*\n)*mod tests \{", path.read_text())[0]


def driver_paths(path: Path, module: str) -> Iterator[str]:
    """What a file of the driver names by `crate::` and `super::`, and its `mod` lines, from the
    crate's root."""
    code = re.sub(r"//.*", "", before_tests(path))
    yield from (f"{module}::{child}" for child in re.findall(r"^(?:pub )?mod (\w+);", code, re.M))
    for start, way, names in re.findall(
        r"\b(crate|super(?:::super)*)((?:::\w+)*)(?:::\{([^}]*)\})?", code
    ):
        home = module.split("::")[: -start.count("super")] if start != "crate" else []
        stem = "::".join([*home, *way.split("::")[1:]])
        yield from (f"{stem}::{it}".removeprefix("::") for it in re.split(r",\s*", names))


def driver_graph() -> dict[str, set[str]]:
    """The driver's modules in packages, tests aside, and for each those of its package that it
    names, but not the folders that it stands in: their `mod.rs` holds what all in them share."""
    modules = {
        "::".join(path.relative_to(DRIVER).with_suffix("").parts).removesuffix("::mod"): path
        for path in tracked("crates/driver/src/*/*.rs")
        if not {"tests", "tests.rs"} & set(path.relative_to(DRIVER).parts)
    }
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        package = module.split("::")[0]
        known = {module_named(it, modules, "::") for it in driver_paths(path, module)}
        known = {it for it in known if it.split("::")[0] == package}
        graph[module] = {it for it in known if not f"{module}::".startswith(f"{it}::")}
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A way from a node of the graph back to itself, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def package_named(parts: Sequence[str]) -> str:
    """The package of a module, by its name below `dyno`; a folder's own page is the folder's."""
    if parts[0] in FOLDERS and len(parts) > 1 and parts[1] != "__init__":
        return f"{parts[0]}/{parts[1]}"
    return parts[0]


def package_of(path: Path) -> str:
    return package_named(path.relative_to(PACKAGE).with_suffix("").parts)


def package_files() -> list[Path]:
    return [path for path in tracked("src/dyno/*.py") if path.parent.name != "src"]


def without_docstrings(path: Path) -> str:
    """The file's code; prose may give an engine as an example."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [s for s in node.body if not is_prose(s)] or [ast.Pass()]
    return ast.unparse(tree)


def is_prose(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def test_tools_and_benches_import_what_is_there() -> None:
    """mypy does not look at them, and most run in no test."""
    missing = []
    for path in tracked("tools/*.py", "bench/*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dyno":
                module = importlib.import_module(node.module or "")
                missing += [
                    f"{shown(path)}: {node.module}.{it.name}"
                    for it in node.names
                    if not hasattr(module, it.name) and not find_spec(f"{node.module}.{it.name}")
                ]
    assert not missing


def test_no_line_is_longer_than_the_page() -> None:
    long = [
        f"{shown(path)}:{number}"
        for path in tracked("*.py", "*.rs", "*.lua", "*.c", "tools/*")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LINE_LENGTH_MAX
    ]
    assert not long, f"over {LINE_LENGTH_MAX} characters: {long[:8]}"


def test_no_file_outgrows_a_sitting() -> None:
    lengths = {shown(p): len(p.read_text().splitlines()) for p in tracked("*.py", "*.rs", "*.lua")}
    large = {name: n for name, n in lengths.items() if n > FILE_LINES_MAX}
    assert not large, f"over {FILE_LINES_MAX} lines; something wants a file of its own: {large}"


def test_no_function_outgrows_the_screen() -> None:
    large = [f"{shown(p)}: {name} ({n})" for p, name, n in functions() if n > FUNCTION_LINES_MAX]
    assert not large, f"over {FUNCTION_LINES_MAX} lines: {large}"


def test_a_package_has_no_more_small_functions_and_modules_of_one_caller() -> None:
    named = small_pieces.count_names([tree_of(path) for path in tracked("src/*.py", "tests/*.py")])
    by_package: dict[str, list[str]] = {}
    for name, path in python_modules().items():
        small = [f"{name}.{it}" for it in small_pieces.small_functions(tree_of(path), named)]
        by_package.setdefault((name + "..").split(".")[1], []).extend(small)
    for name in small_pieces.small_modules(python_graph(), python_modules()):
        by_package[name.split(".")[1]].append(name)
    over = {
        it: found for it, found in by_package.items() if len(found) > small_pieces.MOST.get(it, 0)
    }
    assert not over, f"{ {it: len(found) for it, found in over.items()} }: {over}"
    assert len(by_package["engines"]) > 5, "they are not found"


def test_a_package_knows_only_whom_it_may() -> None:
    wrong = []
    for path in package_files():
        if package := PACKAGES.get(name := package_of(path)):
            strangers = set(imports(path)) - (package.knows | SHARED.keys() | {name})
            wrong += [f"{shown(path)} imports {it}, which {name} may not know" for it in strangers]
    assert not wrong


def test_packages_stand_above_those_that_they_know() -> None:
    lower: set[str] = set()
    for name, package in PACKAGES.items():
        assert package.knows <= lower, f"{name} knows {package.knows - lower}, which is not below"
        lower.add(name)


def test_every_package_is_listed_and_shared_files_know_only_each_other() -> None:
    found = {package_of(path) for path in package_files()} - {"__init__"} - FOLDERS
    assert found == PACKAGES.keys() | SHARED.keys()
    for name in SHARED:
        strangers = set(imports(PACKAGE / f"{name}.py")) - SHARED.keys()
        assert not strangers, f"{name} imports {strangers}"


def test_no_two_modules_know_each_other() -> None:
    graph = python_graph()
    assert graph["dyno.cli"], "the imports are not read"
    assert not (way := circle(graph)), f"a circle of modules: {' knows '.join(way)}"


def test_no_two_files_of_the_driver_know_each_other() -> None:
    graph = driver_graph()
    assert graph["wire::line"] >= {"wire::connect", "wire::tls"}, "the paths are not read"
    assert not (way := circle(graph)), f"a circle of files: {' knows '.join(way)}"


def test_no_two_files_of_the_kit_know_each_other() -> None:
    kit = ROOT / "crates" / "kit" / "src"
    modules = {
        "::".join(path.relative_to(kit).with_suffix("").parts).removesuffix("::mod"): path
        for path in tracked("crates/kit/src/*.rs")
        if not {"tests.rs", "hostile"} & set(path.relative_to(kit).parts)
    }
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        paths = re.findall(r"\bcrate::(\w[\w:]*)", before_tests(path))
        graph[module] = {module_named(it, modules, "::") for it in paths} - {module}
    assert graph["bounds"] >= {"fault", "interface::exported"}, "the paths are not read"
    assert not (way := circle(graph)), f"a circle of files: {' knows '.join(way)}"


def test_every_package_of_the_driver_has_its_row_in_the_architecture() -> None:
    tables = (ROOT / "ARCHITECTURE.md").read_text()
    files = [path.relative_to(DRIVER).parts for path in tracked("crates/driver/src/*")]
    assert {parts[0] for parts in files if len(parts) == 1} <= {"main.rs", "testing.rs"}
    packages = {parts[0] for parts in files if len(parts) > 1}
    rows = re.findall(r"^\| `src/.*$", tables, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`src/(\w+)/`", row.split("|")[1])]
    assert named == DRIVER_PACKAGES, "ARCHITECTURE.md has other packages, or in another order"
    assert set(named) == packages, (
        f"without a row: {packages - set(named)}; gone: {set(named) - packages}"
    )


def test_a_package_of_the_driver_knows_only_packages_above_it() -> None:
    for path in tracked("crates/driver/src/*.rs"):
        package, *rest = path.relative_to(DRIVER).parts
        code = before_tests(path)
        if rest and not {"tests", "tests.rs"} & set(rest):
            known = set(re.findall(r"\bcrate::(\w+)", code)) & set(DRIVER_PACKAGES)
            known |= set(re.findall(r"\b(\w+)", "".join(re.findall(r"use crate::\{(.*?)\}", code))))
            below = set(DRIVER_PACKAGES[DRIVER_PACKAGES.index(package) + 1 :])
            assert not known & below, (
                f"{shown(path)} knows {known & below}, which is below {package}"
            )


@pytest.mark.parametrize(
    ("title", "home", "most"),
    [
        ("### File by file", ROOT, WAY_MAX),
        ("### The way of a phase through the driver, file by file", DRIVER.parent, DRIVER_WAY_MAX),
    ],
)
def test_the_way_of_a_comparison_and_of_a_phase_is_a_list_of_files_that_exist(
    title: str, home: Path, most: int
) -> None:
    told = (ROOT / "ARCHITECTURE.md").read_text().split(title)[1].split("\n## ")[0]
    way = told.split("\n### ")[0]
    files = re.findall(r"^\d+\. `(\S+)`", way, re.MULTILINE)
    assert 0 < len(files) <= most
    missing = [name for name in files if not (home / name).is_file()]
    assert not missing, f"no longer there: {missing}"


def test_a_module_with_an_underscore_is_for_its_own_package() -> None:
    for path in package_files():
        own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for name in (it for it in imported(path) if it.startswith("dyno.")):
            private = re.match(r"(.*?)\._[^_.]", name)
            inside = not private or own.startswith(f"{private[1]}.")
            assert inside, f"{shown(path)} imports {name}: make it public, or move it"


def test_only_the_command_line_pages_and_an_instruments_entry_know_the_report() -> None:
    for path in package_files():
        known, own = set(imports(path)), package_of(path)
        is_entry = path.parent.parent.name == "instruments" and path.name == "__init__.py"
        assert own in READERS or is_entry or "report" not in known, (
            f"{shown(path)} knows the report"
        )
        assert own == "cli" or "cli" not in known, f"{shown(path)} knows the cli"


def test_modules_are_named_by_what_they_are() -> None:
    files = tracked("*.py", "*.rs", "*.lua")
    vague = [shown(p) for p in files if p.stem.lstrip("_") in BANNED_MODULES]
    assert not vague, f"these names say nothing: {vague}"


def test_only_the_command_line_prints_and_exits() -> None:
    outside = {"print", "sys.exit", "exit", "os._exit"}
    for path in (p for p in package_files() if package_of(p) != "cli"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in outside, f"{shown(path)}:{node.lineno} calls {called}"


def test_all_that_is_printed_passes_through_the_screen() -> None:
    around = re.compile(r"click\.(echo|secho|style|confirm|prompt)|std(out|err)(\.buffer)?\.write")
    for path in (p for p in package_files() if p.name != "screen.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and (found := around.search(ast.unparse(node))):
                raise AssertionError(f"{shown(path)}:{node.lineno} goes around by {found[0]}")
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Console"):
                fits = path.name == "verdict.py" and "StringIO" in path.read_text()
                assert fits, f"{shown(path)}:{node.lineno} makes a console of its own"


def test_an_interface_has_at_most_five_methods() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
                verbs = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
                assert len(verbs) <= INTERFACE_METHODS_MAX, (
                    f"{shown(path)}: {node.name} has {verbs}"
                )


def test_an_engine_is_named_only_at_home() -> None:
    found = {p.stem for p in (PACKAGE / "engines").iterdir() if p.stem[0] not in "_."}
    # two that are words of others, too: C's, and Maven's and MySQL's
    engines = found - {"null", "plugin", "recipes"}
    word = re.compile("|".join(sorted(engines)) or "$^", re.IGNORECASE)
    for path in package_files():
        # the kit is for servers of one family, and for no other; a watch asks each for its tables,
        # a profile for its statements, a copy for its schema, and answers know how each session's
        # texts quote; DuckDB makes and reads the file of an index
        if shown(path) == "src/dyno/answers/ordering.py":
            continue
        at_home = {f"servers/{it}" for it in ("kit", "watch", "profile", "copy")}
        if package_of(path) not in at_home | {"engines"}:
            named = word.findall(without_docstrings(path))
            assert not named, f"{shown(path)} names the engine {named[0]}; ask for a capability"


def test_unsafe_stands_only_where_a_library_is_opened() -> None:
    for path in tracked("*.rs"):
        if shown(path).removeprefix("crates/driver/src/") not in UNSAFE_ALLOWED:
            code = re.sub(r"//.*", "", path.read_text())
            assert not re.search(r"\bunsafe\s*(\{|fn|impl|extern)", code), f"{shown(path)}: unsafe"


def test_nothing_names_a_registry_host_or_a_path_of_one_machine() -> None:
    # the words are put together here so that this file does not hold them
    words = ["np" + "mjs.org", "py" + "pi.org", "repo1." + "maven", "static." + "crates.io"]
    words += ["index." + "crates.io", "proxy." + "golang", "deb." + "debian.org"]
    words += ["/wo" + "rk/", "/tmp/si" + "de/", "/fa" + "rm/"]
    for path in tracked("*"):
        if path.suffix not in {".lock", ".png"}:
            text = path.read_text(errors="replace")
            named = [word for word in words if word in text]
            assert not named, f"{shown(path)} names {named}"


def test_no_package_of_others_is_committed() -> None:
    packed = {".7z", ".bz2", ".deb", ".gz", ".jar", ".so", ".tgz", ".whl", ".xz", ".zip", ".zst"}
    assert not [shown(path) for path in tracked("*") if path.suffix in packed]


def test_a_variable_of_ours_and_the_kernels_locks_are_asked_for_in_one_file_each() -> None:
    asked: dict[str, set[str]] = {}
    for path in package_files():
        text = path.read_text()
        names = re.findall(r"""environ(?:\.get\(|\[)"(DYNO_\w+)""", text)
        names += re.findall(r"fcntl\.flock", text)
        for name in names:
            asked.setdefault(name, set()).add(shown(path))
    assert {"DYNO_RUNS", "DYNO_TMP", "fcntl.flock"} <= asked.keys(), "they are not found"
    several = {name: files for name, files in asked.items() if len(files) > 1}
    assert not several, f"each is answered in one place: {several}"


def test_every_module_says_what_it_is() -> None:
    for path in tracked("src/*.py", "tests/*.py", "bench/*.py", "tools/*.py"):
        doc = ast.get_docstring(tree_of(path))
        assert doc, f"{shown(path)} has no docstring"
        assert len(doc.splitlines()[0]) <= LINE_LENGTH_MAX
    for path in tracked("crates/*/src/*.rs"):
        assert path.read_text().startswith("//!"), f"{shown(path)} has no //! line"


def patched(path: Path) -> Iterator[str]:
    """What of the package a test replaces by `monkeypatch.setattr` or `=`, as `module.name`."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dyno":
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            ours = (alias for alias in node.names if alias.name.split(".")[0] == "dyno")
            names |= {alias.asname or "dyno" for alias in ours}
    for node in ast.walk(tree_of(path)):
        for assigned in node.targets if isinstance(node, ast.Assign) else ():
            name = ast.unparse(assigned)
            if isinstance(assigned, ast.Attribute) and name.split(".")[0] in names:
                yield name
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr":
            target, *rest = map(ast.unparse, node.args)
            word = ast.literal_eval(target) if target[0] in "'\"" else target
            attribute = f".{ast.literal_eval(rest[0])}" if word == target else ""
            if re.split(r"\W", word.removeprefix("type("))[0] in {*names, "dyno"}:
                yield word + attribute


def test_fakes_are_handed_in_and_not_patched_into_the_package() -> None:
    found = {name: shown(path) for path in tracked("tests/*.py") for name in patched(path)}
    strange = {name: where for name, where in found.items() if name not in PATCHED}
    assert not strange, f"give the code a parameter with a default instead: {strange}"
    assert set(found) == set(PATCHED), f"no longer patched: {set(PATCHED) - set(found)}"


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text()


def commented(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and docstrings of a file of the program, of Rust up to its tests."""
    end = len(before_tests(path).splitlines()) if path.suffix == ".rs" else None
    yield from ((number, text) for number, text in comments(path) if not end or number <= end)


def test_no_comment_holds_a_measurement() -> None:
    """Figures lie in docs/evidence, with their machine and command; limits and examples stay."""
    files = [path for path in tracked("src", "crates") if "/tests" not in shown(path)]
    files = [path for path in files if "/examples/" not in shown(path)]
    texts = [(shown(path), number, text) for path in files for number, text in commented(path)]
    wrong = [f"{name}:{n}: {it}" for name, n, text in texts for it in measurements(name, text)]
    assert not wrong, "move it to docs/evidence/code-choices.md, and link there"
    seen: dict[str, set[str]] = {}
    for name, _, text in texts:
        seen.setdefault(name, set()).update(figures(text))
    assert not unused(seen), "take it out of tests/figures.py"


def test_a_measurement_is_told_from_a_format_and_from_a_limit_that_is_listed() -> None:
    assert measurements("src/x.py", "# The call costs 80 ns here, 3 % of a row") == ["80 ns", "3 %"]
    assert not measurements("src/x.py", "# `200 ns`, the 95 % interval, version 8.0")
    assert not measurements("src/dyno/host/controls/thp.py", "pages of 2 MB")
    assert measurements("src/dyno/host/controls/thp.py", "which takes 3 MB") == ["3 MB"]


#: What knows a kind of run outside its instrument, its record, its judge, its document and its
#: command. A comparison may have counts of its own, which histories follow, too.
KNOW_A_KIND = {
    *("runs/run_folder.py", "compare/history/exact.py", "cli/judged_run.py"),
}
AT_HOME = re.compile(r"(record|judge|instruments|report)/|cli/(count|capacity|disk|profile)\.py")
OF_A_KIND = re.compile(
    r"dyno\.(judge\.|judge\.analysis\.|report\.|instruments\.|record\.)"
    r"(count\b|counts|capacity|disk\.(?!DeviceFacts)|disks|instructions)"
)


def compared_kinds(path: Path) -> Iterator[str]:
    """What a file holds a `kind` against that is the name of an instrument."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("kind"):
            found = {it.value for it in ast.walk(node) if isinstance(it, ast.Constant)}
            yield from map(str, found & {*load_instruments()})


def test_a_kind_of_run_is_named_only_at_home() -> None:
    found = {}
    for path in package_files():
        name = str(path.relative_to(PACKAGE))
        named = {it for it in imported(path) if OF_A_KIND.match(it)} | {*compared_kinds(path)}
        if named and not AT_HOME.match(name):
            found[name] = named
    assert found.keys() == KNOW_A_KIND, found
