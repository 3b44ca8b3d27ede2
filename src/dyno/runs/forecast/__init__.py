"""Forecasts what a run will cost and which slowdown it can find."""
