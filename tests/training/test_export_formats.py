"""Runs written for other people's programs, read back the way those read them: places, good turns, pictures, texts."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
    from_json,
)
from agent_core.dialects.coordinates import Coordinates
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.operators.geometry import to_device
from agent_core.step import Outcome, Screenshot, Status, Step, Tier, Transform, Verdict
from agent_core.traces import images
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.bundles import small_turns
from tests.traces.sample import ALLOWED, RUN, desktop, record, turn_of
from training.exports import FORMATS, Args, export, main
from training.exports_python import Inexpressible, python_of

os.environ["HF_HUB_OFFLINE"] = "1"

SIZE = (643, 397)
PLACE = Transform("", 0, 0, *SIZE)
MAIL = "ann.lee@example.com"
TRICKY = 'it\'s "1 < 2"; quit()\n日本'
DONE = Outcome(True, changed=True, duration_ms=5.0)
INPUTS: tuple[Action, ...] = (
    Click(Point(0.0, 0.0)),
    Click(Point(0.123456, 0.98765)),
    DoubleClick(Point(1.0, 1.0)),
    RightClick(Point(0.5, 0.333)),
    Drag(Point(0.0101, 0.9), Point(0.777, 0.1234)),
    Scroll("down", Point(0.25, 0.75), 3),
    Scroll("left"),
    Hotkey(("ctrl", "shift", "t")),
    Hotkey(("pagedown",)),
    Press("shift"),
    Release("shift"),
    Type(TRICKY),
    Wait(),
    CallUser("Which one?"),
    Finished("Done."),
)
DENIED = Verdict("deny", Tier.R3, "This deletes files.", "person", "Leave them.", 10.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a good run, one that was scored 0, one with wrong steps, one with a shell and an excluded window."""
    folder = tmp_path_factory.mktemp("data")
    with TraceStore(folder / "traces.db", folder / "images", never_keep=("secret bank",)) as store:
        record_actions(store, "good", INPUTS)
        store.label("good", None, "score", 1.0, "x/good/1", "verifier")
        record_actions(store, "bad", INPUTS[:2])
        store.label("bad", None, "score", 0.0, "x/bad/1", "verifier")
        record_actions(store, "mixed", INPUTS[:6])
        store.label("mixed", 2, "wrong_step", None, f"Not there, {MAIL}", "person")
        record_actions(store, "sample", (Click(Point(0.1, 0.1)), Terminal("ls"), Click(Point(0.2, 0.2))))
        record(store, replace(RUN, id="steered"), small_turns("steered"))
        record_actions(store, "mail", (Type(f"{MAIL}\n"), Click(Point(0.3, 0.3))))
        hidden = replace(desktop("x", SIZE), window="My Secret Bank")
        record_actions(store, "bank", (Click(Point(0.4, 0.4)), Click(Point(0.6, 0.6))), {1: hidden})
    return folder


def record_actions(
    store: TraceStore, run_id: str, actions: tuple[Action, ...], shots: dict[int, Screenshot] | None = None
) -> None:
    """A run with one action a turn, each seen on a picture of its own."""
    made = []
    for n, action in enumerate(actions, start=1):
        shot = (shots or {}).get(n - 1) or desktop(f"{run_id} {n}", SIZE)
        turn = turn_of(n, shot, f"Step {n}.", action)
        made.append(replace(turn, steps=(Step(n, n, action, ALLOWED, None, DONE),)))
    record(store, replace(RUN, id=run_id, task=f"Task {run_id} for {MAIL}", tags=()), made)


