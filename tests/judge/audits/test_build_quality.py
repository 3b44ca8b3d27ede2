"""Audit `build_quality` and what it reads: a program that is not fit to be timed is found out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes import make_run, make_trial

from dyno.builds import compiler
from dyno.builds.suite_tree import Tree
from dyno.cli import run_words
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Candidate, Finding, Run, Trial

GOOD = {"assertions": "off", "optimisation": "-O2"}


def _run(**builds: dict[str, str]) -> Run:
    sides = [Candidate(n, f"real@{n}", "real", False, b, {}, {}) for n, b in builds.items()]
    return make_run(sides)


def _judged(run: Run, **settings: dict[str, str]) -> list[Finding]:
    trials: list[Trial] = []
    for number, side in enumerate(run.candidates, 1):
        told = settings.get(side.name, {})
        trials.append(make_trial(number, side.name, 0, 1.0, settings=told))
    return load_audits()["build_quality"].judge(RunView(run, trials))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"assertions": "on"}, "assertions"),
        ({"instrumentation": "address sanitizer"}, "address sanitizer"),
        ({"optimisation": "-O0"}, "no optimisation (-O0)"),
        ({"optimisation": "-Og", "assertions": "on"}, "assertions and no optimisation (-Og)"),
    ],
)
def test_one_side_that_is_not_for_release_is_invalid(facts: dict[str, str], words: str) -> None:
    (finding,) = _judged(_run(old=GOOD, new=facts))
    assert (finding.soundness, finding.trials) == ("invalid", (2,))
    assert f"new carries {words}, while others do not" in finding.sentence
    both = _judged(_run(old=facts, new=facts))
    assert [finding.soundness for finding in both] == ["doubtful", "doubtful"]


@pytest.mark.parametrize("flags", ["-O2 -g -O0", "", "-Og"])
def test_flags_tell_it_too_and_those_that_the_user_chose_may_be_the_question(flags: str) -> None:
    (finding,) = _judged(_run(old=GOOD, new={}), new={"built with CFLAGS": flags or "-g"})
    assert finding.soundness == "invalid" and "no optimisation" in finding.sentence
    (finding,) = _judged(_run(old=GOOD, new={"cflags": flags or "-g"}))
    assert finding.soundness == "doubtful"


def test_release_builds_are_sound_and_those_that_tell_nothing_were_not_checked() -> None:
    finding, unknown = _judged(_run(old=GOOD, new={"cflags": "-g -O3"}, other={}))
    assert finding.soundness == "sound" and "2 of 3 builds tell" in finding.sentence
    assert unknown.soundness == "not checked" and unknown.sentence.endswith("(other)")


def test_what_only_some_builds_can_do_is_told_with_what_it_is_for() -> None:
    configured = "built with CONFIGURE"
    run = _run(**{name: {**GOOD, "version": "18.4"} for name in ("old", "new", "silent")})
    (finding,) = _judged(
        run,
        old={configured: " '--with-llvm' '--with-lz4' '--with-ssl=openssl'"},
        new={configured: "'--with-lz4' '--without-icu'"},
    )
    assert finding.soundness == "sound" and "LZ4" not in finding.sentence
    assert "new lacks JIT, which compiles expressions of large queries" in finding.sentence
    assert "new lacks ICU" in finding.sentence and "new lacks TLS" in finding.sentence
    assert "silent" not in finding.sentence


def _made(folder: Path, *flags: str) -> Path:
    (folder / "one.c").write_text("int one(int *x) { return x[1] + 1; }\n")
    made = folder / "one.so"
    command = ["cc", "-shared", "-fPIC", *flags, "-o", str(made), str(folder / "one.c")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return made


def _compiled(folder: Path, *flags: str) -> dict[str, str]:
    """What a library tells of itself, without its compiler's name."""
    told = compiler.read_build_facts(_made(folder, *flags))
    return {name: value for name, value in told.items() if name != "compiler"}


def test_a_real_library_tells_its_sanitizer_and_its_flags(tmp_path: Path) -> None:
    assert _compiled(tmp_path, "-g", "-O0", "-fsanitize=address") == {
        "instrumentation": "address sanitizer",
        "optimisation": "-O0",
    }
    assert _compiled(tmp_path, "-g", "-O2") == {"optimisation": "-O2"}
    assert _compiled(tmp_path, "-O0", "-s") == {}, "a stripped library tells nothing"
    assert "coverage" in _compiled(tmp_path, "-O2", "--coverage")["instrumentation"]


def test_what_is_no_program_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("#!/bin/sh\nGNU C and __asan_init are words here\n")
    assert (
        compiler.read_build_facts(tmp_path / "empty")
        == compiler.read_build_facts(tmp_path / "text")
        == {}
    )


def _versions(old: dict[str, str], new: dict[str, str]) -> list[Finding]:
    return _judged(_run(old={"version": "1.0", **old}, new={"version": "2.0", **new}))


