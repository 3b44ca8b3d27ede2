"""Makes `tests/` importable, so that every test can `from fakes import make_run, make_trials`."""
