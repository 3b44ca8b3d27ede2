"""What several commands print: tables, numbers, the live screen."""
