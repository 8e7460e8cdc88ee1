"""Tasks in a web page shown by Chromium: links, buttons, fields, boxes, tabs. Checked in the page from behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from training.tasks.desk_task import DeskTask, Stage, Values, click, fill, switch_on
from training.tasks.desk_words import CITIES, NOUNS, TOPICS, email, full_name, sentence

_STYLE = """<style>
body{font:17px 'DejaVu Sans';margin:32px 48px;color:#111;background:#fff} h1{font-size:26px} a{color:#1a4fb4}
label{display:block;margin:14px 0} input[type=text]{font:inherit;width:340px;padding:5px;margin-left:10px}
input[type=checkbox],input[type=radio]{width:17px;height:17px;vertical-align:-2px;margin-right:14px}
button{font:inherit;padding:7px 20px;margin:14px 14px 0 0} nav button{margin:0 4px 0 0} li{margin:12px 0}
</style>"""

# What the person would see happen; `log` is what the checks read.
_SCRIPT = """<script>
var log = [];
function values() {
  const out = {};
  for (const e of document.querySelectorAll('input')) {
    if (e.type === 'text') out[e.name] = e.value; else if (e.checked) out[e.value] = 'on';
  }
  return out;
}
function press(name) { log.push({name, values: values()}); say(name === 'Cancel' ? 'Cancelled.' : 'Thank you.'); }
function say(text) { document.getElementById('said').textContent = text; }
function follow(name) {
  log.push({name, values: {}});
  document.title = name;
  document.body.innerHTML = '<h1>' + name + '</h1><p>This is the page you asked for.</p>';
}
</script>"""


def _draw(rng: Random) -> Values:
    """Words for every kind of page."""
    topics = rng.sample(TOPICS, 5)
    options = rng.sample(NOUNS, 4)
    option, second = rng.sample(options, 2)
    return {
        "title": rng.choice(("Welcome", "Service", "Portal", "Town Hall", "Web Shop", "Club", "Hotel", "School")),
        "topics": " ".join(topics),
        "topic": rng.choice(topics),
        "options": " ".join(options),
        "option": option,
        "second": second,
        "name": full_name(rng),
        "email": email(rng),
        "city": rng.choice(CITIES),
        "query": sentence(rng),
        "send": rng.choice(("Send", "Submit", "Save", "Continue", "Sign up")),
    }


def _page(body: Callable[[Values], str]) -> Callable[[Stage, Values], None]:
    """A set-up that shows this body under the page's title."""

    def open_(stage: Stage, values: Values) -> None:
        html = f"{_STYLE}{_SCRIPT}<body><h1>{values['title']}</h1>{body(values)}<p id=said></p></body>"
        stage.browser.show(values["title"], html)

    return open_


def _text(label: str) -> str:
    return f"<label>{label}<input type=text name={json.dumps(label)}></label>"


def _box(kind: str, name: str) -> str:
    return f"<label><input type={kind} name=box value={json.dumps(name)}>{name}</label>"


def _button(name: str) -> str:
    return f"<button onclick=\"press('{name}')\">{name}</button>"


def _links(values: Values) -> str:
    items = (f'<li><a href="#" onclick="follow(\'{t}\')">{t}</a></li>' for t in values["topics"].split())
    return f"<ul>{''.join(items)}</ul>"


def _buttons(values: Values) -> str:
    return "".join(_button(topic) for topic in values["topics"].split())


def _tabs(values: Values) -> str:
    names = values["topics"].split()[:4]
    tabs = "".join(f"<button onclick=\"press('{n}');say('This is the tab {n}.')\">{n}</button>" for n in names)
    return f"<nav>{tabs}</nav><p>Choose one of the tabs above.</p>"


def _boxes(kind: str) -> Callable[[Values], str]:
    return lambda v: "".join(_box(kind, name) for name in v["options"].split()) + _button(v["send"])


def _logged(name: str, **wanted: str) -> Callable[[Stage, Values], bool]:
    """A check that exactly one thing happened: `name` was pressed with these values, all texts filled in."""

    def solved(stage: Stage, values: Values) -> bool:
        want = {key.format_map(values): text.format_map(values) for key, text in wanted.items()}
        return bool(stage.browser.state("log") == [{"name": values[name], "values": want}])

    return solved


def _ticked(*names: str) -> Callable[[Stage, Values], bool]:
    return _logged("send", **{f"{{{name}}}": "on" for name in names})


def _draw_tab(rng: Random) -> Values:
    values = _draw(rng)
    return values | {"topic": rng.choice(values["topics"].split()[:4])}


BROWSER = (
    DeskTask(
        "web_link",
        (
            "Click the link {topic}.",
            'Open the page "{topic}".',
            "Follow the link called {topic} on the page.",
            "Go to {topic} on this web page.",
            "Please take me to the {topic} page.",
        ),
        _draw,
        _page(_links),
        _logged("topic"),
        lambda v: [click(v["topic"])],
        "The page {topic} is open.",
        "browser",
    ),
    DeskTask(
        "web_button",
        (
            "Click the button {topic}.",
            'Press "{topic}" on the page.',
            "Push the button called {topic}.",
            "Use the {topic} button of this web page.",
            "Please choose {topic} among the buttons.",
        ),
        _draw,
        _page(_buttons),
        _logged("topic"),
        lambda v: [click(v["topic"], "button")],
        "The button {topic} is pressed.",
        "browser",
    ),
    DeskTask(
        "web_tab",
        (
            "Switch to the tab {topic} of the page.",
            'Open the tab "{topic}".',
            "Show the tab called {topic}.",
            "Go to the {topic} tab of this web page.",
            "Please bring up what is under the tab {topic}.",
        ),
        _draw_tab,
        _page(_tabs),
        _logged("topic"),
        lambda v: [click(v["topic"])],
        "The tab {topic} is shown.",
        "browser",
    ),
    DeskTask(
        "web_form",
        (
            "Fill in the page with name {name} and email {email} and click {send}.",
            "Enter the name {name} and the email {email} on the web page, then press {send}.",
            "Type {name} into Name and {email} into Email, then click {send}.",
            "The name is {name} and the email is {email}. Enter both on the page and click {send}.",
            "Please sign in {name} with the address {email} on this page and confirm with {send}.",
        ),
        _draw,
        _page(lambda v: _text("Name") + _text("Email") + _button(v["send"])),
        _logged("send", Name="{name}", Email="{email}"),
        lambda v: [fill("Name", v["name"]), fill("Email", v["email"]), click(v["send"], "button")],
        "The page is filled in and sent.",
        "browser",
    ),
    DeskTask(
        "web_search",
        (
            'Search for "{query}" on the page.',
            'Type "{query}" into the field Search and click Go.',
            'Look for "{query}" with the search field.',
            'Use the web page to search "{query}".',
            'Find "{query}" with the search of this site.',
        ),
        _draw,
        _page(lambda v: _text("Search") + _button("Go")),
        lambda stage, v: bool(stage.browser.state("log") == [{"name": "Go", "values": {"Search": v["query"]}}]),
        lambda v: [fill("Search", v["query"]), click("Go", "button")],
        'The page searches for "{query}".',
        "browser",
    ),
    DeskTask(
        "web_tick",
        (
            "Tick {option} on the page and click {send}.",
            'Check the box "{option}" and press {send}.',
            "Select the box {option} of the web page, then click {send}.",
            "Turn {option} on and click {send}.",
            "Please order a {option} here and confirm with {send}.",
        ),
        _draw,
        _page(_boxes("checkbox")),
        _ticked("option"),
        lambda v: [switch_on(v["option"], "check"), click(v["send"], "button")],
        "{option} is ticked and sent.",
        "browser",
    ),
    DeskTask(
        "web_tick_two",
        (
            "Tick {option} and {second} on the page and click {send}.",
            'Check the boxes "{option}" and "{second}" and press {send}.',
            "Select the boxes {option} and {second} of the web page, then click {send}.",
            "Turn {option} and {second} on and click {send}.",
            "Please order a {option} and a {second} here and confirm with {send}.",
        ),
        _draw,
        _page(_boxes("checkbox")),
        _ticked("option", "second"),
        lambda v: [switch_on(v["option"], "check"), switch_on(v["second"], "check"), click(v["send"], "button")],
        "{option} and {second} are ticked and sent.",
        "browser",
    ),
    DeskTask(
        "web_choose",
        (
            "Choose {option} on the page and click {send}.",
            'Select "{option}" and press {send}.',
            "Pick {option} on the web page, then click {send}.",
            "Set the page to {option} and click {send}.",
            "I prefer the {option}. Confirm with {send} on the page.",
        ),
        _draw,
        _page(_boxes("radio")),
        _ticked("option"),
        lambda v: [switch_on(v["option"], "radio"), click(v["send"], "button")],
        "{option} is chosen and sent.",
        "browser",
    ),
)
