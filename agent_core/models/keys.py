"""Keys of model servers, in the system's keyring and nowhere else: not in settings, manifests, logs or traces."""

from __future__ import annotations

import keyring
import keyring.errors

from agent_core.errors import ModelError

SERVICE = "deskhand"


def of(url: str) -> str:
    """The key kept for a server's address, "" without one; not every system has a keyring, and few servers need it."""
    try:
        return keyring.get_password(SERVICE, url.rstrip("/")) or ""
    except keyring.errors.KeyringError:
        return ""


def keep(url: str, key: str) -> None:
    """Keeps the key of a server; an empty one removes it. Raises ModelError where there is no keyring."""
    try:
        if key:
            keyring.set_password(SERVICE, url.rstrip("/"), key)
        elif of(url):
            keyring.delete_password(SERVICE, url.rstrip("/"))
    except keyring.errors.KeyringError as error:
        raise ModelError(
            "This system has no keyring to keep the key in; set one up (for example GNOME Keyring) and try again."
        ) from error
