"""Pictures made of screenshots: thumbnails with a ring, crops with a crosshair; and the icon of each state."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QImage, QPainter, QPen, QPixmap

from agent_core import paths
from agent_core.actions import Point
from agent_core.step import Screenshot
from app import theme
from app.states import State

CROP = QSize(160, 112)
ZOOM_OUT = 1.5  # device pixels of the screenshot per pixel of the crop


def icon(state: State) -> QIcon:
    """The program's icon in a state; the shape differs as well as the colour."""
    return QIcon(str(paths.assets_folder() / "icons" / f"{state.value}.svg"))


def program_icon() -> QIcon:
    return QIcon(str(paths.assets_folder() / "icons" / "deskhand.svg"))


def image(shot: Screenshot) -> QImage:
    """The screenshot as an image with memory of its own."""
    return QImage(shot.rgb, shot.width, shot.height, shot.width * 3, QImage.Format.Format_RGB888).copy()


def thumbnail(shot: Screenshot, at: Point | None, room: QSize) -> QPixmap:
    """The whole screenshot fitted into `room`, with a ring at a place."""
    small = _fitted(QPixmap.fromImage(image(shot)), room)
    size = small.deviceIndependentSize()
    if at is not None:
        _ring(small, QPointF(at.x * size.width(), at.y * size.height()), 9)
    return small


def crop(shot: Screenshot, at: Point, room: QSize = CROP) -> QPixmap:
    """The surroundings of a place with a crosshair exactly on it; at an edge the crosshair leaves the middle."""
    wanted = QSize(min(shot.width, round(room.width() * ZOOM_OUT)), min(shot.height, round(room.height() * ZOOM_OUT)))
    x, y = at.x * shot.width, at.y * shot.height
    left = max(0, min(round(x - wanted.width() / 2), shot.width - wanted.width()))
    top = max(0, min(round(y - wanted.height() / 2), shot.height - wanted.height()))
    small = _fitted(QPixmap.fromImage(image(shot).copy(QRect(left, top, wanted.width(), wanted.height()))), room)
    factor = small.deviceIndependentSize().width() / wanted.width()
    _crosshair(small, QPointF((x - left) * factor, (y - top) * factor))
    return small


def _fitted(picture: QPixmap, room: QSize) -> QPixmap:
    """The picture in `room`, sharp on screens with more than one pixel to the unit."""
    ratio = QGuiApplication.primaryScreen().devicePixelRatio()
    size = room * ratio
    small = picture.scaled(size, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    small.setDevicePixelRatio(ratio)
    return small


def _ring(on: QPixmap, centre: QPointF, radius: float) -> None:
    painter = QPainter(on)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for colour, width in ((theme.current().card, 5.0), (theme.current().accent, 3.0)):
        painter.setPen(QPen(QColor(colour), width))
        painter.drawEllipse(centre, radius, radius)
    painter.end()


def _crosshair(on: QPixmap, centre: QPointF) -> None:
    painter = QPainter(on)
    centre = QPointF(int(centre.x()) + 0.5, int(centre.y()) + 0.5)
    gap = 5
    for colour, width in ((theme.current().card, 3.0), (theme.current().refused, 1.0)):
        painter.setPen(QPen(QColor(colour), width))
        painter.drawLine(QPointF(0, centre.y()), QPointF(centre.x() - gap, centre.y()))
        painter.drawLine(QPointF(centre.x() + gap, centre.y()), QPointF(on.width(), centre.y()))
        painter.drawLine(QPointF(centre.x(), 0), QPointF(centre.x(), centre.y() - gap))
        painter.drawLine(QPointF(centre.x(), centre.y() + gap), QPointF(centre.x(), on.height()))
        painter.drawEllipse(centre, gap, gap)
    painter.end()
