"""Lets Tab go through a window in the order of sight, also after parts were put into its middle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget


def follow_sight(window: QWidget) -> None:
    """Tab follows the layouts from the top. To be called anew when parts were added."""
    for before, after in pairwise(_in_order(window)):
        QWidget.setTabOrder(before, after)


def _in_order(widget: QWidget) -> Iterator[QWidget]:
    if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.isWindow():
        yield widget
    inner = widget.widget() if isinstance(widget, QScrollArea) else None
    if inner is not None:
        yield from _in_order(inner)
    elif (layout := widget.layout()) is not None:
        yield from _in_layout(layout)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        if item is None:
            continue
        if (part := item.widget()) is not None:
            yield from _in_order(part)
        elif (nested := item.layout()) is not None:
            yield from _in_layout(nested)
