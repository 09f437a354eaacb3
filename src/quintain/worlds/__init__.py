"""Worlds: pure reducers over plain states, with pictures, captions and oracles."""
