"""`dyno report RUN --profile FORMAT`, from records alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import make_run
from sampled_trials import ENGINE, make_sampled

from dyno.cli import run_words
from dyno.runs.run_folder import create_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of six sampled blocks, on disk."""
    folder = create_run(make_run(analyses=(6,)), tmp_path)
    for trial in make_sampled(ENGINE, ENGINE):
        folder.write_trial(trial)
    return folder.path


@pytest.mark.parametrize("form,suffix", [("firefox", ".firefox.json"), ("pprof", ".pb.gz")])
def test_a_profile_of_each_candidate_is_written_and_its_path_is_told(
    run: Path, form: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["report", str(run), "--profile", form]) == 0
    told = "".join(capsys.readouterr().out.split())
    for name in (f"profile-0-old{suffix}", f"profile-1-new{suffix}"):
        assert (run / name).stat().st_size > 0
        assert f"profile:{run / name}" in told


def test_without_samples_it_is_refused_and_all_else_is_made(tmp_path: Path) -> None:
    folder = create_run(make_run(), tmp_path)
    assert run_words(["report", str(folder.path), "--profile", "pprof"]) == 64
    assert (folder.path / "report.html").is_file()
