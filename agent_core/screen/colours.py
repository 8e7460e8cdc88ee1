"""Names for colours, the same for the same pixels on every machine: first the pure ones of the web, then hue families.

A pure colour has its own name (`lime`, `olive`, `pink`); any other is called after its hue, `light` or `dark` where it
is: so all shades of one hue share a word. Thresholds are plain numbers in HSL; nothing is learnt here.
"""

from __future__ import annotations

import colorsys

Colour = tuple[int, int, int]  # red, green, blue, each 0..255

PURE: dict[str, Colour] = {
    "black": (0, 0, 0), "white": (255, 255, 255), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "cyan": (0, 255, 255),
    "magenta": (255, 0, 255), "maroon": (128, 0, 0), "green": (0, 128, 0), "navy": (0, 0, 128), "olive": (128, 128, 0),
    "teal": (0, 128, 128), "purple": (128, 0, 128), "orange": (255, 165, 0), "gold": (255, 215, 0),
    "pink": (255, 192, 203), "brown": (165, 42, 42),
}  # fmt: skip
SAME = 3  # of 255 in any channel: as near as this is the pure colour itself
GREY_CHROMA = 12  # of 255 between the strongest and the weakest channel: less is no colour
GREYS = ((28, "black"), (96, "dark grey"), (168, "grey"), (240, "light grey"), (256, "white"))  # lightness below
HUES = (  # degrees below which the name holds
    (18, "red"), (44, "orange"), (70, "yellow"), (165, "green"), (198, "cyan"), (262, "blue"), (292, "purple"),
    (328, "magenta"), (353, "pink"), (361, "red"),
)  # fmt: skip
DARK, LIGHT = 0.36, 0.66  # lightness of HSL


def colour_name(colour: Colour) -> str:
    """One or two plain words, such as `red`, `light blue`, `dark grey`."""
    for name, pure in PURE.items():
        if max(abs(a - b) for a, b in zip(colour, pure, strict=True)) <= SAME:
            return name
    red, green, blue = colour
    if max(colour) - min(colour) < GREY_CHROMA:
        level = (max(colour) + min(colour)) / 2
        return next(name for below, name in GREYS if level < below)
    hue, light, _ = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    name = next(name for below, name in HUES if hue * 360 < below)
    return f"dark {name}" if light < DARK else f"light {name}" if light > LIGHT else name
