"""Watching a server: its counters recorded over time, and read back as of a time or between two.

It serves people who never run a benchmark: nothing here knows of runs and trials. A *source* is a
table of the server's (`source`; each kind of server has a file of them), a *sample* one look at
them (`recorder`), of which only what changed is kept (`changes`), in Parquet (`store`). `reading`
makes the server's tables again, as they were, and asks them by plain SQL (`sql/`).
"""
