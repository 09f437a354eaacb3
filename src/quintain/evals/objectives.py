"""What a policy reaches of several objectives: the front over the weights that it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quintain.rewards.fronts import Archive, sparsity
from quintain.types import Group


def reached(groups: Sequence[Group]) -> dict[str, Any] | None:
    """The front of the means that were reached under each weighting, of groups that the reward `scalarise` scored.

    Returns:
        `objectives` (their names), `points` (how many weightings), `front` (the means that no other dominates), `reference` (the worst
        of each objective in any episode), `hypervolume` over it, `sparsity`, and `loneliest`, the weights with the most room
        around them on the front: where more training fills it (C-MORL). None where nothing was scalarised, or not all by the same
        objectives.

    Special cases: a single weighting is a front of one point, with sparsity 0. Fronts compare only over the same reference.
    """
    tags = [t.tags for g in groups for t in g.trajectories if "objectives" in t.tags and "weights" in t.tags]
    names = sorted({name for tag in tags for name in tag["objectives"]})
    if not tags or any(sorted(tag[kind]) != names for tag in tags for kind in ("objectives", "weights")):
        return None
    found: dict[tuple[float, ...], list[list[float]]] = {}
    for tag in tags:
        weights = tuple(float(tag["weights"][name]) for name in names)
        found.setdefault(weights, []).append([float(tag["objectives"][name]) for name in names])
    archive = Archive()
    for weights, points in found.items():
        archive = archive.add([sum(column) / len(points) for column in zip(*points, strict=True)], weights)
    worst = [min(column) for column in zip(*(p for points in found.values() for p in points), strict=True)]
    return {
        "objectives": names,
        "points": len(found),
        "front": [list(point) for point in archive.points],
        "reference": worst,
        "hypervolume": archive.hypervolume(worst),
        "sparsity": sparsity(archive.points),
        "loneliest": list(archive.loneliest(1)[0]),
    }


def told(found: dict[str, Any]) -> str:
    """The front as a line for people."""
    room = ", ".join(f"{n} {w:g}" for n, w in zip(found["objectives"], found["loneliest"], strict=True))
    return (
        f"front of {', '.join(found['objectives'])}: {len(found['front'])} of {found['points']} weightings, hypervolume "
        f"{found['hypervolume']:.3g} over the worst episodes, sparsity {found['sparsity']:.3g}, most room at {room}"
    )
