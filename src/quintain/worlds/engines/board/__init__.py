"""The board engine: move generators, one alpha-beta search, opponents of graded strength, one or two seats."""
