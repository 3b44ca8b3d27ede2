"""The scripts of Debian's package `sysbench` that can be run, and where it puts them."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path("/usr/share/sysbench")
NAMES = (
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
)
