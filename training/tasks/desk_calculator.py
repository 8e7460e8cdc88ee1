"""Tasks in a calculator (Galculator, which shows a paper roll) with one calculation of two numbers.

The calculator offers its results to no clipboard and writes no file: the roll is read from a frame taken for the check.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random

from agent_core.actions import Type
from training.tasks.desk_task import DeskTask, Move, Stage, Values, keys

_SETTINGS = "[general]\nmode=2\nshow_menu_bar=true\n"


def _drawing(sign: str, low: int, high: int, compute: Callable[[int, int], int]) -> Callable[[Random], Values]:
    """Draws two numbers; the larger comes first, so that no result is negative."""

    def draw(rng: Random) -> Values:
        a, b = sorted((rng.randint(low, high), rng.randint(low, high)), reverse=True)
        return {"a": str(a), "b": str(b), "sign": sign, "result": str(compute(a, b))}

    return draw


def _draw_quotient(rng: Random) -> Values:
    b, result = rng.randint(2, 30), rng.randint(2, 60)
    return {"a": str(b * result), "b": str(b), "sign": "/", "result": str(result)}


def _open(stage: Stage, values: Values) -> None:
    stage.put(".config/galculator/galculator.conf", _SETTINGS)
    stage.start(["galculator"], "galculator")


def _is_shown(stage: Stage, values: Values) -> bool:
    """The roll shows results at its right edge, calculations at its left."""
    results = [e.text for e in stage.read() if e.point.x > 0.8]
    return not stage.has_ended() and values["result"] in results


def _compute(values: Values) -> list[Move]:
    sum_ = f"{values['a']}{values['sign']}{values['b']}"
    return [keys("Type the calculation and press Enter.", Type(sum_ + "\n"))]


def _task(name: str, wordings: tuple[str, ...], draw: Callable[[Random], Values]) -> DeskTask:
    return DeskTask(name, wordings, draw, _open, _is_shown, _compute, "The calculator shows the result.")


CALCULATOR = (
    _task(
        "calculator_add",
        (
            "Compute {a} + {b} with the calculator.",
            "Add {a} and {b} in the calculator.",
            "Let the calculator show {a} plus {b}.",
            "Work out {a}+{b} in Galculator.",
            "What is the sum of {a} and {b}? Show it in the calculator.",
        ),
        _drawing("+", 11, 999, operator.add),
    ),
    _task(
        "calculator_subtract",
        (
            "Compute {a} - {b} with the calculator.",
            "Subtract {b} from {a} in the calculator.",
            "Let the calculator show {a} minus {b}.",
            "Work out {a}-{b} in Galculator.",
            "Take {b} away from {a}. Show it in the calculator.",
        ),
        _drawing("-", 11, 999, operator.sub),
    ),
    _task(
        "calculator_multiply",
        (
            "Compute {a} * {b} with the calculator.",
            "Multiply {a} by {b} in the calculator.",
            "Let the calculator show {a} times {b}.",
            "Work out {a}*{b} in Galculator.",
            "What is the product of {a} and {b}? Show it in the calculator.",
        ),
        _drawing("*", 3, 99, operator.mul),
    ),
    _task(
        "calculator_divide",
        (
            "Compute {a} / {b} with the calculator.",
            "Divide {a} by {b} in the calculator.",
            "Let the calculator show {a} divided by {b}.",
            "Work out {a}/{b} in Galculator.",
            "How many times does {b} go into {a}? Show it in the calculator.",
        ),
        _draw_quotient,
    ),
)
