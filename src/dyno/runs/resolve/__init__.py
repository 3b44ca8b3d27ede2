"""From an experiment's words to a run that can be played: programs, scripts, keys, design."""
