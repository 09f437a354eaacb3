"""What the observation of a peer reads like: a sentence for MiniGrid's view, JSON for everything else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from quintain.envs.adapters.game import PeerError

OBJECTS = {2: "wall", 4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}  # MiniGrid's numbers
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
DOORS = ("open", "closed", "locked")
FACING = ("east", "south", "west", "north")
WIDE = 400  # numbers of an array that are written out; a larger one is a picture or no text


def described(observation: Any, pictured: bool = False) -> str:
    """An observation in words; large arrays, alone or in a dict, are left out where there is a picture.

    Raises:
        PeerError: it is a large array, and there is none.

    Example:
        >>> described({"at": np.array([1, 2]), "mission": "go"})
        '{"at": [1, 2], "mission": "go"}'
        >>> described({"view": np.zeros((60, 80, 3)), "goal": 0}, pictured=True)
        '{"goal": 0}'
    """
    if isinstance(observation, str):
        return observation
    if isinstance(observation, dict) and {"image", "direction", "mission"} <= set(observation):
        return minigrid(observation)
    if isinstance(observation, np.ndarray) and observation.size > WIDE:
        if pictured:
            return ""
        raise PeerError(
            f"the observation is an array {list(observation.shape)}, and at most {WIDE} numbers are shown as text; set image=true where "
            "the env has that option, or give the option look a function that puts it into words"
        )
    if pictured and isinstance(observation, dict):
        seen = {k: v for k, v in observation.items() if not (isinstance(v, np.ndarray) and v.size > WIDE)}
        return json.dumps(plain(seen), ensure_ascii=False) if seen else ""
    return json.dumps(plain(observation), ensure_ascii=False)


def plain(value: Any) -> Any:
    """A value of a Gymnasium space as JSON; of an array of more than 400 numbers its shape."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size <= WIDE else f"array {list(value.shape)}"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def minigrid(observation: dict[str, Any]) -> str:
    """MiniGrid's own view, [width, height, 3] with the agent in the middle of the last row, as BabyAI-Text tells it.

    What lies beyond walls that hide it is unseen and not named; walls are told straight ahead only.
    """
    view = np.asarray(observation["image"])
    middle, last = view.shape[0] // 2, view.shape[1] - 1
    lines = [str(observation["mission"]), f"You face {FACING[int(observation['direction'])]}."]
    seen = []
    for ahead in range(last + 1):
        for column in range(view.shape[0]):
            kind, colour, state = (int(n) for n in view[column, last - ahead])
            side = column - middle
            if kind not in OBJECTS or (kind == 2 and (side or not ahead)):
                continue
            if (ahead, side) == (0, 0):
                lines.append(f"You carry a {COLOURS[colour]} {OBJECTS[kind]}.")
                continue
            name = OBJECTS[kind] if kind in (2, 8, 9) else f"{COLOURS[colour]} {OBJECTS[kind]}"
            name = f"{DOORS[state]} {name}" if kind == 4 else name
            seen.append(f"a {name} {_where(ahead, side)}")
            if kind == 2:  # what is told straight ahead is the nearest wall
                view = view.copy()
                view[middle, : last - ahead, 0] = np.where(
                    view[middle, : last - ahead, 0] == 2, 0, view[middle, : last - ahead, 0]
                )
    return "\n".join([*lines, f"You see {', '.join(seen)}." if seen else "You see nothing."])


def _where(ahead: int, side: int) -> str:
    parts = [f"{ahead} ahead"] if ahead else []
    parts += [f"{abs(side)} to the {'right' if side > 0 else 'left'}"] if side else []
    return " and ".join(parts)
