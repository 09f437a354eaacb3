"""Worlds in which time passes: what matters is where things will be, not where they are."""
