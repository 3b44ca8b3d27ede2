"""Statistics: arrays in, estimates and warnings out. Knows nothing else of ours.

Distributions come from `scipy.special`: `scipy.stats` takes half a second to import, on every start
of a command. The tests hold the one against the other.
"""
