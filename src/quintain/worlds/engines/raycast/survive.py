"""Whether health can last, for one who knows the whole floor: the hearts in every order that is in time for each."""

from __future__ import annotations

from quintain.worlds.engines.raycast.floor import Floor, Stand

NODES = 20_000  # hearts stepped onto
Pose = tuple[int, int]  # cell and heading
_Node = tuple[int, Pose]  # hearts taken, as bits, and where one stands after the last of them


def stops(state: Stand) -> tuple[list[Pose] | None, int]:
    """Where to stand on hearts one after the other until health lasts for all turns to go, or None; and the nodes of the search.

    Whoever has taken the same hearts and stands alike sooner is never worse off, so each node is gone on from once, where it comes
    soonest. The search goes heart by heart, and gives up over `NODES` nodes.
    """
    hearts = {cell: 1 << i for i, cell in enumerate(state.where) if cell >= 0}
    legs: dict[Pose, list[tuple[Pose, int]]] = {}
    begin = (0, (state.at, state.heading))
    came: dict[_Node, _Node] = {}
    wave, health, nodes = {begin: 0}, state.health, 0
    while health < state.clock:
        after: dict[_Node, int] = {}
        for node, gone in wave.items():
            taken, pose = node
            if pose not in legs:
                legs[pose] = _legs(state.place.floor, pose, hearts)
            for to, moves in legs[pose]:
                new, then = (taken | hearts[to[0]], to), gone + moves
                if then <= health and new[0] != taken and then < after.get(new, then + 1):
                    after[new], came[new] = then, node
        nodes += len(wave)
        if not after or nodes > NODES:
            return None, nodes
        wave, health = after, health + state.place.gain
    node, out = min(wave, key=lambda n: (wave[n], n)), list[Pose]()
    while node != begin:
        out.append(node[1])
        node = came[node]
    return out[::-1], nodes


def _legs(floor: Floor, begin: Pose, hearts: dict[int, int]) -> list[tuple[Pose, int]]:
    """The places that are come to by a step onto a heart, and the moves to each; hearts on the way may be stepped onto as well."""
    seen, wave, moves = {begin}, [begin], 0
    out = []
    while wave:
        moves += 1
        after = []
        for at, heading in wave:
            to = floor.ahead[heading][at]
            turned = ((at, (heading + 1) % 4), (at, (heading + 3) % 4))
            for pose in (*turned, (to, heading)) if to >= 0 else turned:
                if pose not in seen:
                    seen.add(pose)
                    after.append(pose)
                    if pose[0] in hearts and pose[0] != at:
                        out.append((pose, moves))
        wave = after
    return out
