"""The suite: one declaration of 20 to 60 lines per world, in a folder per domain."""
