"""Crashes: at a drawn moment the engine is killed and loses what it had not synced, and a ledger of
acknowledged commits is held against what it has after its restart.
"""
