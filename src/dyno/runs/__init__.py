"""An experiment as data, resolved to a run that can be played, and a run on disk."""
