"""Mistakes as lessons: the right step in the state of the wrong one, and the step that owns up to it and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.actions import Action, Click
from agent_core.step import Prompt, Screenshot, Tier, Verdict
from agent_core.traces.store import TraceStore
from tests.training import played_runs, tiny_runs
from tests.training.played_runs import DONE, NO_PLACE, OK_PLACE, click, fill
from training import dpo, reflect, sft
from training.curate import read_rows, sources
from training.examples import example
from training.pairs import read_pairs
from training.policy import load_base
from training.reflect import Lesson
from training.replies import parts_of, thought_of

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

RIGHT_NAME = fill("bob", 'Type "bob" into the field "Name".')
WRONG = click(NO_PLACE, 'Click "No".')
PRESS = click(OK_PLACE, 'The name is in; click "OK".')


def lessons_of(folder: Path) -> dict[str, list[Lesson]]:
    found = reflect.reflect(folder)
    return {kind: [one for one in found if one.kind == kind] for kind in ("error_correction", "post_reflection")}


def test_a_correction_teaches_the_step_and_what_to_do_after_it(tmp_path: Path) -> None:
    with played_runs.opened(tmp_path) as store:
        run = played_runs.play(store, [WRONG, RIGHT_NAME, PRESS, DONE], score=1.0)
        store.label(run, 1, "correction", None, RIGHT_NAME, "person")
    turns = played_runs.read(tmp_path).turns(run)
    found = lessons_of(tmp_path)
    (corrected,) = found["error_correction"]
    assert (corrected.prompt, corrected.chosen, corrected.rejected) == (turns[0].prompt, RIGHT_NAME, WRONG)
    (after,) = found["post_reflection"]
    assert after.prompt == turns[1].prompt
    assert parts_of(after.prompt).past == ('1 Click "No".', "2 Nothing changed.")  # the mistake stays
    assert thought_of(after.chosen) == 'That was wrong: Click "No". Type "bob" into the field "Name".'
    assert after.chosen.endswith(RIGHT_NAME.partition("\n")[2])
    assert after.rejected == ""  # what would have been wrong there is not known


def test_a_second_correction_is_better_than_what_was_done(tmp_path: Path) -> None:
    with played_runs.opened(tmp_path) as store:
        run = played_runs.play(store, [WRONG, WRONG, DONE], score=0.0)
        store.label(run, 1, "correction", None, RIGHT_NAME, "person")
        store.label(run, 2, "correction", None, RIGHT_NAME, "person")
    found = lessons_of(tmp_path)
    assert len(found["error_correction"]) == 2
    (after,) = found["post_reflection"]  # after the second there is no word on what is right
    assert after.rejected == WRONG
    assert thought_of(after.chosen).startswith("That was wrong: ")


def test_a_teachers_word_on_a_policys_steps(tmp_path: Path) -> None:
    prompts: list[str] = []
    replies = iter([WRONG, WRONG, DONE])

    def says(prompt: Prompt) -> str:
        prompts.append(prompt.chatml())
        return next(replies)

    with played_runs.opened(tmp_path) as store:
        played_runs.play(store, says, score=0.0, model="bundled+teacher")
    rows = [{"prompt": prompt, "reply": RIGHT_NAME, "group": "pretend/name", "run": "r"} for prompt in prompts]
    (tmp_path / "lessons.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = lessons_of(tmp_path)
    assert [one.rejected for one in found["error_correction"]] == [WRONG, WRONG, DONE]
    assert [one.rejected for one in found["post_reflection"]] == [WRONG, DONE]


def test_another_order_than_a_teachers_is_not_called_wrong(tmp_path: Path) -> None:
    prompts: list[str] = []
    replies = iter([fill("ann", "Type ann."), click(OK_PLACE, "Press it."), DONE])

    def says(prompt: Prompt) -> str:
        prompts.append(prompt.chatml())
        return next(replies)

    with played_runs.opened(tmp_path) as store:
        played_runs.play(store, says, score=0.0, model="bundled+teacher")
    teacher = [PRESS, RIGHT_NAME, click(NO_PLACE, "Close it.")]  # OK first; then the name again; then something else
    rows = [{"prompt": p, "reply": r, "group": "g", "run": "r"} for p, r in zip(prompts, teacher, strict=True)]
    (tmp_path / "lessons.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = lessons_of(tmp_path)
    assert len(found["error_correction"]) == 3
    (after,) = found["post_reflection"]  # the wrong name is typed over; OK may have been pressed before or after
    assert thought_of(after.chosen).startswith("That was wrong: Type ann. Type")


@pytest.mark.parametrize("kind", ["take_over", "wrong_step", "instead"])
def test_where_only_the_mistake_is_known_the_run_itself_shows_how_to_go_on(tmp_path: Path, kind: str) -> None:
    with played_runs.opened(tmp_path) as store:
        solved = played_runs.play(store, [WRONG, RIGHT_NAME, PRESS, DONE], score=1.0)
        failed = played_runs.play(store, [WRONG, RIGHT_NAME, DONE], score=0.0)
        again = played_runs.play(store, [WRONG, WRONG, RIGHT_NAME, PRESS, DONE], score=1.0)
        for run in (solved, failed, again):
            store.label(run, 1, kind, None, "", "person")  # type: ignore[arg-type]
    found = lessons_of(tmp_path)
    assert found["error_correction"] == []
    (after,) = found["post_reflection"]  # not of a run that failed, and not where the mistake is made again
    assert after.run == solved


def test_a_refusal_in_the_loop_is_such_a_mistake(tmp_path: Path) -> None:
    with played_runs.opened(tmp_path) as store:
        played_runs.play(store, [WRONG, RIGHT_NAME, PRESS, DONE], decide=refuses("No"), score=1.0)
    (after,) = lessons_of(tmp_path)["post_reflection"]
    assert "The user" in after.prompt  # what they said stands in the past
    assert thought_of(after.chosen).startswith('That was wrong: Click "No". Type')


def test_nothing_is_learnt_from_what_was_right_or_from_words_alone(tmp_path: Path) -> None:
    with played_runs.opened(tmp_path) as store:
        run = played_runs.play(store, [RIGHT_NAME, PRESS, DONE], score=1.0)
        store.label(run, 1, "correction", None, RIGHT_NAME.replace("Type", "I type"), "person")
        store.label(run, 3, "correction", None, "I would have waited.", "person")
    assert reflect.reflect(tmp_path) == []


def test_other_consents_stay_out_and_persons_texts_are_redacted_again(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db", tmp_path / "images", sandbox_as_is=True) as store:
        for consent in ("settings", "replay_only"):
            run = played_runs.play(store, [WRONG, PRESS, DONE], consent=consent, score=1.0)
            store.label(run, 1, "correction", None, PRESS, "person")
    found = reflect.reflect(tmp_path)
    assert {one.run for one in found} == {
        r.run.id for r in played_runs.read(tmp_path).runs() if r.run.consent == "settings"
    }
    assert {one.group for one in found} == {"app"}


def test_the_trainers_read_what_is_written_and_learn_the_right_step_only(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    with played_runs.opened(data) as store:
        for _ in range(3):
            run = played_runs.play(store, [WRONG, RIGHT_NAME, PRESS, DONE], score=1.0)
            store.label(run, 1, "correction", None, RIGHT_NAME, "person")
    reflect.main(["--data", str(data), "--out", str(out)])
    first = (out / "lessons.jsonl").read_bytes(), (out / "pairs.jsonl").read_bytes()
    rows = read_rows(sources(str(out)))
    assert len(rows) == 2  # the three runs are alike
    (pair,) = read_pairs(str(out / "pairs.jsonl"))
    assert (pair.kind, pair.rejected) == ("error_correction", WRONG)
    model = tiny_runs.model_folder(tmp_path / "model")
    _, tokenizer = load_base(model)
    for row in rows:
        one = example(tokenizer, row.prompt, row.reply)
        assert tokenizer.decode(one.ids[-one.learnt :]) == row.reply + tiny_runs.STOP
        assert WRONG.splitlines()[1] not in tokenizer.decode(one.ids[-one.learnt :])
    knobs = sft.Args(
        data=str(out),
        out=str(tmp_path / "sft"),
        base=str(model),
        epochs=1.0,
        rank=2,
        alpha=4,
        warmup=1,
        precision="float32",
        held_back=0.0,
        max_tokens=4000,
        threads=1,
    )
    sft.train(knobs)
    assert (tmp_path / "sft" / "adapter" / "adapter_model.safetensors").exists()
    assert len(dpo.tokenise(tokenizer, [pair], 4000)[0]) == 1
    reflect.main(["--data", str(data), "--out", str(out)])
    assert first == ((out / "lessons.jsonl").read_bytes(), (out / "pairs.jsonl").read_bytes())


def refuses(label: str) -> Callable[[Action, Screenshot, str], Verdict]:
    """A person who refuses a click on the element with that label."""

    def decide(action: Action, shot: Screenshot, task: str) -> Verdict:
        on = shot.under(action.at) if isinstance(action, Click) else None
        if on is not None and on.text == label:
            return Verdict("deny", Tier.R3, "no", "person", "Enter the name first.")
        return played_runs.allow(action, shot, task)

    return decide
