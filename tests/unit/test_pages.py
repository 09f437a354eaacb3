"""Generated pages and counts are those of the registry."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from quintain.registry import names

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_fresh():
    pages = runpy.run_path(str(ROOT / "tools" / "pages.py"))
    for name, write in pages["PAGES"].items():
        assert (ROOT / "docs" / name).read_text() == pages["NOTE"] + write().rstrip() + "\n", (
            f"run: python tools/pages.py ({name})"
        )


def test_the_readme_counts_as_the_registry_does():
    found = re.search(r"(\d+) worlds? on four engines", (ROOT / "README.md").read_text())
    assert found and int(found.group(1)) == len(names("world"))


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