@pytest.fixture
def written(data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of the format that the test is parametrised with, of all runs."""
    form, coordinates = request.param if isinstance(request.param, tuple) else (request.param, "thousand")
    export(Args(format=form, data=str(data), out=str(tmp_path / "out"), coordinates=coordinates))
    return tmp_path / "out"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def calls(code: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """(function, arguments, keyword arguments) of each call in a piece of Python, which is only read."""
    return [
        (
            ast.unparse(statement.value.func),
            [ast.literal_eval(arg) for arg in statement.value.args],
            {word.arg or "": ast.literal_eval(word.value) for word in statement.value.keywords},
        )
        for statement in ast.parse(code).body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    ]


def points(action: Action) -> list[Point]:
    match action:
        case Click(at) | DoubleClick(at) | RightClick(at):
            return [at]
        case Drag(start, end):
            return [start, end]
        case Scroll(_, at, _):
            return [at or Point(0.5, 0.5)]
        case _:
            return []


def pixels(action: Action) -> list[tuple[int, int]]:
    """Where the operator would have pressed on a screen of just this picture."""
    return [to_device(point, PLACE) for point in points(action)]


@pytest.mark.parametrize("written", ["osworld"], indirect=True)
def test_osworld_rows_say_what_was_done_in_pixels_of_the_screenshot(written: Path) -> None:
    rows = lines(written / "good" / "traj.jsonl")
    assert [row["step_num"] for row in rows] == list(range(1, len(INPUTS) + 1))
    for row, action in zip(rows, INPUTS, strict=True):
        if row["action"] in ("WAIT", "DONE"):
            continue
        places = [(kw["x"], kw["y"]) for _, _, kw in calls(row["action"]) if "x" in kw]
        assert places == pixels(action), action
    assert [row["action"] for row in rows[-3:]] == ["WAIT", "WAIT", "DONE"]
    assert [row["done"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert calls(rows[11]["action"]) == [("pyautogui.write", [], {"message": TRICKY})]
    assert calls(rows[7]["action"]) == [("pyautogui.hotkey", ["ctrl", "shift", "t"], {})]
    assert (written / "good" / "result.txt").read_text().strip() == "1.0"
    assert (written / "bad" / "result.txt").read_text().strip() == "0.0"
    assert not (written / "mixed" / "result.txt").exists()  # nobody judged it


@pytest.mark.parametrize("written", ["osworld"], indirect=True)
def test_osworld_pictures_are_those_after_each_step(written: Path, data: Path) -> None:
    traces = Traces(data / "traces.db", data / "images")
    turns = traces.turns("good")
    [first] = (written / "good").glob("step_0_*.png")
    assert shown(first) == turns[0].screenshot
    for row, following in zip(lines(written / "good" / "traj.jsonl"), turns[1:], strict=False):
        assert shown(written / "good" / row["screenshot_file"]) == following.screenshot
        assert row["screen_size"] == list(SIZE)
    assert lines(written / "good" / "traj.jsonl")[-1]["screenshot_file"] == ""


def size_of(file: Path) -> tuple[int, int]:
    with Image.open(file) as image:
        return image.size


def shown(file: Path) -> str:
    with Image.open(file) as image:
        return images.hash_of(images.Pixels(image.convert("RGB").tobytes(), image.width, image.height))


@pytest.mark.parametrize("written", ["osworld"], indirect=True)
def test_osworld_knows_the_shell_and_leaves_out_what_was_refused(written: Path) -> None:
    rows = lines(written / "sample" / "traj.jsonl")
    assert calls(rows[1]["action"]) == [("subprocess.run", [["bash", "-c", "ls"]], {})]
    assert not any("rm -r" in row["action"] for row in lines(written / "steered" / "traj.jsonl"))
    assert len(lines(written / "bank" / "traj.jsonl")) == 1  # it ends before the window that was excluded


@pytest.mark.parametrize("written", ["agentnet"], indirect=True)
def test_agentnet_lines_count_in_fractions(written: Path) -> None:
    rows = {row["task_id"]: row for row in lines(written / "agentnet.jsonl")}
    good = rows["good"]
    assert (good["task_completed"], rows["bad"]["task_completed"], rows["mixed"]["task_completed"]) == (
        True,
        False,
        None,
    )
    for entry, action in zip(good["traj"], INPUTS, strict=True):
        code = entry["value"]["code"]
        found = [(kw["x"], kw["y"]) for name, _, kw in calls(code) if "x" in kw and name.startswith("pyautogui")]
        assert len(found) == len(points(action))
        for (x, y), (left, top) in zip(found, pixels(action), strict=True):
            assert abs(x * SIZE[0] - left) <= 1
            assert abs(y * SIZE[1] - top) <= 1
        assert size_of(written / "images" / entry["image"]) == SIZE
    assert good["traj"][-1]["value"]["code"] == "computer.terminate(status='success')"
    assert [e["value"]["last_step_correct"] for e in rows["mixed"]["traj"]] == [True, False, True, True, True, True]
    assert len(rows["sample"]["traj"]) == 1  # AgentNet has no shell


@pytest.mark.parametrize(
    ("written", "coordinates"),
    [(("uitars-chat", rule), rule) for rule in ("thousand", "pixels")],
    indirect=["written"],
)
def test_uitars_rows_are_read_back_by_the_dialect(written: Path, coordinates: Coordinates) -> None:
    dialect = UiTars(UiTarsRules(coordinates=coordinates))
    rows = [row for row in lines(written / "uitars_chat.jsonl") if row["run"] == "good"]
    assert [row["turn"] for row in rows] == list(range(1, len(INPUTS) + 1))
    for row, action in zip(rows, INPUTS, strict=True):
        assert [m["loss_mask"] for m in row["messages"]] == [0] * (len(row["messages"]) - 1) + [1]
        assert row["messages"][-1]["role"] == "assistant"
        assert sum(m["content"].count("<image>") for m in row["messages"]) == len(row["images"]) <= 5
        assert all(size_of(written / name) == SIZE for name in row["images"])
        intent = dialect.parse(row["messages"][-1]["content"], Screenshot(b"", *SIZE, PLACE))
        assert intent.problems == ()
        [read] = intent.actions
        assert type(read) is type(action)
        if isinstance(action, Type):
            assert read == action
        if isinstance(action, Scroll) and action.at is None:
            continue
        for got, meant in zip(points(read), points(action), strict=True):
            wide, tall = row["coordinate_size"]
            assert abs(got.x - meant.x) * SIZE[0] <= SIZE[0] / wide / 2 + 1e-6
            assert abs(got.y - meant.y) * SIZE[1] <= SIZE[1] / tall / 2 + 1e-6
    if coordinates == "pixels":
        assert rows[0]["coordinate_size"] == [644, 392]  # the picture as the model is shown it
    assert rows[4]["images"][-1] == f"images/{shown(written / rows[4]['images'][-1])}.png"


@pytest.mark.parametrize("written", ["uitars-chat"], indirect=True)
def test_only_good_turns_are_learnt(written: Path) -> None:
    rows = lines(written / "uitars_chat.jsonl")
    learnt: dict[str, list[int]] = {}
    for row in rows:
        learnt.setdefault(row["run"], []).append(row["turn"])
        assert sum(m["loss_mask"] for m in row["messages"]) == 1
    assert "bad" not in learnt  # the whole run failed
    assert learnt["mixed"] == [1, 3, 4, 5, 6]  # a person said that the second step was wrong
    assert learnt["steered"] == [1, 2, 6]  # refused, unreadable, failed
    assert learnt["mail"] == [2]  # what was typed was taken out
    assert learnt["bank"] == [1]
    later = next(row for row in rows if row["run"] == "steered" and row["turn"] == 6)
    assert "The user refused and says: Leave the others alone." in json.dumps(later)


@pytest.mark.filterwarnings("ignore")  # of the library and what it loads
@pytest.mark.parametrize("written", ["hf", "hf-json"], indirect=True)
def test_hugging_face_datasets_loads_the_rows(written: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    file = next(written.glob("train.*"))
    kind = "parquet" if file.suffix == ".parquet" else "json"
    rows = load_dataset(kind, data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    good = rows.filter(lambda row: row["run"] == "good").sort("turn")
    assert len(good) == len(INPUTS)
    for row, action in zip(good, INPUTS, strict=True):
        [kept] = json.loads(row["actions"])
        assert from_json(kept) == action
        flat = [number for place in pixels(action) for number in place]
        assert row["pixels"] == [[] if isinstance(action, Scroll) and action.at is None else flat]
        size = row["image"].size if kind == "parquet" else size_of(written / row["image"])
        assert size == (row["width"], row["height"]) == SIZE
        assert row["completion"].startswith("Thought: Step")
        assert row["score"] == 1.0
    assert all(row["score"] is None and row["status"] == Status.FINISHED for row in rows if row["run"] == "mixed")


@pytest.mark.parametrize("written", FORMATS, indirect=True)
def test_no_secret_goes_out(written: Path) -> None:
    for file in written.rglob("*"):
        if file.is_file() and file.suffix != ".png":
            assert MAIL.encode() not in file.read_bytes(), file
            assert b"Secret Bank" not in file.read_bytes()


def test_pyautogui_names_of_keys() -> None:
    def press(*keys: str) -> str:
        return python_of(Hotkey(keys), lambda point: "")

    assert press("enter") == "pyautogui.press('enter')"
    assert press("ctrl", "plus") == "pyautogui.hotkey('ctrl', '+')"
    assert press("super", "F5") == "pyautogui.hotkey('win', 'f5')"
    for keys in (("«withheld»",), ("no such key",)):
        with pytest.raises(Inexpressible):
            press(*keys)


def test_the_command_tells_and_leaves_nothing_half(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["--format", "agentnet", "--data", str(data), "--out", str(out), "--runs", "good"]) == 0
    assert capsys.readouterr().out == f"{out}: 1 run as agentnet\n"
    assert main(["--format", "hf", "--data", str(data), "--out", str(out)]) == 1
    assert "something at" in capsys.readouterr().err
    assert main(["--data", str(tmp_path / "no"), "--out", str(tmp_path / "other")]) == 1
    assert "There is no run in" in capsys.readouterr().err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out"]
