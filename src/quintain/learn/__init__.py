"""Learning from groups: packing, the torch learner, optimizers, precision, ranks, value head, supervised warm start.

torch is imported by every module here except `pack`.
"""
