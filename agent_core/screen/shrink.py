"""How large a picture is when a pixel model sees it: the resize rule of the Qwen-VL family, and the resize itself.

Both sides become multiples of `factor` and the area stays within the two limits, so x and y scale differently: never
use one common factor. Python's half-to-even rounding is part of the rule; ports that round half up differ by a patch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agent_core.errors import ScreenError
from agent_core.step import Screenshot

if TYPE_CHECKING:
    from PIL import Image

FACTOR = 28
MIN_PIXELS = 100 * 28 * 28
MAX_PIXELS = 16384 * 28 * 28
MOST_ELONGATED = 200


def smart_resize(
    height: int, width: int, factor: int = FACTOR, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS
) -> tuple[int, int]:
    """The (height, width) in pixels that the model sees. Raises ScreenError for no pixels or a side ratio over 200."""
    if min(height, width) < 1 or max(height, width) > MOST_ELONGATED * min(height, width):
        raise ScreenError(f"A picture of {width}x{height} cannot be shown to the model; choose another monitor.")
    tall = max(factor, round(height / factor) * factor)
    wide = max(factor, round(width / factor) * factor)
    if tall * wide > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        tall = max(factor, math.floor(height / shrink / factor) * factor)
        wide = max(factor, math.floor(width / shrink / factor) * factor)
    elif tall * wide < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        tall = math.ceil(height * grow / factor) * factor
        wide = math.ceil(width * grow / factor) * factor
    return tall, wide


def resized(shot: Screenshot, height: int, width: int) -> Image.Image:
    """The screenshot as an RGB picture of that size in pixels."""
    from PIL import Image  # here, because dialects import this module for its arithmetic alone

    image = Image.frombytes("RGB", (shot.width, shot.height), shot.rgb)
    if (width, height) == image.size:
        return image
    return image.resize((width, height), Image.Resampling.BICUBIC)
