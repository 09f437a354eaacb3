"""The four directions of a board as actions, with the words that may say them."""

from __future__ import annotations

from quintain.worlds.kernel import Choices

WAITS = dict.fromkeys(
    ("stay", "noop", "no-op", "pass", "skip", "none", "do nothing", "stand still", "stay still"), "wait"
)
DIRECTIONS = ("up", "down", "left", "right")
CHOICES = Choices(
    *DIRECTIONS,
    synonyms={"u": "up", "d": "down", "l": "left", "r": "right"}
    | {"north": "up", "south": "down", "west": "left", "east": "right"},
)
