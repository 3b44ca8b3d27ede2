"""Which block comes next, as the trials on disk tell."""

from __future__ import annotations

from fakes import make_run, make_trial

from dyno.play.blocks import NextBlock, next_block


def test_the_next_block_is_read_off_the_trials() -> None:
    planned = make_run(("a", "b"))

    def after(*played: tuple[int, str, int, str]) -> NextBlock:
        trials = [
            make_trial(n, name, block, 1.0, attempt=attempt, status=status)
            for n, (block, name, attempt, status) in enumerate(played, 1)
        ]
        return next_block(planned, "select", trials)

    assert after() == NextBlock(0, 1)
    assert after((0, "a", 1, "ok")) == NextBlock(0, 2)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "ok")) == NextBlock(1, 1)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "interrupted")) == NextBlock(0, 2)
    assert after((0, "a", 1, "failed")) == NextBlock(0, 2)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "failed")) == NextBlock(1, 1)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "ok")) == NextBlock(0, 3)
    assert after((0, "a", 1, "ok"), (0, "a", 2, "ok"), (0, "b", 2, "ok")) == NextBlock(1, 1)
