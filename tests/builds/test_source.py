"""Builds from source: what is built runs, is built once, and the tree stays as it was."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from source_trees import (
    MAKEFILE,
    PROGRAM,
    RECIPE,
    built,
    commit_all,
    git,
    planned,
    small_recipe,
    small_tree,
)
from stub_programs import SAID, Stub

from dyno.builds import cache
from dyno.builds.source import build
from dyno.builds.source.plan import BUILDING
from dyno.builds.source.recipe import BuildRecipe
from dyno.builds.source.work import drop_torn
from dyno.errors import HostError, UsageError

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def recipes(tmp_path: Path) -> tuple[BuildRecipe, ...]:
    return small_recipe(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return small_tree(tmp_path / "tree")


def said_by(prefix: Path) -> str:
    return subprocess.run([prefix / "bin" / "small"], capture_output=True, text=True).stdout.strip()


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_a_folder_is_built_and_its_facts_are_recorded(
    tree: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    made = built(tree, recipes)
    assert said_by(made.prefix) == "small 1.2" and made.version == "1.2"
    facts = made.facts
    assert facts["cflags"] == "-O2" and facts["always"] == "-g -fno-omit-frame-pointer"
    assert facts["frame_pointers"] == facts["symbols"] == "on"
    assert facts["compiler"] and facts["source"] == f"folder {tree}"
    assert not (made.prefix / "share" / "doc").exists(), "what the recipe drops is kept"
    log = (made.prefix / "build.log").read_text()
    assert "-O2 -g -fno-omit-frame-pointer -c" in log


def test_a_library_that_the_install_leaves_behind_is_an_error_and_no_build(
    recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    linked = MAKEFILE.replace(
        "\t$(CC) $(CFLAGS) -o small small.o\n",
        "\t$(CC) -shared -fPIC -Wl,-soname,libown.so.1 -o libown.so.1 -x c /dev/null\n"
        "\t$(CC) $(CFLAGS) -o small small.o -Wl,--no-as-needed -L. -l:libown.so.1\n",
    )
    tree = small_tree(tmp_path / "linked", Makefile=linked)
    with pytest.raises(HostError, match=r"the build left libown\.so\.1 behind"):
        built(tree, recipes)
    assert not cache.find_entries("built")


def test_what_is_built_is_built_once_wherever_the_same_tree_lies(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    first = built(tree, recipes)
    again = built(small_tree(tmp_path / "other"), recipes)
    assert again.prefix == first.prefix and len(cache.find_entries("built")) == 1


def test_other_flags_content_words_or_patches_are_other_builds(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    patch = tmp_path / "change.patch"
    patch.write_text(
        "--- a/small.c\n+++ b/small.c\n@@ -1,2 +1,2 @@\n #include <stdio.h>\n"
        '-int main(void) { puts("small 1.2"); return 0; }\n'
        '+int main(void) { puts("patched"); return 0; }\n'
    )
    plain, other = built(tree, recipes), built(tree, recipes, cflags="-O3")
    patched = built(tree, recipes, patch=patch)
    assert said_by(patched.prefix) == "patched" and patched.facts["patch_sha256"]
    assert "-O3" in (other.prefix / "build.log").read_text()
    (tree / "small.c").write_text(PROGRAM.replace("1.2", "changed"))
    changed = built(tree, recipes)
    assert said_by(changed.prefix) == "small changed"
    assert len({plain.prefix, other.prefix, patched.prefix, changed.prefix}) == 4


def test_a_patch_that_does_not_fit_is_refused(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    patch = tmp_path / "other.patch"
    patch.write_text("--- a/small.c\n+++ b/small.c\n@@ -1 +1 @@\n-nothing like it\n+else\n")
    with pytest.raises(UsageError, match="does not fit the tree"):
        built(tree, recipes, patch=patch)
    with pytest.raises(UsageError, match="cannot read the patch"):
        planned(tree, recipes, patch=tmp_path / "none")


def test_the_users_tree_is_only_read(tree: Path, recipes: tuple[BuildRecipe, ...]) -> None:
    commit_all(tree)
    before = listing(tree)
    built(tree, recipes)
    built(f"{tree}@HEAD", recipes)
    assert listing(tree) == before


def test_a_commit_is_built_and_not_what_lies_in_the_folder(
    tree: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    commit_all(tree)
    git(tree, "tag", "v1")
    (tree / "small.c").write_text(PROGRAM.replace("1.2", "later"))
    commit_all(tree, "later")
    (tree / "small.c").write_text(PROGRAM.replace("1.2", "not committed"))
    assert said_by(built(f"{tree}@v1", recipes).prefix) == "small 1.2"
    assert said_by(built(f"{tree}@main", recipes).prefix) == "small later"
    assert said_by(built(tree, recipes).prefix) == "small not committed"
    with pytest.raises(UsageError, match="has no commit 'v7'"):
        planned(f"{tree}@v7", recipes)


def test_the_commit_of_a_build_is_on_record_with_its_parent_even_where_the_tree_was_built_before(
    tree: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    first = commit_all(tree, "Begin | here")
    facts = built(f"{tree}@HEAD", recipes).facts
    assert (facts["commit"], facts["subject"]) == (first, "Begin | here")
    assert "parents" not in facts
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Nothing")
    again = built(f"{tree}@HEAD", recipes)
    assert len(cache.find_entries("built")) == 1, "the same tree is built once"
    assert again.facts["source"].endswith(f"({again.facts['commit'][:12]})")
    assert again.facts["parents"] == first and again.facts["subject"] == "Nothing"
    assert built(tree, recipes).facts["commit"] == again.facts["commit"]
    (tree / "more.h").write_text("")
    assert not {"commit", "parents", "subject"} & built(tree, recipes).facts.keys()


def test_a_submodule_comes_along_and_one_that_is_not_there_is_named(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    part = tmp_path / "part"
    part.mkdir()
    (part / "small.c").write_text(PROGRAM.replace("1.2", "of a submodule"))
    commit_all(part)
    (tree / "small.c").unlink()
    (tree / "Makefile").write_text(MAKEFILE.replace("$(SOURCE)/small.c", "$(SOURCE)/part/small.c"))
    commit_all(tree)
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "part")
    commit_all(tree, "with a part")
    assert said_by(built(f"{tree}@HEAD", recipes).prefix) == "small of a submodule"
    git(tree, "submodule", "--quiet", "deinit", "--force", "part")
    cache.remove(cache.find_entries("built")[0])
    with pytest.raises(UsageError, match="the submodule part is not there") as refused:
        built(f"{tree}@HEAD", recipes)
    assert "submodule update --init" in refused.value.hint


@pytest.mark.parametrize(
    "spoil,sentence",
    [
        ("old.o", "still has files of an earlier build: old.o"),
        ("config.status", "still has files of an earlier build: config.status"),
        ("CMakeCache.txt", "still has files of an earlier build"),
    ],
)
def test_a_tree_that_was_built_in_is_refused(
    tree: Path, recipes: tuple[BuildRecipe, ...], spoil: str, sentence: str
) -> None:
    (tree / spoil).touch()
    with pytest.raises(UsageError, match=sentence):
        planned(tree, recipes)


def test_places_that_hold_no_tree_are_refused(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for place, sentence in {
        tmp_path / "none": "there is no source tree at",
        empty: "is empty",
        tree / "VERSION": "is a file, and no source tree",
        f"{empty}@HEAD": "git does not read|has no commit",
        "deb:nowhere": "no source package is known in suite 'nowhere'",
    }.items():
        with pytest.raises(UsageError, match=sentence):
            planned(place, recipes)
    (tree / "VERSION").write_text("3.1\n")
    with pytest.raises(UsageError, match="no recipe builds") as refused:
        planned(tree, recipes)
    assert "its files say version 3.1" in str(refused.value)


def test_no_compiler_no_tool_and_no_room_are_a_sentence_each(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vast = small_recipe(tmp_path, RECIPE.replace("disk_mb = 1 ", "disk_mb = 900000000 "))
    with pytest.raises(HostError, match=r"the build takes up to 900000000 MB, and .* MB free"):
        built(tree, vast)
    lacking = small_recipe(tmp_path, 'needs = ["no-such-tool"]\n' + RECIPE)
    with pytest.raises(HostError, match="no no-such-tool on PATH"):
        planned(tree, lacking)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(HostError, match="no C compiler: no-such-compiler does not run"):
        planned(tree, small_recipe(tmp_path))


def test_another_release_of_a_compiler_or_of_a_tool_makes_another_build(
    tree: Path, tmp_path: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    releases = {"cc": "1", "cxx": "1", "parser": "1", "cmake": "1"}
    for variable in ("CC", "CXX"):
        program = tmp_path / variable.lower()
        program.write_text(f"#!/bin/sh\necho {variable} $RELEASE_{variable}\n")
        program.chmod(0o755)
        monkeypatch.setenv(variable, str(program))
    stub("apt-get", "true")
    stub("cmake", "echo cmake version $RELEASE_CMAKE")
    text = 'needs = ["cmake"]\n' + RECIPE.replace('"CC={cc}"', '"CC={cc}", "CXX={cxx}"') + TOOLS
    recipes, entries = small_recipe(tmp_path, text), []
    for changed in ("", *releases):
        releases[changed] = "2"
        for name, release in releases.items():
            monkeypatch.setenv(f"RELEASE_{name.upper()}", release)
        # answers of apt are kept for as long as nothing of it is written anew
        stub("apt-cache", f"echo Version: {releases['parser']}")
        plan = planned(tree, recipes)
        entries.append(plan.entry)
    assert len(set(entries)) == 5
    assert plan.facts["fetched"] == "parser-package 2 m4"
    assert plan.facts["generators"] == "cmake version 2"


#: A tool that no machine has, and the packages that bring it.
TOOLS = """
[tools]
no-such-parser = ["parser-package", "m4"]
"""


def test_flags_and_a_cache_that_no_shell_could_read_are_refused(
    tree: Path, recipes: tuple[BuildRecipe, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for own in ({"cflags": "-O2 '"}, {"options": '--with="x'}):
        with pytest.raises(UsageError, match="cannot read the flags"):
            planned(tree, recipes, **own)
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "my cache"))
    with pytest.raises(UsageError, match="it holds a blank"):
        planned(tree, recipes)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from source_trees import built, small_recipe
print("begun", flush=True)
built({tree!r}, small_recipe(Path({folder!r})))
"""
#: Writes half an object, tells that it is at work, and waits.
SLOW = MAKEFILE.replace(
    "\t$(CC) $(CFLAGS) -c $(SOURCE)/small.c",
    "\ttest -e {gate} || {{ echo half > small.o; touch {begun}; sleep 60; }}\n"
    "\t$(CC) $(CFLAGS) -c $(SOURCE)/small.c",
)


