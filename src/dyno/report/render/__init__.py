"""A document drawn: one file for each way of drawing it."""
