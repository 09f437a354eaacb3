"""Generated pages and counts are those of the registry."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from quintain.cli.catalogue import written
from quintain.envs.world import world_of
from quintain.registry import HOMES, entries, names

ROOT = Path(__file__).parents[2]
NUMBERS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def test_generated_pages_are_fresh():
    pages = runpy.run_path(str(ROOT / "tools" / "pages.py"))["all_pages"]()
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text() == text, f"run: python tools/pages.py ({name})"
    assert {f"worlds/{path.name}" for path in (ROOT / "docs" / "worlds").iterdir()} < pages.keys(), (
        "run: python tools/pages.py"
    )


def test_every_world_has_a_picture_and_every_picture_a_world():
    sheets = runpy.run_path(str(ROOT / "tools" / "pictures.py"))["sheets"]
    known = set(names("world"))
    for domain in {str(e.tags["domain"]) for e in entries("world")}:
        known |= sheets(domain, [e.name for e in entries("world") if e.tags["domain"] == domain]).keys()
    drawn = {path.stem for path in (ROOT / "docs" / "pictures" / "worlds").iterdir()}
    assert drawn == known, "run: python tools/pictures.py"


def test_pictures_of_worlds_have_room_for_every_level_at_256_pixels():
    for name in names("world"):
        with Image.open(ROOT / "docs" / "pictures" / "worlds" / f"{name}.png") as image:
            wide, high = image.size
        assert wide >= 5 * 256 and 2 * 256 <= high < 3 * 256, "run: python tools/pictures.py"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_who_draws_the_pictures_writes_the_pages_that_show_them():
    asked = [
        "make",
        "-n",
        "--no-print-directory",
        "pictures",
        "NO_SETUP=1",
        "ARGS=KeyDoor",
    ]  # also where a make runs this test
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.partition("tools/")[2] for line in said] == ["pictures.py KeyDoor", "pages.py"]


def test_sheets_of_worlds_are_short_and_leave_none_out():
    sheets = runpy.run_path(str(ROOT / "tools" / "pictures.py"))["sheets"]
    found = sheets("games", [f"W{i}" for i in range(45)])
    assert list(found) == ["games", "games-2", "games-3"]
    assert [name for part in found.values() for name in part] == [f"W{i}" for i in range(45)]


def test_every_knob_of_every_world_is_explained_once() -> None:
    said = runpy.run_path(str(ROOT / "tools" / "world_pages.py"))["glossary"]()
    common, used = said.pop("any"), set()
    for name in names("world"):
        knobs, own = {*world_of(name).levels[0]}, said.pop(name, {})
        assert knobs <= {*common, *own} and {*own} <= knobs, name
        assert all(phrase != common.get(knob) for knob, phrase in own.items()), name
        assert max(map(len, own.values()), default=0) <= 70
        used |= knobs - {*own}
    assert not said, "worlds that there are not"
    assert used == {*common} and max(map(len, common.values())) <= 70


def test_the_readme_counts_as_the_registry_does():
    found = re.search(r"(\d+) worlds? on (\w+) engines", (ROOT / "README.md").read_text())
    assert found and int(found.group(1)) == len(names("world"))
    assert NUMBERS.index(found.group(2)) == len({e.tags["engine"] for e in entries("world")})


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_pages_that_send_to_the_examples_say_who_has_them():
    pages = [path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if "examples/" in path.read_text()]
    assert len(pages) > 2
    for page in pages:
        assert re.search(
            r"of a checkout, or the source distribution|in a checkout and in the source", page.read_text()
        ), page


@pytest.mark.parametrize("kind", sorted(HOMES.keys() - {"world"}))
def test_what_is_read_from_the_source_is_what_is_registered(kind):
    own = [
        e for e in entries(kind) if e.make.__module__.startswith("quintain.")
    ]  # other tests may register parts of theirs
    read = {e.name: e for e in written(kind)}
    assert sorted(read) == [e.name for e in own]
    for e in own:
        known = read[e.name]
        assert (known.paper, known.summary) == (e.paper, e.summary)
        assert known.tags == {k: v for k, v in e.tags.items() if k in known.tags}
        assert {"methods", "confidence", "status", "learns", "preset"} & e.tags.keys() <= known.tags.keys(), (
            "what lists show"
        )
