"""Graphs: pages with a drawn graph and a question about it, and trips over drawn maps."""
