"""Sokoban 4x4 with walls, over seeds 0-2."""

from _quickstart import Target, measure

if __name__ == "__main__":
    measure("sokoban", range(3), Target(low=0.30, high=0.80, worst=0.0, gain=0.0, seconds=180))
