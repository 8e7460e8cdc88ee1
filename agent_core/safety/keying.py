"""How much keys and typed text can cost: by the chord, the question on the screen, and where the keys land.

Covered: chords that close, delete, send, paste into a shell or reach the system; Enter and its kin in dialogs, chats,
composers, terminals and boxes that run programs; keys after Tab, when what has the focus is not known; lines typed
into a shell; addresses that run something; secrets by name; numbers of cards.
Not covered: shortcuts that only one program knows.
"""

from __future__ import annotations

import re

from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.redaction import findings
from agent_core.safety import shell, windows
from agent_core.safety.act import Act
from agent_core.safety.acts import ACTS
from agent_core.safety.dialogs import is_title, open_question, unsaved_by, unsaved_here
from agent_core.safety.keyboard import ENTER, HOLDS, UNTOUCHED, Keyboard, one_name, sign_of
from agent_core.safety.plain import exactly, plain, quote
from agent_core.safety.tiers import Risk, gravest, harmless, in_window
from agent_core.safety.words import in_question, label, on_control
from agent_core.secrets import names_in
from agent_core.step import Element, Screenshot, Tier

_ENTER_CHORDS = (frozenset({"ctrl", "m"}), frozenset({"ctrl", "j"}))  # what a terminal takes for Enter
_PASTES = tuple(frozenset(keys.split()) for keys in ("ctrl v", "ctrl shift v", "shift Insert", "super v"))
_ARROWS = frozenset({"Up", "Down", "Left", "Right", "Home", "End", "Page_Up", "Page_Down"})
_MOVES = _ARROWS | {"Escape", "Tab", "F1", "ctrl", "shift", "alt", "super", "Caps_Lock", "Num_Lock"}
_ACTS = {act.name: act for act in ACTS}
_CLOSES = "This closes a window or program; unsaved work could be lost."
_CHORDS: tuple[tuple[str, Tier, str, str], ...] = (
    ("ctrl alt Delete", Tier.R4, "This reaches the system itself.", ""),
    ("ctrl alt BackSpace", Tier.R4, "This ends the whole session.", ""),
    ("ctrl shift Delete", Tier.R3, "In browsers this clears what was kept of your visits.", "delete"),
    ("shift Delete", Tier.R4, "This deletes without the trash.", "erase"),
    ("alt F4", Tier.R3, _CLOSES, "close"),
    ("ctrl F4", Tier.R3, _CLOSES, "close"),
    ("ctrl q", Tier.R3, _CLOSES, "close"),
    ("ctrl w", Tier.R3, _CLOSES, "close"),
    ("super q", Tier.R3, _CLOSES, "close"),
    ("super w", Tier.R3, _CLOSES, "close"),
    ("super BackSpace", Tier.R3, "In file managers this moves to the trash.", "delete"),
    ("super l", Tier.R3, "This locks the screen.", ""),
    ("ctrl alt l", Tier.R3, "This locks the screen.", ""),
    ("ctrl alt t", Tier.R2, "This opens a terminal.", ""),
    ("super r", Tier.R2, "This opens a box that runs programs.", ""),
    ("alt F2", Tier.R2, "This opens a box that runs programs.", ""),
    ("super x", Tier.R2, "This opens a menu of system tools.", ""),
)
_BY_CHORD = tuple((frozenset(keys.split()), tier, reason, act) for keys, tier, reason, act in _CHORDS)
_TAB_AND_PRESS = re.compile(r"\t[ \n\r]")
_ADDRESS = re.compile(
    r"(?:view-source:)?(javascript|data|vbscript|file|https?|ftp|chrome|edge|brave|opera|vivaldi|about):"
    r"|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?\?\S",
    re.IGNORECASE,
)
_BROWSERS_OWN = ("chrome", "edge", "brave", "opera", "vivaldi", "about")
_RUNS = "Enter in a terminal window runs what stands there."
_ROW = 0.06  # the most between two entries of a menu, as a share of the screen's height
_OF_FORMS = ("send", "submit", "publish", "book")
_SHORT_ANSWER = 3  # letters typed into a dialog without a field press its buttons


