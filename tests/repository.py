"""Where the repository lies: what tests read of it, they find from here."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
