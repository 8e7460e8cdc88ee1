"""The colours and type of every window: the only place that names a colour. Widgets ask for tokens, never for hex.

The style sheet itself is `assets/theme/deskhand.qss`, with the tokens written as `@name`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from agent_core import paths

Choice = Literal["system", "light", "dark"]
GRID = 8
MARGIN = 2 * GRID
CARD_GAP = 12
RADIUS = GRID


@dataclass(frozen=True, slots=True)
class Tokens:
    """One colour a name. Text on background, card and field has a contrast of at least 4.5:1 in both sets."""

    background: str
    card: str
    text: str
    secondary: str
    line: str
    accent: str
    on_accent: str
    allowed: str
    asking: str
    refused: str


LIGHT = Tokens(
    background="#FAFAF8",
    card="#FFFFFF",
    text="#1F2328",
    secondary="#646A73",
    line="#E3E3DF",
    accent="#2F6FEB",
    on_accent="#FFFFFF",
    allowed="#1A7F4B",
    asking="#9A6700",
    refused="#C5362B",
)
DARK = Tokens(
    background="#1E1F22",
    card="#2A2B2F",
    text="#E6E6E6",
    secondary="#A2A7B0",
    line="#3A3B40",
    accent="#6AA0FF",
    on_accent="#1E1F22",
    allowed="#4CC38A",
    asking="#E2B341",
    refused="#FF7B72",
)


def is_dark(choice: str) -> bool:
    """Whether the dark set is used: as chosen, or as the desktop says."""
    if choice == "system":
        return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return choice == "dark"


def tokens(choice: str) -> Tokens:
    return DARK if is_dark(choice) else LIGHT


def current() -> Tokens:
    """The set in use now, for widgets that paint themselves."""
    app = QApplication.instance()
    dark = app.property("deskhand_dark") if app is not None else False
    return DARK if dark else LIGHT


def apply(app: QApplication, choice: str) -> None:
    """Dresses the whole program; called at the start and when the setting changes."""
    dark = is_dark(choice)
    colours = DARK if dark else LIGHT
    app.setProperty("deskhand_dark", dark)
    app.setStyle("Fusion")
    app.setPalette(_palette(colours))
    font = QFont(app.font())
    font.setPixelSize(13)
    app.setFont(font)
    app.setStyleSheet(style_sheet(colours))


def style_sheet(colours: Tokens) -> str:
    """The style sheet with every `@token` replaced, longest names first so that none eats the start of another."""
    text = (paths.assets_folder() / "theme" / "deskhand.qss").read_text(encoding="utf-8")
    mark = "check-dark" if colours == DARK else "check-light"
    text = text.replace("@check", (paths.assets_folder() / "icons" / f"{mark}.svg").as_posix())
    for name in sorted(Tokens.__dataclass_fields__, key=len, reverse=True):
        text = text.replace(f"@{name}", getattr(colours, name))
    return text


def contrast(one: str, other: str) -> float:
    """The WCAG contrast ratio of two colours, 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    def linear(part: float) -> float:
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    c = QColor(colour)
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF())


def _palette(colours: Tokens) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for which, colour in (
        (role.Window, colours.background),
        (role.Base, colours.card),
        (role.AlternateBase, colours.background),
        (role.Button, colours.card),
        (role.ToolTipBase, colours.card),
        (role.WindowText, colours.text),
        (role.Text, colours.text),
        (role.ButtonText, colours.text),
        (role.ToolTipText, colours.text),
        (role.PlaceholderText, colours.secondary),
        (role.Highlight, colours.accent),
        (role.HighlightedText, colours.on_accent),
        (role.Link, colours.accent),
    ):
        palette.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(colours.secondary))
    return palette
