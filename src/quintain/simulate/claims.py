"""Published figures against simulated ones: a paper's parameter file, its claims, and what each result hangs on.

A file in `claims/` holds `[base]`, `[variant.NAME]` and `[case.NAME]` trees of a scenario, `[[claim]]` rows, and `[sources]`: where each
value comes from. It is written before the first run and never tuned to the result.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from quintain.config.tree import Form, fit
from quintain.registry import UnknownName, unknown
from quintain.simulate import settings
from quintain.simulate.levers import LEVERS, turned
from quintain.simulate.run import METRICS, once
from quintain.simulate.settings import Scenario, ScenarioError

HERE = Path(__file__)
FOLDERS = (HERE.parents[1] / "claims", HERE.parents[3] / "claims")  # installed, or a checkout
SPREAD = {"p50", "p99", "low", "high", "mean", "values", "min", "max"}
REDUCE = {"mean": lambda v: sum(v) / len(v), "max": max, "min": min}
MOST_SEEDS = 1000


class ClaimTable(BaseModel, extra="forbid", allow_inf_nan=False):
    """A `[[claim]]` table as it is written: one published figure, or `low` and `high` of its range."""

    name: str = Field(min_length=1)
    metric: str
    baseline: str
    variant: str
    source: str = Field(min_length=1)
    published: float | None = Field(None, gt=0)
    low: float | None = Field(None, gt=0)
    high: float | None = Field(None, gt=0)
    case: str = ""
    reduce: Literal["mean", "max", "min"] = "mean"


class HeadTable(BaseModel, extra="forbid"):
    """The `[paper]` table."""

    title: str
    arxiv: str
    what: str


class PaperFile(BaseModel, extra="forbid", allow_inf_nan=False):
    """A parameter file as it is written."""

    tolerance: float = Field(ge=0, lt=1)
    seeds: int = Field(ge=1, le=MOST_SEEDS)
    paper: HeadTable
    claim: list[ClaimTable] = Field(min_length=1)
    base: dict[str, Any]
    variant: dict[str, dict[str, Any]] = Field(min_length=1)
    case: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sources: dict[str, str]


FORM = Form(model=PaperFile, key="key of a paper's file", example="seeds=3", wrong=ScenarioError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One published figure: the ratio of a metric between two variants, over one case or all of them."""

    name: str
    metric: str
    baseline: str
    variant: str
    source: str
    low: float
    high: float
    case: str = ""
    reduce: str = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A parameter file."""

    name: str
    path: Path
    title: str
    arxiv: str
    what: str
    tolerance: float
    seeds: int
    claims: tuple[Claim, ...]
    base: Mapping[str, Any]
    variants: Mapping[str, Any]
    cases: Mapping[str, Any]
    sources: Mapping[str, str]

    def scenario(self, variant: str, case: str = "") -> Scenario:
        """The scenario of one variant in one case.

        Raises:
            UnknownName: there is no such variant or case.
        """
        for what, name, known in (("variant", variant, self.variants), ("case", case, self.cases)):
            if name and name not in known:
                raise UnknownName(unknown(f"{what} of {self.name}", name, known))
        tree: dict[str, Any] = copy.deepcopy(dict(self.base))
        _merge(tree, self.variants[variant], variant)
        if case:
            _merge(tree, self.cases[case], variant)
        return settings.make(tree)

    def over(self, claim: Claim) -> Sequence[str]:
        """The cases that a claim speaks of."""
        return (claim.case,) if claim.case else tuple(self.cases) or ("",)

    def leaves(self) -> set[str]:
        """Every key that the file sets, as the sources name them."""
        trees = [self.base, *self.variants.values(), *self.cases.values()]
        return {key for tree in trees for key in _leaves(tree, self.variants)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A claim beside what the simulator says."""

    paper: Paper
    claim: Claim
    simulated: float
    by_case: Mapping[str, float]

    @property
    def hit(self) -> bool:
        """Whether the simulated figure lies within the tolerance around the published one or its range."""
        slack = self.paper.tolerance
        return self.claim.low * (1 - slack) <= self.simulated <= self.claim.high * (1 + slack)

    @property
    def published(self) -> str:
        """The published figure as text."""
        low, high = self.claim.low, self.claim.high
        return f"{low:g}" if low == high else f"{low:g}-{high:g}"


def papers() -> dict[str, Path]:
    """The parameter files by name."""
    return {p.stem: p for folder in reversed(FOLDERS) if folder.is_dir() for p in sorted(folder.glob("*.toml"))}


def where(name: str) -> Path:
    """The file that a name or path on the command line means.

    Raises:
        UnknownName: it is no TOML file, and no shipped paper is called so.
    """
    known = papers()
    if not name.endswith(".toml") and name not in known:
        raise UnknownName(unknown("scenario file or paper", name, known))
    return known.get(name, Path(name))


