"""`dyno capacity` on servers: PostgreSQL 13 and 18, and MySQL with performance_schema on and off.

    bench/run capacity-servers postgres|mysql [--blocks N]

About eight minutes each with six blocks. The answer goes to stdout as `dyno capacity` prints it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

DYNO = Path(__file__).resolve().parent.parent / ".venv" / "bin" / "dyno"
CASES = {
    "postgres": ("postgres@13", "postgres@18"),
    "mysql": ("on=mysql@9.7?performance_schema=on", "off=mysql@9.7?performance_schema=off"),
}


def main() -> None:
    """Becomes the command."""
    parser = argparse.ArgumentParser(prog="bench/run capacity-servers")
    parser.add_argument("servers", choices=CASES)
    parser.add_argument("--blocks", type=int, default=6, metavar="N")
    given = parser.parse_args()
    words = [*CASES[given.servers], "-w", "oltp_point_select", "--set", "table_size=10000"]
    words += ["--slo", "p99<5ms", "--blocks", str(given.blocks), "--step", "3s", "--seed", "1"]
    sys.stdout.flush()
    os.execv(DYNO, [str(DYNO), "capacity", *words])


if __name__ == "__main__":
    main()
