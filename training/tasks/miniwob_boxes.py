"""Plans for MiniWoB tasks with boxes: counted, ticked by a pattern, marked in a game."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby

from agent_core.actions import Click, Hotkey, Point, Type
from training.tasks.miniwob_page import AREA, Node, PageState
from training.tasks.miniwob_plans import ALL_IN, button
from training.tasks.teacher import Move, click, fill

CELLS = (
    "top left",
    "top center",
    "top right",
    "center left",
    "center",
    "center right",
    "bottom left",
    "bottom center",
    "bottom right",
)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
BY_WORTH = (4, 0, 2, 6, 8, 1, 3, 5, 7)


def tic_tac_toe(page: PageState) -> Move | None:
    """Win if one mark is missing, else stop the other from it, else take the cell that promises most."""
    cells = sorted((n for n in page.nodes if n.id.startswith("ttt-")), key=lambda n: n.id)
    board = "".join("X" if n.has_class("mark-x") else "O" if n.has_class("mark-o") else "." for n in cells)
    if len(board) != 9 or "." not in board:
        return None
    for mark, why in (("X", "three X win"), ("O", "stop three O")):
        third = _third(board, mark)
        if third is not None:
            return _mark(cells, board, third, why)
    return _mark(cells, board, max(_free(board), key=lambda cell: _chance(board, cell)), "a good place")


def _third(board: str, mark: str) -> int | None:
    """The free cell of a line in which the mark stands twice."""
    for line in LINES:
        marks = [board[i] for i in line]
        if marks.count(mark) == 2 and "." in marks:
            return line[marks.index(".")]
    return None


def _free(board: str) -> list[int]:
    return [cell for cell in BY_WORTH if board[cell] == "."]


@cache
def _chance(board: str, cell: int) -> float:
    """How likely X wins from this cell on, against an opponent who plays at random 55 times in 100."""
    board = board[:cell] + "X" + board[cell + 1 :]
    if any(all(board[i] == "X" for i in line) for line in LINES):
        return 1.0
    if not _free(board):
        return 0.0
    chances = {reply: _after(board[:reply] + "O" + board[reply + 1 :]) for reply in _free(board)}
    at_random = sum(chances.values()) / len(chances)
    wins, stops = _third(board, "O"), _third(board, "X")
    clever = wins if wins is not None else stops
    return 0.55 * at_random + 0.45 * (at_random if clever is None else chances[clever])


def _after(board: str) -> float:
    """The chance of X to win when it is to move; none when O has won or the board is full."""
    if not _free(board) or any(all(board[i] == "O" for i in line) for line in LINES):
        return 0.0
    return max(_chance(board, cell) for cell in _free(board))


def _mark(cells: list[Node], board: str, cell: int, why: str) -> Move:
    rows = " / ".join(board[i : i + 3] for i in (0, 3, 6))
    say = f"The rows are {rows}; {why}: click the {CELLS[cell]}."
    return Move(say, cells[cell], ("icon",), named=False)


def visual_addition(page: PageState) -> Move | None:
    """The blocks are counted row by row, as their lines come."""
    blocks = sorted(page.with_class("addition-block"), key=lambda n: n.top)
    field = page.first("input")
    if field is None:
        return None
    answer = str(len(blocks))
    if field.value == answer:
        return click(button(page, "Submit"), ALL_IN)
    rows = " + ".join(str(len(list(row))) for _, row in groupby(blocks, key=lambda n: round(n.top / 4)))
    move = fill(field, answer, say=f"Rows of {rows} squares make {answer}; type it into {{label}}.")
    return None if move is None else Move(move.say, field, move.kinds, move.then, named=False, spots=tuple(blocks))


def number_checkboxes(page: PageState) -> Move | None:
    """A row of four boxes at a time, so that the thoughts tell which rows are done."""
    number = re.findall(r'"(\d)"', page.query)[0]
    pattern = page.ask(f"PATTERNS[{number}]")
    boxes = page.all(type="checkbox")
    for n, row in enumerate(pattern):
        wrong = [i for i in range(4) if boxes[n * 4 + i].checked != bool(row[i])]
        if wrong:
            clicks = tuple(Click(_middle(boxes[n * 4 + i])) for i in wrong)
            which = f"box{'es' if len(wrong) > 1 else ''} {', '.join(str(i + 1) for i in wrong)}"
            return Move(f'Row {n + 1} of "{number}": click {which}.', then=clicks)
    return click(button(page, "Submit"), f'All 7 rows of "{number}" are drawn; click {{label}}.')


def _middle(node: Node) -> Point:
    """The boxes are read as a grid, some as letters: where one is missing, its row and column tell the place."""
    left, top, width, height = AREA
    return Point(((node.left + node.right) / 2 - left) / width, ((node.top + node.bottom) / 2 - top) / height)


def text_transform(page: PageState) -> Move | None:
    """Crooked letters; the field below them is reached with the Tab key."""
    text = "".join(n.text for n in page.all("span") if n.text)
    field = page.first("input")
    if field is not None and field.value != text:
        say = f'The letters are "{text}"; go to the field and type it.'
        return Move(say, then=(Hotkey(("tab",)), Type(text)), shown=(text,))
    return click(button(page, "Submit"), ALL_IN)


PLANS = {
    "tic-tac-toe": tic_tac_toe,
    "visual-addition": visual_addition,
    "number-checkboxes": number_checkboxes,
    "text-transform": text_transform,
}
