"""The pictures that a policy is shown while it plays: the same patches when it acts and when it learns.

A screenshot is shrunk as it is served and kept once, compressed, for as long as the turn of some rollout refers to it:
the bytes lie in the `Picture` itself and go with it. Safe for many threads.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
import zlib
from typing import Any

import torch
from PIL import Image

from agent_core.models.transformers_vlm import Grid, Sight
from agent_core.screen.shrink import FACTOR, MAX_PIXELS, MIN_PIXELS, resized, smart_resize
from agent_core.step import Prompt, Screenshot
from training.batches import Vision
from training.examples import IMAGE_TOKEN, SHOWN
from training.pictures import patches_of
from training.rows import Picture

PATCH = FACTOR // 2  # pixels a side; a token is two patches a side
FAST = 1  # zlib's level: windows compress well at any


class Album:
    """Pictures of rollouts for a model of the Qwen2.5-VL kind, whose tokenizer names the image token's id.

    `vision` is for batches, `sight` for the model that acts. The limits are in pixels.
    """

    def __init__(self, tokenizer: Any, *, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS) -> None:
        self._limits = (FACTOR, min_pixels, max_pixels)
        self._held: weakref.WeakValueDictionary[str, Picture] = weakref.WeakValueDictionary()
        self._guard = threading.Lock()
        self.vision = Vision(tokenizer.convert_tokens_to_ids(IMAGE_TOKEN), self.patches)
        self.sight = Sight(self._seen, SHOWN.format(IMAGE_TOKEN), IMAGE_TOKEN)

    @property
    def held(self) -> int:
        """How many pictures are kept now."""
        return len(self._held)

    def shown(self, prompt: Prompt) -> tuple[Picture, ...]:
        """The pictures of a prompt, in order. Raises ScreenError for one that cannot be shown."""
        return tuple(self.picture(shot) for message in prompt.messages for shot in message.images)

    def picture(self, shot: Screenshot) -> Picture:
        """The screenshot as the model sees it. Raises ScreenError for one that cannot be shown."""
        sha256 = hashlib.sha256(f"{shot.width}x{shot.height} ".encode() + shot.rgb).hexdigest()
        with self._guard:
            held = self._held.get(sha256)
        if held is not None:
            return held
        height, width = smart_resize(shot.height, shot.width, *self._limits)
        pixels = zlib.compress(resized(shot, height, width).tobytes(), FAST)
        made = Picture(sha256, (1, height // PATCH, width // PATCH), pixels)
        with self._guard:
            return self._held.setdefault(sha256, made)

    def image(self, picture: Picture) -> Image.Image:
        """The picture at the size that the model sees."""
        _, rows, columns = picture.grid
        size = (columns * PATCH, rows * PATCH)
        return Image.frombytes("RGB", size, zlib.decompress(picture.pixels))

    def patches(self, picture: Picture) -> torch.Tensor:
        """(patches, values) float32."""
        return patches_of(self.image(picture), PATCH)

    def _seen(self, shot: Screenshot) -> tuple[torch.Tensor, Grid]:
        picture = self.picture(shot)
        return self.patches(picture), picture.grid
