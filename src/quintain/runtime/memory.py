"""When Python looks for garbage: rarely, because a run holds millions of objects that live for long."""

from __future__ import annotations

import gc

THRESHOLDS = (1_000, 10_000, 1)  # new objects, young collections, middle ones


def settle() -> None:
    """Call it before the episodes begin, once everything is imported and built.

    A full collection would look at the objects of torch and of every episode in flight: with 2,000 episodes it holds the event loop
    for half a second. What is there now is left out of all of them. Young collections are small, so that each takes 1 ms and not 20
    (paths are long tuples, each looked through once); the others come once in 10 million objects that stay, and look at all of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
