"""The host: looked at, held still, watched."""
