"""Which instances tests look at: others with every commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def look() -> int:
    """The number of commits, 0 outside a checkout; QUINTAIN_LOOK=N repeats a look."""
    command = ["git", "rev-list", "--count", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return int(os.environ.get("QUINTAIN_LOOK") or done.stdout or 0)
