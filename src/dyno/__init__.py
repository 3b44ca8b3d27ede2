"""Dyno: is this database build slower than that one, by how much, and can I trust the answer?"""

__version__ = "0.1.0"
