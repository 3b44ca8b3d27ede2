"""Statistics: arrays in, estimates and warnings out. Knows nothing else of ours.

Distributions come from `scipy.special`: `scipy.stats` takes half a second to import, and the tests
hold the one against the other. `import scipy` loads `special` at its first use, a fifth of a second
that commands without a verdict save.
"""
