"""What suites found over time: a line of JSON for each evaluation, and one page with domains, a radar and the history."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quintain.envs.files import beside
from quintain.evals import chart
from quintain.evals.page import STYLE
from quintain.evals.players import called
from quintain.evals.suites import Played
from quintain.types import QuintainError

SHOWN = 6  # players on a chart

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}</style></head><body><main>
<h1>{title}</h1><p class="sub">{sub}</p>
<div class="charts">{charts}</div>
<h2>Domains</h2><p class="sub">Success of the newest evaluation of each player, with its 95 % interval.</p>{domains}
{levels}<h2>Worlds</h2>{worlds}
</main></body></html>
"""


class BadRecord(QuintainError):
    """The file of earlier evaluations cannot be read."""


def ready(folder: Path, suite: str) -> Path:
    """The file of earlier evaluations of a suite in `folder`, which is made; ask before what is to be kept is played.

    Raises:
        BadRecord: a line of the file is not one that `keep` wrote; nothing is changed.
        CannotWrite: the folder cannot be made or written.
    """
    if folder.exists() and not folder.is_dir():
        raise BadRecord(f"{folder} is a file; --out names a folder that keeps evaluations, which is made if need be")
    record = folder / f"suite-{suite}.jsonl"
    os.rmdir(beside(record, tempfile.mkdtemp))
    _rows(record)
    return record


