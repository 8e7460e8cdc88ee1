"""PPO of a policy that is shown screenshots: what it saw when it acted is what it learns from."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from agent_core.errors import ModelError
from agent_core.step import Message, Prompt, Reply, Screenshot, Transform
from tests.training.tiny_eyes import PLAYED, seeing_folder
from training import ppo
from training.album import Album
from training.episodes import Score
from training.experience import experience
from training.jobs import JobSource, Trajectory
from training.learner import Learner
from training.lockstep import lockstep
from training.policy import load_base, load_tokenizer
from training.ppo_args import Args, check
from training.ppo_parts import credit_of, made_actor, made_album, made_environments, made_policy
from training.rows import SampledTurn, rows_of
from training.runs import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return seeing_folder(tmp_path_factory.mktemp("base"))


def args_of(base: Path, out: Path, **changes: object) -> Args:
    small = {"batch": 8, "environments": 8, "max_steps": 4, "max_new_tokens": 8, "rank": 4, "lora_alpha": 8}
    return check(replace(PLAYED, base=str(base), out=str(out), tasks="press", **{**small, **changes}))  # type: ignore[arg-type]


def shot(width: int, height: int, colour: tuple[int, int, int]) -> Screenshot:
    return Screenshot(bytes(colour) * (width * height), width, height, Transform("", 0, 0, width, height))


# -- whole runs --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize("rollouts", ["lockstep", "streaming"])
def test_a_run_learns_from_screenshots(base: Path, tmp_path: Path, rollouts: str) -> None:
    args = args_of(
        base, tmp_path, updates=2, pretraining=1, pretraining_epochs=1, minibatches=2, rollouts=rollouts,
        unreadable=0.3, evaluate_every=2, evaluate_rollouts=4, save_every=1, kl=0.1,
    )  # fmt: skip
    policy = ppo.train(args)
    lines = [line for line in read_metrics(tmp_path / "metrics.jsonl") if line["phase"] == "ppo"]
    assert len(lines) == 2
    assert all(line["grad_norm"] > 0 and line["critic_grad_norm"] > 0 for line in lines)
    if rollouts == "lockstep":  # nothing is stale: the engine and the trainer agree
        assert all(line["off_policy"] < 1e-4 and line["off_policy_tail"] == 0 for line in lines)
    learnt = load_file(policy / "adapter_model.safetensors")
    assert any(bool(tensor.any()) for name, tensor in learnt.items() if "lora_B" in name)
    assert not any("visual" in name for name in learnt)
    assert json.loads((tmp_path / "args.json").read_text())["dialect"] == "uitars"


@pytest.fixture(scope="module")
def played(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Args, Album, list[Trajectory]]]:
    """Rollouts of two turns, with one screenshot in a prompt."""
    args = args_of(base, tmp_path_factory.mktemp("out"), unreadable=0.3)
    album = made_album(args)
    assert album is not None
    environments = made_environments(args)
    jobs = JobSource(["press", "fill"], lambda n: n)
    found, _ = lockstep(made_actor(args, album), environments, [jobs.job(n) for n in range(4)], 0)
    yield args, album, found
    for environment in environments:
        environment.close()


def test_older_screenshots_drop_out_of_the_window_as_in_the_program(
    played: tuple[Args, Album, list[Trajectory]],
) -> None:
    args, album, trajectories = played
    assert args.images == 1
    for one in trajectories:
        assert len(one.turns) >= 2  # a reply that cannot be read, and what it is answered
        assert all(len(turn.images) == 1 for turn in one.turns)
        assert all(turn.prompt_ids.count(album.vision.image_token) == 12 for turn in one.turns)
        rows = rows_of(one.turns, image_token=album.vision.image_token)
        assert len(rows) == len(one.turns)  # each window begins a row of its own
        assert sum(row.learnt for row in rows) == sum(len(turn.reply_ids) for turn in one.turns)


def test_with_a_wider_window_the_turns_of_a_rollout_share_a_row(base: Path, tmp_path: Path) -> None:
    args = args_of(base, tmp_path, images=3)
    album = made_album(args)
    assert album is not None
    [environment] = made_environments(replace(args, environments=1))
    [one], _ = lockstep(made_actor(args, album), [environment], [JobSource(["press"], lambda n: n).job(0)], 0)
    environment.close()
    assert [len(turn.images) for turn in one.turns] == [1, 2]
    assert one.turns[0].images[0] is one.turns[1].images[0]  # kept once


def test_what_is_recomputed_is_what_was_sampled(played: tuple[Args, Album, list[Trajectory]]) -> None:
    args, album, trajectories = played
    policy = made_policy(args)
    seen = experience(policy, trajectories, credit_of(args), budget=4096, vision=album.vision)
    apart = (seen.old - seen.sampled)[seen.mask].abs()
    print(f"{int(seen.mask.sum())} tokens, largest difference {float(apart.max()):.1e}")
    assert float(apart.max()) < 1e-4
    cut = experience(policy, trajectories, credit_of(args), budget=400, vision=album.vision)  # other neighbours
    assert torch.allclose(seen.old, cut.old, atol=1e-5)


def test_gradients_flow_and_the_pictures_matter(played: tuple[Args, Album, list[Trajectory]]) -> None:
    args, album, trajectories = played
    policy = made_policy(args)
    learner = Learner(policy, args, vision=album.vision)
    told = learner.update(experience(policy, trajectories, credit_of(args), budget=4096, vision=album.vision))
    assert told["grad_norm"] > 0
    assert told["critic_grad_norm"] > 0
    blind = replace(album.vision, patches=lambda picture: torch.zeros_like(album.patches(picture)))
    seen = experience(policy, trajectories, credit_of(args), budget=4096, vision=album.vision)
    unseen = experience(policy, trajectories, credit_of(args), budget=4096, vision=blind)
    assert float((seen.old - unseen.old)[seen.mask].abs().max()) > 1e-3


# -- learning ----------------------------------------------------------------------------------------------------------


class Coloured:
    """One turn and one screenshot, red or blue; a reply that begins with a token of the colour's half is worth 1."""

    def __init__(self, good: set[int]) -> None:
        self.good, self.red, self.reward = good, False, 0.0

    def reset(self, task: str, seed: int) -> Prompt:
        self.red = seed % 2 == 0
        colour = (250, 5, 5) if self.red else (5, 5, 250)
        return Prompt((Message("user", "<image>", (shot(56, 56, colour),)),))

    def step(self, reply: Reply) -> None:
        self.reward = float((reply.token_ids[0] in self.good) is self.red)

    def score(self) -> Score:
        return Score(self.reward, "end", (self.reward,), (0,))

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_a_policy_learns_to_tell_two_pictures_apart(base: Path, tmp_path: Path) -> None:
    model, _ = load_base(base)
    good = set((model.lm_head.weight[:, 0] > 0).nonzero()[:, 0].tolist())
    args = args_of(base, tmp_path, max_new_tokens=1, lr=0.01, critic_lr=0.01, alpha=0.5, warmup=1, epochs=2, rank=8)
    album = made_album(args)
    assert album is not None
    learner = Learner(made_policy(args), args, vision=album.vision)
    actor = made_actor(args, album)
    environments, jobs = [Coloured(good) for _ in range(48)], JobSource(("look",), lambda n: n)
    shares: list[float] = []
    for step in range(16):
        if sum(shares[-2:]) > 2 * 0.9:
            break
        learner.publish(actor, tmp_path)
        found, _ = lockstep(actor, environments, [jobs.job(48 * step + n) for n in range(48)], 0)
        shares.append(sum(one.solved for one in found) / 48)
        seen = experience(learner.policy, found, credit_of(args), budget=args.budget, vision=album.vision)
        learner.update(seen)
        learner.version += 1
    print(shares)
    assert sum(shares[:2]) / 2 < 0.7
    assert sum(shares[-2:]) / 2 > 0.9


