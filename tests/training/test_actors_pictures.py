"""Policies that are shown pictures: in this process, and on a server that is sent them as large as they are seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from agent_core.errors import ModelError
from agent_core.models.transformers_vlm import Sight, TransformersModel
from agent_core.step import Message, Prompt, Screenshot, Transform
from tests.training.completions import Server, running
from tests.training.small import END, IMAGE, START, STOP, vision_model
from tests.training.tiny_runs import model_folder
from training.album import Album
from training.batches import Vision, batch_of
from training.pictures import patches_of
from training.policy import ActorCritic, lora
from training.rows import Picture, SampledTurn, rows_of
from training.serving import Ask, TransformersActor
from training.serving_http import ServerActor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name


def seeing() -> TransformersModel:
    """A tiny Qwen2.5-VL with a tokenizer of bytes and its own names at the model's places."""
    names = {"<|image_pad|>": IMAGE, "<|vision_start|>": START, "<|vision_end|>": END, "<|im_end|>": STOP}
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<|pad|>": 0, "<|im_start|>": 1, **{letter: n for n, letter in enumerate(letters, 2)}, **names}
    bytewise = Tokenizer(models.BPE(vocabulary, []))
    bytewise.add_special_tokens([AddedToken(name, normalized=False) for name in ("<|pad|>", "<|im_start|>", *names)])
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, pad_token="<|pad|>", eos_token="<|im_end|>")

    def patches(shot: Screenshot) -> tuple[torch.Tensor, tuple[int, int, int]]:
        image = Image.frombytes("RGB", (shot.width, shot.height), shot.rgb)
        return patches_of(image), (1, shot.height // 14, shot.width // 14)

    return TransformersModel(vision_model().eval(), tokenizer, sight=Sight(patches), max_new_tokens=20)


def shot(width: int, height: int, grey: int) -> Screenshot:
    return Screenshot(bytes([grey, 40, 90]) * (width * height), width, height, Transform("", 0, 0, width, height))


def test_pictures_of_different_sizes_are_seen_in_one_batch_as_they_are_in_training() -> None:
    model = seeing()
    prompts = [
        Prompt((Message("user", "<image>Click.", (shot(56, 84, 200),)),)),
        Prompt((Message("user", "Before <image> and now <image>", (shot(56, 56, 10), shot(84, 56, 90))),)),
    ]
    asked = [model.asked(prompt, seed) for seed, prompt in enumerate(prompts)]
    assert [one.ids.count(IMAGE) for one in asked] == [6, 4 + 6]
    policy = ActorCritic(vision_model().eval(), lora(model.model, 4, 8))
    for one, reply in zip(asked, model.sample(asked), strict=True):
        names = {f"{n}": patches for n, (patches, _) in enumerate(one.pictures)}
        pictures = tuple(Picture(f"{n}", grid) for n, (_, grid) in enumerate(one.pictures))
        turn = SampledTurn(one.ids, reply.token_ids, reply.logprobs, pictures)
        [row] = rows_of([turn], image_token=IMAGE)
        batch = batch_of([row], Vision(IMAGE, lambda picture, names=names: names[picture.sha256]))  # type: ignore[misc]
        with torch.no_grad():
            ours = policy.logprobs(batch)[batch.mask].tolist()
        assert reply.logprobs == pytest.approx(ours, abs=1e-4)


def test_pictures_without_a_place_or_eyes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="reads text only"):
        TransformersModel.from_folder(model_folder(tmp_path)).asked(
            Prompt((Message("user", "<image>", (shot(56, 56, 1),)),)), 0
        )
    with pytest.raises(ModelError, match="more pictures than places"):
        seeing().asked(Prompt((Message("user", "<image>", (shot(56, 56, 1), shot(56, 56, 2))),)), 0)


# -- on a server -------------------------------------------------------------------------------------------------------

SHOWN = [
    Prompt((Message("system", "Help."), Message("user", "Before\n<image> and now <image>", (shot(200, 100, 9),) * 2))),
    Prompt((Message("user", "Nothing to see."),)),
    Prompt((Message("user", "<image>", (shot(120, 130, 30),)),)),
]


def test_a_server_sees_what_the_weights_in_this_process_see(tmp_path: Path) -> None:
    model = seeing()
    album = Album(model.tokenizer, min_pixels=28 * 28, max_pixels=9 * 28 * 28)
    here = TransformersActor.of_model(vision_model().eval(), model.tokenizer, 8, album)
    asks = [Ask(prompt, 11) for prompt in SHOWN]
    with running(Server(model, tmp_path)) as server:
        remote = ServerActor(server.url, "base", model.tokenizer, tmp_path, album=album, max_new_tokens=8)
        for ours, theirs in zip(here.act(asks), remote.act(asks), strict=True):
            assert theirs.prompt_ids == ours.prompt_ids
            assert theirs.images == ours.images
            assert theirs.reply.token_ids == ours.reply.token_ids
            assert theirs.reply.logprobs == pytest.approx(ours.reply.logprobs, abs=1e-4)
        remote.close()


def test_a_server_that_shrinks_pictures_again_is_refused(tmp_path: Path) -> None:
    model = seeing()
    smaller = Album(model.tokenizer, min_pixels=28 * 28, max_pixels=4 * 28 * 28)
    model.sight = smaller.sight
    album = Album(model.tokenizer, min_pixels=28 * 28, max_pixels=9 * 28 * 28)
    with running(Server(model, tmp_path)) as server:
        remote = ServerActor(server.url, "base", model.tokenizer, tmp_path, album=album, max_new_tokens=8)
        with pytest.raises(ModelError, match="pixel limits"):
            remote.act([Ask(SHOWN[0], 1)])
        remote.close()
