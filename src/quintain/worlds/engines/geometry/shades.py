"""Colours beyond the palette, by name: a wheel of 24 hues in 8 shades, and mixtures of red, green and blue in 9 steps each."""

from __future__ import annotations

import colorsys

from quintain.worlds.palette import COLORS

HUES, SHADES, STEPS = 24, 8, 9


def shade(hue: int, light: int) -> str:
    """The name of a colour of the wheel.

    Example:
        >>> shade(7, 2)
        'h7s2'
    """
    return f"h{hue}s{light}"


def mixture(red: int, green: int, blue: int) -> str:
    """The name of a mixture of 0 to 8 parts each.

    Example:
        >>> mixture(8, 0, 4)
        'mix804'
    """
    return f"mix{red}{green}{blue}"


def _rgb(hue: int, light: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(hue / HUES, 0.28 + 0.075 * light, 0.62)
    return round(red * 255), round(green * 255), round(blue * 255)


COLORS.update({shade(h, s): _rgb(h, s) for h in range(HUES) for s in range(SHADES)})
COLORS.update(
    {
        mixture(r, g, b): (20 + 27 * r, 20 + 27 * g, 20 + 27 * b)
        for r in range(STEPS)
        for g in range(STEPS)
        for b in range(STEPS)
    }
)
