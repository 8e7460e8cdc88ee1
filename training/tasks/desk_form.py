"""Tasks in a form window (Qt): type into fields, tick boxes, choose one of several, press the right button.

Checked by the file that the form program writes when a button is pressed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from training.tasks.desk_task import DeskTask, Move, Stage, Values, click, fill, switch_on
from training.tasks.desk_words import CITIES, FIRST_NAMES, email, full_name, sentence, words

_PROGRAM = Path(__file__).parent / "programs" / "form.py"
_RESULT = "result.json"
_TITLES = ("Contact", "Registration", "Customer", "Member", "Booking", "Application", "Account", "Visitor")
_OPTIONS = words(
    "Newsletter Breakfast Parking Wifi Insurance Delivery Discount Reminder Backup Updates Sound Notifications "
    "Music Catering Invoice Receipt Warranty Guide Transfer Pickup"
)
_CHOICES = words(
    "Small Medium Large Standard Express Economy Premium Morning Evening Cash Card Transfer Train Plane Bus "
    "Coffee Water Single Double Silver Gold Basic"
)
_CONFIRM = ("OK", "Save", "Submit", "Send", "Apply", "Register")
_REFUSE = ("Cancel", "Close", "Back", "Discard")


def _draw(rng: Random) -> Values:
    """Everything a form can show; each task's set-up takes what it needs."""
    options = rng.sample(_OPTIONS, 4)
    choices = rng.sample(_CHOICES, 4)
    option, second = rng.sample(options, 2)
    return {
        "title": rng.choice(_TITLES),
        "name": full_name(rng),
        "email": email(rng),
        "city": rng.choice(CITIES),
        "remark": sentence(rng),
        "person": rng.choice(FIRST_NAMES),
        "options": " ".join(options),
        "option": option,
        "second": second,
        "choices": " ".join(choices),
        "choice": rng.choice(choices),
        "confirm": rng.choice(_CONFIRM),
        "refuse": rng.choice(_REFUSE),
    }


def _opening(
    fields: tuple[str, ...] = (), checks: bool = False, radios: bool = False
) -> Callable[[Stage, Values], None]:
    """A set-up that shows these parts of the form."""

    def open_(stage: Stage, values: Values) -> None:
        spec = {
            "title": values["title"],
            "fields": fields,
            "checks": values["options"].split() if checks else [],
            "radios": values["choices"].split() if radios else [],
            "buttons": [values["confirm"], values["refuse"]],
        }
        stage.put("form.json", json.dumps(spec))
        stage.start([sys.executable, str(_PROGRAM), "form.json", _RESULT], values["title"])

    return open_


def _is(button: str, **parts: Any) -> Callable[[Stage, Values], bool]:
    """A check that the button called `button` in the values was pressed with these parts, their texts filled in."""

    def solved(stage: Stage, values: Values) -> bool:
        text = stage.text(_RESULT)
        if not text:
            return False
        result = json.loads(text)
        wanted = {"fields": {}, "checks": [], "radio": ""} | _filled(parts, values)
        given = {name: result[name] for name in wanted}
        given["checks"], wanted["checks"] = sorted(given["checks"]), sorted(wanted["checks"])
        return bool(result["button"] == values[button] and given == wanted)

    return solved


def _filled(part: Any, values: Values) -> Any:
    match part:
        case str():
            return part.format_map(values)
        case dict():
            return {key: _filled(value, values) for key, value in part.items()}
        case _:
            return [_filled(value, values) for value in part]


def _press(values: Values, button: str = "confirm") -> Move:
    return click(values[button], "button")


