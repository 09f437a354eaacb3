"""The grid engine: walkers on a board of cells, and sliding numbers that merge."""
