"""Arcade: worlds that run on a clock; one action word per turn moves the world some integer ticks."""