class Unfinished(dict[str, list[Played]]):
    """Worlds of an evaluation as they end, kept in a file of the folder until `close`, so that the same one goes on where it was cut off.

    Args:
        folder: that keeps the evaluations.
        suite: its name.
        whose: what an evaluation must share to go on; each other one has a file of its own.
        used: the sums of the server's use, which go on too.
    """

    def __init__(self, folder: Path, suite: str, whose: Mapping[str, Any], used: Counter[str]) -> None:
        super().__init__()
        mark = hashlib.blake2b(json.dumps(dict(whose)).encode(), digest_size=4).hexdigest()
        self.path, self.used = folder / f"suite-{suite}-{mark}.part", used
        lines: list[Any] = []
        if self.path.exists():
            with contextlib.suppress(ValueError):  # the last line may be torn
                lines.extend(map(json.loads, self.path.read_text(encoding="utf-8").splitlines()))
            self.path.write_text("", encoding="utf-8")
        for line in lines:
            used.clear()
            used.update(line["used"])
            self[line["world"]] = [Played(**row) for row in line["played"]]

    def __setitem__(self, world: str, played: list[Played]) -> None:
        line = {"world": world, "played": [asdict(row) for row in played], "used": dict(self.used)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        super().__setitem__(world, played)

    def close(self) -> None:
        """The evaluation is whole, and kept elsewhere."""
        self.path.unlink(missing_ok=True)


def keep(found: Mapping[str, Any], folder: Path) -> Path:
    """Add an evaluation to those in `folder`, write the page of its suite, and return the page's path.

    Raises:
        BadRecord, CannotWrite: as for `ready`.
    """
    record = ready(folder, found["suite"])
    rows = [*_rows(record), {"time": round(time.time()), **found}]
    whole = not record.exists() or record.read_bytes()[-1:] in (b"", b"\n")
    with record.open("a", encoding="utf-8") as file:
        file.write(("" if whole else "\n") + json.dumps(rows[-1]) + "\n")
    path = record.with_suffix(".html")
    path.write_text(page(rows), encoding="utf-8")
    return path


def _rows(record: Path) -> list[dict[str, Any]]:
    rows = []
    text = record.read_text(encoding="utf-8") if record.exists() else ""
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        try:
            row = json.loads(line)
            _called(row), row["digest"], dict(row["domains"])  # what a page cannot do without
            rows.append(row)
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(
                f"line {number} of {record} is no evaluation of a suite ({error!r}); remove the line, or choose another --out"
            ) from None
    return rows


def _called(row: Mapping[str, Any]) -> str:
    """A player with what sets its evaluations apart; of a run also the step, which versions before this one did not keep."""
    name = called(str(row["player"]), row.get("step"))
    return f"{name} ({row['setting']})" if row.get("setting") else name


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page of evaluations of one suite, oldest first; those of other instances than the newest are counted and left out."""
    newest = rows[-1]
    same = [row for row in rows if row["digest"] == newest["digest"]]
    latest: dict[str, Mapping[str, Any]] = {}  # the newest of each player, the newest last
    for row in same:
        latest.pop(_called(row), None)
        latest[_called(row)] = row
    shown = dict(list(latest.items())[-SHOWN:])
    others = len(rows) - len(same)
    levels = ", ".join(map(str, newest["levels"]))
    sub = (
        f"{_count(len(newest['worlds']), 'world')} · level {levels} · seeds {newest['seeds'][0]} to {newest['seeds'][1]} of the split "
        f"{newest['split']} · instances {newest['digest']} · {_count(len(same), 'evaluation')} of "
        + _count(len(latest), "player")
        + (f" · {others} of other instances left out" if others else "")
    )
    return PAGE.format(
        title=html.escape(f"Suite {newest['suite']}"),
        style=STYLE,
        sub=html.escape(sub),
        charts=_charts(same, shown),
        domains=_domains(shown),
        levels=_levels(shown),
        worlds=_worlds(shown),
    )


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"


def _charts(rows: Sequence[Mapping[str, Any]], shown: Mapping[str, Mapping[str, Any]]) -> str:
    axes = list(rows[-1]["domains"])
    stars = {name: [row["domains"][d]["success"] for d in axes] for name, row in shown.items()}
    history: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in shown}
    for number, row in enumerate(rows, 1):
        if _called(row) in history:
            history[_called(row)][0].append(number)
            history[_called(row)][1].append(row["success"])
    star = chart.radar("Success by domain", axes, stars)
    return star + chart.lines("Success of the suite", {}, history, floor=0.0, unit="evaluation")


def _cells(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"


def _said(row: Mapping[str, Any] | None) -> str:
    """Success with its interval and the highest pass@k; of evaluations of earlier versions what they have of these."""
    if row is None:
        return "-"
    passes = [f"  pass@{k} {share:.3f}" for k, share in row.get("pass", {}).items()]
    between = f"  ({row['interval'][0]:.3f} to {row['interval'][1]:.3f})" if row["interval"] else ""
    return f"{row['success']:.3f}{between}{''.join(passes[1:][-1:])}"


def _domains(shown: Mapping[str, Mapping[str, Any]]) -> str:
    newest = list(shown.values())[-1]
    lines = [_cells("th", ["domain", "worlds", *shown])]
    for domain, row in newest["domains"].items():
        lines.append(_cells("td", [domain, str(row["worlds"]), *(_said(r["domains"][domain]) for r in shown.values())]))
    lines.append(_cells("th", ["all", str(len(newest["worlds"])), *(_said(row) for row in shown.values())]))
    return f'<table class="found">{"".join(lines)}</table>'


def _levels(shown: Mapping[str, Mapping[str, Any]]) -> str:
    """Success by level, where there are several."""
    each = [row.get("by_level", {}) for row in shown.values()]
    levels = dict.fromkeys(level for row in each for level in row)
    lines = [_cells("td", [level, *(_said(row.get(level)) for row in each)]) for level in levels]
    table = f'<table class="found">{_cells("th", ["level", *shown])}{"".join(lines)}</table>'
    return f"<h2>Levels</h2>{table}\n" if lines else ""


def _worlds(shown: Mapping[str, Mapping[str, Any]]) -> str:
    def said(row: Mapping[str, Any], name: str) -> str:
        return _said({"success": row["worlds"][name], "interval": row.get("intervals", {}).get(name)})

    lines = [_cells("th", ["world", *shown])]
    lines += [
        _cells("td", [name, *(said(row, name) for row in shown.values())])
        for name in list(shown.values())[-1]["worlds"]
    ]
    return f'<table class="found">{"".join(lines)}</table>'
