"""The registered parts as their source says, without importing them: half of them need torch, whose import takes seconds."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from quintain.registry import HOMES, Entry


def written(kind: str) -> list[Entry]:
    """Every entry of a kind, by name, as `registry.entries` gives them; their `make` only has the docstring.

    Special cases: tags that are more than literals are left out. What is registered other than by a decorator with literal arguments
    is not found; the tests hold this against the registry.
    """
    found = {
        e.name: e for home in HOMES.get(kind, ()) for file in _files(home) for e in _entries(file) if e.kind == kind
    }
    return [found[name] for name in sorted(found)]


def _files(home: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(home)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from (p for p in sorted(Path(folder).rglob("*.py")) if not p.stem.startswith("_") or p.stem == "__init__")


def _entries(file: Path) -> Iterator[Entry]:
    text = file.read_text(encoding="utf-8")
    if "@register(" not in text:
        return
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "register":
                yield _entry(mark, ast.get_docstring(node) or "")


def _entry(mark: ast.Call, docstring: str) -> Entry:
    def make() -> None: ...

    make.__doc__ = docstring
    kind, name = map(ast.literal_eval, mark.args)
    tags = {}
    for word in mark.keywords:
        with contextlib.suppress(ValueError):  # more than a literal, such as a class: only the part itself knows it
            tags[str(word.arg)] = ast.literal_eval(word.value)
    return Entry(kind=kind, name=name, make=make, paper=tags.pop("paper", ""), tags=tags)
