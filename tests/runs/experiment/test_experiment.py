"""Specs, experiments and the order of play: what a user writes becomes what will be played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository import ROOT

from dyno.cli import compare, run_words
from dyno.errors import UsageError
from dyno.runs import experiment
from dyno.runs.experiment import Measuring, read_accepted_file
from dyno.runs.experiments import list_experiments

GOOD = """
name = "old-or-new"
question = "is new slower?"
candidates = ["old=null@200us", "null@210us?aslr=off"]
margin_percent = 3
blocks = 6
seed = 7

[limits]
steal_percent = 1

[[workload]]
name = "oltp_point_select"
[workload.options]
table-size = 500
auto_inc = true
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_an_experiment_is_read_with_everything_it_says(tmp_path: Path) -> None:
    read = experiment.read_experiment(written(tmp_path, GOOD))
    assert (read.name, read.question) == ("old-or-new", "is new slower?")
    assert [spec.name for spec in read.candidates] == ["old", "null@210us?aslr=off"]
    assert read.workloads[0].options == {"table_size": "500", "auto_inc": "true"}
    limits = {"steal_percent": 1.0}
    assert read.measuring == Measuring(3, blocks=6, fixed=True, seed=7, limits=limits)


def test_how_thoroughly_data_are_looked_at_is_quick_or_full(tmp_path: Path) -> None:
    full = written(tmp_path, GOOD.replace("margin_percent = 3", 'check = "full"'))
    assert experiment.read_experiment(full).measuring.check == "full"
    wrong = written(tmp_path, GOOD.replace("margin_percent = 3", 'check = "deep"'))
    with pytest.raises(UsageError, match=r"\.toml:\d+: .*check 'deep'"):
        experiment.read_experiment(wrong)


def test_what_decides_a_suite_is_each_workload_or_their_mean(tmp_path: Path) -> None:
    by_mean = written(tmp_path, GOOD.replace("margin_percent = 3", 'gate = "mean"'))
    assert experiment.read_experiment(by_mean).measuring.gate == "mean"
    assert experiment.read_experiment(written(tmp_path, GOOD)).measuring.gate == "each"
    wrong = written(tmp_path, GOOD.replace("margin_percent = 3", 'gate = "median"'))
    with pytest.raises(UsageError, match="gate"):
        experiment.read_experiment(wrong)


def test_an_a_a_comparison_is_declared(tmp_path: Path) -> None:
    declared = written(tmp_path, GOOD.replace("margin_percent = 3", "aa = true"))
    assert experiment.read_experiment(declared).measuring.aa
    assert not experiment.read_experiment(written(tmp_path, GOOD)).measuring.aa
    words = ["null@0s", "null@0s", "-w", "insert"]
    context = compare.command.make_context("compare", [*words, "--aa"])
    assert compare.read_experiment(**context.params).measuring.aa
    context = compare.command.make_context("compare", words)
    with pytest.raises(UsageError, match="null@0s is compared with itself") as caught:
        compare.read_experiment(**context.params)
    assert "--aa" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["count", "null@0s", "null@0s", "-w", "insert"], "a=BUILD b=BUILD"),
        (["capacity", "null", "null", "-w", "insert", "--slo", "p99<1ms"], "a=BUILD b=BUILD"),
        (["run", "twice.toml"], "aa = true"),
        (["plan", "twice.toml"], "aa = true"),
    ],
)
def test_a_candidate_that_is_typed_twice_is_asked_about_by_every_command(
    words: list[str],
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'candidates = ["null", "null"]\n[[workload]]\nname = "insert"\n'
    (tmp_path / "twice.toml").write_text(text)
    assert run_words(words) == 64
    said = capsys.readouterr().err
    assert "is compared with itself" in said and meant in said, said


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('question = "', "question = ", None, "at line 3"),
        ("margin_percent", "margn_percent", 5, "did you mean margin_percent"),
        ("margin_percent = 3", "aa = 1", 5, "mine.toml:5: 'aa' must be true or false"),
        ("margin_percent = 3", "margin_percent = 0", 5, "the margin is out of range (got 0 %)"),
        ("margin_percent = 3", "precision_percent = 0", 5, "the precision is out of range"),
        ("margin_percent = 3", 'margin_percent = "3"', 5, "not a number"),
        ("blocks = 6", "blocks = 2", 6, "got 2"),
        ("blocks = 6", "max_blocks = 1000", 6, "got 1000"),
        ("blocks = 6", "blocks = 6\nmax_blocks = 9", 7, "both"),
        ("blocks = 6", "blocks = 0", 6, "got 0"),
        ("seed = 7", 'seed = "x"', 7, "mine.toml:7: 'seed' is not a whole number"),
        (', "null@210us?aslr=off"', "", 4, "a comparison needs two candidates"),
        ("steal_percent = 1", "steal_percent = -1", 10, "got -1 %"),
        ("steal_percent = 1", 'steal_percent = "1"', 10, "'steal_percent' is not a number"),
        ("steal_percent", "steel_percent", 10, "did you mean steal_percent"),
        ("[workload.options]", "[workload.optoins]", 14, "did you mean options"),
        ("null@210us?aslr=off", "null@210us?aslr", 4, "not key=value"),
        ("[[workload]]", "[[workloads]]", 12, "did you mean workload"),
        ("[[workload]]", '[[factor]]\nname = ""\n[[workload]]', 12, "a factor without a name"),
        ("blocks = 6", "published = [3]", 6, "'published' is not a list of tables"),
        (
            '"oltp_point_select"',
            '"x"\nprimary = [{ metric = "latency_p99" }]',
            14,
            "did you mean latency_ns_p99",
        ),
    ],
)
def test_a_mistake_is_named_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int | None, says: str
) -> None:
    with pytest.raises(UsageError) as refused:
        experiment.read_experiment(written(tmp_path, GOOD.replace(old, new)))
    assert says in str(refused.value)
    place = f"mine.toml:{line}:" if line else "mine.toml"
    assert place in str(refused.value)


