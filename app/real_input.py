"""Only a person answers: what a panel is pressed and typed with must come from a device, not from a program.

Refused: events made inside this process (QTest, another thread), events that another program sent to the window (the
server marks them), presses through assistive interfaces, and, on a computer that has a mouse or keyboard of its own,
what programs inject through XTEST. A refused event does nothing but show a sentence.

Not refused: input methods (they put text into a field, and no text answers by itself), a closed window (it is a deny),
and a device that a program made in the kernel.
"""

from __future__ import annotations

import ctypes

from PySide6.QtCore import QAbstractNativeEventFilter, QByteArray, QCoreApplication, QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QInputEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QPushButton, QWidget

from agent_core.errors import ScreenError
from app.raw_input import IDLE, Kind, RawInput

KINDS: dict[QEvent.Type, Kind] = {
    QEvent.Type.MouseButtonPress: "press",
    QEvent.Type.MouseButtonDblClick: "press",
    QEvent.Type.MouseButtonRelease: "release",
    QEvent.Type.KeyPress: "key down",
    QEvent.Type.KeyRelease: "key up",
}
SENT = 0x80  # the bit by which the server marks an event that another program sent
CORE_INPUT = frozenset({2, 3, 4, 5})  # key press and release, button press and release
DRAIN_MS = 500  # however long a panel stays open, what was heard meanwhile does not pile up
WINDOW_AT = 12  # where the window's id lies in those events


class RealInput(QObject):
    """Stands before a panel and all that is in it, from `watch` to `rest`. `refused`: something was kept out."""

    refused = Signal()

    def __init__(self, panel: QWidget, idle: frozenset[str] = IDLE) -> None:
        """To be made when the panel has all its parts: filters that are installed later come before this one."""
        super().__init__(panel)
        self._panel = panel
        self._raw = RawInput(idle)
        self._sent = _SentEvents(self)
        self._devices_only = True
        self._held = 0
        self._real: tuple[Kind, int] | None = None
        self._drain = QTimer(self)
        self._drain.setInterval(DRAIN_MS)
        self._drain.timeout.connect(self._raw.drain)
        raw, sent = self._raw, self._sent
        panel.destroyed.connect(lambda: _put_away(raw, sent))  # this object goes with the panel, so it cannot be told
        for part in (panel, *panel.findChildren(QWidget)):
            part.installEventFilter(self)
            if isinstance(part, RealButton):
                part.refused.connect(self.refused)

    def watch(self, devices_only: bool) -> None:
        """Begins to listen. `devices_only`: what programs inject is refused where there is a real device."""
        self._devices_only = devices_only
        for button in self._panel.findChildren(RealButton):
            button.strict = devices_only
        app = QCoreApplication.instance()
        if app is not None:
            app.installNativeEventFilter(self._sent)
        try:
            self._raw.open()
        except ScreenError:
            return  # then nothing is vouched for, and no press is taken: the panel answers itself with a deny
        self._drain.start()

    def rest(self) -> None:
        """The panel is gone: nothing is listened to."""
        self._drain.stop()
        _put_away(self._raw, self._sent)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = KINDS.get(event.type())
        if kind is None or not isinstance(event, QInputEvent):
            return False
        if event.spontaneous() and self._came_from_hands(kind, event):
            self._real = kind, event.timestamp()
            return False
        # A key that a part of the panel had no use for comes to its parents as if made in here; they need none.
        if kind in ("press", "key down") and (kind, event.timestamp()) != self._real:
            self.refused.emit()
        return True

    def sent_to_us(self, window: int) -> bool:
        """Whether a window is the panel; the event that was sent to it is then refused."""
        handle = self._panel.windowHandle()
        if handle is None or window != int(handle.winId()):
            return False
        self.refused.emit()
        return True

    def _came_from_hands(self, kind: Kind, event: QInputEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.isAutoRepeat():  # repeated by the server: no device makes these
            return event.nativeScanCode() == self._held
        time = event.timestamp()
        heard = self._raw.from_hands(kind, time) if self._devices_only else self._raw.from_any(kind, time)
        if heard and isinstance(event, QKeyEvent) and kind == "key down":
            self._held = event.nativeScanCode()
        return heard


class RealButton(QPushButton):
    """A button that a person presses and a program does not; `pointed` says that it was pressed.

    Without `keys`, Enter and Space do nothing: a person may be typing into another window as the panel appears.
    """

    pointed = Signal()
    refused = Signal()

    def __init__(self, text: str, role: str = "", keys: bool = False) -> None:
        super().__init__(text)
        self.setAutoDefault(False)
        if role:
            self.setProperty("role", role)
        self.strict = True  # whether a press through an assistive interface is refused too
        self._keys = keys
        self._by_person = False
        self.clicked.connect(self._clicked)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._keys:
            super().keyPressEvent(event)
        else:
            event.ignore()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if not self._keys:
            event.ignore()
            return
        self._by_person = True
        super().keyReleaseEvent(event)
        self._by_person = False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._by_person = True
        super().mouseReleaseEvent(event)
        self._by_person = False

    def _clicked(self) -> None:
        if self._by_person or not self.strict:
            self.pointed.emit()
        else:
            self.refused.emit()


class _SentEvents(QAbstractNativeEventFilter):
    """Drops core button and key events that another program sent to the panel's window."""

    def __init__(self, owner: RealInput) -> None:
        super().__init__()
        self._owner = owner

    def nativeEventFilter(self, kind: QByteArray | bytes | bytearray | memoryview, message: int) -> tuple[bool, int]:
        address = int(message)
        response = ctypes.c_uint8.from_address(address).value
        if not response & SENT or response & ~SENT not in CORE_INPUT:
            return False, 0
        return self._owner.sent_to_us(ctypes.c_uint32.from_address(address + WINDOW_AT).value), 0


def _put_away(raw: RawInput, sent: _SentEvents) -> None:
    app = QCoreApplication.instance()
    if app is not None:
        app.removeNativeEventFilter(sent)
    raw.close()
