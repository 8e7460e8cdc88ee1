"""The small model of the trainers' own tests and experiments: from nothing to a policy that solves some small forms.

    python -m training.tiny --out runs/tiny

A byte-level tokenizer of some hundred words and a Llama of a hundred thousand weights, both made here from episodes of
the suite `pretend_small`: first from the teacher's, which teach it to read a form and to do what it names, then from
those of somebody careless, who at more than every second turn takes another button, fills another field in, or says too
early that it is done. Sampled at temperature 1 it then solves fewer than three forms in ten. Which of the things it can
do are worth doing is left to reinforcement learning. The same arguments give the same files.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agent_core.actions import Action, Click, Finished, Type
from agent_core.dialects.elements import Elements
from agent_core.step import CHATML_STOP, Element, Prompt, Reply
from agent_core.traces.store import NoTrace
from training.episodes import EpisodeEnvironment, NoReader
from training.examples import IGNORED, Example, collate, example
from training.jobs import JobSource
from training.lockstep import lockstep
from training.rollouts import run_episode
from training.runs import RunFolder, knob, parse
from training.serving import TransformersActor
from training.tasks import suite
from training.tasks.desk_words import CITIES, FIRST_NAMES
from training.tasks.pretend import FormTeacher
from training.tasks.task import seed_of

SPECIAL = ("<|pad|>", "<|im_start|>", CHATML_STOP)


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json."""

    out: str = knob("runs/tiny", "run folder; the model lies in its folder `model`")
    suite: str = knob("pretend_small", "suite whose teachers are learnt from")
    episodes: int = knob(2000, "teachers' episodes a task")
    vocabulary: int = knob(640, "words of the tokenizer")
    width: int = knob(64, "hidden size")
    layers: int = knob(2, "layers")
    steps: int = knob(800, "optimiser steps on the teacher's episodes")
    mistakes: float = knob(0.6, "share of the careless one's turns at which something else is done than is right")
    careless_steps: int = knob(200, "optimiser steps on episodes of the careless one")
    batch_rows: int = knob(48, "rows in a batch")
    lr: float = knob(5e-3, "highest learning rate")
    prompts: float = knob(0.1, "weight of the loss on prompts")
    check_every: int = knob(100, "steps between looks at the share of forms solved, sampled at temperature 1")
    check_rollouts: int = knob(48, "rollouts at each look, of training seeds")
    seed: int = knob(0, "seed of weights and order")
    threads: int = knob(1, "torch threads")


def main(argv: Sequence[str] | None = None) -> None:
    make(parse(Args, argv, "python -m training.tiny", __doc__))


def make(args: Args) -> Path:
    """Makes tokenizer and model; returns the folder that both lie in, as transformers reads it."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    folder = RunFolder(Path(args.out), args, done=0)
    right = demonstrations(args.suite, args.episodes)
    tokenizer = words([prompt + reply + CHATML_STOP for prompt, reply in right], args.vocabulary)
    model = LlamaForCausalLM(shape(args, len(tokenizer)))
    model.set_attn_implementation("eager")  # for rows this short it is twice as fast on a CPU
    learn(model, tokenizer, right, args.steps, args, folder)
    learn(model, tokenizer, demonstrations(args.suite, args.episodes, args.mistakes), args.careless_steps, args, folder)
    to = Path(args.out) / "model"
    model.save_pretrained(str(to))
    tokenizer.save_pretrained(str(to))
    folder.close()
    print(f"{sum(p.numel() for p in model.parameters())} weights, {len(tokenizer)} words: {to}")
    return to


class Careless:
    """A model that does what the teacher says at some turns, and at the others something that the screen offers."""

    name = "careless"

    def __init__(self, teacher: FormTeacher, mistakes: float, rng: random.Random) -> None:
        self._teacher, self._mistakes, self._rng = teacher, mistakes, rng

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        shot = self._teacher.desktop.look()
        if self._teacher.desktop.form.submitted or self._rng.random() >= self._mistakes:
            return self._teacher.reply(prompt, stop)
        return Reply(self._teacher.dialect.write(*self._something(shot.elements), shot))

    def close(self) -> None:
        """Nothing is held."""

    def _something(self, elements: Sequence[Element]) -> tuple[str, list[Action]]:
        if self._rng.random() < 0.25:
            return "The task is done.", [Finished()]
        one = self._rng.choice(elements)
        if one.kind == "field":
            text = self._rng.choice((*FIRST_NAMES, *CITIES))
            return f'Type "{text}" into the field "{one.text}".', [Click(one.point), Type(text)]
        return f'Click "{one.text}".', [Click(one.point)]


def demonstrations(suite_name: str, episodes: int, mistakes: float = 0.0) -> list[tuple[str, str]]:
    """(prompt, reply) of every turn of somebody who makes mistakes, through the program's own loop."""
    source = suite(suite_name)
    rows = []
    for n in range(episodes):
        for task in source.tasks():
            seed = seed_of(n, "train")
            episode = source.open(task, seed, "train")
            assert isinstance(episode.teacher, FormTeacher)
            shows = Careless(episode.teacher, mistakes, random.Random(f"{task} {seed}"))
            shown = run_episode(suite_name, task, seed, episode, shows, NoReader(), NoTrace(), Elements(), 8)
            episode.close()
            rows += [(turn.prompt.chatml(), turn.reply.text) for turn in shown.turns]
    return rows


