"""The docs are what the code says: commands exist, terms are explained, the reference is fresh."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from dyno.plugins import load_modules
from dyno.runs.experiments import list_experiments

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = runpy.run_path(str(ROOT / "tools" / "reference.py"))
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/GLOSSARY.md"]


def test_the_reference_is_what_the_code_says() -> None:
    """Pages that are not committed are made all the same: of each thing something is said.

    By a process of its own: tests of commands leave their mark on help, such as a terminal's width.
    """
    told = "import json, runpy; print(json.dumps(runpy.run_path('tools/reference.py')['pages']()))"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    pages: dict[str, str] = json.loads(done.stdout)
    assert not [name for name, text in pages.items() if not text.startswith("# ")]
    committed = {name: REFERENCE["DOCS"] / name for name in pages if name in REFERENCE["COMMITTED"]}
    stale = [
        name for name, it in committed.items() if not it.exists() or it.read_text() != pages[name]
    ]
    assert not stale, f"run `make docs`: {stale}"


def test_of_the_reference_only_the_pages_for_users_are_committed() -> None:
    listing = ["git", "ls-files", "--", "docs/reference"]
    done = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    committed = {name for name in REFERENCE["COMMITTED"] if name.startswith("reference/")}
    assert set(done.stdout.split()) == {f"docs/{name}" for name in committed}


def test_figures_in_the_documents_are_those_of_the_code() -> None:
    texts = {name: (ROOT / name).read_text() for name in REFERENCE["BY_HAND"]}
    stale = [name for name, text in texts.items() if text != REFERENCE["with_figures"](text)]
    assert not stale, f"run `make docs`: {stale}"


def test_every_figure_stands_in_a_document() -> None:
    text = "".join((ROOT / name).read_text() for name in REFERENCE["BY_HAND"])
    gone = [words for words in REFERENCE["figures"]() if not re.search(words, text)]
    assert not gone, f"no document says {gone}: tools/reference.py looks for them"


def test_a_figure_that_is_wrong_is_mended() -> None:
    wrong = "Its 7 audits hold the driver's ledger. Analyses at 1 and 2 blocks. `--gate`: 0 x, 9 y;"
    mended = REFERENCE["with_figures"](wrong)
    assert f"Its {len(load_modules('dyno.judge.audits'))} audits hold" in mended
    assert "1 slower, 2 inconclusive" in mended and "Analyses at 1 and" not in mended


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
    assert used <= set(list_experiments()), f"no such experiment: {used - set(list_experiments())}"


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for name in DOCUMENTS:
        used = set(re.findall(r"(?:^|`)make ([\w-]+)", (ROOT / name).read_text(), re.MULTILINE))
        assert used <= targets, f"{name}: no make target {used - targets}"


PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


@cache
def anchors_of(page: Path) -> set[str]:
    """What a link may name behind `#`, as GitHub makes it of the headings."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_file_and_heading_that_a_document_links_to_exists() -> None:
    broken = []
    for page in PAGES:
        links = re.findall(r"\]\(([^):\s#]*)(?:#([^):\s]+))?\)", FENCED.sub("", page.read_text()))
        for file, anchor in links:
            target = page.parent / file if file else page
            if not target.exists() or (anchor and anchor not in anchors_of(target)):
                broken.append(f"{page.relative_to(ROOT)}: {file}#{anchor}")
    assert not broken, f"no such file or heading: {broken}"


#: At most so many words a page.
README_WORDS_MAX, ARCHITECTURE_WORDS_MAX = 800, 1500
DECISION_WORDS_MAX, GUIDE_WORDS_MAX = 300, 900
PICTURE_BYTES_MAX = 200_000
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def count_words(text: str) -> int:
    """Words with a letter or a digit, of examples and tables too."""
    return sum(any(sign.isalnum() for sign in word) for word in text.split())


def test_the_readme_takes_two_minutes() -> None:
    assert count_words((ROOT / "README.md").read_text()) <= README_WORDS_MAX


def test_the_architecture_is_short() -> None:
    assert count_words((ROOT / "ARCHITECTURE.md").read_text()) <= ARCHITECTURE_WORDS_MAX


def test_a_guide_is_short() -> None:
    pages = (ROOT / "docs" / "guides").rglob("*.md")
    words = {str(page.relative_to(ROOT)): count_words(page.read_text()) for page in pages}
    long = {name: number for name, number in words.items() if number > GUIDE_WORDS_MAX}
    assert not long, f"split them by task: {long}"


