"""Small pieces of the replay page: escaped text, times, verdicts in words, and the marks drawn over a picture."""

from __future__ import annotations

import html
import re

from agent_core.actions import Action, Drag, Point, target_of
from agent_core.step import Step, Verdict

# Characters that are not seen but change what is: controls, direction marks and overrides, and half surrogate pairs.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text: str) -> str:
    """Text as HTML, every character of it visible: U+202E comes out as <U+202E>, escaped."""
    return html.escape(_HIDDEN.sub(lambda m: f"<U+{ord(m[0]):04X}>", text.replace("\r\n", "\n")))


def duration(ms: float) -> str:
    """Milliseconds for a reader: 40 ms, 1.4 s, 2 min."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.0f} min"


def mode_words(mode: str) -> str:
    """When Deskhand asked in this run, in words; a mode of another version as it is."""
    known = {"ask_all": "asks about everything", "ask_risky": "asks when it matters", "watch": "watches only"}
    return known.get(mode, mode)


def verdict_words(verdict: Verdict) -> str:
    """Who decided what, in words."""
    match verdict.decision, verdict.who:
        case "allow", "person":
            return "You allowed it"
        case "allow", "grant":
            return "You allowed it for this run"
        case "allow", _:
            return "Allowed"
        case "ask", _:
            return "Asked"
        case _, "person":
            return "You refused it"
        case _, "nobody":
            return "Denied, nobody answered"
        case _:
            return "Denied"


def place_words(action: Action) -> str:
    """Where the action goes in percent of the screen, empty if nowhere."""
    at = target_of(action)
    if at is None:
        return ""
    if isinstance(action, Drag):
        return f"from {action.start.x:.0%}, {action.start.y:.0%} to {at.x:.0%}, {at.y:.0%}"
    return f"at {at.x:.0%}, {at.y:.0%}"


def marks(step: Step, width: int, height: int) -> str:
    """SVG over a picture of this size: the element under the target, a ring at the place, a line for a drag."""
    out = []
    if step.element is not None and target_of(step.action) is not None:
        box = step.element.box
        x, y = box.left * width, box.top * height
        w, h = (box.right - box.left) * width, (box.bottom - box.top) * height
        sides = f'x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="3"'
        out += [f'<rect class="mark {css}" {sides}/>' for css in ("box under", "box")]
    if isinstance(step.action, Drag):
        start, end = (_pixels(p, width, height) for p in (step.action.start, step.action.end))
        line = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        out += [f'<line class="mark {css}" {line}/>' for css in ("halo", "ink")]
        out.append(f'<circle class="dot" cx="{start[0]:.1f}" cy="{start[1]:.1f}" r="{width / 200:.1f}"/>')
    if (at := target_of(step.action)) is not None:
        x, y = _pixels(at, width, height)
        r = width / 44
        ring = f'cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"'
        ticks = "".join(
            f"M{x + dx * r:.1f} {y + dy * r:.1f}l{dx * r * 0.6:.1f} {dy * r * 0.6:.1f}"
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
        )
        for css in ("halo", "ink"):  # the middle stays free: what is clicked must be readable
            out.append(f'<circle class="mark {css}" {ring}/><path class="mark {css}" d="{ticks}"/>')
        out.append(f'<circle class="mark ink pulse" {ring}/>')
    return "".join(out)


def _pixels(point: Point, width: int, height: int) -> tuple[float, float]:
    return point.x * width, point.y * height