def words(texts: Sequence[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer learnt from the texts.

    Numbers stand alone, and so do words with a capital, so that a place or a label is the same token wherever it is;
    what lies between them may become one token, blanks and brackets and all.
    """
    bpe = Tokenizer(models.BPE())
    apart = pre_tokenizers.Split(Regex(r"[A-Z]+[a-z]*|\d+"), behavior="isolated")
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [apart, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token=SPECIAL[0], eos_token=CHATML_STOP)


def shape(args: Args, vocabulary: int) -> LlamaConfig:
    """A Llama small enough for one processor core."""
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=args.width,
        intermediate_size=args.width * 5 // 2,
        num_hidden_layers=args.layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=SPECIAL.index(CHATML_STOP),
    )


def learn(
    model: LlamaForCausalLM,
    tokenizer: Any,
    rows: Sequence[tuple[str, str]],
    steps: int,
    args: Args,
    folder: RunFolder,
) -> None:
    """Next-token loss over whole rows, prompts too: a model from nothing has to learn to read before it can reply."""
    examples = [example(tokenizer, prompt, reply) for prompt, reply in rows]
    generator = torch.Generator().manual_seed(args.seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, args.lr, total_steps=steps, pct_start=0.1)
    batches: list[list[Example]] = []
    began = time.monotonic()
    for step in range(1, steps + 1):
        batches = batches or mixed(examples, args.batch_rows, generator)
        batch = collate(batches.pop(), 0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=batch.ids, attention_mask=batch.attention).logits[:, :-1].float().flatten(0, 1)
        replies, shown = batch.labels[:, 1:].flatten(), batch.attention[:, 1:].flatten() == 1
        prompts = batch.ids[:, 1:].flatten().masked_fill((replies != IGNORED) | ~shown, IGNORED)
        replied = cross_entropy(logits, replies, ignore_index=IGNORED)
        loss = replied + args.prompts * cross_entropy(logits, prompts, ignore_index=IGNORED)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        schedule.step()
        folder.log(step=step, loss=loss.item(), reply_loss=replied.item())
        if step % args.check_every == 0:
            share = solved(model, tokenizer, args)
            folder.log(step=step, success=share)
            spent = time.monotonic() - began
            print(f"step {step}/{steps} reply {replied.item():.3f} success {share:.3f} {spent:.0f} s", flush=True)


def solved(model: LlamaForCausalLM, tokenizer: Any, args: Args) -> float:
    """The share of forms that the model solves, sampled at temperature 1."""
    source = suite(args.suite)
    actor = TransformersActor.of_model(model.eval(), tokenizer, 48)
    environments = [EpisodeEnvironment(source, max_steps=8) for _ in range(48)]
    jobs = JobSource(source.tasks(), lambda n: seed_of(n + args.episodes, "train"))
    played, _ = lockstep(actor, environments, [jobs.job(n) for n in range(args.check_rollouts)], args.seed)
    for environment in environments:
        environment.close()
    model.train()
    return sum(one.solved for one in played) / len(played)


def mixed(examples: Sequence[Example], rows: int, generator: torch.Generator) -> list[list[Example]]:
    """All rows once, in batches of every kind of turn."""
    order = torch.randperm(len(examples), generator=generator).tolist()
    return [[examples[i] for i in order[n : n + rows]] for n in range(0, len(order) - rows + 1, rows)]


if __name__ == "__main__":
    main()
