"""Lines of the rooms that have a bound: every line of a file counts, and beside it what is neither docstring, comment nor blank."""

from __future__ import annotations

import ast
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "quintain"
ROOMS = (
    (
        "lines of objectives and advantages",
        ("objectives", "advantages"),
        4000,
        "half of them are docstrings, which hold each part's maths, shapes, source and differences; next: one place for "
        "what the parts of a family share",
    ),
    (
        "lines of world engines and suite",
        ("worlds/engines", "worlds/suite"),
        16000,
        "puzzles with one answer need a solver and a prover of their own; next: the declarations of logic and graphs, which are alike, "
        "as rows of one table",
    ),
)


def count(path: Path) -> tuple[int, int]:
    """All lines of a file, and those with code.

    Example:
        >>> all_of_them, code = count(Path(__file__))
        >>> 0 < code < all_of_them
        True
    """
    text = path.read_text()
    lines, told = text.splitlines(), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            said = node.body[0]
            told |= set(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    code = [n for n, line in enumerate(lines, 1) if line.strip() and not line.strip().startswith("#") and n not in told]
    return len(lines), len(code)


def row(name: str, rooms: Sequence[str], most: int, why: str) -> dict[str, object]:
    """The figure of some rooms."""
    counts = [count(path) for room in rooms for path in sorted((SOURCE / room).rglob("*.py"))]
    whole, code = (sum(column) for column in zip(*counts, strict=True))
    missed = "" if whole <= most else f"; missed: {why}"
    return {
        "name": name,
        "ours": whole,
        "peer": None,
        "ratio": None,
        "target": f"<= {most:,}",
        "holds": whole <= most,
        "note": f"{len(counts)} files, {code:,} lines of code without docstrings, comments and blank lines{missed}",
    }


def declarations() -> dict[str, object]:
    """How long the declaration of a world is: its file's lines over the worlds in it."""
    lines: list[float] = []
    for path in sorted((SOURCE / "worlds" / "suite").rglob("*.py")):
        text = path.read_text()
        worlds = text.count('@register("world", ')
        lines += [len(text.splitlines()) / worlds] * worlds if worlds else []
    middle = statistics.median(lines)
    return {
        "name": "lines of a world's declaration, median",
        "ours": middle,
        "peer": None,
        "ratio": None,
        "target": "<= 60",
        "holds": middle <= 60,
        "note": f"{len(lines)} worlds; lines of a file over the worlds in it, {min(lines):.0f} to {max(lines):.0f}",
    }


def main() -> None:
    """Count, and print a row for each figure."""
    print(json.dumps([*(row(*room) for room in ROOMS), declarations()]))


if __name__ == "__main__":
    main()
