"""The colours of all pictures, by name: a calm paper ground and hues that stay apart for colour-blind eyes.

The six hues follow the set of Okabe and Ito; things that differ in meaning also differ in shape or mark, never in hue
alone.
"""

from __future__ import annotations

import functools

Rgb = tuple[int, int, int]

COLORS: dict[str, Rgb] = {
    "paper": (250, 247, 240),
    "floor": (240, 235, 224),
    "seam": (226, 219, 204),
    "stone": (84, 92, 106),
    "slate": (52, 58, 70),
    "cloud": (136, 146, 160),
    "ink": (33, 37, 46),
    "white": (255, 255, 255),
    "sky": (86, 180, 233),
    "blue": (0, 114, 178),
    "navy": (8, 62, 112),
    "green": (0, 158, 115),
    "forest": (0, 104, 78),
    "gold": (240, 192, 48),
    "amber": (230, 159, 0),
    "brick": (213, 94, 0),
    "rust": (150, 62, 4),
    "plum": (204, 121, 167),
    "wine": (138, 62, 106),
    "ice": (214, 234, 244),
    "frost": (176, 211, 230),
    "deep": (24, 70, 104),
    "wood": (196, 150, 92),
    "bark": (128, 90, 48),
    "mint": (190, 226, 206),
    "sand": (236, 214, 170),
}


def rgb(name: str) -> Rgb:
    """Red, green, blue in 0..255 of a colour name."""
    return COLORS[name]


def lightness(name: str) -> float:
    """The relative luminance of a colour, 0 to 1, as contrast is reckoned from."""
    parts = [c / 255 for c in rgb(name)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@functools.cache
def ink_on(fill: str) -> str:
    """Ink or white, whichever stands out more from a fill."""
    ground = lightness(fill) + 0.05
    return "ink" if ground / (lightness("ink") + 0.05) >= 1.05 / ground else "white"
