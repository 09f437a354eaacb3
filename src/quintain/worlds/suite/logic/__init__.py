"""Logic puzzles: what is hidden follows from what is shown."""
