"""llama.cpp in its child process: the same words again, reuse, stops, crashes, and prompts that do not fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import manifest
from agent_core.models.llama_cpp import LlamaCpp
from agent_core.step import Message, Prompt, Reply, Screenshot, Transform

BASE = manifest.read(paths.assets_folder() / "models" / "bundled.toml").base_path()
LINES = "".join(f"text ({n},{n * 7 % 1000}) Item number {n} of the list\n" for n in range(200))  # about 3000 tokens


def prompt(text: str) -> Prompt:
    return Prompt((Message("system", "You are a helpful assistant."), Message("user", text)))


STORY = prompt("Tell me a long story about a cat.")


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCpp]:
    """One model for all tests that leave it whole."""
    made = LlamaCpp(BASE, context=4096, max_new_tokens=24)
    yield made
    made.close()


def in_background(model: LlamaCpp, asked: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Waiting:
    return Waiting(model, asked, stop, on_text)


class Waiting:
    """A reply being made in a thread; `result` joins it and says what came and when."""

    def __init__(self, model: LlamaCpp, asked: Prompt, stop: Event, on_text: Callable[[str], None] | None) -> None:
        self._reply: Reply | None = None
        self._ended = 0.0

        def ask() -> None:
            self._reply = model.reply(asked, stop, on_text)
            self._ended = time.monotonic()

        self._thread = threading.Thread(target=ask)
        self._thread.start()

    def result(self) -> tuple[Reply, float]:
        self._thread.join()
        assert self._reply is not None
        return self._reply, self._ended


def alive(pid: int) -> bool:
    """True while the process runs; one that has ended but was not collected yet counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_reply_is_streamed_counted_and_the_same_when_asked_again(model: LlamaCpp) -> None:
    pieces: list[str] = []
    first = model.reply(STORY, Event(), pieces.append)
    assert first.text == "".join(pieces)
    assert len(pieces) > 5
    assert len(first.token_ids) == len(first.logprobs) == 24
    assert first.stop_reason == "length"
    assert all(logprob <= 0 for logprob in first.logprobs)
    again = model.reply(STORY, Event())
    assert (again.text, again.token_ids) == (first.text, first.token_ids)
    assert again.reused_tokens == again.prompt_tokens - 1


def test_the_end_of_turn_ends_the_reply_and_is_not_in_its_text(model: LlamaCpp) -> None:
    reply = model.reply(prompt("Count from one to fifty in words, please."), Event())
    assert reply.stop_reason == "stop"
    assert "<|im_end|>" not in reply.text
    assert reply.token_ids[-1] == 2


def test_only_the_new_end_of_a_prompt_is_read_and_the_words_do_not_depend_on_it(model: LlamaCpp) -> None:
    model.reply(prompt(LINES[:600] + "Which item is first?"), Event())
    reused = model.reply(prompt(LINES[:600] + "Which item is last?"), Event())
    assert reused.prompt_tokens - reused.reused_tokens < 20
    model.reply(STORY, Event())
    fresh = model.reply(prompt(LINES[:600] + "Which item is last?"), Event())
    assert fresh.reused_tokens < 20
    assert fresh.token_ids[:8] == reused.token_ids[:8]


def test_characters_of_several_tokens_are_never_torn(model: LlamaCpp) -> None:
    pieces: list[str] = []
    model.reply(prompt("Repeat exactly: 你好 😀 żółć 你好 😀"), Event(), pieces.append)
    assert "\ufffd" not in "".join(pieces)[:-1]


@pytest.mark.parametrize("wait", [0.0, 0.4, 1.0])
def test_a_stop_while_the_prompt_is_read_returns_at_once_and_the_child_lives(model: LlamaCpp, wait: float) -> None:
    model.reply(STORY, Event())
    pid, stop = model.pid, Event()
    waiting = in_background(model, prompt(f"{wait} {LINES}"), stop)
    time.sleep(wait)
    stopped_at = time.monotonic()
    stop.set()
    reply, ended = waiting.result()
    assert reply.stop_reason == "stopped"
    assert ended - stopped_at < 0.2
    assert model.reply(STORY, Event()).stop_reason == "length"
    assert model.pid == pid


def test_a_stop_while_the_reply_is_written_keeps_what_was_said(model: LlamaCpp) -> None:
    stop = Event()
    reply = model.reply(STORY, stop, lambda _: stop.set())
    assert reply.stop_reason == "stopped"
    assert 1 <= len(reply.token_ids) < 24
    assert reply.text