def of_keys(keys: tuple[str, ...], shot: Screenshot, keyboard: Keyboard = UNTOUCHED, hold: bool = False) -> Risk:
    """The risk of a chord on a keyboard. `hold`: the key stays down."""
    try:
        names = frozenset(one_name(name) for name in chord(keys)) | keyboard.held
    except InputError:
        return Risk(Tier.R1, "There is no such key, so nothing will be pressed.")
    found = [harmless(shot)]
    for risky, tier, reason, act in _BY_CHORD:
        if risky <= names:
            found.append(Risk(tier, reason, _act(act), " ".join(keys), resource=in_window(shot)))
            break
    if hold and names & HOLDS:
        found.append(Risk(Tier.R2, "A held key changes what every further key does.", resource=in_window(shot)))
    elif hold and names & ENTER:
        found.append(Risk(Tier.R3, "A held Enter key repeats itself into whatever opens next."))
    elif hold and not names <= _MOVES:
        found.append(Risk(Tier.R2, "A held key repeats itself into whatever opens next.", resource=in_window(shot)))
    if "Delete" in names and (windows.is_files(shot) or windows.is_mail(shot)):
        found.append(Risk(Tier.R3, "This deletes what is selected.", _act("delete"), "delete"))
    if names & ENTER or names in _ENTER_CHORDS:
        found.append(of_enter(shot, bare=not names & HOLDS, typed=keyboard.typed))
    if names & ENTER and names & {"ctrl", "super"}:
        found.append(_sends(shot))
    if keyboard.tabbed and names & (ENTER | {"space"}):
        found.append(_focused(shot))
    if keyboard.menu and not names & {"ctrl", "super"} and (names & (ENTER | {"space"}) or sign_of(names - HOLDS)):
        found.append(_chosen(shot))
    if windows.is_terminal(shot):
        found.append(_in_terminal(names, shot))
        if sign_of(names):
            found.append(_lines(keyboard.typed + sign_of(names), shot))
    if not names & ENTER and sign_of(names - {"alt"}) and (lost := _unsaved(shot)) is not None:
        found.append(lost)
    if not names <= _MOVES and (answer := _answer(shot)) is not None:
        found.append(answer)
    return gravest(*reversed(found))


def of_enter(shot: Screenshot, bare: bool = True, typed: str = "") -> Risk:
    """The risk of Enter: it does what the window is about, with what was typed there. `bare`: no other key is held."""
    found = [harmless(shot)]
    if windows.is_terminal(shot):
        found.append(_entered(shot, typed))
    if windows.runs_programs(shot.window):
        found.append(Risk(Tier.R3, "Enter runs the program that stands in this box.", control=shot.window))
    if (address := _ADDRESS.match(plain(typed))) is not None:
        found.append(_visits(address, typed, shot))
    if bare and windows.is_chat(shot):
        found.append(Risk(Tier.R3, "Enter sends the message.", _act("send"), "send"))
    if is_title(shot.window) and (acts := in_question(shot.window)):
        reason = f"Enter confirms “{quote(shot.window)}”."
        found.append(Risk(acts[0].tier, reason, acts, label(shot.window), shot.window, in_window(shot)))
    if (answer := _answer(shot)) is not None:
        found.append(answer)
    if (button := _default_button(shot)) is not None:
        found.append(button)
    return gravest(*reversed(found))


