"""From kept runs to rows: the ids that were sampled, the prompts that were served, the pictures at their size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from agent_core.actions import Click, Point
from agent_core.dialects.elements import Elements
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.protocols import Dialect
from agent_core.step import Outcome, Reply, Run, Screenshot, Status, Step, Tier, Turn, Verdict
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.sample import desktop
from training.batches import Vision, batch_of
from training.examples import IMAGE_TOKEN, SHOWN, prompt_ids, sampled_turns
from training.pictures import Pictures, patches_of
from training.policy import bundled_base
from training.rows import Picture, rows_of

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
TURNS = 6
WINDOW = 3  # pictures that the pixel dialect shows
LEAST, MOST = 4 * 28 * 28, 64 * 28 * 28  # pixels


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """SmolLM2's, with the markers of Qwen2.5-VL added."""
    from transformers import AutoTokenizer

    gguf = bundled_base()
    found = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    found.add_special_tokens({"additional_special_tokens": [IMAGE_TOKEN, *SHOWN.split("{}")]})
    return found


def kept(folder: Path, dialect: Dialect, tokenizer: Any, *, drift: bool = False) -> Traces:
    """A run of some turns, recorded as the program does it. With `drift` the sampler chose other ids for its text."""
    run = Run("run1", "Put the invoices away", 1_760_000_000.0, consent="sandbox", dialect=dialect.name)
    history: list[Turn] = []
    with TraceStore(folder / "traces.db", folder / "images") as store:
        for n in range(TURNS):
            shot = frame(n)
            if n == 0:
                store.started(run, shot)
            text = dialect.write(f"I press the button {n}.", [Click(Point(0.63, 0.645))], shot)
            ids = [*tokenizer.encode(text), tokenizer.eos_token_id]
            if drift:
                ids = [*(i for piece in text for i in tokenizer.encode(piece)), tokenizer.eos_token_id]
            reply = Reply(text, tuple(ids), tuple(-0.1 * i for i in range(len(ids))))
            prompt = dialect.render(run.task, history, shot)
            intent = dialect.parse(text, shot)
            step = Step(n + 1, n + 1, intent.actions[0], Verdict("allow", Tier.R1, "This can be undone."))
            done = replace(step, outcome=Outcome(ok=True, changed=True))
            turn = Turn(n + 1, shot, prompt, reply, intent, (done,))
            store.decided(run, turn, step)
            assert done.outcome is not None
            store.happened(run, step, done.outcome, None)
            history.append(turn)
        store.ended(run, Status.FINISHED, "")
    return Traces(folder / "traces.db", folder / "images")


def frame(n: int) -> Screenshot:
    return desktop(f"Invoice {n}", (560, 336))


def test_ids_that_were_sampled_are_the_ids_that_are_learnt(tokenizer: Any, tmp_path: Path) -> None:
    """Other ids for the same text: what a decode and encode would lose."""
    turns = kept(tmp_path, Elements(), tokenizer, drift=True).turns("run1")
    rows = rows_of(sampled_turns(turns, tokenizer, reward=1.0))
    for turn, row in zip(turns, rows, strict=True):
        learnt = tuple(t for t, sampled in zip(row.ids, row.mask, strict=True) if sampled)
        assert learnt == turn.reply.token_ids
        assert learnt != tuple(tokenizer.encode(turn.reply.text + "<|im_end|>"))
        assert tokenizer.decode(learnt) == turn.reply.text + "<|im_end|>"
        assert row.logprobs[-len(learnt) :] == turn.reply.logprobs
    assert [sum(row.rewards) for row in rows] == [0.0] * (TURNS - 1) + [1.0]


def test_a_teachers_reply_is_tokenised_with_its_stop_token(tokenizer: Any, tmp_path: Path) -> None:
    turns = kept(tmp_path, Elements(), tokenizer).turns("run1")
    spoken = [replace(turn, reply=replace(turn.reply, token_ids=(), logprobs=())) for turn in turns]
    assert [t.reply_ids for t in sampled_turns(spoken, tokenizer)] == [t.reply.token_ids for t in turns]
    assert all(t.logprobs == () for t in sampled_turns(spoken, tokenizer))


def test_a_prompt_that_says_the_newest_screen_begins_a_row_each_turn(tokenizer: Any, tmp_path: Path) -> None:
    turns = sampled_turns(kept(tmp_path, Elements(), tokenizer).turns("run1"), tokenizer)
    assert len(rows_of(turns)) == TURNS
    first, second = turns[:2]
    assert first.prompt_ids[:9] == second.prompt_ids[:9]  # they do share a beginning, which is no row's whole


def test_a_growing_conversation_with_pictures_is_a_row_per_window(tokenizer: Any, tmp_path: Path) -> None:
    traces = kept(tmp_path, UiTars(UiTarsRules(images=WINDOW, min_pixels=LEAST, max_pixels=MOST)), tokenizer)
    pictures = Pictures(traces, min_pixels=LEAST, max_pixels=MOST)
    turns = sampled_turns(traces.turns("run1"), tokenizer, picture=pictures.picture)
    image = tokenizer.convert_tokens_to_ids(IMAGE_TOKEN)
    rows = rows_of(turns, image_token=image)
    assert len(rows) == 1 + TURNS - WINDOW
    assert len(rows_of(turns, image_token=image, shared=False)) == TURNS
    assert sum(row.learnt for row in rows) == sum(len(turn.reply_ids) for turn in turns)
    shas = [turn.screenshot for turn in traces.turns("run1")]
    assert [one.sha256 for one in rows[0].images] == shas[:WINDOW]
    assert [one.sha256 for one in rows[-1].images] == shas[-WINDOW:]
    batch = batch_of(rows, Vision(image, pictures.patches))
    assert batch.pixels is not None
    assert len(batch.pixels) == 4 * int((batch.ids == image).sum())


def test_a_place_without_a_picture_is_refused(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="1 places for pictures in the prompt, and 0"):
        prompt_ids(tokenizer, "<|im_start|>user\n<image><|im_end|>\n")


def test_prompts_are_tokenised_as_they_are_served(tokenizer: Any) -> None:
    """The ids in training are those that llama.cpp reads."""
    from llama_cpp import Llama

    llama = Llama(str(bundled_base()), vocab_only=True, verbose=False)
    shot = replace(desktop(), window="Übersicht – Rechnungen №3")
    prompt = Elements().render("Log in as bob42 / pass: 1234-ÄÖ", [], shot).chatml()
    assert list(prompt_ids(tokenizer, prompt)) == list(llama.tokenize(prompt.encode(), add_bos=False, special=True))


def test_patches_are_those_of_transformers() -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (84, 140, 3), dtype=np.uint8))
    theirs = Qwen2VLImageProcessorPil()(images=[image], do_resize=False, return_tensors="pt")
    assert theirs["image_grid_thw"].tolist() == [[1, 6, 10]]
    assert torch.allclose(patches_of(image), theirs["pixel_values"], atol=1e-5)


def test_a_picture_has_the_size_that_is_served(tokenizer: Any, tmp_path: Path) -> None:
    traces = kept(tmp_path, Elements(), tokenizer)
    sha256 = traces.turns("run1")[0].screenshot
    assert Pictures(traces).picture(sha256) == Picture(sha256, (1, 24, 40))
    tight = Pictures(traces, max_pixels=MOST)
    picture = tight.picture(sha256)
    assert picture.tokens <= 64
    assert tight.patches(picture).shape == (4 * picture.tokens, 3 * 2 * 14 * 14)
