"""Instructions per operation: the same seeded operations under callgrind, counted and compared."""