def test_a_file_that_is_not_text_is_no_experiment(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"mine.toml is not TOML: it is not text in UTF-8"):
        experiment.read_experiment(file)


@pytest.mark.parametrize(
    "text",
    [
        "candidates = " + "[" * 100_000,
        "candidates = " + "{a=" * 100_000,
        "[[workload]]\noptions" + ".a" * 5_000 + " = 1\n",
        GOOD + "x" + ".a" * 5_000 + " = 1\n",
    ],
)
def test_a_file_that_is_nested_too_deeply_is_named(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=r"mine\.toml"):
        experiment.read_experiment(path)


def test_a_missing_experiment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"there is no experiment file '.*nothing.toml'"):
        experiment.read_experiment(tmp_path / "nothing.toml")
    with pytest.raises(UsageError, match=r"(?s)unknown experiment.*did you mean query-cache"):
        experiment.read_experiment(Path("query-cash"))


@pytest.mark.parametrize("path", list_experiments().values(), ids=lambda p: p.stem)
def test_the_experiments_that_come_along_can_be_read(path: Path) -> None:
    read = experiment.read_experiment(path)
    assert read.question
    assert len(read.candidates) >= 2 or read.crossed.levels


def test_the_experiment_in_the_documentation_can_be_read(tmp_path: Path) -> None:
    text = (ROOT / "docs/guides/experiments.md").read_text()
    shown = text.partition("```toml\n")[2].partition("```")[0]
    read = experiment.read_experiment(written(tmp_path, shown))
    assert read.measuring.blocks == 18
    assert read.workloads[0].primary[0]["metric"] == "latency_ns_p99"


def test_a_comparison_is_an_experiment_too() -> None:
    made = experiment.compare_candidates(["null@1us", "null@2us"], "x.lua", {"table-size": "5"})
    assert made.workloads[0].options == {"table_size": "5"}
    assert made.name == "x-null@1us-null@2us"


def test_answers_that_may_differ_have_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "accepted.toml"
    file.write_text('[accepted]\n"SELECT ?" = "it is meant"\n')
    assert read_accepted_file(file) == {"SELECT ?": "it is meant"}
    for text, cause in (
        ('[accepted]\n"SELECT ?" = " "\n', "accepted.toml:2: 'SELECT ?' is accepted without"),
        ('[excepted]\n"SELECT ?" = "x"\n', "unknown key 'excepted'"),
        ("[accepted\n", "is not TOML"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=re.escape(cause)):
            read_accepted_file(file)
    with pytest.raises(UsageError, match="cannot read"):
        read_accepted_file(tmp_path / "none.toml")
