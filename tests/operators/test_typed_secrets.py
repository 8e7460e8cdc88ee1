"""A placeholder is filled as it is typed, and a name that is not known types nothing."""

from __future__ import annotations

import shutil
from threading import Event

import pytest

from agent_core.actions import Click, Point, Type
from agent_core.operators.browser import BrowserOperator
from agent_core.secrets import Vault

VALUE = "Zx9-Planted-Value"
PAGE = "data:text/html,<title>empty</title><input style='width:90%25;height:90vh' oninput='document.title=this.value'>"


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium (apt install chromium)")
def test_the_page_gets_the_value_and_a_missing_name_is_an_outcome_without_it() -> None:
    operator = BrowserOperator.launch(PAGE)
    operator.vault = Vault({"MAIL": VALUE}.get)
    try:
        shot = operator.look()
        assert operator.do(Click(Point(0.4, 0.4)), shot, Event()).ok
        missing = operator.do(Type("{{secret:MAIL}}{{secret:NONE}}"), shot, Event())
        assert not missing.ok
        assert "no secret with the name NONE" in missing.text
        assert VALUE not in missing.text
        assert operator.look().window == "empty"  # nothing of it was typed
        assert operator.do(Type("{{secret:MAIL}}"), shot, Event()).ok
        assert operator.look().window == VALUE
    finally:
        operator.close()
