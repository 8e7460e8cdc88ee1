"""The ring where the next action lands: shown shortly before it, clicks go through it, gone when the agent looks."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QWidget

from app import theme

RADIUS = 22
WIDTH = 4
SHOWN_MS = 900


class Overlay(QWidget):
    """A ring-shaped window without a rectangle around it, so that it needs no compositor."""

    def __init__(self) -> None:
        super().__init__(None)
        self.setWindowFlags(
            Qt.WindowType.ToolTip
            | Qt.WindowType.FramelessWindowHint
            | Qt.WindowType.WindowStaysOnTopHint
            | Qt.WindowType.WindowTransparentForInput
            | Qt.WindowType.WindowDoesNotAcceptFocus
            | Qt.WindowType.BypassWindowManagerHint
        )
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        side = 2 * (RADIUS + WIDTH)
        self.resize(side, side)
        whole = QRect(0, 0, side, side)
        outer = QRegion(whole, QRegion.RegionType.Ellipse)
        inset = 2 * WIDTH
        self.setMask(
            outer.subtracted(QRegion(whole.adjusted(inset, inset, -inset, -inset), QRegion.RegionType.Ellipse))
        )
        self._gone = QTimer(self)
        self._gone.setSingleShot(True)
        self._gone.setInterval(SHOWN_MS)
        self._gone.timeout.connect(self.hide)

    def show_at(self, place: QPoint) -> None:
        """Rings a place in global coordinates for a moment."""
        self.move(place - QPoint(self.width() // 2, self.height() // 2))
        self.show()
        self.raise_()
        self._gone.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.current().card))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.current().accent), WIDTH))
        inset = WIDTH
        painter.drawEllipse(self.rect().adjusted(inset, inset, -inset - 1, -inset - 1))
