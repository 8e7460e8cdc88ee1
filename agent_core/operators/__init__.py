"""Eyes and hands. One table: a name a person chooses -> where its class lies. Nothing is imported until chosen."""

from __future__ import annotations

import importlib
from typing import Any

from agent_core.errors import SettingsError
from agent_core.protocols import Operator

OPERATORS: dict[str, str] = {
    "desktop": "agent_core.operators.desktop:DesktopOperator",
    "terminal": "agent_core.operators.terminal:TerminalOperator",
    "browser": "agent_core.operators.browser:BrowserOperator",
    "dry_run": "agent_core.operators.dry_run:DryRunOperator",
}


def operator(name: str, **options: Any) -> Operator:
    """The operator of that name, made with the options its class takes. Raises SettingsError for an unknown name."""
    if name not in OPERATORS:
        raise SettingsError(f"There is no operator {name!r}; choose one of: {', '.join(OPERATORS)}.")
    module, attribute = OPERATORS[name].split(":")
    made: Operator = getattr(importlib.import_module(module), attribute)(**options)
    return made
