"""Worlds of places and paths."""
