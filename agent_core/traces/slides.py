"""One step of a replay as HTML: the picture with its marks, the cards beside it, the small picture in the strip."""

from __future__ import annotations

import json
from collections.abc import Iterable

from agent_core.actions import in_words, kind_of, target_of, to_json
from agent_core.step import Screenshot, Step
from agent_core.traces.frames import Frame, Pictures
from agent_core.traces.images import Pixels
from agent_core.traces.markup import duration, marks, place_words, shown, verdict_words


def slide(frame: Frame, n: int, of: int, ids: dict[str, str], pictures: Pictures) -> str:
    """One step: the picture with its marks, and the cards beside it. `ids` names the pictures inside the page."""
    return (
        f'<section class="slide" id="step-{n}" aria-label="Step {n} of {of}">'
        f'{_figure(frame, ids, pictures)}<div class="panel">{_panel(frame, n, of)}</div></section>\n'
    )


def _figure(frame: Frame, ids: dict[str, str], pictures: Pictures) -> str:
    picture = pictures.get(frame.picture)
    caption = f'<figcaption dir="auto">{shown(frame.window)}</figcaption>' if frame.window else ""
    if picture is None:
        return f'<figure class="shot"><p class="empty">The picture is missing.</p>{caption}</figure>'
    ring = "" if frame.step is None else marks(frame.step, picture.width, picture.height)
    early = f'<g class="early"><use href="#{ids[frame.picture]}"/>{ring}</g>'
    late = f'<g class="late"><use href="#{ids[frame.after]}"/></g>' if frame.after in pictures else ""
    return (
        f'<figure class="shot{" has-after" if late else ""}"><svg viewBox="0 0 {picture.width} {picture.height}" '
        f'role="img" aria-label="The screen">{early}{late}</svg>{caption}</figure>'
    )


def _panel(frame: Frame, n: int, of: int) -> str:
    """The cards beside the picture: action, thought, verdict, outcome, times, exact form."""
    step = frame.step
    title = "No action" if step is None else _place(step)
    parts = [f'<div><p class="count">Step {n} of {of} &#183; turn {frame.turn}</p><h2 dir="auto">{title}</h2></div>']
    if frame.thought:
        parts.append(f'<div><h3>Thought</h3><p dir="auto">{shown(frame.thought)}</p></div>')
    if step is None:
        problems = "\n".join(frame.problems) or "The reply holds no action."
        parts.append(f'<div><p><span class="word ask">! Not readable</span>\n{shown(problems)}</p></div>')
    else:
        parts.append(f"<div>{_verdict(step)}</div><div>{_outcome(step)}</div>")
    if frame.spent_ms:
        parts.append(f"<div>{_times(frame.spent_ms)}</div>")
    exact = (
        ""
        if step is None
        else f"<h3>Action</h3><pre>{shown(json.dumps(to_json(step.action), ensure_ascii=False))}</pre>"
    )
    reply = f'<h3>Reply of the model</h3><pre dir="auto">{shown(frame.reply)}</pre>' if frame.reply else ""
    if exact or reply:
        parts.append(f"<details><summary>Exact form</summary>{exact}{reply}</details>")
    return "".join(parts)


def _place(step: Step) -> str:
    """The action in words, and on what."""
    words = shown(in_words(step.action))
    words = words[:1].upper() + words[1:]
    name, where = step.element.text if step.element else "", place_words(step.action)
    if name and where:
        return f"{words} on <bdi>&#8220;{shown(name)}&#8221;</bdi>"
    return f'{words} <span class="count">{where}</span>' if where else words


def _verdict(step: Step) -> str:
    verdict = step.verdict
    icon = "&#10003;" if verdict.decision == "allow" else "&#10007;"
    instead = f'<p dir="auto">Do this instead: {shown(verdict.instead)}</p>' if verdict.instead else ""
    return (
        f'<p><span class="word {verdict.decision}">{icon} {verdict_words(verdict)}</span> '
        f'<span class="quiet">{verdict.tier.value}</span></p>'
        f'<p class="quiet" dir="auto">{shown(verdict.reason)}</p>{instead}'
    )


def _outcome(step: Step) -> str:
    outcome = step.outcome
    if outcome is None:
        return '<p class="quiet">Not done.</p>'
    word = (
        '<span class="word allow">&#10003; Done</span>'
        if outcome.ok
        else '<span class="word deny">&#10007; Failed</span>'
    )
    screen = {True: "the screen changed", False: "the screen did not change", None: ""}[outcome.changed]
    said = f'<p class="said" dir="auto">{shown(outcome.text)}</p>' if outcome.text else ""
    return f'<p>{word} <span class="quiet">{screen}</span></p>{said}'


def _times(spent: Iterable[tuple[str, float]]) -> str:
    names = {"capture": "look", "read": "read", "think": "think", "person": "you", "act": "act"}
    bar = "".join(f'<i class="{part}" style="flex:{ms:.0f} 1 0"></i>' for part, ms in spent)
    keys = "".join(f'<span><b class="{part}"></b>{names[part]} {duration(ms)}</span>' for part, ms in spent)
    return f'<div class="bar" aria-hidden="true">{bar}</div><div class="keys">{keys}</div>'


def thumb(frame: Frame, n: int, ids: dict[str, str], pictures: Pictures) -> str:
    """The step in the strip below."""
    picture = pictures.get(frame.picture)
    drawn = ""
    if picture is not None:
        dot = "" if frame.step is None else _dot(frame.step, picture)
        drawn = f'<use href="#{ids[frame.picture]}"/>{dot}'
    width, height = (picture.width, picture.height) if picture is not None else (16, 10)
    kind = "no action" if frame.step is None else kind_of(frame.step.action).replace("_", " ")
    bad = (
        frame.step is None
        or frame.step.verdict.decision != "allow"
        or (frame.step.outcome and not frame.step.outcome.ok)
    )
    icon = ' <b class="deny">&#10007;</b>' if bad else ""
    return (
        f'<a href="#step-{n}"><svg viewBox="0 0 {width} {height}" preserveAspectRatio="xMidYMid slice" '
        f'aria-hidden="true">{drawn}</svg><span>{n} {kind}{icon}</span></a>'
    )


def _dot(step: Step, picture: Pixels | Screenshot) -> str:
    if (at := target_of(step.action)) is None:
        return ""
    x, y, radius = at.x * picture.width, at.y * picture.height, picture.width / 24
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
