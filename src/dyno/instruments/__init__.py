"""A package per instrument: how a block is played, and what its trials measure."""
