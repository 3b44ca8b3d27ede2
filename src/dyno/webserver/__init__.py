"""Serves the pages over runs (`pages`): read-only, guarded by host name and token, on loopback
unless somebody asks for more.
"""
