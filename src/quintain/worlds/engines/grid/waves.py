"""Sets of cells as numbers, the bit c for cell c, and the waves that go out from a set over a map."""

from __future__ import annotations

import functools
from collections.abc import Iterator


@functools.lru_cache(maxsize=64)
def inner(width: int, height: int) -> tuple[int, int]:
    """All cells but those of the last column, and all but those of the first."""
    first = sum(1 << y * width for y in range(height))
    every = (1 << width * height) - 1
    return every ^ first << width - 1, every ^ first


def grown(cells: int, width: int, within: tuple[int, int]) -> int:
    """The cells beside some; `within` is `inner` of the board, beyond whose last row cells may lie."""
    return (cells & within[0]) << 1 | (cells & within[1]) >> 1 | cells << width | cells >> width


def waves(start: int, free: int, width: int, height: int) -> Iterator[int]:
    """The cells no steps, one step, two steps... away from `start` over free cells, as long as there are any.

    Example:
        >>> [bin(wave) for wave in waves(1, 0b110111, 3, 2)]
        ['0b1', '0b10', '0b10100', '0b100000']
    """
    wave, left, within = start, free & ~start, inner(width, height)
    while wave:
        yield wave
        wave = grown(wave, width, within) & left
        left ^= wave


def lowest(cells: int) -> int:
    """The first of some cells; -1 if there is none."""
    return (cells & -cells).bit_length() - 1