# -- the album ---------------------------------------------------------------------------------------------------------


def test_a_picture_is_kept_once_and_as_long_as_a_turn_holds_it(base: Path) -> None:
    album = Album(load_tokenizer(base), min_pixels=28 * 28, max_pixels=16 * 28 * 28)
    one, same, other = shot(200, 100, (9, 8, 7)), shot(200, 100, (9, 8, 7)), shot(200, 100, (9, 8, 6))
    kept = album.picture(one)
    assert album.picture(same) is kept
    assert album.picture(other) != kept
    assert kept.grid == (1, 4, 10)
    assert kept.tokens == 10
    assert album.image(kept).size == (140, 56)
    patches, grid = album.sight.patches(one)
    assert torch.equal(patches, album.vision.patches(kept))
    assert grid == kept.grid
    turn = SampledTurn((1,), (2,), images=(kept,))
    del kept
    gc.collect()
    assert album.held == 1
    del turn
    gc.collect()
    assert album.held == 0


def test_a_reply_that_says_the_image_token_is_left_out_with_what_follows(base: Path) -> None:
    album = Album(load_tokenizer(base))
    token = album.vision.image_token
    turns = [SampledTurn((1, 2), (3, 4)), SampledTurn((1, 2, 3, 4, 5), (3, token)), SampledTurn((1, 2), (3, 4))]
    [row] = rows_of(turns, image_token=token)
    assert row.ids == (1, 2, 3, 4)
    assert row.ended == "cut"


def test_a_base_without_eyes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="leave --dialect uitars out"):
        made_album(Args(dialect="uitars"))
    with pytest.raises(SystemExit, match="reads text only"):
        check(Args(dialect="uitars", actor="llama_cpp"))