def test_versions_by_another_compiler_and_other_flags_are_doubtful() -> None:
    old = {"compiler": "gcc (Debian 10.2.1-6) 10.2.1 20210110", "flags": "-Wall -g -O2 -fwrapv"}
    new = {"compiler": "x86_64-linux-gnu-gcc (Debian 16.2.0-1) 16.2.0", "flags": "-O3 -fwrapv"}
    (finding,) = _versions(old, new)
    assert finding.soundness == "doubtful" and "compiler and flags differ" in finding.sentence
    assert "old: gcc 10.2.1 -O2; new: gcc 16.2.0 -O3" in finding.sentence
    (finding,) = _versions(old, new | {"flags": "-Wextra -O2 -fwrapv"})
    assert "compiler differs" in finding.sentence
    (finding,) = _versions(old, new | {"compiler": old["compiler"]})
    assert finding.sentence.startswith("flags differ")


def test_only_the_candidate_that_was_made_otherwise_is_doubted() -> None:
    own = {"compiler": "gcc 12.2.0", "flags": "-O2"}
    run = _run(
        base={"version": "1.0", **own},
        alike={"version": "2.0", **own},
        other={"version": "2.0", "compiler": "gcc 16.2.0", "flags": "-O2"},
    )
    (finding,) = (it for it in _judged(run) if it.soundness == "doubtful")
    assert finding.trials == (3,), "the trial of `other`"


def test_like_builds_and_two_builds_of_one_version_are_no_finding() -> None:
    made = {"compiler": "cc (Debian 12.2.0-14) 12.2.0", "cflags": "-O2 -g", "version": "1.0"}
    assert [it.soundness for it in _versions(made, made)] == ["sound"]
    other = made | {"compiler": "clang version 19.1.7", "cflags": "-O3"}
    assert [it.soundness for it in _judged(_run(old=made, new=other))] == ["sound"]


def test_a_build_whose_compiler_is_stripped_is_not_checked_and_not_sound() -> None:
    made = {"compiler": "gcc 12.2.0", "cflags": "-O2"}
    sound, unknown = _versions(made, {"assertions": "off"})
    assert sound.sentence == "1 of 2 builds tell how they were built: for release"
    assert (unknown.soundness, unknown.sentence.endswith("(new)")) == ("not checked", True)
    assert "distributions strip them" in unknown.sentence
    (both,) = _versions({"assertions": "off"}, {"assertions": "off"})
    assert both.soundness == "not checked"


def test_compilers_are_known_by_the_suites_of_stripped_builds_and_of_no_moving_one() -> None:
    old, new = {"suite_compiler": "gcc 10"}, {"suite_compiler": "gcc 14"}
    (finding,) = _versions(old, new)
    assert finding.soundness == "doubtful"
    assert "compiler differs (old: gcc 10 (its suite's); new: gcc 14 (" in finding.sentence
    (like,) = _versions(old, {"compiler": "gcc (Debian 10.2.1-6) 10.2.1"})
    assert like.soundness == "sound"
    (own,) = _versions(old, {"compiler": "gcc 16.1", "suite_compiler": "gcc 10"})
    assert "new: gcc 16.1)" in own.sentence, "what the program says goes before its suite"
    moving = {suite: _tree(suite).list_facts().get("suite_compiler") for suite in ("trixie", "sid")}
    assert moving == {"trixie": "gcc 14", "sid": None}


def _tree(suite: str) -> Tree:
    return Tree(Path("/"), "1", {"libc6": "2"}, suite)


def test_options_that_programs_report_are_compared_where_both_tell_them() -> None:
    made = {"compiler": "gcc 12.2.0", "cflags": "-O2"}
    sides = {"old": made | {"version": "1"}, "new": made | {"version": "2"}}
    jemalloc = {"version_malloc_library": "jemalloc 5.2", "version_compile_machine": "x86_64"}
    (finding,) = _judged(_run(**sides), old=jemalloc, new={"version_malloc_library": "system"})
    assert finding.soundness == "doubtful" and "allocator differs" in finding.sentence
    assert [it.soundness for it in _judged(_run(**sides), old=jemalloc)] == ["sound"]
    one = {"compile_options": "ATOMIC_INTRINSICS=1 COMPILER=gcc-12.2.0 THREADSAFE=1"}
    (finding,) = _versions(one, {"compile_options": "COMPILER=clang-19.1.7 THREADSAFE=2"})
    assert "compiler and threads differ (old: gcc 12.2.0; new: clang 19.1.7)" in finding.sentence


def test_code_made_for_size_is_doubtful_and_never_invalid() -> None:
    (finding,) = _judged(_run(old=GOOD, new={"flags": "-Os", "optimisation": "-Os"}))
    assert finding.soundness == "doubtful" and "code made for size (-Os)" in finding.sentence


def test_the_former_name_of_the_audit_is_taken_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["show", "debug_build"]) == 0
    shown = capsys.readouterr()
    assert "build_quality" in shown.out and "'debug_build' is now 'build_quality'" in shown.err


def test_a_library_tells_its_compiler_and_a_program_the_flags_it_keeps(tmp_path: Path) -> None:
    assert compiler.read_build_facts(_made(tmp_path, "-O2"))["compiler"].startswith(
        ("gcc", "clang")
    )
    kept = tmp_path / "kept"
    words = b"PostgreSQL 9 on x, compiled by gcc (D 14) 14.2.0, 64-bit"
    kept.write_bytes(b"\x7fELF\0" + words + b"\0-x\0-Wall -g -Os -fwrapv\0 -O3 \0")
    assert compiler.read_build_facts(kept) == {
        "compiler": "gcc (D 14) 14.2.0",
        "flags": "-Wall -g -Os -fwrapv",
        "optimisation": "-Os",
    }
