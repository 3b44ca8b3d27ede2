"""The highest rate that holds a limit: open loops at searched rates, restart by restart."""
