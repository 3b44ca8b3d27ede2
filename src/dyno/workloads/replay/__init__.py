"""A server's log, played again: read (`formats`, `logs`), understood (`statements`), put into
sessions and lanes (`sessions`), laid out as a script that the driver plays (`layout`).
"""
