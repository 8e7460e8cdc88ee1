"""A sandbox's own process: makes one object and does what the pool asks of it, one call after the other.

The first message is a callable that makes the object, every further one (method, arguments); the answer is
(True, result) or (False, one of our errors). Any other error ends the process, with its traceback in the log. A thread
writes a beat into a pipe a few times a second: when the beats stay away, the process hangs.

    python -m training.sandboxes.worker CONNECTION_FD BEAT_FD
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection

from agent_core.errors import DeskhandError

BEAT_SECONDS = 0.5


def main(connection_fd: int, beat_fd: int) -> None:
    """Serves until the other end is closed."""
    for number in (connection_fd, beat_fd):
        os.set_inheritable(number, False)  # what the sandbox starts must not keep them open
    threading.Thread(target=_beat, args=(beat_fd,), daemon=True, name="beat").start()
    connection: Connection = Connection(connection_fd)
    try:
        served = connection.recv()()
    except DeskhandError as error:
        connection.send((False, error))
        return
    connection.send((True, None))
    while True:
        try:
            method, given = connection.recv()
        except EOFError:
            return
        try:
            told = (True, getattr(served, method)(*given))
        except (DeskhandError, ValueError) as error:
            told = (False, error)
        connection.send(told)


def _beat(fd: int) -> None:
    os.set_blocking(fd, False)
    while True:
        try:
            os.write(fd, b".")
        except BlockingIOError:
            pass  # nobody has looked for hours
        except OSError:
            return
        time.sleep(BEAT_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