def of_typing(text: str, shot: Screenshot, keyboard: Keyboard = UNTOUCHED) -> Risk:
    """The risk of typed text on a keyboard. A newline in it is the Enter key, a tab the Tab key."""
    found = [harmless(shot)]
    if names := names_in(text):
        found.append(_secret(names[0], shot))
    if keyboard.held & HOLDS:
        found.append(Risk(Tier.R3, "A key is held down, so every letter is a command and not text."))
    if windows.is_terminal(shot):
        found.append(_lines(keyboard.typed + text, shot))
    elif "\n" in text or "\r" in text:
        found.append(of_enter(shot))
    elif windows.runs_programs(shot.window):
        found.append(Risk(Tier.R2, "This types into a box that runs programs.", resource=in_window(shot)))
    if (keyboard.tabbed and (text[:1] in " \n\r" or text[-1:] in " \n\r")) or _TAB_AND_PRESS.search(text):
        found.append(_focused(shot))
    if keyboard.menu:
        found.append(_chosen(shot))
    whole = (keyboard.typed + text).strip()
    if (address := _ADDRESS.match(plain(whole))) is not None:
        found.append(_visits(address, whole, shot))
    if len(text.strip()) <= _SHORT_ANSWER:
        found += filter(None, (_answer(shot), _unsaved(shot)))
    if kinds := {finding.rule for finding in findings(text)} - {"email", "phone"}:
        what = ", ".join(sorted(kinds))
        found.append(Risk(Tier.R2, f"This types something that looks private ({what}).", resource=in_window(shot)))
    return gravest(*reversed(found))


def _entered(shot: Screenshot, typed: str) -> Risk:
    """What Enter runs in a terminal: what was typed there, or what is read behind its prompt."""
    standing = windows.prompted(shot)
    words = [shell.classify(command) for command in (standing, typed)]
    critical = any(word.decision == "deny" or word.tier is Tier.R4 for word in words)
    command = max(standing, typed, key=len).strip()
    reason = f"Enter runs “{quote(command, 80)}” in a terminal window." if command else _RUNS
    return Risk(Tier.R4 if critical else Tier.R3, reason, control=command)


def _chosen(shot: Screenshot) -> Risk:
    """What a key may choose in a menu that is open: any entry, so the gravest counts."""
    found = [harmless(shot)]
    for element in shot.elements:
        acts = on_control(element.text, bare=True) if element.kind in ("text", "button") else ()
        if acts and any(_is_under(element, other) for other in shot.elements):
            said = quote(label(element.text))
            found.append(Risk(acts[0].tier, f"In an open menu this may choose “{said}”.", acts, said))
    return gravest(*found)


def _is_under(one: Element, other: Element) -> bool:
    """Whether two texts stand below each other, as the entries of a menu do."""
    if one is other or other.kind not in ("text", "button") or not other.text:
        return False
    return abs(one.box.left - other.box.left) < 0.02 and abs(one.point.y - other.point.y) < _ROW


def _unsaved(shot: Screenshot) -> Risk | None:
    """What a letter may do in a dialog that asks about saving: press the button that throws everything away."""
    question = unsaved_here(shot)
    if not question or any(e.kind == "field" for e in shot.elements):
        return None
    asked = quote(question, 100)
    return Risk(Tier.R3, f"This may answer “{asked}” with no.", _act("discard"), "", question)


def _sends(shot: Screenshot) -> Risk:
    if windows.is_composer(shot) or windows.is_chat(shot) or windows.is_mail(shot):
        return Risk(Tier.R3, "This sends the message.", _act("send"), "send")
    return Risk(Tier.R2, "In many programs this sends or submits.", resource=in_window(shot))


def _focused(shot: Screenshot) -> Risk:
    """What a key may press after Tab: any button in the window, so the gravest counts."""
    found = [harmless(shot)]
    for element in shot.elements:
        if element.kind == "button" and (acts := on_control(element.text) or _discards(element, shot)):
            said = quote(label(element.text))
            found.append(Risk(acts[0].tier, f"Tab moved the focus, so this may press “{said}”.", acts, said))
    return gravest(*found)


def _discards(element: Element, shot: Screenshot) -> tuple[Act, ...]:
    return _act("discard") if unsaved_by(element, shot) else ()


