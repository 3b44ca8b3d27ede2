"""The survey of machines that are made of files."""
