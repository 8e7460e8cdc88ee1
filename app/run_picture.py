"""The picture of a step, fitted into the room there is, with a ring where it acted; a click can point at a place."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from agent_core.actions import Point
from app import theme, words

RING = 11


class RunPicture(QWidget):
    """`picked` says where in the picture a click fell, while `picking` is on."""

    picked = Signal(object)  # Point

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(words.say("steps.picture"))
        self.setMinimumSize(320, 200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._image: QImage | None = None
        self._marks: tuple[Point, ...] = ()
        self._wanted: Point | None = None
        self._instead = ""
        self._picking = False

    def sizeHint(self) -> QSize:
        return QSize(640, 400)

    def show_picture(self, image: QImage | None, marks: tuple[Point, ...], instead: str) -> None:
        """A picture with rings at `marks`, two of them joined by a line; without a picture, the words `instead`."""
        self._image, self._marks, self._instead = image, marks, instead
        self._wanted = None
        self.update()

    def show_wanted(self, place: Point | None) -> None:
        """A second ring, in the colour of what is allowed: where it should have acted."""
        self._wanted = place
        self.update()

    def set_picking(self, wanted: bool) -> None:
        self._picking = wanted
        self.setCursor(Qt.CursorShape.CrossCursor if wanted else Qt.CursorShape.ArrowCursor)

    def place_of(self, point: Point) -> QPointF:
        """Where a place of the picture lies in this widget."""
        area = self._area()
        return QPointF(area.left() + point.x * area.width(), area.top() + point.y * area.height())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        area = self._area()
        if self._picking and self._image is not None and area.contains(event.position()):
            at = event.position() - area.topLeft()
            self.picked.emit(Point(at.x() / area.width(), at.y() / area.height()))
        super().mouseReleaseEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if self._image is None:
            painter.setPen(QColor(colours.secondary))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect(), int(flags), self._instead)
            return
        area, ratio = self._area(), self.devicePixelRatioF()
        size = QSize(round(area.width() * ratio), round(area.height() * ratio))
        mode = Qt.TransformationMode.SmoothTransformation
        painter.drawImage(area, self._image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, mode))
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawRect(area)
        for mark in self._marks:
            self._ring(painter, self.place_of(mark), colours.accent)
        if len(self._marks) == 2:
            painter.drawLine(*(self.place_of(mark) for mark in self._marks))
        if self._wanted is not None:
            self._ring(painter, self.place_of(self._wanted), colours.allowed)

    def _ring(self, painter: QPainter, centre: QPointF, colour: str) -> None:
        for each, width in ((theme.current().card, 6.0), (colour, 3.0)):
            painter.setPen(QPen(QColor(each), width))
            painter.drawEllipse(centre, RING, RING)

    def _area(self) -> QRectF:
        """The part of the widget that the picture takes."""
        if self._image is None:
            return QRectF(self.rect())
        size = self._image.size().scaled(self.size() - QSize(2, 2), Qt.AspectRatioMode.KeepAspectRatio)
        return QRectF(
            (self.width() - size.width()) / 2, (self.height() - size.height()) / 2, size.width(), size.height()
        )
