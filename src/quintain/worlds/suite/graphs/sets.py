"""CliqueMax, ColourMin, AchromMax, IndepGrid, GridIslands: sets of vertices, groups of them, and boards of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quintain.registry import register
from quintain.worlds.engines.graph import proofs, sets
from quintain.worlds.engines.graph.answer import CELL, Form
from quintain.worlds.engines.graph.look import Style
from quintain.worlds.engines.graph.page import Graph, board_of
from quintain.worlds.engines.graph.place import built, crossings, ring, web
from quintain.worlds.engines.graph.sheet import GraphWorld, facts_of
from quintain.worlds.kernel import levels_of
from quintain.worlds.noise import Rng

GROUPS = "The groups, parted by /."
# vertices, edges, vertices of a largest clique at least
CLIQUES = (
    (5, 7, 3),
    (6, 9, 3),
    (7, 11, 4),
    (8, 13, 4),
    (8, 15, 4),
    (9, 18, 4),
    (10, 21, 5),
    (11, 25, 5),
    (12, 29, 5),
    (13, 34, 5),
)
HUES = ((5, 6), (6, 8), (7, 10), (8, 12), (9, 14), (10, 16), (11, 19), (12, 21), (13, 24), (14, 27))  # vertices, edges
WHOLE = ((5, 5), (5, 6), (6, 7), (6, 8), (7, 9), (7, 10), (8, 11), (8, 12), (9, 13), (9, 14))  # vertices, edges
# side, cells that lack
BOARDS = ((3, 1), (3, 2), (4, 3), (4, 4), (5, 5), (5, 6), (5, 7), (6, 8), (6, 9), (6, 10))
# side, land in percent
SEAS = ((4, 60), (5, 56), (5, 50), (6, 56), (6, 52), (7, 54), (7, 51), (8, 53), (8, 50), (9, 52))


def crowd(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A ring of vertices with a planted clique, in the best of a few orders."""
    n, count = knobs["n"], knobs["edges"]
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    planted = rng.sample(range(n), knobs["least"])
    inside = [p for p in pairs if set(p) <= set(planted)]
    chosen = inside + rng.sample([p for p in pairs if p not in inside], count - len(inside))
    at = ring(rng, n)
    drawings = [rng.sample(at, n) for _ in range(4)]
    return built(rng, min(drawings, key=lambda d: crossings(d, chosen)), [(a, b, "") for a, b in chosen])


def plain(rng: Rng, knobs: Mapping[str, Any]) -> Graph | None:
    """A drawing with a few crossings."""
    found = web(rng, knobs["n"], knobs["edges"], shortest=26, crossings=3)
    return found and built(rng, found[0], [(a, b, "") for a, b in found[1]])


def numbers(rng: Rng, knobs: Mapping[str, Any]) -> Graph:
    """A board of digits, some of its cells missing."""
    size = knobs["n"]
    signs = [str(1 + rng.below(9)) for _ in range(size * size)]
    for i in rng.sample(range(size * size), knobs["holes"]):
        signs[i] = "."
    return board_of("".join(signs), size)


def sea(rng: Rng, knobs: Mapping[str, Any]) -> Graph:
    """A board of land in the sea."""
    size = knobs["n"]
    return board_of("".join("#" if rng.below(100) < knobs["land"] else "." for _ in range(size * size)), size)


def islands(graph: Graph) -> tuple[tuple[int, ...], ...] | None:
    """The islands, largest first, if there are three or more and one is larger than all others."""
    left, out = set(range(len(graph.names))), []
    while left:
        queue = [min(left)]
        for v in queue:
            queue += [u for u in graph.near[v] if u not in queue]
        left -= set(queue)
        out.append(tuple(sorted(queue)))
    out.sort(key=lambda cells: (-len(cells), cells))
    return tuple(out) if len(out) > 2 and len(out[0]) > len(out[1]) else None


def cell_by_cell(graph: Graph, found: tuple[tuple[int, ...], ...]) -> str:
    """The islands with their sizes."""
    told = "; ".join(f"{len(cells)}: {proofs.listed(graph, cells)}" for cells in found)
    return f"Islands, each with its number of cells, largest first: {told}. {len(found)} islands."


def apart(graph: Graph, best: tuple[int, int], chosen: tuple[int, ...]) -> float:
    """1 for the heaviest set of cells that do not touch, up to 0.2 for a lighter one."""
    if not sets.are_apart(graph, chosen):
        return 0.0
    total = sum(graph.values[v] for v in chosen)
    return 1.0 if total == best[0] else 0.2 * (total / best[0]) ** 3


