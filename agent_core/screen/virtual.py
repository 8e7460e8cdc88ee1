"""A virtual desktop to practise and demonstrate on: an X server without a monitor, a window manager, an own home.

What is started on it sees only a throw-away home folder, so nothing of the real user's is read or written. Programs
run as the same user with the same rights: this keeps accidents apart, it is not a jail for hostile programs. When
this process dies, however it dies, the X server is ended with it, and with the server every window on it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from agent_core.errors import ScreenError
from agent_core.screen.virtual_windows import Windows

BACKGROUND = "#d8dce4"  # plain and light: nothing in it can be mistaken for a widget
START_SECONDS = 10.0
_POLL_SECONDS = 0.02

# The shell holds the server, and the folder named by $0, as long as this process holds the end of its standard input.
_SERVER_GUARD = '"$@" & read -r _; kill $!; wait; rm -rf "$0"'

_OPENBOX = """<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <theme><name>Clearlooks</name></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <focus><focusNew>yes</focusNew></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <keyboard><keybind key="A-F4"><action name="Close"/></keybind></keyboard>
  <mouse>
    <context name="Client">
      <mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind>
    </context>
    <context name="Titlebar"><mousebind button="Left" action="Drag"><action name="Move"/></mousebind></context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
  </mouse>
  <applications>
    <application type="normal"><maximized>{maximized}</maximized></application>
  </applications>
