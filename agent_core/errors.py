"""Every error that reaches a person. The message is one sentence that says what happened and what to do.

Foreign exceptions (X11, SQLite, llama.cpp, HTTP) are turned into one of these where they enter, keeping the cause.
Anything that is not a DeskhandError is a bug of ours and is allowed to crash the run.
"""


class DeskhandError(Exception):
    """Base of the errors whose text is written for the person using the program."""


class SettingsError(DeskhandError):
    """The settings file or a value in it cannot be used."""


class ScreenError(DeskhandError):
    """The screen cannot be captured, or what was captured cannot be used (no display, Wayland, black frame)."""


class InputError(DeskhandError):
    """Mouse or keyboard input cannot be made as asked (unknown key, no XTEST). Told to the model as well."""


class ModelError(DeskhandError):
    """The model cannot be loaded or did not answer (missing file, damaged file, server down, crash)."""


class Stopped(DeskhandError):
    """The person pressed Stop. Carries no fault."""


class TakenOver(DeskhandError):
    """The person took the mouse while the agent was at work. Carries no fault."""


class SecretError(DeskhandError):
    """A stored secret that an action names cannot be had (no such name, no keyring)."""


class StoreError(DeskhandError):
    """Traces or audit cannot be written or read (disk full, read-only, damaged database)."""


class TaskError(DeskhandError):
    """The task text cannot be run (empty, too long)."""
