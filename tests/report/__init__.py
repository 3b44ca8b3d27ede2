"""What a user reads, held against what was found good: text, rows, the page."""
