"""One Deskhand per data folder: the second start hands its task to the first one, which comes to the front."""

from __future__ import annotations

import hashlib
import json

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from agent_core import paths
from agent_core.errors import DeskhandError

WAIT_MS = 1000
MOST_BYTES = 64_000


def address() -> str:
    """The socket's name: the same for every start with the same data folder and user."""
    return "deskhand-" + hashlib.sha256(str(paths.home().resolve()).encode()).hexdigest()[:16]


def hand_over(task: str) -> bool:
    """Gives the task to a running Deskhand. False if none is running."""
    socket = QLocalSocket()
    socket.connectToServer(address())
    if not socket.waitForConnected(WAIT_MS):
        return False
    socket.write(json.dumps({"open": True, "task": task}).encode() + b"\n")
    taken = socket.waitForBytesWritten(WAIT_MS)
    socket.disconnectFromServer()
    return taken


class Doorbell(QObject):
    """Listens for later starts. `rung` gives the task they came with, which may be empty."""

    rung = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._came)

    def listen(self) -> None:
        """Takes the address, also from one that died without leaving it. Raises DeskhandError if it cannot be had."""
        QLocalServer.removeServer(address())
        if not self._server.listen(address()):
            raise DeskhandError(
                f"Deskhand cannot listen for a second start ({self._server.errorString()}). "
                "Close other copies and start it again."
            )

    def close(self) -> None:
        self._server.close()

    def _came(self) -> None:
        socket = self._server.nextPendingConnection()
        if socket is not None:
            socket.readyRead.connect(self._read)
            socket.disconnected.connect(socket.deleteLater)

    def _read(self) -> None:
        socket = self.sender()
        if not isinstance(socket, QLocalSocket) or not socket.canReadLine():
            return
        line = bytes(socket.readLine(MOST_BYTES).data())
        try:
            said = json.loads(line)
            task = said["task"] if isinstance(said["task"], str) else ""
        except (ValueError, KeyError, TypeError):
            return
        self.rung.emit(task)
