"""Evaluation: players, scores with intervals, pass@k, and the report of a run."""
