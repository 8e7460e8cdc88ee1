"""How much a click or a drag can cost: by the words under the pointer, what bears them, and the question around them.

Covered: buttons, links, menu entries, ticks and fields; pictures beside a label; answers in a dialog; the cross in a
title bar; things dropped on the trash; sensitive windows, where nothing known is never below R2.
Not covered: what a picture without words means in an ordinary window; what a page does behind a harmless label.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent_core.actions import Click, DoubleClick, Drag, Point, RightClick, target_of
from agent_core.safety.act import Act
from agent_core.safety.acts import ACTS
from agent_core.safety.dialogs import REACH, Question, is_declined_beside, question_over, unsaved_by
from agent_core.safety.plain import plain, quote
from agent_core.safety.tiers import Risk, gravest, harmless, in_window
from agent_core.safety.windows import is_browser, is_editor, is_secret_field, is_terminal
from agent_core.safety.words import by_tier, is_file, is_no, is_yes, label, on_control
from agent_core.step import Element, Screenshot, Tier

FEW_WORDS = 3
_NEAR_X, _NEAR_Y = 0.025, 0.03  # how far a label stands from its picture at most, as shares of the screen
_TRASH = re.compile(
    r"^(?:trash|trash can|rubbish bin|wastebasket|recycle bin|bin|deleted(?: items| messages)?|junk|spam|papierkorb"
    r"|corbeille"
    r"|papelera)(?: ?\(?\d+\)?)?$|回收站|废纸篓|垃圾桶|已删除"
)
_DROP = re.compile(r"drop (?:your )?files? (?:here|to upload)|drag .{0,30}here|拖.{0,8}(?:到此|上传)")
_SAFE = re.compile(
    r"save(?: as| all| a copy)?|save changes|details|show details|help|view|preview|more|learn more|keep both"
    r"|保存|另存为|帮助|详情"
)
_PROGRAM = re.compile(
    r"\S+\.(?:exe|msi|bat|cmd|com|scr|vbs|ps1|sh|run|appimage|deb|rpm|dmg|pkg|jar|apk|desktop|lnk|iso)"
)
_COOKIES = re.compile(r"\bcookies?\b")
_BINDS = re.compile(
    r"\bterms\b|licen[cs]e|agreement|contract|\bconditions\b|subscri|payment|\border\b|purchase|协议|条款"
)
_BY_NAME = {act.name: act for act in ACTS}
_CONSENTS = ("consent", "unprotect", "authorise")  # the acts that a tick makes


def of_pointer(action: Click | DoubleClick | RightClick | Drag, shot: Screenshot) -> Risk:
    """The risk of a click or drag."""
    at = target_of(action)
    assert at is not None  # these actions have a place
    element = shot.under(at)
    match action:
        case RightClick():
            return gravest(harmless(shot), *_pastes(shot))
        case Drag(start, _):
            dragged = shot.under(start)
            return gravest(*_dropped(element, at, dragged, shot), *_pressed(dragged, start, shot), harmless(shot))
        case _:
            started = _started(element, shot, double=isinstance(action, DoubleClick))
            return gravest(*_pressed(element, at, shot), *started, harmless(shot))


def _pressed(element: Element | None, at: Point, shot: Screenshot) -> list[Risk]:
    """What a click on this says, each reason apart."""
    if element is not None and element.kind == "field":
        if is_secret_field(element):
            name = quote(element.text)
            return [Risk(Tier.R2, f"“{name}” is a field for something secret.", resource=f"the field “{name}”")]
        return []
    if element is not None and _closes_window(element, shot):
        reason = "This closes a window; unsaved work could be lost."
        return [Risk(Tier.R3, reason, (_BY_NAME["close"],), "close", resource=in_window(shot))]
    found: list[Risk] = []
    for bearer, words, bare in _controls(element, at, shot):
        acts = on_control(words, bare)
        if bearer.kind in ("check", "radio"):
            acts = tuple(act for act in acts if act.name in _CONSENTS)
        acts = tuple(act for act in acts if not _only_cookies(act, bearer, shot))
        question = _answered(bearer, words, acts, shot)
        if lost := unsaved_by(bearer, shot):
            found.append(_risk_of((_BY_NAME["discard"],), words, lost, shot))
        elif every := by_tier({*acts, *question.acts}):
            found.append(_risk_of(every, words, question.text if question.acts else "", shot))
    if len({risk.acts for risk in found}) < 2 or (element is not None and element.text):
        return found
    # A picture between two labels may mean either: only a request that names both acts names this one.
    worst = gravest(*found)
    return [replace(worst, acts=by_tier({act for risk in found for act in risk.acts}), control="")]


def _risk_of(acts: tuple[Act, ...], words: str, question: str, shot: Screenshot) -> Risk:
    tier, said, asked = acts[0].tier, quote(label(words)), quote(question, 100)
    told = f"“{said}” answers “{asked}”" if asked else f"“{said}”"
    match tier:
        case Tier.R4:
            reason = f"{told}: this cannot be undone, costs money or binds you."
        case Tier.R3:
            reason = f"{told}: this has consequences beyond this window."
        case _:
            reason = f"{told}: this gives access to something of yours."
    where = in_window(shot)
    return Risk(tier, reason, acts, said, question, f"the control “{said}” in {where}" if where else "")


def _controls(element: Element | None, at: Point, shot: Screenshot) -> list[tuple[Element, str, bool]]:
    """What is pressed, as (element, words, whether they are bare): for a picture or nothing, the labels beside it."""
    if element is None or (element.kind == "icon" and not element.text):
        around = [e for e in shot.elements if e.kind in ("button", "text") and e.text and _is_beside(e, element, at)]
        return [(e, e.text, e.kind == "text") for e in around]
    if element.kind != "text":
        return [(element, element.text, False)] if element.text else []
    if _is_document(shot) and len(element.text.split()) > FEW_WORDS - 1:
        return []  # a line of the document
    found = [(element, element.text, True)]
    found += [(e, e.text, False) for e in shot.elements if e.kind == "button" and e.text and _is_around(e, element, at)]
    if (word := _word_under(element, at)) != element.text:
        found.append((element, word, True))
    return found


def _is_document(shot: Screenshot) -> bool:
    """Whether lines of text are a document's own. A page gives itself whatever title it likes."""
    return shot.transform.monitor != "browser" and is_editor(shot.window)


