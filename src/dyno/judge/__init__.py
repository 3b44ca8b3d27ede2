"""Records in, a verdict out. Knows no engine and no driver."""
