"""The written part of docs/stability.md and its pictures, from claims/stability/results.json: tables, intervals, drawings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quintain.evals.chart import brief, ticks
from quintain.evals.stats import interval as wilson
from quintain.simulate import drawing
from quintain.simulate.drawing import (
    AMBER,
    BLUE,
    BRICK,
    CARD,
    GREEN,
    INK,
    LINE,
    PLUM,
    SOFT,
    Rect,
    Shape,
    Stroke,
    Words,
    blend,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "stability.md"
PICTURES = ROOT / "docs" / "pictures" / "stability"
BEGIN = (
    "<!-- written by tools/stability.py from claims/stability/results.json: run the tool, do not edit this part -->\n"
)
END = "<!-- end of the written part -->"
CONTROL, SUBJECT = "grpo_old", "dppo"
RIVALS = ("grpo_old", "grpo", "ppo", "minpro", "vcpo", "decoupled_ppo", "tis", "icepop", "cispo")
WIDE, FEWEST = 760.0, 3
Row = Mapping[str, Any]


class Mean(NamedTuple):
    """A mean over seeds with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return self.said(".2f")

    def said(self, form: str) -> str:
        """In a number format; without an interval where there is none."""
        inside = f" ({self.low:{form}} to {self.high:{form}})" if self.low < self.high else ""
        return f"{self.value:{form}}{inside}"


