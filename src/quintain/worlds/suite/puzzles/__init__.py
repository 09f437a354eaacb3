"""Puzzles that are solved by moving pieces."""
