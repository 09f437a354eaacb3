"""Runs: what `loop.train` is given, built from a config, in one process or in several on one machine."""
