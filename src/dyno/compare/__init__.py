"""A comparison from its file to its last block, and what earlier ones tell."""
