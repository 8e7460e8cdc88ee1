"""PPO as a script: it learns, it goes on bit-equally after a kill, and it takes its arguments from a file."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agent_core.step import Message, Prompt, Reply
from tests.training.small import text_model
from tests.training.tiny_runs import model_folder, start
from training import ppo, ppo_args
from training.batches import batch_of
from training.episodes import Score
from training.experience import Credit, experience
from training.jobs import Job, JobSource, Trajectory
from training.learner import Learner
from training.lockstep import lockstep
from training.policy import load_base
from training.ppo_args import Args
from training.ppo_parts import credit_of, made_actor, made_policy
from training.rows import SampledTurn
from training.runs import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

SHORT = {
    "suite": "pretend_small", "tasks": "press", "rollouts": "lockstep", "batch": 8, "environments": 8, "max_steps": 2,
    "max_new_tokens": 8, "rank": 4, "lora_alpha": 8, "pretraining": 1, "pretraining_epochs": 1, "minibatches": 2,
    "updates": 4, "save_every": 1, "unreadable": 0.3, "evaluate_every": 0, "evaluate_rollouts": 8,
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("base"))


def options(base: Path, out: Path, **changes: object) -> list[str]:
    named = {**SHORT, "base": base, "out": out, **changes}
    return [text for name, value in named.items() for text in (f"--{name.replace('_', '-')}", str(value))]


def args_of(base: Path, out: Path, **changes: object) -> Args:
    return ppo_args.parse(options(base, out, **changes), None)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_killed_run_ends_with_the_same_weights_to_the_last_bit(base: Path, tmp_path: Path) -> None:
    updates = 9
    whole = start("ppo", *options(base, tmp_path / "whole", updates=updates))
    killed = start("ppo", *options(base, tmp_path / "killed", updates=updates))
    while not list((tmp_path / "killed").glob("checkpoint-00000[3-9]/whole.json")):
        assert killed.poll() is None, killed.communicate()[0]
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    done = read_metrics(tmp_path / "killed" / "metrics.jsonl")
    assert 3 <= done[-1]["step"] <= updates
    again = start("ppo", *options(base, tmp_path / "killed", updates=updates))
    for run in (whole, again):
        assert run.wait() == 0, run.communicate()[0]
        run.communicate()

    for part in ("policy/adapter_model", "critic/adapter_model", "critic/head"):
        ours, theirs = (load_file(tmp_path / run / "final" / f"{part}.safetensors") for run in ("whole", "killed"))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
        assert any(bool(tensor.any()) for tensor in ours.values())
    lines = read_metrics(tmp_path / "killed" / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(1, updates + 2))
    wanted = "approx_kl clipfrac_high clipfrac_low explained_variance entropy thought_length response_length reward"
    assert set(wanted.split()) <= set(lines[-1])
    assert {"staleness_mean", "environment_idle", "trainer_idle", "dropped", "success"} <= set(lines[-1])
    result = json.loads((tmp_path / "whole" / "result.json").read_text())
    assert result["samples"] == (updates + 1) * 8


@pytest.mark.parametrize("algorithm", ["ppo", "grpo", "reinforce"])
def test_every_algorithm_runs_streaming(base: Path, tmp_path: Path, algorithm: str) -> None:
    args = args_of(
        base, tmp_path / "out", algorithm=algorithm, group=4, rollouts="streaming", updates=2, evaluate_every=2, kl=0.1,
        positive=0.1,
    )  # fmt: skip
    adapter = ppo.train(args)
    assert (adapter / "adapter_model.safetensors").is_file()
    lines = read_metrics(tmp_path / "out" / "metrics.jsonl")
    assert [line["phase"] for line in lines if line["phase"] == algorithm] == [algorithm] * 2
    assert lines[-1]["phase"] == "held_out"


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_a_file_gives_arguments_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('suite = "pretend"\nlr = 1\nupdates = 7\n', encoding="utf-8")
    args = ppo_args.parse(["--config", str(file), "--updates", "3"], None)
    assert (args.suite, args.lr, args.updates, args.batch) == ("pretend", 1.0, 3, Args().batch)


@pytest.mark.parametrize(
    ("text", "told"),
    [("learning_rate = 1.0", "learning_rate"), ('updates = "many"', "takes a int"), ("updates =", "cannot be read")],
)
def test_a_file_with_a_mistake_is_refused_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=told):
        ppo_args.parse(["--config", str(file)], None)


@pytest.mark.parametrize("given", [["--algorithm", "a2c"], ["--group", "3"], ["--algorithm", "grpo"]])
def test_arguments_that_do_not_go_together_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit):
        ppo_args.parse(given, None)


# -- learning ----------------------------------------------------------------------------------------------------------


class Half:
    """One turn; a reply that begins with one of `good` is worth 1."""

    def __init__(self, good: set[int]) -> None:
        self.good = good
        self.reward = 0.0

    def reset(self, task: str, seed: int) -> Prompt:
        return Prompt((Message("user", task),))

    def step(self, reply: Reply) -> None:
        self.reward = float(reply.token_ids[0] in self.good)

    def score(self) -> Score:
        return Score(self.reward, "end", (self.reward,), (0,))

    def close(self) -> None:
        """Nothing is held."""


def test_a_policy_learns_which_half_of_the_tokens_is_worth_something(base: Path, tmp_path: Path) -> None:
    _, tokenizer = load_base(base)
    model = text_model(vocab_size=len(tokenizer), tie_word_embeddings=False)
    with torch.no_grad():
        model.lm_head.weight.mul_(20)  # as spread out as that of a trained model
    model.save_pretrained(str(tmp_path / "base"))
    tokenizer.save_pretrained(str(tmp_path / "base"))
    good = set((model.lm_head.weight[:, 0] > 0).nonzero()[:, 0].tolist())

    args = args_of(tmp_path / "base", tmp_path, max_new_tokens=1, lr=0.01, alpha=0.5, warmup=1, epochs=2)
    learner = Learner(made_policy(args), args)
    actor = made_actor(args)
    environments = [Half(good) for _ in range(32)]
    jobs = JobSource(("a", "b", "c"), lambda n: n)
    shares = []
    for step in range(12):
        learner.publish(actor, tmp_path)
        played, _ = lockstep(actor, environments, [jobs.job(32 * step + n) for n in range(32)], 0)
        shares.append(sum(one.solved for one in played) / 32)
        seen = experience(learner.policy, played, credit_of(args), budget=args.budget)
        assert float((seen.old - seen.sampled)[seen.mask].abs().max()) < 1e-4  # the engine and the trainer agree
        learner.update(seen)
        learner.version += 1
    print(shares)
    assert sum(shares[:2]) / 2 < 0.75
    assert sum(shares[-2:]) / 2 > 0.9


def test_gradients_do_not_depend_on_how_a_batch_is_cut(base: Path, tmp_path: Path) -> None:
    def learnt(budget: int) -> dict[str, torch.Tensor]:
        args = args_of(base, tmp_path, budget=budget, epochs=1)
        learner = Learner(made_policy(args), args)
        learner.update(experience(learner.policy, rollouts(), credit_of(args), budget=budget))
        return {name: p.detach().clone() for name, p in learner.policy.named_parameters() if p.requires_grad}

    torch.manual_seed(0)
    whole = learnt(4096)
    torch.manual_seed(0)
    cut = learnt(24)
    assert max(float((whole[name] - cut[name]).abs().max()) for name in whole) < 1e-5


def rollouts() -> list[Trajectory]:
    """Two rollouts of two turns whose prompts have nothing in common, and one that a limit cut."""

    def turn(prompt: Sequence[int], reply: Sequence[int], reward: float = 0.0) -> SampledTurn:
        return SampledTurn(tuple(prompt), tuple(reply), tuple(-1.0 for _ in reply), reward=reward)

    def job(n: int) -> Job:
        return Job(n, "press", 0, 0, 3)

    return [
        Trajectory(job(0), (turn((5, 6, 7), (8, 9, 2)), turn((6, 7), (4, 2), 1.0)), 1.0, "end", 0),
        Trajectory(job(1), (turn((5, 6, 7), (9, 2)), turn((7, 7, 8, 9), (3, 2))), 0.0, "end", 0),
        Trajectory(job(2), (turn((5, 6), (9, 9, 2)), turn((9, 6, 5), ())), 0.0, "cut", 0),
    ]


def seen_by(base: Path, tmp_path: Path, **credit: Any) -> Any:
    args = args_of(base, tmp_path)
    torch.manual_seed(1)
    policy = made_policy(args)
    torch.nn.init.normal_(policy.head.weight, std=0.3)
    return experience(policy, rollouts(), Credit(**{"policy_lam": 1.0, "whiten": False, **credit}), budget=64), policy


def test_a_reward_at_the_end_reaches_the_first_turn(base: Path, tmp_path: Path) -> None:
    seen, _ = seen_by(base, tmp_path)
    assert [row.rollout for row in seen.rows] == ["0", "0", "1", "1", "2", "2"]
    of = seen.returns[seen.rollout == 0]
    assert torch.allclose(
        of[seen.mask[seen.rollout == 0]], torch.ones(5)
    )  # lambda 1, gamma 1: the rewards still to come
    assert torch.allclose(seen.advantages[seen.mask], (seen.returns - seen.values)[seen.mask], atol=1e-6)
    assert not seen.advantages[~seen.mask].any()


def test_a_cut_rollout_goes_on_from_the_value_of_its_last_prompt(base: Path, tmp_path: Path) -> None:
    seen, policy = seen_by(base, tmp_path)
    last = [row for row in seen.rows if row.rollout == "2"][-1]
    with torch.no_grad():
        after = policy.values_and_ends(batch_of([last]))[1]
    assert torch.allclose(seen.returns[4][seen.mask[4]], after.expand(3))
    ended, _ = seen_by(base, tmp_path, bootstrap_cut=False)
    assert not ended.returns[ended.rollout == 2].any()


def test_groups_are_compared_with_their_mean_and_alike_ones_are_left_out(base: Path, tmp_path: Path) -> None:
    seen, policy = seen_by(base, tmp_path, algorithm="reinforce")
    assert seen.advantages[:2][seen.mask[:2]].tolist() == pytest.approx([2 / 3] * 5)
    assert seen.advantages[2:][seen.mask[2:]].tolist() == pytest.approx([-1 / 3] * 7)
    alike = [replace(one, reward=1.0) for one in rollouts()]
    grpo = experience(policy, alike, Credit("grpo"), budget=64)
    assert not grpo.learnt.any()
    assert grpo.tokens([0, 1]) == 0
