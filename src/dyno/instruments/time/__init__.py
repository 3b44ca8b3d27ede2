"""Plays a run: blocks of trials, each an engine started anew, until the analyses decide."""
