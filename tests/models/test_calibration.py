"""The nine-target check: models that find a button by its colour and answer in one way of counting or another."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import numpy as np
import pytest
import tomli_w

from agent_core import check_model, paths
from agent_core.dialects.qwen_vl import QwenVl
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.dialects.uitars2 import UiTars2
from agent_core.errors import Stopped
from agent_core.models import manifest as manifests
from agent_core.models.calibration import TARGETS, Calibration, calibrate, keep, page, warning
from agent_core.step import Prompt, Reply, Screenshot

PIXELS = UiTarsRules(coordinates="pixels", places="box", max_pixels=2700 * 784)


class Seeing:
    """Finds the button that the task names by the pixels of its colour, and says where it is in its own numbers."""

    name = "seeing"

    def __init__(self, answer: Callable[[float, float, Screenshot], str]) -> None:
        self._answer = answer

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        shot = prompt.messages[-1].images[0]
        task = next(m.text for m in prompt.messages if 'Click the button "' in m.text)
        colour = dict(TARGETS)[task.split('Click the button "')[1].split('"')[0]]
        pixels = np.frombuffer(shot.rgb, np.uint8).reshape(shot.height, shot.width, 3)
        rows, columns = np.nonzero((pixels == colour).all(axis=2))
        x, y = (columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2
        return Reply(self._answer(x / shot.width, y / shot.height, shot))

    def close(self) -> None:
        """Nothing is open."""


def thousandths(x: float, y: float, shot: Screenshot) -> str:
    return f"Action: click(start_box='({round(x * 1000)},{round(y * 1000)})')"


def resized(x: float, y: float, shot: Screenshot) -> str:
    scale = UiTars(PIXELS).scale(shot)
    return f"Action: click(start_box='({round(x * scale.width)},{round(y * scale.height)})')"


def unresized(x: float, y: float, shot: Screenshot) -> str:
    return f"Action: click(start_box='({round(x * shot.width)},{round(y * shot.height)})')"


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080), (3840, 2160)])
@pytest.mark.parametrize("right", [True, False])
def test_the_right_rule_passes(size: tuple[int, int], right: bool) -> None:
    dialect, answer = (UiTars(PIXELS), resized) if right else (UiTars2(), thousandths)
    result = calibrate("seer", Seeing(answer), dialect, Event(), size=size)
    assert (result.passed, result.hits, result.fits) == (True, 9, "")
    assert max(error or 0 for error in result.errors) < 0.002
    assert result.sentence == "The model 'seer' hits 9 of 9 targets."


def test_thousandths_taken_for_pixels_are_found_out() -> None:
    result = calibrate("seer", Seeing(thousandths), UiTars(PIXELS), Event())
    assert not result.passed
    assert "read as thousandths of the screenshot (0..1000): correct the [screen] part" in result.sentence


def test_pixels_taken_for_thousandths_are_found_out() -> None:
    result = calibrate("seer", Seeing(resized), UiTars(UiTarsRules(places="box")), Event())
    assert (result.passed, result.fits) == (False, "pixels of the resized screenshot")


def test_a_picture_that_the_server_did_not_resize_is_found_out() -> None:
    """On a large screen the cap of the manifest and the picture as it is differ by far."""
    result = calibrate("seer", Seeing(unresized), UiTars(PIXELS), Event(), size=(3840, 2160))
    assert not result.passed
    assert result.fits in ("pixels of the resized screenshot without a cap", "pixels of the screenshot as it is")


def test_another_dialect_and_a_blind_model_are_told_apart() -> None:
    silent = calibrate("seer", Seeing(lambda x, y, shot: "I see a button."), QwenVl(), Event())
    assert "its dialect seems to be another" in silent.sentence
    blind = calibrate("seer", Seeing(lambda x, y, shot: thousandths(0.5, 0.5, shot)), UiTars2(), Event())
    assert "damaged, too coarse or without its eyes" in blind.sentence


def test_a_stop_ends_the_check() -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        calibrate("seer", Seeing(thousandths), UiTars2(), stop)


@pytest.mark.parametrize("size", [(800, 600), (1280, 800), (3840, 2160), (1080, 2400)])
def test_the_targets_lie_apart_and_on_the_page(size: tuple[int, int]) -> None:
    _, boxes = page(*size)
    assert len(boxes) == len({word for word, _ in TARGETS}) == 9
    for n, box in enumerate(boxes):
        assert 0 <= box.left < box.right <= 1
        assert 0 <= box.top < box.bottom <= 1
        for other in boxes[:n]:
            apart = box.left > other.right or other.left > box.right or box.top > other.bottom or other.top > box.bottom
            assert apart


def test_the_command_checks_a_model_and_says_how_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    shot, boxes = page(1280, 800)
    paths.models_folder().mkdir(parents=True)
    replies = [thousandths(box.centre.x, box.centre.y, shot) for box in boxes]
    told = {"dialect": "uitars", "kind": "scripted", "replies": replies, "screen": {"places": "box"}}
    (paths.models_folder() / "good.toml").write_text(tomli_w.dumps(told), encoding="utf-8")
    told["screen"] = {"places": "box", "coordinates": "pixels"}
    (paths.models_folder() / "bad.toml").write_text(tomli_w.dumps(told), encoding="utf-8")
    assert check_model.main(["good"]) == 0
    assert "hits 9 of 9" in capsys.readouterr().out
    assert check_model.main(["bad"]) == 1
    assert "read as thousandths" in capsys.readouterr().out
    assert check_model.main(["bundled"]) == 1
    assert "there is no need" in capsys.readouterr().err
    assert check_model.main(["good", "--size", "big"]) == 1
    assert "not a size" in capsys.readouterr().err


def test_a_model_is_warned_of_until_its_check_passed() -> None:
    server = manifests.find("ui-tars-1.5-7b-server")
    assert "was not checked on this computer yet" in warning(server)
    keep(server, "", Calibration((None,) * 9, "It misses."))
    assert warning(server) == "It misses."
    assert "was not checked" in warning(server, "http://another:8000/v1")
    keep(server, "", Calibration((0.0,) * 9, "It hits."))
    assert warning(server) == ""
    assert warning(manifests.find("bundled")) == ""
