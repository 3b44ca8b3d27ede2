"""Pages over many runs: their list, one run beside another, histories, suites, what plays just now.

A page is text made of records, with links relative to itself: so the same page is served
(`webserver`) and published as a file (`site.py`). Each reads without a script.
"""
