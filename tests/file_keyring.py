"""A keyring that lies in a file, for tests: a backend as the keyring library takes them from anyone."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class FileKeyring(KeyringBackend):  # type: ignore[misc]
    """Keeps "service/name" in the JSON file that TEST_KEYRING_FILE names."""

    priority = -1  # never chosen by itself

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._file().write_text(json.dumps({**self._all(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        left = self._all()
        if left.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("not found")
        self._file().write_text(json.dumps(left))

    def _file(self) -> Path:
        return Path(os.environ["TEST_KEYRING_FILE"])

    def _all(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._file().read_text()) if self._file().exists() else {}
        return found
