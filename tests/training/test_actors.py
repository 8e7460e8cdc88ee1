"""Policies that act: exact ids and log-probabilities, new weights, and a server that changes adapters as it serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from agent_core.errors import ModelError
from agent_core.models.transformers_vlm import Asked, TransformersModel
from agent_core.step import Message, Prompt
from tests.training.completions import Server, running
from tests.training.small import stirred
from tests.training.tiny_runs import model_folder
from training import adapters
from training.policy import ActorCritic, load_base, load_tokenizer, lora
from training.serving import Ask, TransformersActor
from training.serving_http import ServerActor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

PROMPTS = [Prompt((Message("user", text),)) for text in ("Press OK.", "Enter Name Anna, then press Save.", "Go")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy's adapter that does something."""
    model, _ = load_base(base)
    policy = stirred(ActorCritic(model, lora(model, 4, 8)))
    folder = tmp_path_factory.mktemp("adapter")
    adapters.save(policy.model, "policy", folder)
    return folder


def logprobs_of(model: Any, prompt: tuple[int, ...], reply: tuple[int, ...]) -> list[float]:
    """By one plain pass over prompt and reply."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + reply])).logits[0].double()
    every = torch.log_softmax(logits, dim=-1)
    return [float(every[len(prompt) - 1 + n, token]) for n, token in enumerate(reply)]


# -- in this process ---------------------------------------------------------------------------------------------------


def test_replies_of_a_padded_batch_carry_the_log_probabilities_of_a_plain_pass(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=12)
    asked = [Asked(model.prompt_ids(prompt), seed) for seed, prompt in enumerate(PROMPTS)]
    for one, reply in zip(asked, model.sample(asked), strict=True):
        assert reply.prompt_tokens == len(one.ids)
        assert reply.stop_reason in ("stop", "length")
        assert reply.logprobs == pytest.approx(logprobs_of(model.model, one.ids, reply.token_ids), abs=1e-4)


def test_a_reply_depends_on_its_seed(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=12)
    ids = model.prompt_ids(PROMPTS[0])
    first, second, again = (model.sample([Asked(ids, seed)])[0].token_ids for seed in (1, 2, 1))
    assert first == again != second


def test_rows_that_end_early_leave_the_others_as_they_were(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=40)
    asked = [Asked(model.prompt_ids(PROMPTS[0]), seed) for seed in range(40)]
    replies = model.sample(asked)
    ended = [reply for reply in replies if reply.stop_reason == "stop"]
    assert ended, "with 259 tokens about one reply in seven ends within 40"
    assert all(reply.token_ids[-1] == model.tokenizer.convert_tokens_to_ids("<|im_end|>") for reply in ended)
    whole = next(reply for reply in replies if len(reply.token_ids) == 40)
    ids = asked[replies.index(whole)].ids
    assert whole.logprobs == pytest.approx(logprobs_of(model.model, ids, whole.token_ids), abs=1e-4)


def test_the_model_protocol_answers_one_prompt_and_stops(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=6, temperature=0.0)
    heard: list[str] = []
    reply = model.reply(PROMPTS[0], Event(), heard.append)
    assert "".join(heard) == reply.text
    assert model.reply(PROMPTS[0], Event()).token_ids == reply.token_ids  # greedy
    stop = Event()
    stop.set()
    assert model.reply(PROMPTS[0], stop).stop_reason == "stopped"
    with pytest.raises(ModelError, match="temperature 1"):
        TransformersModel(model.model, model.tokenizer, temperature=0.7)
    with pytest.raises(ModelError, match="cannot be loaded"):
        TransformersModel.from_folder(base / "nowhere")


def test_an_adapter_is_merged_exactly_and_taken_away_without_a_trace(base: Path, adapter: Path) -> None:
    actor = TransformersActor.of_folder(base, 6)
    asks = [Ask(prompt, 3) for prompt in PROMPTS]
    plain = actor.act(asks)
    actor.load(adapter, 5)
    changed = actor.act(asks)
    assert {answer.version for answer in changed} == {5}
    assert [a.reply.token_ids for a in plain] != [a.reply.token_ids for a in changed]
    with_peft = TransformersModel.from_folder(base, adapter).model
    for answer in changed:
        wanted = logprobs_of(with_peft, answer.prompt_ids, answer.reply.token_ids)
        assert answer.reply.logprobs == pytest.approx(wanted, abs=1e-4)
    actor.load(None, 6)
    assert [a.reply.logprobs for a in actor.act(asks)] == [a.reply.logprobs for a in plain]  # to the last bit


# -- on a server -------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(base: Path) -> Iterator[Server]:
    with running(Server(TransformersModel.from_folder(base), base)) as one:
        yield one


@pytest.fixture
def remote(server: Server, base: Path, tmp_path: Path) -> Iterator[ServerActor]:
    actor = ServerActor(server.url, "base", server.models["base"].tokenizer, tmp_path / "served", max_new_tokens=8)
    yield actor
    actor.close()


def test_a_server_answers_as_the_weights_in_this_process_do(remote: ServerActor, base: Path, adapter: Path) -> None:
    here = TransformersActor.of_folder(base, 8)
    asks = [Ask(prompt, 11) for prompt in PROMPTS]
    for folder, version in ((None, 0), (adapter, 1)):
        here.load(folder, version)
        remote.load(folder, version)
        for ours, theirs in zip(here.act(asks), remote.act(asks), strict=True):
            assert theirs.reply.token_ids == ours.reply.token_ids
            assert theirs.reply.logprobs == pytest.approx(ours.reply.logprobs, abs=1e-4)
            assert (theirs.prompt_ids, theirs.version, theirs.reply.text) == (
                ours.prompt_ids,
                version,
                ours.reply.text,
            )


def test_versions_that_nobody_asks_any_more_are_unloaded(remote: ServerActor, server: Server, adapter: Path) -> None:
    for version in range(1, 5):
        remote.load(adapter, version)
        assert remote.act([Ask(PROMPTS[0], 1)])[0].version == version
    assert server.log == [
        "load policy-1", "load policy-2", "load policy-3", "unload policy-1", "load policy-4", "unload policy-2",
    ]  # fmt: skip
    assert sorted(server.models) == ["base", "policy-3", "policy-4"]


def test_a_server_that_tells_too_little_or_refuses_is_told_in_a_sentence(remote: ServerActor, server: Server) -> None:
    server.tells_ids = False
    with pytest.raises(ModelError, match="return_token_ids"):
        remote.act([Ask(PROMPTS[0], 1)])
    server.models.clear()
    with pytest.raises(ModelError, match="no such model"):
        remote.act([Ask(PROMPTS[0], 1)])


def test_a_server_that_is_not_there_is_told_in_a_sentence(base: Path, tmp_path: Path) -> None:
    actor = ServerActor("http://127.0.0.1:9/v1", "base", load_tokenizer(base), tmp_path)
    with pytest.raises(ModelError, match="does not answer"):
        actor.act([Ask(PROMPTS[0], 1)])
    actor.close()


def test_only_the_leading_rank_tells_the_server_of_adapters(
    remote: ServerActor, server: Server, adapter: Path, tmp_path: Path
) -> None:
    tokenizer = server.models["base"].tokenizer
    other = ServerActor(server.url, "base", tokenizer, tmp_path / "served", leads=False, max_new_tokens=8)
    for version in range(1, 4):
        remote.load(adapter, version)
        other.load(adapter, version)
        assert other.act([Ask(PROMPTS[0], 1)])[0].version == version
    other.close()
    assert server.log == ["load policy-1", "load policy-2", "load policy-3", "unload policy-1"]
