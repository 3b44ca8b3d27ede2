"""A run as one file that may be sent to others: its records and logs without names and secrets."""