def test_a_decision_is_a_page_of_four_parts() -> None:
    """The threat model is a table, with a limit of its own."""
    parts = ["Context", "Decision", "Alternatives", "Consequences"]
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    for page in DECISIONS:
        assert f"[{page.name[:4]}]({page.name})" in index, f"{page.name} is not in the list"
        if page != THREATS:
            assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == parts, page.name
            assert count_words(page.read_text()) <= DECISION_WORDS_MAX, page.name


def test_every_page_of_evidence_has_a_line_in_the_index() -> None:
    folder = ROOT / "docs" / "evidence"
    listed = re.findall(r"^\| \[(\S+)\]\(\1\.md\) \|", (folder / "README.md").read_text(), re.M)
    assert sorted(listed) == sorted(
        it.stem for it in folder.glob("*.md") if it.stem not in ("README", "claims")
    )


def test_the_readme_shows_a_run_that_is_here_as_it_is_judged_today(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line of its session, but for the command, its question and the blocks, is one of
    `dyno report`'s.
    """
    from dyno.cli import run_words

    monkeypatch.setenv("COLUMNS", "100")
    picture = runpy.run_path(str(ROOT / "tools" / "picture.py"))
    run = shutil.copytree(picture["RUN"], tmp_path / "run")
    run_words(["report", str(run)])
    said = capsys.readouterr().out.splitlines()
    readme = (ROOT / "README.md").read_text()
    session = readme.partition("```console\n")[2].partition("```")[0].splitlines()
    shown = [line for line in session if not line.startswith(("$ ", "…", "Is ", "block "))]
    assert len(shown) > 5, "the README shows no session"
    assert not [line for line in shown if line not in said]


def test_the_readme_shows_a_picture_that_a_script_makes_of_that_run() -> None:
    picture = runpy.run_path(str(ROOT / "tools" / "picture.py"))["PICTURE"]
    assert f"({picture.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert picture.stat().st_size < PICTURE_BYTES_MAX


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


@pytest.mark.parametrize("package", ["host.controls", "host.probes", "judge.audits", "engines"])
def test_everything_in_a_package_is_documented_by_its_own_file(package: str) -> None:
    for name, module in load_modules(f"dyno.{package}").items():
        assert module.__doc__, f"{package}/{name} says nothing of itself"


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
#: Each row says somebody, an entry, what must not happen, what stops it, and the test that holds
#: it.
THREAT_HEAD = ["who", "entry", "must not", "what stops it", "held by"]
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


#: What a page may hold, tables included; a page that is not named is not limited yet.
WORDS_MAX = {"docs/METHOD.md": 4500}


@pytest.mark.parametrize("name,most", WORDS_MAX.items())
def test_a_page_has_no_more_words_than_its_reader_has_time_for(name: str, most: int) -> None:
    assert len((ROOT / name).read_text().split()) <= most


SENTENCE_WORDS_MAX = 35
#: Of a page's sentences, those that may be longer.
LONG_PERCENT_MAX = 2.0
PROSE = [
    "README.md",
    "docs/METHOD.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "guides").glob("**/*.md")),
]
#: A paragraph or an item of a list ends here; headings and tables are no sentences.
PARAGRAPH_END = re.compile(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |#|\|)")
SENTENCE_END = re.compile(r"(?<=[.?!:])[*_)\"]*\s+(?=[*_\"(\[]*[A-Z])")


def sentences(text: str) -> list[str]:
    """The sentences of a page: code counts as one word, a link as its words."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))
    paragraphs = (each.strip() for each in PARAGRAPH_END.split(text))
    prose = (each for each in paragraphs if each and each[0] not in "|#")
    return [sentence for each in prose for sentence in SENTENCE_END.split(each)]


def test_few_sentences_are_too_long_to_be_read_once() -> None:
    dense = {}
    for name in PROSE:
        told = sentences((ROOT / name).read_text())
        long = [each for each in told if len(each.split()) > SENTENCE_WORDS_MAX]
        if len(long) > int(len(told) * LONG_PERCENT_MAX / 100):
            dense[name] = long
    assert not dense


def test_a_long_sentence_is_found_between_code_tables_and_lists() -> None:
    long = " ".join(["word"] * (SENTENCE_WORDS_MAX + 1))
    page = f"# Head\n\nShort `code with words`. {long.capitalize()}.\n\n| a | {long} |\n\n- Item\n"
    assert [len(each.split()) for each in sentences(page)] == [2, SENTENCE_WORDS_MAX + 1, 2]


def test_the_places_of_additions_exist() -> None:
    """Whoever looks for the place of a change by ARCHITECTURE.md's last table finds a file."""
    last = (ROOT / "ARCHITECTURE.md").read_text().rpartition("| change | place |")[2]
    places = re.findall(r"`((?:src|crates)/[^`]+)`", last)
    assert len(places) > 5
    assert not [it for it in places if not (ROOT / it).exists()]
