"""Workloads: one Lua script each. `find` gives a name's file, or takes a script's own path."""
