"""Chat messages as OpenAI-compatible servers take them: no more pictures than they allow, in the model's own size."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_core.screen.shrink import FACTOR, MAX_PIXELS, MIN_PIXELS, resized, smart_resize
from agent_core.step import Message, Screenshot

IMAGE_PLACE = "<image>"
EARLIER = "(an earlier screenshot)"


@dataclass(frozen=True, slots=True)
class Sight:
    """How pictures are sent: at most so many, the newest; made as large as the model's own rule says (shrink.py).

    0 means no limit, and for the pixels the family's own caps.
    """

    images: int = 0
    factor: int = FACTOR
    min_pixels: int = 0
    max_pixels: int = 0


def chat_messages(messages: Sequence[Message], sight: Sight | None) -> list[dict[str, Any]]:
    """The messages as JSON values. Raises ScreenError for a picture that cannot be shown."""
    return [_message(message, sight) for message in _limited(messages, sight)]


def _limited(messages: Sequence[Message], sight: Sight | None) -> list[Message]:
    """The messages with no more pictures than the server takes; words stand where the oldest were."""
    over = sum(len(m.images) for m in messages) - (sight.images if sight else 0)
    if not sight or not sight.images or over <= 0:
        return list(messages)
    kept = []
    for message in messages:
        drop = min(over, len(message.images))
        over -= drop
        text = message.text.replace(IMAGE_PLACE, EARLIER, drop)
        kept.append(replace(message, text=text, images=message.images[drop:]))
    return kept


def _message(message: Message, sight: Sight | None) -> dict[str, Any]:
    """One chat message; pictures stand where the text has their places, those without a place come first."""
    if not message.images:
        return {"role": message.role, "content": message.text}
    texts = message.text.split(IMAGE_PLACE, len(message.images))
    placeless = len(message.images) - (len(texts) - 1)
    parts = [_picture(image, sight) for image in message.images[:placeless]]
    for text, image in zip(texts, (*message.images[placeless:], None), strict=True):
        if text:
            parts.append({"type": "text", "text": text})
        if image:
            parts.append(_picture(image, sight))
    return {"role": message.role, "content": parts}


def _picture(shot: Screenshot, sight: Sight | None) -> dict[str, Any]:
    """The picture as large as the model sees it, so that no server resizes it by another rule."""
    out = io.BytesIO()
    height, width = shot.height, shot.width
    if sight:
        caps = (sight.min_pixels or MIN_PIXELS, sight.max_pixels or MAX_PIXELS)
        height, width = smart_resize(height, width, sight.factor, *caps)
    resized(shot, height, width).save(out, "PNG", compress_level=1)
    data = base64.b64encode(out.getvalue()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
