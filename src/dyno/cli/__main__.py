"""`python -m dyno.cli` is `dyno`."""

from dyno.cli import main

main()
