"""The scripted model replays in order and never repeats itself."""

from __future__ import annotations

import time
from threading import Event, Timer

import pytest

from agent_core.errors import ModelError
from agent_core.models.scripted import Scripted
from agent_core.step import Message, Prompt

PROMPT = Prompt((Message("user", "hello"),))


def test_replies_come_in_order_and_are_streamed() -> None:
    model = Scripted(["one", "two"])
    heard: list[str] = []
    assert [model.reply(PROMPT, Event(), heard.append).text for _ in range(2)] == ["one", "two"]
    assert heard == ["one", "two"]
    with pytest.raises(ModelError, match="no replies left"):
        model.reply(PROMPT, Event())


def test_an_iterator_is_asked_only_when_a_reply_is_wanted() -> None:
    source = iter(["one", "two"])
    assert Scripted(source).reply(PROMPT, Event()).text == "one"
    assert next(source) == "two"


def test_a_function_sees_the_prompt() -> None:
    assert Scripted(lambda prompt: prompt.messages[-1].text.upper()).reply(PROMPT, Event()).text == "HELLO"


def test_a_stop_ends_the_delay_and_keeps_the_reply() -> None:
    model, stop = Scripted(["one"], delay=5.0), Event()
    Timer(0.05, stop.set).start()
    started = time.monotonic()
    assert model.reply(PROMPT, stop).stop_reason == "stopped"
    assert time.monotonic() - started < 1
