"""One pipeline over any instrument: pilot, calibration, bisect, history, shards, fleet."""
