"""Kept screenshots as a pixel model of the Qwen2.5-VL kind reads them: a grid of patches.

The size is the one that is served: the same rule and limits as in `agent_core.screen.shrink`. A picture shrunk
otherwise in training would teach clicks beside the target.
"""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image

from agent_core.screen.shrink import FACTOR, MAX_PIXELS, MIN_PIXELS, resized, smart_resize
from agent_core.step import Screenshot, Transform
from agent_core.traces.reads import Traces
from training.rows import Picture

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


class Pictures:
    """The pictures of a trace store. `factor` is the side of a token in pixels, 28 for Qwen2.5-VL."""

    def __init__(
        self,
        traces: Traces,
        *,
        factor: int = FACTOR,
        min_pixels: int = MIN_PIXELS,
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        self._traces, self._patch = traces, factor // 2
        self._limits = (factor, min_pixels, max_pixels)

    def picture(self, sha256: str) -> Picture:
        """Its grid of patches. Raises StoreError when the file is missing or damaged."""
        pixels = self._traces.picture(sha256)
        height, width = smart_resize(pixels.height, pixels.width, *self._limits)
        return Picture(sha256, (1, height // self._patch, width // self._patch))

    def patches(self, picture: Picture) -> torch.Tensor:
        """(patches, values) float32. Raises StoreError."""
        pixels = self._traces.picture(picture.sha256)
        _, rows, columns = picture.grid
        whole = Transform("", 0, 0, pixels.width, pixels.height)
        shot = Screenshot(pixels.rgb, pixels.width, pixels.height, whole)
        return patches_of(resized(shot, rows * self._patch, columns * self._patch), self._patch)


def patches_of(image: Image.Image, patch: int = FACTOR // 2) -> torch.Tensor:
    """A picture whose sides are multiples of two patches, cut up: (patches, 3 * 2 * patch * patch) float32.

    Values are normalised as for CLIP. Four neighbours that become one token follow each other; a still picture is two
    equal frames.
    """
    rgb = torch.from_numpy(np.array(image, dtype=np.float32)) / 255
    normal = (rgb - torch.tensor(CLIP_MEAN)) / torch.tensor(CLIP_STD)
    rows, columns = image.height // patch, image.width // patch
    cut = normal.reshape(rows // 2, 2, patch, columns // 2, 2, patch, 3)
    ordered = cut.permute(0, 3, 1, 4, 6, 2, 5).reshape(rows * columns, 3, 1, patch, patch)
    return ordered.expand(-1, -1, 2, -1, -1).reshape(rows * columns, -1)
