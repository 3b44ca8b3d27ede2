"""One statement on a server of one's own, along its path: where its time goes, and, beside another
server or an earlier file, which stage is the first that differs.

`explain.py` plays rounds over several connections and makes a record of them; what is asked and how
an answer reads is each engine's (`engines.ExplainsPath`).
"""
