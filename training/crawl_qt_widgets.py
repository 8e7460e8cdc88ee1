"""What a Qt window's own widgets say is in it: places, names and states, as `crawl_screen.Widget` has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QRadioButton,
    QSlider,
    QSpinBox,
    QStyle,
    QStyleOptionButton,
    QStyleOptionSlider,
    QTabBar,
    QWidget,
)


def widgets(window: QWidget) -> Iterator[dict[str, Any]]:
    """Everything to be seen in the window and in what has popped up over it, as `crawl_screen.Widget` has it."""
    popup = QApplication.activePopupWidget()
    cover = QRect() if popup is None else QRect(window.mapFromGlobal(popup.mapToGlobal(QPoint())), popup.size())
    labels = {field: label.text() for layout in window.findChildren(QFormLayout) for label, field in _rows(layout)}
    for number, widget in enumerate(window.findChildren(QWidget)):
        if widget.isVisibleTo(window) and widget.window() is window and not widget.visibleRegion().isEmpty():
            for told in _told(widget, labels):
                box = QRect(widget.mapTo(window, told["box"].topLeft()), told["box"].size())
                if not cover.contains(box.center()):
                    yield _plain(told, box.topLeft() - told["box"].topLeft(), window, f"{number}")
    if popup is not None:
        for told in _of_popup(popup):
            yield _plain(told, cover.topLeft(), window, f"popup {popup.objectName()}")


def _rows(layout: QFormLayout) -> Iterator[tuple[QLabel, QWidget]]:
    """The labels of a form with what they name."""
    for row in range(layout.rowCount()):
        label, field = (
            layout.itemAt(row, role) for role in (QFormLayout.ItemRole.LabelRole, QFormLayout.ItemRole.FieldRole)
        )
        if label is not None and field is not None:
            name, named = label.widget(), field.widget()
            if isinstance(name, QLabel) and named is not None:
                yield name, named


def _plain(told: dict[str, Any], offset: QPoint, window: QWidget, key: str) -> dict[str, Any]:
    """With places in pixels of the picture instead of rectangles, and defaults filled in."""
    scale = window.devicePixelRatioF()

    def place(rect: QRect) -> list[int]:
        moved = rect.translated(offset)
        edges = (moved.left(), moved.top(), moved.left() + moved.width(), moved.top() + moved.height())
        return [round(edge * scale) for edge in edges]

    plain = {"name": "", "value": "", "on": None, "focused": False, "enabled": True, **told}
    plain["box"] = place(told["box"])
    plain["mark"] = place(told["mark"]) if told.get("mark") else None
    plain["key"] = f"{key} {told.pop('part', '')}"
    plain.pop("part", None)
    return plain


def _told(widget: QWidget, labels: dict[QWidget, str]) -> Iterator[dict[str, Any]]:
    """The widget in words, places relative to it; parts of views, bars and tab bars one by one."""
    common = {"box": widget.rect(), "focused": widget.hasFocus(), "enabled": widget.isEnabled()}
    name = labels.get(widget, widget.accessibleName())
    match widget:
        case QCheckBox() | QRadioButton():
            tick = isinstance(widget, QCheckBox)
            sub = QStyle.SubElement.SE_CheckBoxIndicator if tick else QStyle.SubElement.SE_RadioButtonIndicator
            mark = widget.style().subElementRect(sub, _option(widget), widget)
            words = mark.united(_text_rect(widget, mark))
            role = "check" if tick else "radio"
            yield {**common, "role": role, "name": _text(widget), "on": widget.isChecked(), "mark": mark, "box": words}
        case QAbstractButton():
            if widget.text():
                yield {**common, "role": "button", "name": _text(widget)}
        case QComboBox():
            yield {**common, "role": "choice", "name": name, "value": widget.currentText()}
        case QSpinBox():
            inner = widget.lineEdit()
            focused = widget.hasFocus() or inner.hasFocus()
            yield {**common, "role": "spin", "name": name, "value": widget.text(), "focused": focused}
        case QLineEdit():
            if not isinstance(widget.parent(), QSpinBox | QComboBox):
                hidden = widget.echoMode() == QLineEdit.EchoMode.Password
                value = "•" * len(widget.text()) if hidden else widget.text()
                yield {**common, "role": "password" if hidden else "field", "name": name, "value": value}
        case QSlider():
            options = QStyleOptionSlider()
            widget.initStyleOption(options)
            handle = widget.style().subControlRect(
                QStyle.ComplexControl.CC_Slider, options, QStyle.SubControl.SC_SliderHandle, widget
            )
            yield {**common, "role": "slider", "name": name, "value": str(widget.value()), "mark": handle}
        case QTabBar():
            for index in range(widget.count()):
                tab = {"box": widget.tabRect(index), "on": index == widget.currentIndex(), "part": index}
                yield {"role": "tab", "name": widget.tabText(index), **tab}
        case QMenuBar():
            for action in widget.actions():
                yield {
                    "role": "menu",
                    "name": action.text(),
                    "box": widget.actionGeometry(action),
                    "part": action.text(),
                }
        case QAbstractItemView():
            yield from _of_view(widget)
        case QLabel():
            if widget.text():
                width = widget.fontMetrics().horizontalAdvance(widget.text())
                box = widget.contentsRect()
                box.setWidth(min(width, box.width()))
                yield {**common, "role": "text", "name": widget.text(), "box": box, "focused": False}


def _of_view(view: QAbstractItemView) -> Iterator[dict[str, Any]]:
    model, port = view.model(), view.viewport()
    for row in range(model.rowCount()):
        index = model.index(row, 0)
        box = view.visualRect(index)
        if port.rect().contains(box.center()):
            shown = box.intersected(port.rect()).translated(port.pos())
            chosen = view.selectionModel().isSelected(index)
            yield {"role": "list item", "name": str(index.data()), "box": shown, "on": chosen, "part": row}


def _of_popup(popup: QWidget) -> Iterator[dict[str, Any]]:
    """The entries of an open menu or of the list of a drop-down."""
    if isinstance(popup, QMenu):
        for action in popup.actions():
            yield {
                "role": "menu item",
                "name": action.text(),
                "box": popup.actionGeometry(action),
                "part": action.text(),
            }
    for view in popup.findChildren(QAbstractItemView):
        for told in _of_view(view):
            yield {**told, "box": QRect(view.mapTo(popup, told["box"].topLeft()), told["box"].size())}


def _option(button: QAbstractButton) -> QStyleOptionButton:
    option = QStyleOptionButton()
    option.initFrom(button)
    option.text = button.text()
    return option


def _text_rect(button: QAbstractButton, mark: QRect) -> QRect:
    """Where the label of a tick is drawn, right of its mark."""
    width = button.fontMetrics().horizontalAdvance(_text(button)) + 6
    tall = min(button.fontMetrics().height(), button.height())
    return QRect(mark.right(), mark.center().y() - tall // 2, min(width, button.width() - mark.right()), tall)


def _text(button: QAbstractButton) -> str:
    return button.text().replace("&", "")
