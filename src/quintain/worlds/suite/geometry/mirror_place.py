"""MirrorPlace: put mirrors into a box until the ray leaves by the wanted gate."""

from __future__ import annotations

from quintain.registry import register
from quintain.worlds.engines.geometry.mirror_place import MirrorWorld
from quintain.worlds.kernel import Facts, levels_of

RULES = r"""A ray comes into a box by one gate and must leave it by another. Gates are numbered clockwise from the upper left corner:
along the top from left to right, down the right side, along the bottom from right to left, up the left side. The ray goes straight
until a mirror, / or \, turns it by a right angle; both faces of a mirror reflect. Walls (#) stop it. Each turn you put a mirror into a
free cell (.), turn one over or take one away; you win as soon as the ray leaves by the right gate. Columns have letters, rows have
numbers from the top."""
TABLE = (
    (4, 1, 2),
    (5, 3, 2),
    (5, 4, 3),
    (6, 6, 3),
    (6, 8, 3),
    (6, 9, 4),
    (7, 11, 4),
    (7, 13, 4),
    (7, 14, 5),
    (8, 19, 5),
)
LEVELS = levels_of("size walls mirrors", TABLE)


@register("world", "MirrorPlace", domain="geometry", engine="geometry")
def mirror_place() -> MirrorWorld:
    """Lead a ray from gate to gate by 2 to 5 mirrors that you place between walls."""
    facts = Facts(
        name="MirrorPlace",
        rules=RULES,
        answer="Name a cell and what to put there: / or \\ for a mirror, off for none.",
        example="b3 /",
        ceilings={"random": 0.02, "constant": 0.01, "first": 0.01, "blind": 0.03},
        sayings={"illegal": "That cell is a wall, lies outside, or holds just that; nothing changed."},
    )
    return MirrorWorld(facts=facts, levels=LEVELS)
