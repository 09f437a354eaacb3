"""What an episode was worth: the env's own rewards, answers compared, a function of yours, shaping, weights."""