def _is_around(button: Element, words: Element, at: Point) -> bool:
    """Whether words lie on a button of a button's size that was read apart from them."""
    box = button.box
    return box.holds(at) and box.area >= words.box.area and box.right - box.left < 0.4 and box.bottom - box.top < 0.12


def _is_beside(label_: Element, element: Element | None, at: Point) -> bool:
    """Whether a label stands close to the left, to the right or below of an element, or of a bare point."""
    box = label_.box
    left, right = (element.box.left, element.box.right) if element else (at.x, at.x)
    bottom, middle = (element.box.bottom, element.point.y) if element else (at.y, at.y)
    gap = max(box.left - right, left - box.right)
    in_row = box.top - 0.01 <= middle <= box.bottom + 0.01 and gap <= _NEAR_X
    below = -0.005 <= box.top - bottom <= _NEAR_Y and box.left - _NEAR_X <= (left + right) / 2 <= box.right + _NEAR_X
    return in_row or below


def _word_under(element: Element, at: Point) -> str:
    """Of menu names that were read as one line, the one under the pointer; for anything else the whole text."""
    words = element.text.split()
    if len(words) < 2 or not all(word[0].isupper() or ord(word[0]) > 0x2E80 for word in words):
        return element.text
    share = (at.x - element.box.left) / max(1e-6, element.box.right - element.box.left)
    place = min(max(0, int(share * len(element.text))), len(element.text) - 1)
    start = element.text.rfind(" ", 0, place + 1) + 1
    end = element.text.find(" ", max(place, start))
    return element.text[start : end if end > 0 else None]


def _answered(bearer: Element, words: str, own: tuple[Act, ...], shot: Screenshot) -> Question:
    """The question that a click on this answers with anything but no."""
    if bearer.kind not in ("button", "text") or is_no(words) or _SAFE.fullmatch(label(words)):
        return Question("", ())
    few = bearer.kind == "button" or len(words.split()) <= FEW_WORDS  # a button without a frame
    in_dialog = few and not is_file(words) and is_declined_beside(bearer, shot)
    if own or is_yes(words) or in_dialog:
        return question_over(bearer, shot)
    return Question("", ())


def _only_cookies(act: Act, bearer: Element, shot: Screenshot) -> bool:
    """A banner about cookies asks for consent too, on every second page, and costs nothing that lasts."""
    if act.name not in ("consent", "authorise") or len(bearer.text.split()) > 3:
        return False
    near = [plain(e.text) for e in shot.elements if abs(e.point.y - bearer.point.y) < REACH]
    return any(map(_COOKIES.search, near)) and not any(map(_BINDS.search, near))


def _closes_window(element: Element, shot: Screenshot) -> bool:
    """Whether this is the cross at the end of a title bar along the top of the screen."""
    if element.kind != "icon" or element.box.top > 0.03 or element.box.right < 0.95:
        return False
    beside = [e for e in shot.elements if e.kind == "icon" and abs(e.point.y - element.point.y) < 0.01]
    return len(beside) >= 3 and element is max(beside, key=lambda e: e.box.right)


def _started(element: Element | None, shot: Screenshot, double: bool) -> list[Risk]:
    """A double click on a program's file starts it; a click on one in a page fetches it."""
    if element is None or not _PROGRAM.fullmatch(label(element.text)) or not (double or is_browser(shot.window)):
        return []
    does = "starts" if double else "fetches"
    return [Risk(Tier.R3, f"This {does} the program “{quote(element.text)}”.", control=element.text)]


def _pastes(shot: Screenshot) -> list[Risk]:
    if not is_terminal(shot):
        return []
    return [Risk(Tier.R2, "In some terminals a right click pastes, and may run, a text.", resource=in_window(shot))]


def _dropped(element: Element | None, at: Point, dragged: Element | None, shot: Screenshot) -> list[Risk]:
    """What letting go over this does."""
    what = f"“{quote(dragged.text)}”" if dragged is not None and dragged.text else "something"
    near = (
        [element] if element is not None and element.text else [e for e in shot.elements if _is_beside(e, element, at)]
    )
    for target in near:
        words = label(target.text)
        if _TRASH.search(words):
            return [Risk(Tier.R3, f"This drops {what} on “{quote(words)}”.", (_BY_NAME["delete"],), words)]
        if _DROP.search(words):
            return [Risk(Tier.R3, f"This hands {what} to a page or program.", (_BY_NAME["upload"],), words)]
    return []