def test_a_build_that_is_killed_leaves_no_process_and_no_build_and_goes_on(
    tmp_path: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    tree = small_tree(tmp_path / "tree", Makefile=SLOW.format(gate=gate, begun=begun))
    tests = str(Path(__file__).parents[1])
    code = KILLED.format(tests=tests, tree=str(tree), folder=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        _wait_for(begun.exists)
        process.kill()
    _wait_for(lambda: not _at_work(tmp_path))
    assert not cache.find_entries("built")
    gate.touch()
    made = built(tree, recipes)
    assert said_by(made.prefix) == "small 1.2", "half an object was taken for a whole one"
    assert made.facts["interrupted"] == "1" and int(made.facts["memory_mb"]) > 0
    assert any("going on after source, configure" in words for words in SAID)
    assert not list((cache.find_root() / "built").glob(".making-*")), "the work stays"


def _wait_for(condition: object, most_s: float = 50.0) -> None:
    end_s = time.monotonic() + most_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end_s
        threading.Event().wait(0.02)


def _at_work(folder: Path) -> list[str]:
    """Processes that work in a folder below `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(process.name)
        except OSError:
            continue
    return [pid for pid in found if int(pid) != os.getpid()]


def test_two_builds_of_the_same_at_once_make_one(
    tree: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    made: list[Path] = []
    threads = [
        threading.Thread(target=lambda: made.append(built(tree, recipes).prefix)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3 and len(set(made)) == 1
    assert sum("compile (step" in words for words in SAID) == 1


def test_two_builds_go_on_beside_each_other_where_memory_has_room(
    tmp_path: Path, recipes: tuple[BuildRecipe, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each compiles only once the other has begun; without room the second would wait for ever."""
    wait = "for i in $$(seq 500); do [ -e {there} ] && exit; sleep 0.1; done; exit 1"
    meet = f"all: small.o\n\ttouch {{here}}\n\t{wait}\n"
    files = [tmp_path / "one", tmp_path / "two"]
    trees = [
        small_tree(
            tmp_path / f"tree-{here.name}",
            Makefile=MAKEFILE.replace("all: small.o\n", meet.format(here=here, there=there)),
        )
        for here, there in (files, files[::-1])
    ]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    made: list[Path] = []
    threads = [
        threading.Thread(target=lambda tree=tree: made.append(built(tree, recipes).prefix))
        for tree in trees
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2 and all(said_by(it) == "small 1.2" for it in made)


def test_without_room_for_a_second_build_it_waits_and_says_so(
    tmp_path: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    locks = cache.find_root() / cache.LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    plan = planned(small_tree(tmp_path / "tree"), recipes)
    large = replace(plan.recipe, cost=replace(plan.recipe.cost, memory_mb=1 << 40))
    plan = replace(plan, recipe=large)
    said: list[str] = []
    waiting = threading.Thread(target=lambda: build.build_planned(plan, said.append))
    with cache.hold_lock(locks / BUILDING, lambda: None):
        waiting.start()
        _wait_for(lambda: any("waiting for another build" in words for words in said))
    waiting.join()
    assert any("compile (step" in words for words in said)


def test_what_was_written_last_before_a_kill_is_made_anew_and_nothing_else(tmp_path: Path) -> None:
    for name, age_s in {"config.h": 500, "early.o": 200, "torn.o": 0, "beside.o": 5}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age_s, 1e9 - age_s))
    drop_torn(tmp_path, step_began_s=1e9 - 400)
    assert {file.name for file in tmp_path.iterdir()} == {"config.h", "early.o"}


def test_a_name_means_its_build_until_that_is_removed(
    tree: Path, recipes: tuple[BuildRecipe, ...]
) -> None:
    made = built(tree, recipes)
    with pytest.raises(UsageError) as unnamed:
        build.find_named("small", "mine")
    assert "`dyno engines build small PLACE --name mine`" in unnamed.value.hint
    build.name_build("small", "mine", build.Named(made.prefix.name, str(tree)))
    assert build.find_named("small", "mine") == made.prefix
    assert build.list_names("small") == ["mine"]
    with pytest.raises(UsageError, match="unknown small build from source 'mein'") as refused:
        build.find_named("small", "mein")
    assert "did you mean mine" in refused.value.hint
    with pytest.raises(UsageError) as bare, contextlib.chdir(tree.parent):
        build.find_named("small", tree.name)
    assert bare.value.hint == f"a folder is named by its path: small@source:./{tree.name}"
    cache.remove(cache.find_entries("built")[0])
    with pytest.raises(HostError, match="is no longer in the cache") as gone:
        build.find_named("small", "mine")
    assert str(tree) in gone.value.hint
    with pytest.raises(UsageError, match="cannot be called"):
        build.check_name("../up")


def test_edits_are_made_in_the_copy_and_told(tree: Path, tmp_path: Path) -> None:
    edit = """
[[edits]]
file = "*.c"
find = '"small 1.2"'
replace = '"edited"'
reason = "the test wants it"
[[edits]]
file = "gone/*.c"
find = 'x'
replace = 'y'
reason = "is for other trees"
"""
    made = built(tree, small_recipe(tmp_path, RECIPE + edit))
    assert said_by(made.prefix) == "edited"
    assert made.facts["edits"] == "*.c: the test wants it"
    assert "small 1.2" in (tree / "small.c").read_text()
