"""Other programs' command lines, played by our driver."""
