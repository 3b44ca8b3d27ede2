"""Makes the README's picture, the first screen of a report, from the records of docs/example-run.

Needs Chromium. Only the records are committed, so the report is made anew in a folder of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "docs" / "example-run"
PICTURE = RUN / "report.png"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTH_PX, HEIGHT_PX = 1200, 900


def make_report(folder: Path) -> Path:
    """Copies the records into the folder and makes the report there."""
    run = shutil.copytree(RUN, folder / "run", ignore=shutil.ignore_patterns("*.png", "*.md"))
    command = [sys.executable, "-P", "-m", "dyno.cli", "report", str(run)]
    subprocess.run(command, check=False, timeout=60, stdout=subprocess.DEVNULL)
    return run / "report.html"


def take_picture(page: Path, target: Path) -> None:
    """Photographs the first screen of a page."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        sys.exit(f"no Chromium found: install one of {', '.join(NAMES)}")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = f"--window-size={WIDTH_PX},{HEIGHT_PX}"
    command = [program, *flags, size, f"--screenshot={target}", page.as_uri()]
    subprocess.run(command, check=True, timeout=60, capture_output=True)


def main() -> None:
    """Writes the picture beside the records."""
    with TemporaryDirectory() as folder:
        take_picture(make_report(Path(folder)), PICTURE)


if __name__ == "__main__":
    main()
