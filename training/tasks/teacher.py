"""A teacher: answers prompts like a model, but knows from inside the program what comes next.

A plan says which node of the program is meant; the teacher finds the element of the screenshot that lies on it and
clicks there. What the screenshot does not show cannot be learnt from it, so the teacher then gives up rather than
point at something that the agent cannot see. Plans look at the program anew each time and so recover from anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from threading import Event

from agent_core.actions import Action, Click, Drag, Finished, Hotkey, Point, Type
from agent_core.dialects.elements import GRID
from agent_core.errors import ModelError
from agent_core.protocols import Dialect, Reader
from agent_core.step import Element, ElementKind, Prompt, Reply, Screenshot
from training.tasks.miniwob_page import Node

ALIKE = 0.6  # least share of letters that a label read from pixels must have in common with the node's own text


class GaveUp(ModelError):
    """The teacher cannot show this step with what was read from the screenshot."""


@dataclass(frozen=True, slots=True)
class Move:
    """What comes next: click the target if there is one, or drag it to `drop`, then do the rest.

    `say` is the thought; `{label}` in it becomes the words of the element as they were read, in quotes, or its kind
    when it has none; a field is called one either way. `{drop}` is the same for where the drag ends, `shift` how far
    beside it in thousandths of the screenshot: hundreds are the easiest to add. `{0}`, `{1}` and so on become the
    places of the `spots`, nodes that this thought keeps in mind. `kinds` are preferred from left to right. `shown`
    are texts that the agent must be able to read on the screen to make this move; `unread` is what to do when it is
    not. With `named`, the elements' own words must be those of the nodes.
    """

    say: str
    target: Node | None = None
    kinds: tuple[ElementKind, ...] = ()
    then: tuple[Action, ...] = ()
    shown: tuple[str, ...] = ()
    named: bool = True
    drop: Node | None = None
    shift: tuple[int, int] = (0, 0)
    spots: tuple[Node, ...] = ()
    unread: Move | None = None


def click(node: Node | None, say: str = "Click {label}.", named: bool = True) -> Move | None:
    """Click a button, link or other thing with words on it."""
    kinds: tuple[ElementKind, ...] = ("button", "text", "icon")
    if node is not None and node.type in ("checkbox", "radio"):
        kinds, named = ("check" if node.type == "checkbox" else "radio",), False
    return None if node is None else Move(say, node, kinds, named=named)


def fill(node: Node | None, text: str, shown: tuple[str, ...] = (), say: str = "") -> Move | None:
    """Click a field and type; what it held before is selected first, so that it is replaced."""
    if node is None:
        return None
    clear: tuple[Action, ...] = (Hotkey(("ctrl", "a")),) if node.value else ()
    return Move(say or f'Type "{text}" into {{label}}.', node, ("field",), (*clear, Type(text)), shown, named=False)


class Teacher:
    """`plan` is asked for the next move at every reply, with the thoughts so far; None means nothing is left to do.

    `reaches` tells whether a click at an element's point lands on a node. Raises GaveUp from `reply`.
    """

    name = "teacher"

    def __init__(
        self, plan: Callable[[tuple[str, ...]], Move | None], reaches: Callable[[Node, Element], bool], dialect: Dialect
    ) -> None:
        self._plan = plan
        self._reaches = reaches
        self._dialect = dialect
        self._said: list[str] = []
        self.shot: Screenshot | None = None

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        if stop.is_set():
            return Reply("", stop_reason="stopped")
        if self.shot is None:
            raise GaveUp("The teacher has not seen the screen: read the screenshot with the episode's reader.")
        move = self._plan(tuple(self._said))
        if move is None:
            return Reply(self._dialect.write("The task is done.", [Finished()], self.shot))
        while missing := [text for text in move.shown if not _is_read(text, self.shot.elements)]:
            if move.unread is None:
                raise GaveUp(f"{missing[0]!r} was not read from the screen.")
            move = move.unread
        say, todo = move.say, list(move.then)
        if move.target is not None:
            element = self._find(move, move.target)
            say = say.replace("{label}", _named(element))
            if move.drop is None:
                todo.insert(0, Click(element.point))
            else:
                end = self._find(move, move.drop)
                say = say.replace("{drop}", _named(end))
                todo.insert(0, Drag(element.point, _beside(end.point, move.shift)))
        for n, spot in enumerate(move.spots):
            say = say.replace(f"{{{n}}}", place_of(self._find(move, spot).point))
        self._said.append(say)
        return Reply(self._dialect.write(say, todo, self.shot))

    def close(self) -> None:
        """Nothing to free: the page belongs to the sandbox."""

    def _find(self, move: Move, node: Node) -> Element:
        """The element that was read on the node, best kind first, then the most alike words, then the nearest."""
        assert self.shot is not None
        on_it = [e for e in self.shot.elements if node.holds(e.point)]
        if move.named:
            on_it = [e for e in on_it if alike(e.text, node.text or node.value) >= ALIKE]
        order = {kind: n for n, kind in enumerate(move.kinds)}
        on_it.sort(key=lambda e: (order.get(e.kind, len(order)), -alike(e.text, node.text)))
        for element in on_it:
            if self._reaches(node, element):
                return element
        raise GaveUp(f"nothing was read on the {node.tag} {(node.text or node.label or node.id)!r}.")


class SeeingReader:
    """Reads for the loop and lets the teacher see the same elements."""

    def __init__(self, reader: Reader, teacher: Teacher, done: Callable[[], bool]) -> None:
        self._reader = reader
        self._teacher = teacher
        self._done = done

    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        if self._done():
            return ()  # nobody will act on this frame, and reading is what costs the most
        elements = self._reader.read(shot)
        self._teacher.shot = replace(shot, elements=elements)
        return elements


def place_of(point: Point) -> str:
    """A place as the agent reads it: thousandths from the left and from the top."""
    return f"{round(point.x * GRID)} {round(point.y * GRID)}"


def _beside(point: Point, shift: tuple[int, int]) -> Point:
    """A place that far away, in thousandths, but still on the screenshot."""
    x, y = (part + way / GRID for part, way in zip((point.x, point.y), shift, strict=True))
    return Point(min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0))


def _named(element: Element) -> str:
    if element.kind == "field":
        return f'the field "{element.text}"' if element.text else "the field"
    return f'"{element.text}"' if element.text else f"the {element.kind}"


def alike(read: str, meant: str) -> float:
    """How alike two texts are, 0..1, blanks and case left aside: letters read from pixels are not always right."""
    a, b = "".join(read.lower().split()), "".join(meant.lower().split())
    if not a and not b:
        return 1.0
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _is_read(text: str, elements: tuple[Element, ...]) -> bool:
    everything = " ".join(f"{e.text} {e.value}" for e in elements)
    return "".join(text.split()) in "".join(everything.split())