class Study:
    """The results beside the workload that asked for them."""

    def __init__(self, load: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        if results["workload"] != load["digest"]:
            raise SystemExit(
                f"the results are of workload {results['workload']}, the file is {load['digest']}: run the study again"
            )
        self.load, self.results = load, results
        self.methods, self.lags = list(load["method"]), list(load["staleness"]["lags"])
        self.pairs = [tuple(pair) for pair in load["mismatch"]["pairs"]]
        self._rows = {tuple(r[k] for k in ("method", "lag", "engine", "learner", "seed")): r for r in results["rows"]}
        self.aged = self._whole([(lag, "fp32", "fp32") for lag in self.lags])
        self.coarse = self._whole([(0, *pair) for pair in self.pairs])

    def _whole(self, settings: Sequence[tuple]) -> list[int]:
        """The seeds of which every run of a sweep is there."""
        wanted = [(method, *setting) for method in self.methods for setting in settings]
        return [seed for seed in self.load["seeds"] if all((*cell, seed) in self._rows for cell in wanted)]

    def old(self, method: str, lag: int) -> list[Row]:
        """The rows of a method at a lag, seed by seed."""
        return [self._rows[method, lag, "fp32", "fp32", seed] for seed in self.aged]

    def rounded(self, method: str, pair: tuple[str, str]) -> list[Row]:
        """The rows of a method with an engine and a learner of these precisions."""
        return [self._rows[method, 0, *pair, seed] for seed in self.coarse]

    def mean(self, values: Sequence[float]) -> Mean:
        """Of one number for each seed, with a percentile bootstrap over the seeds; of fewer than three the mean alone."""
        rule, each = self.load["interval"], np.asarray(values, float)
        if len(each) < FEWEST:
            return Mean(float(each.mean()), float(each.mean()), float(each.mean()))
        drawn = np.random.default_rng(rule["seed"]).integers(len(each), size=(rule["resamples"], len(each)))
        tail = (1 - rule["level"]) / 2
        low, high = np.quantile(each[drawn].mean(1), [tail, 1 - tail])
        return Mean(float(each.mean()), float(low), float(high))

    def finals(self, rows: Sequence[Row]) -> Mean:
        """Of the final reward."""
        return self.mean([row["final"] for row in rows])

    def pooled(self, pair: tuple[str, str], name: str) -> Mean:
        """Of a figure averaged over all methods, with a bootstrap over the seeds; a run that broke has none."""
        each = [
            [r[name] for m in self.methods for r in self.rounded(m, pair) if r["seed"] == seed and name in r]
            for seed in self.coarse
        ]
        return self.mean([float(np.mean(values)) for values in each])


def fallen(rows: Sequence[Row]) -> str:
    """How many runs collapsed, of how many different ones, and the interval of the share.

    Methods that are one on these data make the same run, which counts once.
    """
    different = {(row["seed"], row["lag"], row["final"], *row["curve"]): row["collapsed"] for row in rows}
    count = sum(different.values())
    low, high = wilson(count, len(different))
    return f"{count} of {len(different)} ({low:.2f} to {high:.2f})"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def kind(pair: tuple[str, str]) -> str:
    """Name of a pair of precisions."""
    return f"{pair[0]} / {pair[1]}"


def tables(study: Study) -> str:
    """The written part."""
    lags = [f"lag {lag}" for lag in study.lags]
    head = study.results
    seconds = sum(row["seconds"] for row in head["rows"])
    return f"""{_seeds(study)} {len(head["rows"])} runs, {seconds / 60:.0f} minutes on cores that other work shared, {head["date"]},
{head["machine"]}. Rewards lie in 0 to 1; intervals are 95 %, and fewer than {FEWEST} seeds have none.

### Old data

![Final reward by lag, a panel for each method](pictures/stability/staleness.svg)

{grid(["final reward", *lags], [[f"`{m}`", *(str(study.finals(study.old(m, lag))) for lag in study.lags)] for m in study.methods])}
Runs that collapsed, of {len(study.aged)} for each lag:

{grid(["collapsed", *lags, "all lags above 0"], [_falls(study, m) for m in study.methods])}
![Collapsed runs by method and setting](pictures/stability/collapse.svg)

DPPO against others on the same seeds (a difference whose interval holds 0 says nothing):

{grid(["difference in final reward", *lags], [_rival(study, m) for m in RIVALS])}
### Engine and learner in different precisions

Without lag; the first word is the engine's precision, the second the learner's.

![How far engine and learner are apart](pictures/stability/mismatch.svg)

{grid(["engine / learner", *GAPS.values(), "largest", "final reward", "collapsed"], [_rounded(study, p) for p in study.pairs])}
![Final reward by method and precision](pictures/stability/precision.svg)

{grid(["final reward", *map(kind, study.pairs)], [_each(study, m) for m in study.methods])}"""


def _seeds(study: Study) -> str:
    """How much of the study is there."""
    wanted = len(study.load["seeds"])
    parts = (("old data", study.aged), ("precisions", study.coarse))
    said = ", ".join(f"{len(there)} of {wanted} seeds for {what}" for what, there in parts)
    short = any(len(there) < wanted for _, there in parts)
    return (
        f"**{said}**; the study is not over, seeds that are not whole are left out."
        if short
        else f"{said.capitalize()}."
    )


def _falls(study: Study, method: str) -> list[str]:
    late = [row for lag in study.lags if lag for row in study.old(method, lag)]
    return [
        f"`{method}`",
        *(str(sum(r["collapsed"] for r in study.old(method, lag))) for lag in study.lags),
        fallen(late),
    ]


def _rival(study: Study, rival: str) -> list[str]:
    pairs = [zip(study.old(SUBJECT, lag), study.old(rival, lag), strict=True) for lag in study.lags]
    return [
        f"`{SUBJECT}` - `{rival}`",
        *(str(study.mean([a["final"] - b["final"] for a, b in each])) for each in pairs),
    ]


def _rounded(study: Study, pair: tuple[str, str]) -> list[str]:
    rows = [row for m in study.methods for row in study.rounded(m, pair)]
    found = [study.pooled(pair, name) for name in GAPS]
    gaps = [m.said(".1e") for m in found]
    largest = max(row["mismatch_max"] for row in rows if "mismatch_max" in row)
    return [kind(pair), *gaps, f"{largest:.1e}", str(study.pooled(pair, "final")), fallen(rows)]


def _each(study: Study, method: str) -> list[str]:
    return [f"`{method}`", *(str(study.finals(study.rounded(method, pair))) for pair in study.pairs)]


GAPS = {"mismatch_mean": "mean absolute log-ratio, nats", "mismatch_kl": "KL, nats"}


def panels(study: Study) -> tuple[float, list[Shape]]:
    """Final reward against lag: a small panel for each method, the control in grey behind it."""
    shapes = _title(
        "Final reward by lag",
        "across: age of the data in steps; up: reward. Mean, 95 % interval from three seeds on, seeds (small); grey: grpo_old",
    )
    columns, wide, high, top = 4, 178.0, 128.0, 88.0
    for i, method in enumerate(study.methods):
        left, under = 44 + (i % columns) * wide, top + (i // columns) * (high + 44)
        inner = wide - 30
        at = partial(_along, left + 10, inner - 20, (0, len(study.lags) - 1))
        up = partial(_along, under + high, -high, (0.0, 1.0))
        shapes.append(Words(left, under - 7, method, INK, 12, bold=True))
        for v in (0.0, 0.25, 0.5, 0.75, 1.0):
            shapes.append(Stroke(((left, up(v)), (left + inner, up(v))), LINE, 0.8))
            if i % columns == 0:
                shapes.append(Words(left - 6, up(v) + 3.5, brief(v), SOFT, 10, "end"))
        shapes += [Words(at(k), under + high + 15, str(lag), SOFT, 10, "middle") for k, lag in enumerate(study.lags)]
        control = [study.finals(study.old(CONTROL, lag)).value for lag in study.lags]
        shapes.append(Stroke(tuple((at(k), up(v)) for k, v in enumerate(control)), blend(SOFT, 0.5), 1.6))
        means = [study.finals(study.old(method, lag)) for lag in study.lags]
        shapes.append(Stroke(tuple((at(k), up(m.value)) for k, m in enumerate(means)), BLUE, 1.6))
        for k, (lag, mean) in enumerate(zip(study.lags, means, strict=True)):
            shapes += [_dot(at(k) + 4.5, up(r["final"]), 3, blend(BLUE, 0.5)) for r in study.old(method, lag)]
            shapes.append(Stroke(((at(k), up(mean.low)), (at(k), up(mean.high))), BLUE, 1.6))
            shapes.append(_dot(at(k), up(mean.value), 7, BLUE))
    rows = -(-len(study.methods) // columns)
    return top + rows * (high + 44) - 12, shapes


def collapses(study: Study) -> tuple[float, list[Shape]]:
    """How many runs collapsed, a square for each method and setting, darker for more."""
    shapes = _title(
        "Collapsed runs",
        f"left by lag in steps (fp32), of {len(study.aged)}; right by precision of engine / learner (no lag), of {len(study.coarse)}",
    )
    left, top, row = 132.0, 96.0, 24.0
    columns: list[tuple[float, float, str, Callable[[str], list[Row]]]] = []
    x = left
    shapes.append(Words(left - 10, top - 8, "lag", SOFT, 10.5, "end"))
    for lag in study.lags:
        columns.append((x, 44, str(lag), lambda m, lag=lag: study.old(m, lag)))
        x += 46
    x += 20
    for pair in study.pairs[1:]:
        columns.append((x, 72, kind(pair), lambda m, pair=pair: study.rounded(m, pair)))
        x += 74
    shapes += [Words(x + wide / 2, top - 8, name, SOFT, 10.5, "middle") for x, wide, name, _ in columns]
    for i, method in enumerate(study.methods):
        y = top + i * row
        shapes.append(Words(left - 10, y + 15.5, method, INK, 11.5, "end"))
        for x, wide, _, rows in columns:
            count = sum(r["collapsed"] for r in rows(method))
            share = count / len(rows(method))
            shapes.append(
                Rect(x, y + 1, wide, row - 3, blend(BRICK, 0.08 + 0.92 * share) if count else blend(LINE, 0.5), 2)
            )
            shapes.append(
                Words(x + wide / 2, y + 15.5, str(count), CARD if share > 0.5 else INK if count else SOFT, 11, "middle")
            )
    return top + len(study.methods) * row + 16, shapes


def gaps(study: Study) -> tuple[float, list[Shape]]:
    """How far engine and learner are apart, on a logarithmic axis: methods as small dots, their mean with its interval."""
    shapes = _title(
        "Engine against learner",
        "no lag; mean of all steps; a small dot is a method, the large one the mean of all, with its 95 % interval from three seeds on",
    )
    left, top, row = 110.0, 92.0, 30.0
    bottom = top + row * len(study.pairs)
    for side, (name, label) in enumerate(GAPS.items()):
        start, wide = left + side * 326, 278.0
        values = [r[name] for m in study.methods for p in study.pairs for r in study.rounded(m, p) if r.get(name)]
        low, high = np.floor(np.log10(min(values))), np.ceil(np.log10(max(values)))
        across = partial(_along, start, wide, (low, high))
        shapes.append(Words(start, top - 12, label, INK, 11.5, bold=True))
        for power in range(int(low), int(high) + 1, max(1, round((high - low) / 5))):
            shapes.append(Stroke(((across(power), top - 4), (across(power), bottom + 4)), LINE, 0.8))
            shapes.append(Words(across(power), bottom + 19, f"1e{power}", SOFT, 10, "middle"))
        for i, pair in enumerate(study.pairs):
            y = top + i * row + row / 2
            if not side:
                shapes.append(Words(left - 12, y + 4, kind(pair), INK, 11.5, "end"))
            for m in study.methods:
                each = [r[name] for r in study.rounded(m, pair) if r.get(name)]
                shapes += [_dot(across(np.log10(np.mean(each))), y + 6, 3, blend(BLUE, 0.5))] if each else []
            mean = study.pooled(pair, name)
            shapes.append(
                Stroke(((across(np.log10(mean.low)), y - 3), (across(np.log10(mean.high)), y - 3)), BLUE, 2.0)
            )
            shapes.append(_dot(across(np.log10(mean.value)), y - 3, 8, BLUE))
    return bottom + 34, shapes


def forest(study: Study) -> tuple[float, list[Shape]]:
    """Final reward of each method under every pair of precisions, one above the other in the order of the legend."""
    colours = (INK, BRICK, BLUE, AMBER, GREEN, PLUM)[: len(study.pairs)]
    shapes = _title(
        "Final reward by precision",
        "no lag; engine / learner; mean of the seeds, 95 % interval from three seeds on, in the order of the legend",
    )
    left, top, row, step = 132.0, 104.0, 46.0, 7.5
    bottom, wide = top + row * len(study.methods), WIDE - 132 - 40
    x = 24.0
    for pair, colour in zip(study.pairs, colours, strict=True):
        shapes += [_dot(x + 5, 74, 9, colour), Words(x + 15, 78, kind(pair), SOFT, 11)]
        x += 30 + drawing.width_of(kind(pair), 11) + 8
    for v in ticks(0.0, 1.0, 5):
        shapes.append(Stroke(((left + v * wide, top - 6), (left + v * wide, bottom)), LINE, 0.8))
        shapes.append(Words(left + v * wide, bottom + 16, brief(v), SOFT, 10.5, "middle"))
    for i, method in enumerate(study.methods):
        y = top + i * row
        shapes.append(Words(left - 10, y + row / 2, method, INK, 11.5, "end"))
        for k, (pair, colour) in enumerate(zip(study.pairs, colours, strict=True)):
            mean, level = study.finals(study.rounded(method, pair)), y + 5 + k * step
            shapes.append(Stroke(((left + mean.low * wide, level), (left + mean.high * wide, level)), colour, 1.6))
            shapes.append(_dot(left + mean.value * wide, level, 6.5, colour))
    return bottom + 30, shapes


def _along(start: float, length: float, span: tuple[float, float], value: float) -> float:
    """Where a value lies on an axis."""
    return start + length * (value - span[0]) / (span[1] - span[0])


def _dot(x: float, y: float, size: float, colour: str) -> Rect:
    return Rect(x - size / 2, y - size / 2, size, size, colour, size / 2)


def _title(text: str, under: str) -> list[Shape]:
    return [Words(24, 32, text, INK, 15, bold=True), Words(24, 51, under, SOFT, 11)]


DRAWN = {"staleness": panels, "collapse": collapses, "mismatch": gaps, "precision": forest}


def study_of(load: Mapping[str, Any], results: Path) -> Study:
    """The committed results."""
    return Study(load, json.loads(results.read_text()))


def write(study: Study, page: Path = PAGE, pictures: Path = PICTURES) -> int:
    """Write the part between the marks, and draw the pictures."""
    pictures.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        high, shapes = draw(study)
        title = next(s.text for s in shapes if isinstance(s, Words))
        drawing.write(pictures / f"{name}.svg", WIDE, high, shapes, title)
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + BEGIN + "\n" + tables(study) + "\n" + END + rest.partition(END)[2])
    return 0


def check(study: Study, page: Path = PAGE) -> int:
    """Whether the page says what the results say."""
    wanted, text = tables(study), page.read_text()
    if wanted in text:
        return 0
    lost = [line for line in wanted.splitlines() if line not in text]
    print("the page lacks these lines; run: python tools/stability.py page\n" + "\n".join(lost))
    return 1
