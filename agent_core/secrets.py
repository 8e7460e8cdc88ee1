"""Secrets by name: an action's text says {{secret:NAME}}, and only the keys that are pressed hold the value.

The model, the prompt, the log and the traces see the name. The value comes from the system's keyring at the moment it
is typed, and is then known to the redaction, so that it is taken out wherever a screen shows it.

    python -m agent_core.secrets set NAME      asks for the value on the terminal
    python -m agent_core.secrets list
    python -m agent_core.secrets delete NAME

The keyring cannot be asked for its names, so these are kept, without values, in an entry of their own.
"""

from __future__ import annotations

import argparse
import getpass
import json
import re
import sys
from collections.abc import Callable, Sequence

from agent_core.errors import SecretError

SERVICE = "deskhand"
NAMES = "deskhand names"  # the entry with the list of names; no name of a secret can hold a space
_PLACEHOLDER = re.compile(r"\{\{secret:([A-Za-z0-9_.-]{1,64})\}\}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Lookup = Callable[[str], "str | None"]
"""A secret's value by its name, None when there is none. Raises SecretError when the keyring cannot be asked."""


def names_in(text: str) -> tuple[str, ...]:
    """The names of the placeholders in a text, in order."""
    return tuple(_PLACEHOLDER.findall(text))


def fill(text: str, lookup: Lookup) -> str:
    """The text with every placeholder replaced by its value. Raises SecretError, which never holds a value."""

    def value(found: re.Match[str]) -> str:
        secret = lookup(found[1])
        if not secret:
            raise SecretError(
                f"There is no secret with the name {found[1]}. "
                f"Store it with: python -m agent_core.secrets set {found[1]}"
            )
        return secret

    return _PLACEHOLDER.sub(value, text)


class Vault:
    """Fills placeholders and remembers, in memory only, which values were used."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._used: dict[str, None] = {}

    def fill(self, text: str) -> str:
        """The text to type. Raises SecretError."""
        return fill(text, self._remembered)

    def values(self) -> tuple[str, ...]:
        """Every value that was filled in so far."""
        return tuple(self._used)

    def _remembered(self, name: str) -> str | None:
        value = self._lookup(name)
        if value:
            self._used[value] = None  # before it is typed: the next frame may show it already
        return value


def from_keyring(name: str) -> str | None:
    """The value from the system's keyring."""
    import keyring
    from keyring.errors import KeyringError

    try:
        value: str | None = keyring.get_password(SERVICE, name)
    except KeyringError as error:
        raise _no_keyring() from error
    return value


def store(name: str, value: str) -> None:
    """Puts a secret into the keyring. Raises SecretError."""
    import keyring
    from keyring.errors import KeyringError

    if not _NAME.fullmatch(name):
        raise SecretError("A secret's name has letters, digits and . _ - only, and at most 64 of them.")
    if not value:
        raise SecretError("Nothing was stored: the value was empty.")
    try:
        keyring.set_password(SERVICE, name, value)
        keyring.set_password(SERVICE, NAMES, json.dumps(sorted({*names(), name})))
    except KeyringError as error:
        raise _no_keyring() from error


def delete(name: str) -> None:
    """Takes a secret out of the keyring. Raises SecretError when there is none with this name."""
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        left = sorted({*names()} - {name})
        keyring.delete_password(SERVICE, name)
        keyring.set_password(SERVICE, NAMES, json.dumps(left))
    except PasswordDeleteError as error:
        raise SecretError(f"There is no secret with the name {name}.") from error
    except KeyringError as error:
        raise _no_keyring() from error


def names() -> tuple[str, ...]:
    """The names of all stored secrets. Raises SecretError."""
    try:
        return tuple(json.loads(from_keyring(NAMES) or "[]"))
    except ValueError as error:
        raise SecretError(f'The entry "{NAMES}" in the keyring is damaged; delete it there.') from error


def _no_keyring() -> SecretError:
    return SecretError(
        "The system's keyring cannot be used: it is locked or there is none. Unlock it, or install one "
        "(gnome-keyring or KWallet)."
    )


VAULT = Vault(from_keyring)
"""The program's own: operators fill from it, and the trace store takes out what it has filled in."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. A value is asked for, never given as an argument: other programs could read it there."""
    parser = argparse.ArgumentParser(prog="python -m agent_core.secrets", description="Manage secrets by name.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, words in (("set", "store a secret"), ("delete", "remove a secret")):
        commands.add_parser(command, help=words).add_argument("name", metavar="NAME")
    commands.add_parser("list", help="the names of all secrets")
    args = parser.parse_args(argv)
    try:
        match args.command:
            case "set":
                store(args.name, getpass.getpass(f"Value of {args.name} (not shown): "))
                print(f"Stored. Write {{{{secret:{args.name}}}}} where it is to be typed.")
            case "delete":
                delete(args.name)
                print("Deleted.")
            case _:
                print("\n".join(names()) or "There are no secrets.")
    except (SecretError, EOFError) as error:
        print(error if isinstance(error, SecretError) else "Nothing was stored.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
