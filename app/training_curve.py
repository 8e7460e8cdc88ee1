"""A curve that grows while it is looked at: one value by step, with its first, lowest and newest figure."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme

PAD = 12.0
FOOT = 22.0
LEFT = 52.0


class TrainingCurve(QWidget):
    """`show_points` replaces the curve; without points the words `instead` stand in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(140)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.points: tuple[tuple[float, float], ...] = ()
        self._instead = self._name = ""

    def sizeHint(self) -> QSize:
        return QSize(520, 180)

    def show_points(self, points: Sequence[tuple[float, float]], name: str, instead: str) -> None:
        """(step, value) in order of the steps; `name` says in words what is drawn."""
        self.points, self._name, self._instead = tuple(points), name, instead
        self.setAccessibleName(name or instead)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.setBrush(QColor(colours.card))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.RADIUS, theme.RADIUS)
        painter.setPen(QColor(colours.secondary))
        if not self.points:
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(16, 0, -16, 0), int(flags), self._instead)
            return
        area = QRectF(self.rect()).adjusted(LEFT, PAD + FOOT, -PAD, -FOOT)
        low, high = min(y for _, y in self.points), max(y for _, y in self.points)
        first, last = self.points[0][0], self.points[-1][0]
        painter.drawText(QRectF(PAD, 6, self.width() - 2 * PAD, FOOT), int(Qt.AlignmentFlag.AlignLeft), self._name)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for value, y in ((high, area.top()), (low, area.bottom())):
            painter.drawText(QRectF(0, y - 10, LEFT - 8, 20), right, f"{value:.2f}")
        painter.drawText(QRectF(area.left(), area.bottom() + 2, area.width(), 20), right, f"{last:g}")
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        across, up = (last - first) or 1.0, (high - low) or 1.0
        line = QPolygonF(
            [
                QPointF(
                    area.left() + (x - first) / across * area.width(), area.bottom() - (y - low) / up * area.height()
                )
                for x, y in self.points
            ]
        )
        painter.setPen(QPen(QColor(colours.accent), 2))
        painter.drawPolyline(line)
        painter.setBrush(QColor(colours.accent))
        painter.drawEllipse(line.last(), 3, 3)
