"""Plans for MiniWoB tasks of places: a point between others, a right angle, a line through a dot, a shape to be moved.

Places are counted in thousandths of the screenshot, as they are read, and the thought does the sum aloud.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_core.actions import Click, Drag, Point
from agent_core.dialects.elements import GRID
from agent_core.step import Element
from training.tasks.miniwob_page import PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import GaveUp, Move, click, place_of

Place = tuple[int, int]  # thousandths from the left and from the top

PAPER = (30, 900, 30, 780)  # left, right, top, bottom of where points may be put
HALF_LINE = 150  # thousandths on either side of the dot
STEP = 200  # thousandths that a shape is moved
WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
PLURALS = {"circles": "circle", "rectangles": "square", "triangles": "triangle"}


def at(element: Element) -> Place:
    return round(element.point.x * GRID), round(element.point.y * GRID)


def point(place: Place) -> Point:
    return Point(min(max(place[0], 1), GRID - 1) / GRID, min(max(place[1], 1), GRID - 1) / GRID)


def named(page: PageState, words: str) -> list[Element]:
    """The icons whose words begin so."""
    return [e for e in page.elements if e.kind == "icon" and e.text.startswith(words)]


def grid_coordinate(page: PageState) -> Move | None:
    """Five columns and five rows of dots around the one at (0,0)."""
    asked = re.search(r"\((-?\d),(-?\d)\)", page.query)
    dots = named(page, "blue circle")
    if asked is None or len(dots) < 5:
        raise GaveUp("The dots of the grid were not read from the screen.")
    x, y = int(asked[1]), int(asked[2])
    columns, rows = _levels([at(d)[0] for d in dots]), _levels([at(d)[1] for d in dots])
    if len(columns) != 5 or len(rows) != 5:
        raise GaveUp("Not all rows and columns of the grid were read from the screen.")
    place = columns[x + 2], rows[2 - y]
    dot = min(dots, key=lambda d: abs(at(d)[0] - place[0]) + abs(at(d)[1] - place[1]))
    if abs(at(dot)[0] - place[0]) + abs(at(dot)[1] - place[1]) > 20:
        raise GaveUp(f"The dot at {asked[0]} was not read from the screen.")
    say = f"({x},{y}) is column {x + 3} from the left and row {3 - y} from the top; click the dot at {_said(at(dot))}."
    return Move(say, then=(Click(dot.point),))


def circle_center(page: PageState) -> Move | None:
    if page.first(id="blue-circle") is not None:
        return click(button(page, "Submit"), "The middle is marked; click {label}.")
    circle = _one(page, "white circle")
    return Move(f"The middle of the circle is {place_of(circle.point)}; click there.", then=(Click(circle.point),))


def find_midpoint(page: PageState) -> Move | None:
    if page.first(id="blue-circle") is not None:
        return click(button(page, "Submit"), "The middle is marked; click {label}.")
    return _between(page)


def bisect_angle(page: PageState) -> Move | None:
    """The line from the blue dot through the middle of the two black ones."""
    if page.first(id="blue-circle") is not None:
        return click(button(page, "Submit"), "The line is drawn; click {label}.")
    return _between(page)


def _between(page: PageState) -> Move:
    dots = named(page, "black circle")
    if len(dots) != 2:
        raise GaveUp(f"{len(dots)} black dots were read from the screen, not two.")
    a, b = at(dots[0]), at(dots[1])
    middle = (a[0] + b[0]) // 2, (a[1] + b[1]) // 2
    say = f"Between {_said(a)} and {_said(b)} is {_said(middle)}; click there."
    return Move(say, then=(Click(point(middle)),))


def right_angle(page: PageState) -> Move | None:
    """A third point straight across the line, seen from the blue dot."""
    if page.first(id="blue-circle") is not None:
        return click(button(page, "Submit"), "The right angle is drawn; click {label}.")
    corner, end = at(_one(page, "blue circle")), at(_one(page, "black circle"))
    way = end[0] - corner[0], end[1] - corner[1]
    for part in (2, 3, 4, 6):
        for across in ((-way[1] // part, way[0] // part), (way[1] // part, -way[0] // part)):
            place = corner[0] + across[0], corner[1] + across[1]
            if PAPER[0] <= place[0] <= PAPER[1] and PAPER[2] <= place[1] <= PAPER[3]:
                say = (
                    f"From the blue dot at {_said(corner)} to {_said(end)} is {_said(way)}; "
                    f"across it is {_said(across)}, so click {_said(place)}."
                )
                return Move(say, then=(Click(point(place)),))
    raise GaveUp("There is no room for a third point.")


def draw_line(page: PageState) -> Move | None:
    if page.ask("document.querySelector('path') !== null"):
        return click(button(page, "Submit"), "The line is drawn; click {label}.")
    dot = at(_one(page, "purple circle"))
    flat = "horizontal" in page.query
    dx, dy = (HALF_LINE, 0) if flat else (0, HALF_LINE)
    start, end = (dot[0] - dx, dot[1] - dy), (dot[0] + dx, dot[1] + dy)
    way = "horizontal" if flat else "vertical"
    say = f"The dot is at {_said(dot)}; drag a {way} line from {_said(start)} to {_said(end)}."
    return Move(say, then=(Drag(point(start), point(end)),))


def drag_one(page: PageState) -> Move | None:
    """The one shape of the page, a step into the direction that is asked for."""
    asked = re.search(r"Drag the \w+ (\w+) then", page.query)
    if asked is None or asked[1] not in WAYS:
        return None
    if page.ask("document.querySelector('svg *').hasAttribute('transform')"):
        return click(next((n for n in page.nodes if n.own == "Submit"), None), "The shape is moved; click {label}.")
    shape = next((e for e in page.elements if e.kind == "icon" and e.text), None)
    if shape is None:
        raise GaveUp("The shape was not read from the screen.")
    start, way = at(shape), WAYS[asked[1]]
    end = start[0] + way[0] * STEP, start[1] + way[1] * STEP
    say = f'Drag "{shape.text}" {asked[1]} from {_said(start)} to {_said(end)}.'
    return Move(say, then=(Drag(shape.point, point(end)),))


def drag_shapes(page: PageState) -> Move | None:
    """All shapes of one kind into the box, side by side, so that each can still be seen."""
    asked = re.search(r"Drag all (\w+) into", page.query)
    box = page.first(id="shape-container")
    if asked is None or box is None:
        return None
    room = _room(page, 0)
    shapes = [e for e in _solid(page) if PLURALS[asked[1]] in e.text.split()]
    return _one_after_another(page, [(e, room) for e in shapes if not _is_in(e, room)], f"All {asked[1]} are")


def drag_shapes_2(page: PageState) -> Move | None:
    """One kind or colour into the left box, all others into the right one."""
    asked = re.search(r"Drag all (\w+)(?: shapes)? into the left", page.query)
    if asked is None:
        return None
    word = PLURALS.get(asked[1], "cyan" if asked[1] == "aqua" else asked[1])
    left, right = _room(page, 0), _room(page, 1)
    todo = [(e, left if word in e.text.split() else right) for e in _solid(page)]
    todo = [(e, room) for e, room in todo if not _is_in(e, left) and not _is_in(e, right)]
    return _one_after_another(page, todo, "All shapes are")


def _one_after_another(page: PageState, todo: list[tuple[Element, tuple[int, ...]]], done: str) -> Move | None:
    if not todo:
        submit = next((n for n in page.nodes if n.own == "Submit"), None)
        return click(submit, f"{done} in the box; click {{label}}.")
    shape, room = todo[0]
    here = sum(_is_in(e, room) for e in _solid(page))
    x, y = room[0] + 80 + 105 * here, (room[1] + room[3]) // 2
    say = f'Drag "{shape.text}" from {place_of(shape.point)} into the box to {x} {y}.'
    return Move(say, then=(Drag(shape.point, point((x, y))),))


def _room(page: PageState, n: int) -> tuple[int, ...]:
    """Left, top, right, bottom of the n-th box in thousandths."""
    node = page.all(id="shape-container")[n]
    return tuple(round(v * GRID / 160) for v in (node.left, node.top - 50, node.right, node.bottom - 50))


def _is_in(element: Element, room: tuple[int, ...]) -> bool:
    x, y = at(element)
    return room[0] < x < room[2] and room[1] < y < room[3]


def _solid(page: PageState) -> list[Element]:
    """The coloured shapes, without the boxes they go into."""
    return [e for e in page.elements if e.kind == "icon" and e.text and not e.text.startswith("white")]


def _one(page: PageState, words: str) -> Element:
    found = named(page, words)
    if not found:
        raise GaveUp(f"No {words} was read from the screen.")
    return found[0]


def _levels(values: list[int]) -> list[int]:
    """The distinct places along one way, close ones taken together."""
    out: list[int] = []
    for value in sorted(values):
        if not out or value - out[-1] > 40:
            out.append(value)
    return out


def _said(place: Place) -> str:
    return f"{place[0]} {place[1]}"


PLANS: dict[str, Callable[[PageState], Move | None]] = {
    "grid-coordinate": grid_coordinate,
    "circle-center": circle_center,
    "find-midpoint": find_midpoint,
    "bisect-angle": bisect_angle,
    "right-angle": right_angle,
    "draw-line": draw_line,
    "drag-circle": drag_one,
    "drag-single-shape": drag_one,
    "drag-shapes": drag_shapes,
    "drag-shapes-2": drag_shapes_2,
}
