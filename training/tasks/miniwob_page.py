"""What a teacher knows of a MiniWoB page: its visible nodes with their places, read from the document.

Only teachers look in here. The agent they teach sees pixels, so every click is placed on an element that was read
from the screenshot; the nodes only tell which one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

from agent_core.actions import Point
from agent_core.step import Element

WIDTH, HEIGHT = 160, 210  # CSS pixels of every task
WINDOW = (340, 260)  # larger than the task, so that a page whose script moves the focus does not scroll away
BAR = 50  # the yellow bar above the task holds the text that the agent is given anyway
AREA = (0, BAR, WIDTH, HEIGHT - BAR)

_READ = """([bar, width, height]) => {
  const skip = '#query, #query *, #reward-display, #reward-display *, #click-canvas, #sync-task-cover, script, style';
  const nodes = [];
  const row = el => {
    for (let up = el; up && up.id !== 'area'; up = up.parentElement) {
      if (up.textContent.trim()) return up.textContent.trim();
    }
    return '';
  };
  for (const el of document.body.querySelectorAll('*')) {
    if (el.matches(skip) || el.id === 'wrap' || el.id === 'area') continue;
    const r = el.getBoundingClientRect();
    if (!r.width || !r.height || r.bottom <= bar || r.top >= height || r.left >= width) continue;
    const css = getComputedStyle(el);
    if (css.visibility === 'hidden') continue;
    const own = [...el.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join(' ');
    nodes.push({
      tag: el.tagName.toLowerCase(), type: el.type || '', id: el.id, cls: String(el.className.baseVal ?? el.className),
      text: el.textContent.replace(/\\s+/g, ' ').trim(), own: own.replace(/\\s+/g, ' ').trim(),
      value: typeof el.value === 'string' ? el.value : '', checked: !!el.checked, disabled: !!el.disabled,
      focused: document.activeElement === el, label: el.labels && el.labels[0] ? el.labels[0].textContent.trim() : '',
      row: row(el), left: r.left, top: r.top, right: r.right, bottom: r.bottom, index: nodes.length,
      room_below: el.scrollHeight - el.clientHeight - el.scrollTop, room_above: el.scrollTop,
    });
  }
  return {nodes, query: document.getElementById('query').textContent.replace(/\\s+/g, ' ').trim()};
}"""

_HIT = """([x, y, left, top, right, bottom]) => {
  const hit = document.elementFromPoint(x, y);
  if (!hit) return false;
  const near = (a, b) => Math.abs(a - b) < 0.5;
  const same = r => near(r.left, left) && near(r.top, top) && near(r.right, right) && near(r.bottom, bottom);
  for (let el = hit; el; el = el.parentElement) if (same(el.getBoundingClientRect())) return true;
  return [...hit.querySelectorAll('*')].some(el => same(el.getBoundingClientRect()));
}"""


@dataclass(frozen=True, slots=True)
class Node:
    """One visible element of the document; places in CSS pixels of the window.

    `text` is all the text inside it, `own` the part that no child holds, `label` that of its <label>, `row` the text
    of the nearest element around it that has any. `room_below` and `room_above` are what can still be scrolled.
    """

    tag: str
    type: str
    id: str
    cls: str
    text: str
    own: str
    value: str
    checked: bool
    disabled: bool
    focused: bool
    label: str
    row: str
    left: float
    top: float
    right: float
    bottom: float
    index: int
    room_below: float
    room_above: float

    def holds(self, point: Point) -> bool:
        """Whether a point of the task's screenshot lies in this node."""
        x, y = window_place(point)
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def has_class(self, name: str) -> bool:
        return name in self.cls.split()


@dataclass(frozen=True, slots=True)
class PageState:
    """A page at one moment. `ask` evaluates JavaScript for what the document's nodes do not tell.

    `said` are the teacher's thoughts so far, `elements` what was read from the screenshot that the agent sees.
    """

    query: str
    nodes: tuple[Node, ...]
    ask: Callable[[str], Any]
    said: tuple[str, ...] = ()
    elements: tuple[Element, ...] = ()

    def all(self, tag: str = "", **wanted: Any) -> list[Node]:
        """The nodes with this tag (any of several, comma separated) whose attributes equal what is wanted."""
        tags = tag.split(",") if tag else []
        return [
            n
            for n in self.nodes
            if (not tags or n.tag in tags) and all(getattr(n, name) == value for name, value in wanted.items())
        ]

    def first(self, tag: str = "", **wanted: Any) -> Node | None:
        return next(iter(self.all(tag, **wanted)), None)

    def with_class(self, name: str) -> list[Node]:
        return [n for n in self.nodes if n.has_class(name)]


def window_place(point: Point) -> tuple[float, float]:
    """CSS pixels of the window for a point of the task's screenshot."""
    return AREA[0] + point.x * AREA[2], AREA[1] + point.y * AREA[3]


def read_page(page: Page, said: tuple[str, ...] = (), elements: tuple[Element, ...] = ()) -> PageState:
    """Every visible node of the page now; takes a few milliseconds."""
    found = page.evaluate(_READ, [BAR, WIDTH, HEIGHT])
    return PageState(found["query"], tuple(Node(**n) for n in found["nodes"]), page.evaluate, said, elements)


def reaches(page: Page, node: Node, point: Point) -> bool:
    """Whether a click at the point would land on the node and not on something that covers it."""
    if not node.holds(point):
        return False
    x, y = window_place(point)
    return bool(page.evaluate(_HIT, [x, y, node.left, node.top, node.right, node.bottom]))
