"""Worlds of perception: count, read, compare, order what is seen."""
