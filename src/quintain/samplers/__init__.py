"""Where tasks come from: instances of worlds, rows of data, mixtures, curricula."""
