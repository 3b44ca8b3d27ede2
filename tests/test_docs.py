"""The docs are what the code says: commands exist, terms are explained, the reference is fresh."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import pytest

from dyno.compare.experiments import every
from dyno.plugins import modules

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = runpy.run_path(str(ROOT / "tools" / "reference.py"))
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/GLOSSARY.md"]


@pytest.mark.parametrize("name,text", REFERENCE["pages"]().items())
def test_the_reference_is_what_the_code_says(name: str, text: str) -> None:
    path = REFERENCE["FOLDER"] / name
    assert path.exists(), f"docs/reference/{name} is missing: run `make docs`"
    assert path.read_text() == text, f"docs/reference/{name} is stale: run `make docs`"


@pytest.mark.parametrize("name", REFERENCE["BY_HAND"])
def test_figures_in_the_documents_are_those_of_the_code(name: str) -> None:
    text = (ROOT / name).read_text()
    assert text == REFERENCE["with_figures"](text), f"{name} is stale: run `make docs`"


def test_the_table_of_packages_is_that_of_the_rules() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert "| package | is | knows |" in text
    assert text == REFERENCE["with_packages"](text), "run `make docs`"


def test_every_figure_stands_in_a_document() -> None:
    text = "".join((ROOT / name).read_text() for name in REFERENCE["BY_HAND"])
    gone = [words for words in REFERENCE["figures"]() if not re.search(words, text)]
    assert not gone, f"no document says {gone}: tools/reference.py looks for them"


def test_a_figure_that_is_wrong_is_mended() -> None:
    wrong = "Its 7 audits hold the driver's ledger. Looks at 1 and 2 blocks. `--gate`: 0 x, 9 y;"
    mended = REFERENCE["with_figures"](wrong)
    assert f"Its {len(modules('dyno.judge.audits'))} audits hold" in mended
    assert "1 slower, 2 inconclusive" in mended and "Looks at 1 and" not in mended


def test_every_command_in_the_readme_exists() -> None:
    from dyno.cli import command

    readme = (ROOT / "README.md").read_text()
    used = set(re.findall(r"^\$? ?(?:\.venv/bin/)?dyno ([a-z]+)", readme, re.MULTILINE))
    assert used, "the README shows no command"
    assert used <= set(command.commands), f"no such command: {used - set(command.commands)}"


def test_every_experiment_that_the_documents_name_comes_along() -> None:
    text = "".join((ROOT / name).read_text() for name in [*DOCUMENTS, "tools/demo"])
    used = set(re.findall(r"dyno (?:run|plan) ([a-z0-9][\w.-]+)", text))
    assert used, "no document plays an experiment"
    assert used <= set(every()), f"no such experiment: {used - set(every())}"


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in DOCUMENTS:
        used = set(re.findall(r"(?:^|`)make (\w+)", (ROOT / name).read_text(), re.MULTILINE))
        assert used <= targets, f"{name}: no make target {used - targets}"


def test_every_file_that_a_document_names_exists() -> None:
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        links = re.findall(r"\]\(([^)#:]+)\)", text)
        gone = [link for link in links if not (ROOT / name).parent.joinpath(link).exists()]
        assert not gone, f"{name} links to {gone}"


#: Whatever cites a document: code, tests, documents; a changelog tells of what is gone.
CITING = ("src", "crates", "tests", "docs", "bench", "*.md")
ROOTS = (ROOT, ROOT / "docs")
WRITTEN = {".py", ".rs", ".lua", ".md", ".c"}
#: What a comment puts between two words of a citation at a line's end.
BREAK = re.compile(r"\s*\n[\s#/!:*-]*")


def cited() -> dict[str, str]:
    """Every text that may cite a document, a citation's words on one line, by file."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *CITING]
    done = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    files = {ROOT / name for name in done.stdout.splitlines()} - {ROOT / "CHANGELOG.md"}
    return {
        str(file.relative_to(ROOT)): BREAK.sub(" ", file.read_text())
        for file in sorted(files)
        if file.suffix in WRITTEN and file.is_file() and file != Path(__file__).resolve()
    }