def _visits(address: re.Match[str], text: str, shot: Screenshot) -> Risk:
    scheme = (address[1] or "").lower()
    if scheme in ("javascript", "data", "vbscript"):
        return Risk(Tier.R3, "This address runs a program in the page.", control=text)
    if scheme in _BROWSERS_OWN:
        return Risk(Tier.R2, "This address opens a page of the browser's own settings.", resource=in_window(shot))
    if scheme == "file":
        return Risk(Tier.R2, "This address opens a file of this computer.", resource=in_window(shot))
    if "?" in text:
        return Risk(Tier.R2, "This address hands data to a web site.", resource=_address(text))
    return harmless(shot)


def _address(text: str) -> str:
    return f"the address “{shown}”" if (shown := exactly(text.strip())) else ""


def _secret(name: str, shot: Screenshot) -> Risk:
    if windows.is_terminal(shot):
        return Risk(Tier.R4, f"This types your secret “{name}” into a terminal, where it can be read.", control=name)
    if not windows.asks_for_login(shot):
        return Risk(Tier.R4, f"This types your secret “{name}” where nothing asks for one.", control=name)
    return Risk(Tier.R3, f"This types your secret “{name}”.", control=name)


def _lines(text: str, shot: Screenshot) -> Risk:
    """Text for a shell: each line that is ended is a command, the first together with what stands at the prompt."""
    lines = text.replace("\r", "\n").split("\n")
    standing = windows.prompted(shot)
    commands = [line for line in lines if line.strip()] + ([f"{standing} {lines[0]}"] if standing else [])
    words = [shell.classify(command) for command in commands]
    worst = max(words, key=lambda word: (word.decision == "deny", word.tier), default=None)
    critical = worst is not None and (worst.tier is Tier.R4 or worst.decision == "deny")
    if len(lines) == 1:
        reason = worst.reason if worst and critical else "This types into a terminal window."
        return Risk(Tier.R4 if critical else Tier.R2, reason, control=text, resource=in_window(shot))
    reason = _RUNS
    if worst is not None:
        reason = f"This runs a command in a terminal window. {worst.reason}"
    denied = worst is not None and worst.decision == "deny"
    return Risk(Tier.R4 if critical else Tier.R3, reason, control=text, denied=denied)


def _in_terminal(names: frozenset[str], shot: Screenshot) -> Risk:
    """Chords that a terminal takes for itself or hands to the program in it."""
    if names in _PASTES:
        return Risk(Tier.R3, "This pastes a text into a terminal, and may run it.")
    if names in (frozenset({"ctrl", "d"}), frozenset({"ctrl", "backslash"})):
        return Risk(Tier.R3, "This ends the shell or the program in the terminal.")
    if names == frozenset({"ctrl", "c"}) or names == frozenset({"ctrl", "z"}):
        return Risk(Tier.R2, "This stops what runs in the terminal.", resource=in_window(shot))
    return harmless(shot)


def _answer(shot: Screenshot) -> Risk | None:
    """What a key does that answers the dialog on the screen; None without a dialog that has consequences."""
    question = open_question(shot)
    if not question.acts:
        return None
    asked = quote(question.text, 100)
    return Risk(question.acts[0].tier, f"This answers “{asked}”.", question.acts, "", question.text)


def _default_button(shot: Screenshot) -> Risk | None:
    """A form with a button that pays, binds or sends: Enter in one of its fields may press it."""
    if not any(e.kind == "field" for e in shot.elements):
        return None
    for element in shot.elements:
        acts = on_control(element.text) if element.kind == "button" else ()
        if acts and (acts[0].tier is Tier.R4 or (acts[0].name in _OF_FORMS and _follows_a_field(element, shot))):
            said = quote(label(element.text))
            return Risk(Tier.R3, f"Enter may press “{said}” here.", acts, said)
    return None


def _follows_a_field(button: Element, shot: Screenshot) -> bool:
    """Whether the nearest thing above or left of a button is a field that holds something."""
    return any(
        e.kind == "field"
        and e.value
        and abs(e.point.x - button.point.x) < 0.3
        and 0 <= button.point.y - e.point.y < 0.15
        for e in shot.elements
    )


def _act(name: str) -> tuple[Act, ...]:
    return (_ACTS[name],) if name else ()
