"""Statistics: arrays in, estimates and warnings out. Knows nothing else of ours."""