def test_sampling_is_reproducible_and_says_the_probabilities_it_drew_with() -> None:
    def sampled(seed: int) -> list[Reply]:
        model = LlamaCpp(BASE, context=512, max_new_tokens=12, temperature=1.5, seed=seed)
        try:
            return [model.reply(STORY, Event()) for _ in range(2)]
        finally:
            model.close()

    first, again, other = sampled(1), sampled(1), sampled(2)
    assert [reply.token_ids for reply in first] == [reply.token_ids for reply in again]
    assert first[0].token_ids != first[1].token_ids != other[0].token_ids


def test_a_greedy_model_can_be_asked_to_draw_and_stays_greedy(model: LlamaCpp) -> None:
    before = model.reply(STORY, Event()).token_ids
    drawn = {model.draw(STORY, Event()).token_ids for _ in range(3)}
    assert len(drawn) > 1
    assert model.reply(STORY, Event()).token_ids == before


def test_a_child_killed_in_the_middle_is_started_again_unnoticed() -> None:
    model = LlamaCpp(BASE, context=512, max_new_tokens=24)
    try:
        whole, pieces = model.reply(STORY, Event()), []
        first = model.pid

        def heard(piece: str) -> None:
            pieces.append(piece)
            if len(pieces) == 3 and model.pid == first and first:
                os.kill(first, signal.SIGKILL)

        reply = model.reply(STORY, Event(), heard)
        assert model.pid != first
        assert reply.text == whole.text == "".join(pieces)
        os.kill(model.pid or 0, signal.SIGKILL)  # between two replies it is not even a crash
        assert model.reply(STORY, Event()).text == whole.text
    finally:
        model.close()


def test_two_crashes_on_one_prompt_are_told_and_the_next_prompt_is_answered() -> None:
    model = LlamaCpp(BASE, context=512, max_new_tokens=24)
    kill = Event()
    kill.set()

    def killer() -> None:
        seen: set[int] = set()
        while kill.is_set():
            pid = model.pid
            if pid and pid not in seen:
                seen.add(pid)
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.005)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with pytest.raises(ModelError, match="crashed twice"):
            model.reply(STORY, Event())
        kill.clear()
        thread.join()
        assert model.reply(STORY, Event()).stop_reason == "length"
    finally:
        kill.clear()
        thread.join()
        model.close()


def test_a_stop_while_the_model_loads_ends_the_child() -> None:
    model, stop = LlamaCpp(BASE, context=512), Event()
    stop.set()
    started = time.monotonic()
    assert model.reply(STORY, stop).stop_reason == "stopped"
    assert time.monotonic() - started < 0.4
    model.close()


def test_a_prompt_that_does_not_fit_is_one_sentence(model: LlamaCpp) -> None:
    with pytest.raises(ModelError, match=r"has \d+ tokens and the model 'llama_cpp' takes 4072; shorten"):
        model.reply(prompt(LINES * 2), Event())
    assert model.reply(STORY, Event()).stop_reason == "length"


def test_pictures_are_refused(model: LlamaCpp) -> None:
    shot = Screenshot(bytes(12), 2, 2, Transform("m", 0, 0, 2, 2))
    with pytest.raises(ModelError, match="reads text only"):
        model.reply(Prompt((Message("user", "<image>", (shot,)),)), Event())


@pytest.mark.parametrize("content", [None, b"", b"GGUF but not really", BASE.read_bytes()[:1_000_000]])
def test_a_file_that_cannot_be_loaded_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "broken.gguf"
    if content is not None:
        file.write_bytes(content)
    model = LlamaCpp(file, context=512)
    with pytest.raises(ModelError, match=r"cannot be loaded.*Your runs are safe"):
        model.reply(STORY, Event())
    model.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_child_ends_with_its_parent_even_when_that_is_killed() -> None:
    program = (
        "import sys, time; from pathlib import Path; from agent_core.models.llama_cpp import LlamaCpp;"
        "m = LlamaCpp(Path(sys.argv[1])); m.start(); print(m.pid, flush=True); time.sleep(60)"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.assets_folder().parent)}
    command = [sys.executable, "-c", program, str(BASE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert alive(child)
        parent.kill()
    deadline = time.monotonic() + 5
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(child)


def test_a_model_outlives_the_thread_that_first_asked_it() -> None:
    """Linux can kill a child with the thread that started it; runs come and go in threads of their own."""
    model = LlamaCpp(BASE, context=512, max_new_tokens=2)
    try:
        in_background(model, STORY, Event()).result()
        pid = model.pid
        time.sleep(0.2)
        assert model.reply(STORY, Event()).reused_tokens > 0
        assert model.pid == pid
    finally:
        model.close()