def load(name: str) -> Paper:
    """Read a paper's parameter file: a shipped one by its name, or any by its path.

    Raises:
        UnknownName: there is no such paper, or a claim names a metric, variant or case that there is not.
        ScenarioError: the file lacks something, holds a wrong value, or a value without a source.
    """
    path = where(name)
    try:
        said = fit(settings.read(path), FORM)
        paper = Paper(
            name=path.stem,
            path=path,
            title=said.paper.title,
            arxiv=said.paper.arxiv,
            what=said.paper.what,
            tolerance=said.tolerance,
            seeds=said.seeds,
            claims=tuple(_claim(row, said) for row in said.claim),
            base=said.base,
            variants=said.variant,
            cases=said.case,
            sources=said.sources,
        )
    except (UnknownName, ScenarioError) as error:
        raise type(error)(f"{path}: {error}") from None
    unsaid = paper.leaves() - set(paper.sources)
    if unsaid:
        raise ScenarioError(f"{path}: no source is given for {', '.join(sorted(unsaid))}")
    for claim in paper.claims:  # a wrong value is told before the first run
        for variant, case in ((v, c) for v in (claim.baseline, claim.variant) for c in paper.over(claim)):
            paper.scenario(variant, case)
    return paper


def _claim(row: ClaimTable, said: PaperFile) -> Claim:
    known: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("metric", row.metric, METRICS),
        ("variant", row.baseline, said.variant),
        ("variant", row.variant, said.variant),
        ("case", row.case or next(iter(said.case), ""), said.case or ("",)),
    )
    for what, name, names in known:
        if name not in names:
            raise UnknownName(f"claim {row.name!r}: {unknown(what, name, names)}")
    low, high = (row.published, row.published) if row.published is not None else (row.low, row.high)
    if low is None or high is None or low > high or (row.published is not None and (row.low or row.high)):
        raise ScenarioError(
            f"claim {row.name!r} has published = {row.published}, low = {row.low}, high = {row.high}; it needs either published, or "
            "low and high with low <= high"
        )
    values = row.model_dump(exclude={"published", "low", "high"})
    return Claim(**values, low=low, high=high)


def _ratio(claim: Claim, ours: float, theirs: float) -> float:
    """What a claim is about.

    Raises:
        ScenarioError: the baseline's metric is 0.
    """
    if not theirs:
        raise ScenarioError(
            f"claim {claim.name!r}: {claim.metric} of the baseline {claim.baseline!r} is 0, so nothing can be put in relation to it; "
            "change the baseline's values or the metric"
        )
    return ours / theirs


def rows(paper: Paper) -> list[Row]:
    """Simulate every claim of a paper; the same file gives the same rows to the last digit."""
    seen: dict[tuple[str, str, int], Mapping[str, float]] = {}

    def values(variant: str, case: str, seed: int) -> Mapping[str, float]:
        if (variant, case, seed) not in seen:
            seen[variant, case, seed] = once(paper.scenario(variant, case), seed).values
        return seen[variant, case, seed]

    out = []
    for claim in paper.claims:
        by_case = {}
        for case in paper.over(claim):
            ours = sum(values(claim.variant, case, s)[claim.metric] for s in range(paper.seeds))
            theirs = sum(values(claim.baseline, case, s)[claim.metric] for s in range(paper.seeds))
            by_case[case] = _ratio(claim, ours, theirs)
        simulated = REDUCE[claim.reduce](list(by_case.values()))
        out.append(Row(paper=paper, claim=claim, simulated=simulated, by_case=by_case))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """What a claim's ratio becomes when one lever's numbers are halved and doubled."""

    lever: str
    halved: float
    doubled: float

    @property
    def width(self) -> float:
        """How far the ratio moves."""
        return abs(self.doubled - self.halved)


def tornado(paper: Paper, claim: Claim, seed: int = 0) -> tuple[float, list[Swing]]:
    """The ratio of a claim in its first case, and how far each lever moves it, widest first."""
    case = paper.over(claim)[0]
    ours, theirs = paper.scenario(claim.variant, case), paper.scenario(claim.baseline, case)

    def ratio(one: Scenario, other: Scenario) -> float:
        return _ratio(claim, once(one, seed).values[claim.metric], once(other, seed).values[claim.metric])

    swings = []
    for lever in LEVERS:
        ratios = []
        for factor in (0.5, 2.0):
            one, other = turned(ours, lever, factor), turned(theirs, lever, factor)
            ratios.append(ratio(one or ours, other or theirs) if one or other else None)
        if ratios[0] is not None or ratios[1] is not None:
            middle = ratio(ours, theirs) if None in ratios else 0.0
            halved, doubled = (middle if r is None else r for r in ratios)
            swings.append(Swing(lever=lever.name, halved=halved, doubled=doubled))
    return ratio(ours, theirs), sorted(swings, key=lambda s: -s.width)


def _merge(tree: dict[str, Any], more: Mapping[str, Any], variant: str) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and not SPREAD & set(value):
            if variant in value:  # one value for each variant
                tree[key] = copy.deepcopy(value[variant])
            else:
                inner = tree.setdefault(key, {})
                if not isinstance(inner, dict):
                    raise ScenarioError(
                        f"{key} is {inner!r} in one table and a table in another; write it alike in both"
                    )
                _merge(inner, value, variant)
        else:
            tree[key] = copy.deepcopy(value)


def _leaves(tree: Mapping[str, Any], variants: Mapping[str, Any], at: str = "") -> Iterator[str]:
    for key, value in tree.items():
        nested = isinstance(value, Mapping) and not SPREAD & set(value) and not set(variants) & set(value)
        if nested:
            yield from _leaves(value, variants, f"{at}{key}.")
        else:
            yield f"{at}{key}"
