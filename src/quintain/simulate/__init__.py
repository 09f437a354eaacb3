"""The simulator: the real training loop on a virtual clock, with modelled engines, environments, learner and failures."""