FORM = (
    DeskTask(
        "form_name",
        (
            "Enter the name {name} and press {confirm}.",
            'Fill in the name "{name}" and click {confirm}.',
            "Type {name} into the field Name, then press {confirm}.",
            "The name is {name}. Enter it and click {confirm}.",
            "Please put {name} as the name in the form and confirm with {confirm}.",
        ),
        _draw,
        _opening(("Name",)),
        _is("confirm", fields={"Name": "{name}"}),
        lambda v: [fill("Name", v["name"]), _press(v)],
        "The name {name} is entered.",
    ),
    DeskTask(
        "form_name_email",
        (
            "Enter the name {name} and the email {email}, then press {confirm}.",
            'Fill in the form with name "{name}" and email "{email}" and click {confirm}.',
            "Type {name} into Name and {email} into Email, then press {confirm}.",
            "The name is {name} and the email is {email}. Enter both and click {confirm}.",
            "Please put {name} with the address {email} into the form and confirm with {confirm}.",
        ),
        _draw,
        _opening(("Name", "Email")),
        _is("confirm", fields={"Name": "{name}", "Email": "{email}"}),
        lambda v: [fill("Name", v["name"]), fill("Email", v["email"]), _press(v)],
        "The form of {name} is filled in.",
    ),
    DeskTask(
        "form_one_field",
        (
            "Enter the city {city} and press {confirm}.",
            'Fill in only the city, "{city}", and click {confirm}.',
            "Type {city} into the field City and leave the others empty, then press {confirm}.",
            "The city is {city}. Enter it and click {confirm}.",
            "Please put {city} as the city in the form and confirm with {confirm}.",
        ),
        _draw,
        _opening(("Name", "City", "Remark")),
        _is("confirm", fields={"Name": "", "City": "{city}", "Remark": ""}),
        lambda v: [fill("City", v["city"]), _press(v)],
        "The city {city} is entered.",
    ),
    DeskTask(
        "form_tick",
        (
            "Tick {option} and press {confirm}.",
            'Check the box "{option}" and click {confirm}.',
            "Select the option {option}, then press {confirm}.",
            "Turn {option} on and click {confirm}.",
            "I would like to have {option}. Confirm with {confirm}.",
        ),
        _draw,
        _opening(checks=True),
        _is("confirm", checks=["{option}"]),
        lambda v: [switch_on(v["option"], "check"), _press(v)],
        "{option} is ticked.",
    ),
    DeskTask(
        "form_tick_two",
        (
            "Tick {option} and {second} and press {confirm}.",
            'Check the boxes "{option}" and "{second}" and click {confirm}.',
            "Select the options {option} and {second}, then press {confirm}.",
            "Turn {option} and {second} on and click {confirm}.",
            "I would like to have both {option} and {second}. Confirm with {confirm}.",
        ),
        _draw,
        _opening(checks=True),
        _is("confirm", checks=["{option}", "{second}"]),
        lambda v: [switch_on(v["option"], "check"), switch_on(v["second"], "check"), _press(v)],
        "{option} and {second} are ticked.",
    ),
    DeskTask(
        "form_choose",
        (
            "Choose {choice} and press {confirm}.",
            'Select "{choice}" and click {confirm}.',
            "Pick the choice {choice}, then press {confirm}.",
            "Set it to {choice} and click {confirm}.",
            "I prefer {choice}. Confirm with {confirm}.",
        ),
        _draw,
        _opening(radios=True),
        _is("confirm", radio="{choice}"),
        lambda v: [switch_on(v["choice"], "radio"), _press(v)],
        "{choice} is chosen.",
    ),
    DeskTask(
        "form_name_tick",
        (
            "Enter the name {name}, tick {option} and press {confirm}.",
            'Fill in the name "{name}", check "{option}" and click {confirm}.',
            "Type {name} into Name, select {option}, then press {confirm}.",
            "The name is {name} and {option} should be on. Then click {confirm}.",
            "Please register {name} with {option} and confirm with {confirm}.",
        ),
        _draw,
        _opening(("Name",), checks=True),
        _is("confirm", fields={"Name": "{name}"}, checks=["{option}"]),
        lambda v: [fill("Name", v["name"]), switch_on(v["option"], "check"), _press(v)],
        "{name} is entered and {option} is ticked.",
    ),
    DeskTask(
        "form_cancel",
        (
            "Leave the form with {refuse}.",
            "Press {refuse} without filling in anything.",
            "Click the button {refuse}.",
            "Do not fill in the form, just press {refuse}.",
            "Nothing is to be entered. Use {refuse} to get out.",
        ),
        _draw,
        _opening(("Name", "Email")),
        _is("refuse", fields={"Name": "", "Email": ""}),
        lambda v: [_press(v, "refuse")],
        "The form is left.",
    ),
)
