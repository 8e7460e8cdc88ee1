"""The small model of the trainers' experiments, and the small forms that it is made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.step import CHATML_STOP
from training import tiny
from training.policy import load_base
from training.tasks import suite
from training.tasks.task import seed_of


@pytest.mark.parametrize("task", suite("pretend_small").tasks())
def test_the_teacher_solves_every_small_form_and_its_words_are_plain(task: str) -> None:
    rows = tiny.demonstrations("pretend_small", 20)
    assert all(reply for _, reply in rows)
    source = suite("pretend_small")
    first, again = (source.open(task, seed_of(3, "train"), "train") for _ in range(2))
    assert first.task == again.task
    with pytest.raises(ValueError, match="not one of the train seeds"):
        source.open(task, seed_of(0, "held_out"), "train")
    with pytest.raises(ValueError, match="there is no task"):
        source.open("fly", 0, "train")


def test_the_careless_one_fails_at_about_half_of_the_turns() -> None:
    right = tiny.demonstrations("pretend_small", 60)
    careless = tiny.demonstrations("pretend_small", 60, mistakes=0.5)
    taught = dict(right)
    same = [taught[prompt] == reply for prompt, reply in careless if prompt in taught]
    assert 0.4 < sum(same) / len(same) < 0.75  # some of what is done at random is right


def test_a_label_or_a_place_is_the_same_token_wherever_it_stands() -> None:
    texts = [prompt + reply + CHATML_STOP for prompt, reply in tiny.demonstrations("pretend_small", 150)]
    tokenizer = tiny.words(texts, 640)
    for text in texts[:20]:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    [save] = tokenizer.encode("Save")
    assert save in tokenizer.encode("Press Save once")
    assert save in tokenizer.encode('click "Save".')
    [place] = tokenizer.encode("740")
    assert place in tokenizer.encode("button Save 300 740")
    assert place in tokenizer.encode("<point>300 740</point>")


def test_it_is_made_the_same_for_the_same_arguments(tmp_path: Path) -> None:
    def made(name: str) -> dict[str, object]:
        args = tiny.Args(
            out=str(tmp_path / name), episodes=10, steps=3, careless_steps=2, check_every=3, check_rollouts=6, width=32
        )
        model, _ = load_base(tiny.make(args))
        return {key: value.sum().item() for key, value in model.state_dict().items()}

    assert made("one") == made("two")
