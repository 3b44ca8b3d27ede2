"""The pilot of a comparison: what is chosen by trying it, before the first block."""