@register("world", "CliqueMax", domain="graphs", engine="graph")
def clique_max() -> GraphWorld:
    """Find a largest set of vertices that are all joined with each other."""
    task = "Find as many vertices as possible of which every two are joined by an edge."
    return GraphWorld(
        facts=facts_of("CliqueMax", task, "The vertices.", "A C D"),
        levels=levels_of("n edges least", CLIQUES),
        form=Form(("set",)),
        make=crowd,
        truth=lambda g: sets.members(sets.largest_clique(g.masks)),
        why=proofs.clique_bound,
        answer=lambda g, best: (best,),
        check=lambda g, best, said: float(
            len(said) == len(best) and all((a, b) in g.pairs for i, a in enumerate(said) for b in said[:i])
        ),
        style=Style(radius=0.62),
    )


@register("world", "ColourMin", domain="graphs", engine="graph")
def colour_min() -> GraphWorld:
    """Part the vertices into as few groups as possible without an edge inside a group."""
    task = "Part all vertices into as few groups as possible, so that no edge joins two vertices of the same group."
    return GraphWorld(
        facts=facts_of("ColourMin", task, GROUPS, "A C / B D / E"),
        levels=levels_of("n edges", HUES),
        form=Form(("groups",)),
        make=plain,
        truth=lambda g: groups if len(groups := sets.as_groups(sets.fewest_hues(g.masks))) > 2 else None,
        why=proofs.colour_bound,
        answer=lambda g, groups: (groups,),
        check=lambda g, groups, said: float(len(said) == len(groups) and sets.is_colouring(g, said)),
    )


@register("world", "AchromMax", domain="graphs", engine="graph")
def achrom_max() -> GraphWorld:
    """Part the vertices into as many groups as possible, with an edge between every two groups and none inside."""
    task = """Part all vertices into as many groups as possible, so that no edge joins two vertices of the same group,
and at least one edge joins every two groups."""
    return GraphWorld(
        facts=facts_of("AchromMax", task, GROUPS, "A C / B D / E"),
        levels=levels_of("n edges", WHOLE),
        form=Form(("groups",)),
        make=plain,
        truth=lambda g: hues and sets.as_groups(hues) if (hues := sets.most_hues(g)) and max(hues) > 1 else None,
        why=proofs.completed,
        answer=lambda g, groups: (groups,),
        check=lambda g, groups, said: float(
            len(said) == len(groups) and sets.is_colouring(g, said) and sets.is_complete(g, said)
        ),
    )


@register("world", "IndepGrid", domain="graphs", engine="graph")
def indep_grid() -> GraphWorld:
    """Choose cells of a board, no two side by side, of the greatest sum."""
    task = """Choose cells of which no two are side by side (above, below, left or right), so that their digits add up
to as much as possible. Less is worth something, up to 0.2. Text: the board with letters for columns and numbers for
rows; . is no cell."""
    return GraphWorld(
        facts=facts_of("IndepGrid", task, "The cells that you choose.", "a1 c1 b2", legend=""),
        levels=levels_of("n holes", BOARDS),
        form=Form(("set",), vertex=CELL),
        make=numbers,
        truth=lambda g: sets.heaviest_apart(g.masks, g.values) if len(g.names) > 1 else None,
        why=proofs.outweighed,
        answer=lambda g, best: (sets.members(best[1]),),
        check=apart,
        words_of=("board", *(f"{i}x{i}" for i in range(3, 10))),
    )


@register("world", "GridIslands", domain="graphs", engine="graph")
def grid_islands() -> GraphWorld:
    """Count the islands on a map and mark the largest."""
    task = """Cells of land that are side by side (above, below, left or right) belong to the same island. How many
islands are there, and which cells make up the largest? Text: the map with letters for columns and numbers for rows; #
is land, . is water."""
    answer = "The number of islands; then, after a semicolon, the cells of the largest."
    return GraphWorld(
        facts=facts_of("GridIslands", task, answer, "3 ; a1 a2 b2", legend=""),
        levels=levels_of("n land", SEAS, top=40),
        form=Form(
            ("number", "set"),
            vertex=CELL,
            heads=(
                "there (?:are|is)|(?:number of )?islands",
                "(?:cells of (?:the )?)?largest(?: island)?(?: has)?(?: cells)?|cells",
            ),
        ),
        make=sea,
        truth=islands,
        why=cell_by_cell,
        answer=lambda g, found: (len(found), found[0]),
        check=lambda g, found, number, said: float(number == len(found) and tuple(sorted(said)) == found[0]),
        words_of=("board", "#", *(f"{i}x{i}" for i in range(3, 10))),
    )
