"""Starts a benchmark by its file, for `bench/run`. What a user can mend is said in a sentence."""

from __future__ import annotations

import runpy
import sys

from dyno.errors import DynoError


def main() -> None:
    sys.argv = sys.argv[1:]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except DynoError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
