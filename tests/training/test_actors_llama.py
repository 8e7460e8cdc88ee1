"""llama.cpp's child as the policy that acts: the ids that are trained on, log-probabilities near the trainer's, and
each update put on as a LoRA without the base being read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from agent_core.errors import ModelError
from agent_core.step import Message, Prompt, Screenshot, Transform
from tests.training.small import stirred
from training import adapters, ppo, ppo_args, tiny
from training.policy import ActorCritic, load_base, lora
from training.runs import read_metrics
from training.serving import Answer, Ask, TransformersActor
from training.serving_llama import LlamaActor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

PROMPTS = [Prompt((Message("user", text),)) for text in ("Press OK.", "Press Save once Name is Anna.", "Go")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model of the trainers, untrained: its tokenizer cuts texts in a way that llama.cpp does not know."""
    folder = tmp_path_factory.mktemp("base")
    texts = [prompt + reply for prompt, reply in tiny.demonstrations("pretend_small", 4)]
    tokenizer = tiny.words(texts, 400)
    torch.manual_seed(0)
    model = LlamaForCausalLM(tiny.shape(tiny.Args(), len(tokenizer)))
    with torch.no_grad():
        model.model.embed_tokens.weight.mul_(6)  # as spread out as that of a trained model
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def adapter(base: Path, folder: Path, seed: int) -> Path:
    """A policy's adapter that does something."""
    model, _ = load_base(base)
    adapters.save(stirred(ActorCritic(model, lora(model, 4, 8)), seed).model, "policy", folder)
    return folder


@pytest.fixture(scope="module")
def actor(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaActor]:
    made = LlamaActor(base, tmp_path_factory.mktemp("served"), kind="F32", context=512, max_new_tokens=16, threads=1)
    yield made
    made.close()


def far(base: Path, folder: Path | None, answers: list[Answer]) -> float:
    """The largest difference between the log-probabilities that came with the answers and those of transformers."""
    here = TransformersActor.of_folder(base, 1)
    here.load(folder, 0)
    worst = 0.0
    for answer in answers:
        ids = torch.tensor([answer.prompt_ids + answer.reply.token_ids])
        with torch.no_grad():
            said = torch.log_softmax(here.model(input_ids=ids).logits[0].double(), -1)
        for n, (token, logprob) in enumerate(zip(answer.reply.token_ids, answer.reply.logprobs, strict=True)):
            worst = max(worst, abs(float(said[len(answer.prompt_ids) - 1 + n, token]) - logprob))
    return worst


def test_it_says_what_the_trainer_would_with_every_adapter(actor: LlamaActor, base: Path, tmp_path: Path) -> None:
    _, tokenizer = load_base(base)
    asks = [Ask(prompt, 7) for prompt in PROMPTS]
    one, two = adapter(base, tmp_path / "one", 1), adapter(base, tmp_path / "two", 2)
    told = {}
    for version, folder in enumerate((None, one, two, one, None)):
        actor.load(folder, version)
        answers = told[version] = actor.act(asks)
        assert {answer.version for answer in answers} == {version}
        for ask, answer in zip(asks, answers, strict=True):
            assert list(answer.prompt_ids) == tokenizer.encode(ask.prompt.chatml(), add_special_tokens=False)
            assert answer.reply.prompt_tokens == len(answer.prompt_ids)
            ended = answer.reply.token_ids[-1] == tokenizer.eos_token_id
            words = answer.reply.token_ids[:-1] if ended else answer.reply.token_ids
            assert answer.reply.text == tokenizer.decode(words, clean_up_tokenization_spaces=False)
        assert far(base, folder, answers) < 0.02
    print(f"differs from transformers by {far(base, one, told[3]):.1e} at most")
    assert far(base, two, told[1]) > 0.1  # the adapters are not alike
    sampled = [[answer.reply.token_ids for answer in told[version]] for version in range(5)]
    assert sampled[0] == sampled[4] != sampled[1] == sampled[3] != sampled[2]


def test_the_child_stays_and_old_adapters_go(actor: LlamaActor, base: Path, tmp_path: Path) -> None:
    one = adapter(base, tmp_path / "one", 1)
    actor.act([Ask(PROMPTS[0], 1)])
    child = actor.model.pid
    for version in range(11, 15):
        actor.load(one, version)
        actor.act([Ask(PROMPTS[0], 1)])
    assert actor.model.pid == child
    assert sorted(file.name for file in actor.folder.glob("policy-*")) == ["policy-000013.gguf", "policy-000014.gguf"]


def test_a_child_that_was_killed_comes_back_with_the_adapter(actor: LlamaActor, base: Path, tmp_path: Path) -> None:
    actor.load(adapter(base, tmp_path / "one", 1), 21)
    before = actor.act([Ask(PROMPTS[1], 3)])
    actor.model.close()
    assert [a.reply.token_ids for a in actor.act([Ask(PROMPTS[1], 3)])] == [a.reply.token_ids for a in before]


def test_what_it_cannot_take_is_told_in_a_sentence(actor: LlamaActor, base: Path, tmp_path: Path) -> None:
    shot = Screenshot(bytes(3 * 28 * 28), 28, 28, Transform("", 0, 0, 28, 28))
    with pytest.raises(ModelError, match="reads text only"):
        actor.act([Ask(Prompt((Message("user", "<image>", (shot,)),)), 0)])
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF of something else")
    with pytest.raises(ModelError, match="made for another model"):
        actor.model.sample([1, 2, 3], 0, broken)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_ppo_learns_from_what_the_child_played(base: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "base": base, "out": tmp_path, "actor": "llama_cpp", "served_as": "F32", "suite": "pretend_small",
        "tasks": "press", "batch": 8, "environments": 8, "max_steps": 2, "max_new_tokens": 8, "rank": 4,
        "pretraining": 1, "pretraining_epochs": 1, "minibatches": 2, "updates": 2, "unreadable": 0.3,
        "evaluate_every": 2, "evaluate_rollouts": 4, "context": 1024, "rollouts": "lockstep",
    }  # fmt: skip
    named = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    policy = ppo.train(ppo_args.parse(named, None))
    assert (policy / "adapter_model.safetensors").is_file()
    lines = [line for line in read_metrics(tmp_path / "metrics.jsonl") if line["phase"] == "ppo"]
    assert len(lines) == 2
    assert all(0 < line["off_policy"] < 0.01 and line["grad_norm"] > 0 for line in lines)
    assert len(list((tmp_path / "served" / "rank-0").glob("policy-*.gguf"))) == 2