def test_every_citation_of_the_method_names_a_section_that_exists() -> None:
    """`METHOD.md` alone, or `METHOD.md, ` and a heading's words up to its colon."""
    method = (ROOT / "docs" / "METHOD.md").read_text()
    heads = [head.partition(":")[0] for head in re.findall(r"^## (.+)$", method, re.MULTILINE)]
    wrong = [
        f"{file}: METHOD{rest}"
        for file, text in cited().items()
        for rest in re.findall(r"\bMETHOD((?:\.md)?,? \d+|\.md, [A-Z][^.)]{0,40})", text)
        if not rest.startswith(tuple(f".md, {head}" for head in heads))
    ]
    assert not wrong, f"sections of METHOD.md are {heads}"


def test_every_document_that_is_cited_exists() -> None:
    """By its path from the repository's root, from `docs/`, or from the citing file's folder."""
    wrong = [
        f"{file}: {name}"
        for file, text in cited().items()
        for name in re.findall(r"(?<![\w/.-])[\w][\w/.-]*\.md\b", text)
        if not any(
            (place / name).is_file() for place in (ROOT, ROOT / "docs", (ROOT / file).parent)
        )
    ]
    assert not wrong


@pytest.mark.parametrize("room", ["host.controls", "host.probes", "judge.audits", "engines"])
def test_everything_in_a_room_is_documented_by_its_own_file(room: str) -> None:
    for name, module in modules(f"dyno.{room}").items():
        assert module.__doc__, f"{room}/{name} says nothing of itself"


def test_the_glossary_is_in_the_words_of_the_code() -> None:
    glossary = (ROOT / "docs" / "GLOSSARY.md").read_text().lower()
    files = (ROOT / "src" / "dyno" / "record").glob("*.py")
    words = re.findall(r"class (\w+)", "".join(path.read_text() for path in files))
    core = {"Metric", "Tally", "Reading", "Trial", "Candidate", "Run", "Verdict", "Finding"}
    assert core <= set(words)
    assert not [word for word in core if f"**{word.lower()}**" not in glossary]


def test_make_without_a_target_lists_the_targets() -> None:
    said = subprocess.run(
        ["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20
    )
    assert "make demo" in said.stdout
    assert "make test" in said.stdout


THREATS = ROOT / "docs" / "decisions" / "0001-threat-model.md"
#: Each row says somebody, a door, what must not happen, what stops it, and the test that holds it.
THREAT_HEAD = ["who", "door", "must not", "what stops it", "held by"]
#: Of the page, as it would be printed.
THREAT_WORDS_MAX = 1200


def threats() -> list[list[str]]:
    """The rows of the threat model's tables."""
    lines = [line for line in THREATS.read_text().splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [row for row in found if row != THREAT_HEAD and set("".join(row)) != {"-"}]


def names_of_tests() -> set[str]:
    """Every test, and every file of tests, of both languages."""
    python = [*(ROOT / "tests").rglob("test_*.py")]
    names = {path.stem for path in python}
    for path in python:
        names |= set(re.findall(r"def (test_\w+)", path.read_text()))
    for path in (ROOT / "crates").rglob("*.rs"):
        names |= set(re.findall(r"#\[test\]\s+(?:#.*\s+)*fn (\w+)", path.read_text()))
    return names


def test_the_threat_model_is_a_page() -> None:
    assert len(threats()) > 10
    assert len(THREATS.read_text().split()) <= THREAT_WORDS_MAX


def test_each_row_of_the_threat_model_names_a_test_that_there_is() -> None:
    known = names_of_tests()
    for row in threats():
        assert len(row) == len(THREAT_HEAD) and all(row), f"not five full columns: {row}"
        named = set(re.findall(r"`(\w+)`", row[-1]))
        assert named, f"no test holds {row[:3]}"
        assert named <= known, f"there is no test {named - known}"