</openbox_config>
"""

_GTK3 = """[Settings]
gtk-theme-name=Adwaita
gtk-font-name=DejaVu Sans 11
gtk-cursor-blink=false
gtk-enable-animations=false
"""

# The editor's title names the file alone: the path of a throw-away home means nothing to anybody.
_KEYFILE = "[org/xfce/mousepad/preferences/window]\npath-in-title=false\n"


class VirtualDesktop:
    """An X server of `width` x `height` pixels with a window manager and an empty home folder.

    A context manager; `close` may be called at any time and twice. `maximized` opens every ordinary window over
    the whole screen, so that all of it is always visible. Raises ScreenError when Xvfb or openbox does not start.
    """

    def __init__(self, width: int = 1024, height: int = 640, *, maximized: bool = True) -> None:
        self.width, self.height = width, height
        self._maximized = maximized
        self._folder = Path(tempfile.mkdtemp(prefix="deskhand-desktop-"))
        self.home = self._folder / "home"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._server: subprocess.Popen[bytes] | None = None
        self._window_manager: subprocess.Popen[bytes] | None = None
        self._windows: Windows | None = None
        self.display = ""
        try:
            self._make_home()
            self._server = self._start_server()
            self._windows = Windows(self.display)
            self._windows.paint_background(BACKGROUND)
            self._start_window_manager()
            self._windows.park_pointer()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> VirtualDesktop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def environment(self) -> dict[str, str]:
        """What programs on this desktop are started with: its display and home, nothing of the user's session."""
        return _environment(self.display, self.home)

    @contextlib.contextmanager
    def as_display(self) -> Iterator[None]:
        """Makes this the display of whatever connects meanwhile in this process (one thread at a time)."""
        before = os.environ.get("DISPLAY")
        os.environ["DISPLAY"] = self.display
        try:
            yield
        finally:
            if before is None:
                del os.environ["DISPLAY"]
            else:
                os.environ["DISPLAY"] = before

    def start(self, argv: Sequence[str], extra: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Starts a program on this desktop, in its home. Raises ScreenError when it is not installed."""
        if shutil.which(argv[0]) is None:
            raise ScreenError(f"The program {argv[0]} was not found; install it and try again.")
        process = subprocess.Popen(
            [*_as_person(), *argv],
            cwd=self.home,
            env=self.environment | dict(extra or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def titles(self) -> tuple[str, ...]:
        """The titles of the windows that are open, oldest first."""
        return self._windows.titles() if self._windows is not None else ()

    def wait_window(self, title_part: str, seconds: float = START_SECONDS) -> str:
        """The title of the first window that is shown and whose title contains `title_part`, once there is one.

        Raises ScreenError after `seconds` without one.
        """
        end = time.monotonic() + seconds
        while self._windows is not None and time.monotonic() < end:
            for title in self._windows.shown():
                if title_part in title:
                    return title
            time.sleep(_POLL_SECONDS)
        raise ScreenError(
            f"No window titled “{title_part}” appeared within {seconds:g} seconds; open: {self.titles()}."
        )

    def wait_no_window(self, title_part: str, seconds: float = START_SECONDS) -> None:
        """Waits until no window's title contains `title_part`. Raises ScreenError after `seconds`."""
        end = time.monotonic() + seconds
        while any(title_part in title for title in self.titles()):
            if time.monotonic() > end:
                raise ScreenError(f"The window “{title_part}” is still open after {seconds:g} seconds.")
            time.sleep(_POLL_SECONDS)

    def reset(self) -> None:
        """Ends every program that `start` started and empties the home: as good as new, in a few milliseconds."""
        self._end_programs()
        shutil.rmtree(self.home, ignore_errors=True)
        self._make_home()
        if self._windows is not None:
            self._windows.park_pointer()

    def close(self) -> None:
        """Ends the programs and the server and removes the home."""
        self._end_programs()
        if self._windows is not None:
            self._windows.close()
            self._windows = None
        if self._window_manager is not None:
            self._window_manager.kill()
            self._window_manager.wait()
            self._window_manager = None
        if self._server is not None:
            _end_server(self._server)
            self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _make_home(self) -> None:
        for name in (
            ".config/gtk-3.0",
            ".config/glib-2.0/settings",
            ".config/openbox",
            ".cache",
            ".local/share",
            ".run",
        ):
            (self.home / name).mkdir(parents=True, exist_ok=True)  # a program that is ending may still write there
        (self.home / ".run").chmod(0o700)
        (self.home / ".config/gtk-3.0/settings.ini").write_text(_GTK3, encoding="utf-8")
        (self.home / ".config/glib-2.0/settings/keyfile").write_text(_KEYFILE, encoding="utf-8")
        (self.home / ".gtkrc-2.0").write_text('gtk-font-name="DejaVu Sans 11"\ngtk-cursor-blink=0\n', encoding="utf-8")

    def _start_server(self) -> subprocess.Popen[bytes]:
        """Starts Xvfb on a free display number, which it chooses itself and writes to a pipe."""
        ready, told = os.pipe()
        command = [
            "Xvfb",
            "-displayfd",
            str(told),
            "-screen",
            "0",
            f"{self.width}x{self.height}x24",
            "-nolisten",
            "tcp",
        ]
        try:
            server = subprocess.Popen(
                ["sh", "-c", _SERVER_GUARD, str(self._folder), *command, "-noreset", "-ac"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[told],
                start_new_session=True,
            )
        finally:
            os.close(told)
        with os.fdopen(ready, "rb") as pipe:
            number = pipe.readline().decode().strip()  # the end of the file when the server could not start
        self.display = f":{number}"
        if not number:
            _end_server(server)
            raise ScreenError("The virtual screen could not be started; install Xvfb and try again.")
        return server

    def _start_window_manager(self) -> None:
        config = self._folder / "openbox.xml"
        config.write_text(_OPENBOX.format(maximized="yes" if self._maximized else "no"), encoding="utf-8")
        self._window_manager = self.start(["openbox", "--config-file", str(config), "--sm-disable"])
        self._processes.remove(self._window_manager)  # it outlives a reset
        end = time.monotonic() + START_SECONDS
        assert self._windows is not None
        while not self._windows.are_managed():
            if self._window_manager.poll() is not None or time.monotonic() > end:
                raise ScreenError("The window manager openbox did not start; install it and try again.")
            time.sleep(_POLL_SECONDS)

    def _end_programs(self) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()
        self._processes.clear()
        end = time.monotonic() + START_SECONDS
        while self.titles() and time.monotonic() < end:  # the window manager takes a moment to notice
            time.sleep(_POLL_SECONDS)


def _environment(display: str, home: Path) -> dict[str, str]:
    """The variables of a session: no message bus and no accessibility bus, so that every start is alike and quick."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "DISPLAY": display,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "NO_AT_BRIDGE": "1",
        "GSETTINGS_BACKEND": "keyfile",
        "GIO_USE_VFS": "local",
        "GTK_OVERLAY_SCROLLING": "0",
        "QT_QPA_PLATFORM": "xcb",
        "QT_STYLE_OVERRIDE": "Fusion",
    }


@functools.cache
def _as_person() -> tuple[str, ...]:
    """The prefix that lets a program see itself run by an ordinary user when we are root, where the kernel allows it.

    Editors show a warning bar to root, which no person at a desktop ever sees. Rights stay what they are.
    """
    prefix = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
    if os.geteuid() != 0 or shutil.which(prefix[0]) is None:
        return ()
    return prefix if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0 else ()


def _end_server(guard: subprocess.Popen[bytes]) -> None:
    """Closes the pipe that the guard shell waits on: it ends the server at once."""
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait()
