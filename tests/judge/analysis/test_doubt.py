"""A doubtful finding reaches the verdict: its rows, its sentence, and nobody whom it spares."""

from __future__ import annotations

import pytest
from fakes import make_run, make_trial, make_trials
from judging import FixedAudit, logs, primary

from dyno.judge.analysis.judge import judge
from dyno.record import CLIENT_BASELINE, Doubt, Finding, Soundness, Verdict

WHY = "new logs every statement and old does not"


def judged(
    *findings: Finding, mean: float = -0.3, blocks: int = 10, others: tuple[str, ...] = ()
) -> Verdict:
    """`new`, and `others`, against `old` with these findings."""
    sides = {name: logs(mean, 0.005, blocks) for name in ("new", *others)}
    trials = [*make_trials(sides), make_trial(99, CLIENT_BASELINE, -1, 1e6)]
    audits = {f"{at}": FixedAudit(finding) for at, finding in enumerate(findings)}
    return judge(make_run(["old", "new", *others]), trials, audits)


def found(audit: str = "settings", *trials: int, word: Soundness = "doubtful") -> Finding:
    return Finding(audit, word, WHY, trials)


def test_a_doubt_leads_the_sentence_with_its_reason() -> None:
    verdict = judged(found())
    assert verdict.overall == "not slower" and primary(verdict).verdict == "faster"
    assert verdict.sentence.startswith("Doubtful: new is faster than old: select takes 26 % less")
    assert verdict.sentence.endswith(f", in doubt because {WHY}")
    assert verdict.doubts == (Doubt("settings", WHY),)


@pytest.mark.parametrize("word", ["sound", "not checked", "does not apply"])
def test_what_is_sound_or_was_not_checked_doubts_nothing(word: Soundness) -> None:
    verdict = judged(found(word=word))
    assert verdict.doubts == () and verdict.sentence.startswith("new is faster than old")


@pytest.mark.parametrize(("mean", "word"), [(0.3, "slower"), (0.0, "not slower")])
def test_every_word_that_says_something_can_be_doubted(mean: float, word: str) -> None:
    verdict = judged(found(), mean=mean)
    assert primary(verdict).verdict == word and primary(verdict).is_doubtful
    assert verdict.sentence.startswith(f"Doubtful: new is {word} than old")


def test_only_the_candidate_is_doubted_that_the_finding_concerns() -> None:
    """Trials are numbered old, new, other in each block."""
    verdict = judged(found("noise", 2), others=("other",))
    assert primary(verdict, "new").doubts and not primary(verdict, "other").doubts
    for base in ((1,), (99,), ()):
        both = judged(found("noise", *base), others=("other",))
        assert primary(both, "new").doubts and primary(both, "other").doubts


def test_trials_that_count_for_nothing_doubt_their_candidate() -> None:
    lost = make_trial(77, "new", 10, 1.0, status="failed")
    trials = [*make_trials({"new": logs(0.0, 0.005, 10)}), lost]
    finding = Finding("failed_restarts", "doubtful", "2 of 12 restarts failed", (77,))
    verdict = judge(make_run(), trials, {"mock": FixedAudit(finding)})
    assert verdict.sentence.startswith("Doubtful: new is not slower")


def test_an_open_or_invalid_verdict_claims_nothing_that_could_be_doubted() -> None:
    still_open = judged(found(), blocks=3)
    assert still_open.overall == "inconclusive" and still_open.doubts == ()
    assert primary(still_open).doubts, "its row names the doubt all the same"
    invalid = judged(found(), found("ledger", word="invalid"))
    assert invalid.sentence.startswith("invalid: ") and invalid.doubts == ()


def test_of_several_doubts_what_differs_between_the_candidates_is_told_and_the_others_named() -> (
    None
):
    noise = Finding("noise", "doubtful", "noise hit 5 of its blocks alone")
    sentence = judged(noise, found(), Finding("storage", "doubtful", "a disk was full")).sentence
    assert sentence.endswith(f", in doubt because {WHY}; noise and storage doubt it too")
