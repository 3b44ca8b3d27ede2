"""Writes docs/reference/ from the docstrings, so that the docs are what the code says."""
