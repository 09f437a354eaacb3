"""Memory: what is remembered between episodes, and what of it is recalled."""
