"""Where an engine's instructions went: samples and counts by function, and the layers of an engine
that functions belong to.
"""
