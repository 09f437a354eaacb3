"""ReflectRay: where rays leave a box of mirrors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from quintain.registry import register
from quintain.worlds.engines.geometry.answers import Form
from quintain.worlds.engines.geometry.ask import PARTIAL, SAYINGS, AskWorld
from quintain.worlds.engines.geometry.figure import Things, Words, number_words, of
from quintain.worlds.engines.geometry.mirror_look import INKS, TILES, box_scene, numbers
from quintain.worlds.engines.geometry.mirrors import BACK, FREE, SLASH, entry, trace, turned
from quintain.worlds.kernel import Facts
from quintain.worlds.noise import Rng
from quintain.worlds.scene import Run, Scene

RULES = (
    r"""A box holds mirrors / and \. Rays come in by gates, go straight, and are turned by a right angle at each mirror they meet; both
faces of a mirror reflect. Gates are numbered clockwise from the upper left corner: along the top from left to right, down the right
side, along the bottom from right to left, up the left side. Say by which gate each ray leaves. In the picture arrows show where rays
come in: the first orange, then green, pink, blue and amber. Their gates stand below in that order. A
line `row 1 . / ..` gives a row from the top, the full stop at its end aside, `ray 7` a ray that comes in by gate 7."""
    + PARTIAL
)
WAYS = ("up", "right", "down", "left")  # as they are numbered
LEVELS = [
    {"size": n, "mirrors": m, "rays": k, "turns": t}
    for n, m, k, t in (
        *((4, 4, 2, 1), (5, 7, 2, 1), (5, 8, 2, 2), (6, 11, 2, 2), (6, 13, 3, 3)),
        *((7, 17, 3, 3), (8, 22, 3, 4), (9, 28, 3, 4), (10, 35, 3, 5), (11, 42, 4, 5)),
    )
]


def _box(things: Things) -> tuple[str, int]:
    rows = [row[1:] for row in of(things, "row")]
    return "".join(sign for row in rows for sign in row), len(rows)


def _make(rng: Rng, knobs: Mapping[str, int]) -> Things | None:
    size = knobs["size"]
    cells = [FREE] * (size * size)
    for at in rng.sample(range(size * size), knobs["mirrors"]):
        cells[at] = rng.pick((SLASH, BACK))
    signs = "".join(cells)
    ways = {gate: trace(signs, size, gate) for gate in range(1, 4 * size + 1)}
    rays: list[int] = []
    for gate in rng.sample(range(1, 4 * size + 1), 4 * size):
        if ways[gate].turns >= knobs["turns"] and not {gate, ways[gate].gate} & {
            g for r in rays for g in (r, ways[r].gate)
        }:
            rays.append(gate)
    if len(rays) < knobs["rays"]:
        return None
    rows = (("row", str(y + 1), *signs[y * size : y * size + size]) for y in range(size))
    return *rows, *(("ray", str(gate)) for gate in rays[: knobs["rays"]])


def _truth(things: Things) -> Words:
    cells, size = _box(things)
    return tuple(str(trace(cells, size, int(gate)).gate) for (gate,) in of(things, "ray"))


def _why(things: Things) -> str:
    (cells, size), out = _box(things), []
    for (gate,) in of(things, "ray"):
        path, way, turns = trace(cells, size, int(gate)), entry(int(gate), size)[2], list[str]()
        start = WAYS[way]
        for at in path.cells:
            if (after := turned(cells[at], way)) != way:
                turns.append(f"{cells[at]} ({at // size + 1},{at % size + 1}) {WAYS[after]}")
            way = after
        row, column = divmod(path.cells[-1], size)
        end = f"row {row + 1}" if way % 2 else f"column {column + 1}"
        out.append(f"Ray {gate} goes {start}: {', '.join(turns) or 'no mirror'}; out of {end} by {path.gate}.")
    return f"Mirrors as (row,column), each with the way on. {' '.join(out)}"


def _paint(things: Things) -> Scene:
    cells, size = _box(things)
    rays = tuple((int(gate), INKS[i % len(INKS)]) for i, (gate,) in enumerate(of(things, "ray")))
    scene = box_scene([TILES[s] for s in cells], size, numbers(size, rays))
    told = "rays: " + ", ".join([str(gate) for gate, _ in rays])  # which comes first is not told by colours alone
    text = Run(text=told, x=scene.width / 2, y=scene.height + 0.25, size=0.05 * scene.width)
    return replace(scene, height=scene.height + 0.7, shapes=(*scene.shapes, text))


def _guess(things: Things, rng: Rng) -> Words:
    size = _box(things)[1]
    return tuple(str(1 + rng.below(4 * size)) for _ in of(things, "ray"))


@register("world", "ReflectRay", domain="geometry", engine="geometry")
def reflect_ray() -> AskWorld:
    """Follow 2 to 4 rays through a box of 4 to 42 mirrors."""
    facts = Facts(
        name="ReflectRay",
        rules=RULES,
        answer="Write the gate out of each ray, in the order of the rays.",
        example="3 9",
        ceilings={"random": 0.03, "constant": 0.02, "first": 0.02, "blind": 0.04},
        sayings=SAYINGS,
    )
    return AskWorld(
        facts=facts,
        levels=LEVELS,
        make=_make,
        truth=_truth,
        why=_why,
        form=Form(of="number"),
        lexicon=("row", "ray", FREE, SLASH, BACK, *number_words(99)),
        paint=_paint,
        guess=_guess,
        labels=lambda things: tuple(gate for (gate,) in of(things, "ray")),
        near=True,
    )
