"""The report as one page: markup, charts, and what the sections share."""
