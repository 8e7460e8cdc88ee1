"""A floating panel that never takes the focus by itself and stays out of the way of a place on the screen."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QScreen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from agent_core.actions import Point
from agent_core.step import Screenshot
from app import theme, words
from app.real_input import RealInput
from app.text import fit_window, label

Corner = Literal["bottom right", "bottom left", "top right", "top left"]
STRIP_ROOM = 112  # the strip, its margins and a title bar stay free below a panel
CORNERS: tuple[Corner, ...] = ("bottom right", "top right", "bottom left", "top left")


class Panel(QWidget):
    """The base window of what floats: on top, in a corner, without the focus until someone clicks into a text field."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowFlags(
            Qt.WindowType.Tool
            | Qt.WindowType.WindowStaysOnTopHint
            | Qt.WindowType.WindowDoesNotAcceptFocus
            | Qt.WindowType.CustomizeWindowHint
            | Qt.WindowType.WindowTitleHint
            | Qt.WindowType.WindowCloseButtonHint
        )
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setObjectName("window")
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        self.rows.setSpacing(theme.GRID)
        self.devices_only = True
        self.not_you = label(words.say("only_you"), "refused")

    def heard_from_a_person(self, idle: frozenset[str]) -> RealInput:
        """What keeps out presses that programs make, and says so. To be called when the panel has all its parts.

        `idle` names the devices of a virtual screen that nobody has hands on.
        """
        self.rows.addWidget(self.not_you)  # last: what appears here moves no button
        real = RealInput(self, idle)
        real.refused.connect(self._not_you)
        return real

    def _not_you(self) -> None:
        if not self.not_you.isVisible():
            self.not_you.show()
            fit_window(self)

    def types_into(self, field: QWidget) -> None:
        """From a click into this field on, and only then, the panel takes the keyboard."""
        field.installEventFilter(self)
        for part in field.findChildren(QWidget):
            part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            self._take_keyboard(watched)
        return super().eventFilter(watched, event)

    def show_away_from(self, place: QPoint | None) -> None:
        """Shows the panel in the corner of its screen that is farthest from a place (global coordinates)."""
        screen = (QGuiApplication.screenAt(place) if place is not None else None) or QGuiApplication.primaryScreen()
        fit_window(self)
        self.move(_corner(screen, self.size(), place))
        self.show()
        self.raise_()

    def _take_keyboard(self, field: QWidget) -> None:
        handle = self.windowHandle()
        if handle is not None and handle.flags() & Qt.WindowType.WindowDoesNotAcceptFocus:
            handle.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, False)
            handle.requestActivate()
            field.setFocus(Qt.FocusReason.MouseFocusReason)

    def leave_keyboard(self) -> None:
        """Gives up the keyboard again, for the next time the panel is shown."""
        handle = self.windowHandle()
        if handle is not None:
            handle.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, True)


def on_screen(shot: Screenshot, at: Point | None) -> QPoint | None:
    """A place in a screenshot as a point of Qt's global coordinates, None if it has no place."""
    if at is None:
        return None
    t = shot.transform
    device = QPoint(round(t.left + at.x * t.width), round(t.top + at.y * t.height))
    for screen in QGuiApplication.screens():
        ratio, origin = screen.devicePixelRatio(), screen.geometry().topLeft()
        area = QRect(origin, screen.geometry().size() * ratio)
        if area.contains(device):
            return origin + (device - origin) / ratio
    return device


def _corner(screen: QScreen, size: QSize, place: QPoint | None) -> QPoint:
    room = screen.availableGeometry().adjusted(theme.MARGIN, theme.MARGIN, -theme.MARGIN, -STRIP_ROOM)
    xs = {"left": room.left(), "right": max(room.left(), room.right() - size.width())}
    ys = {"top": room.top() + theme.MARGIN, "bottom": max(room.top(), room.bottom() - size.height())}
    spots = [QPoint(xs[c.split()[1]], ys[c.split()[0]]) for c in CORNERS]
    if place is None:
        return spots[0]
    free = [spot for spot in spots if not QRect(spot, size).adjusted(-24, -24, 24, 24).contains(place)]
    return free[0] if free else spots[-1]
