"""`python -m agent_core.traces`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.traces.__main__ import main
from agent_core.traces.audit import AuditLog, Recorders
from agent_core.traces.store import TraceStore
from tests.traces.sample import RUN, record

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def kept() -> None:
    store = TraceStore()
    recorder = Recorders(AuditLog(), store)
    record(recorder)
    store.close()
    recorder.audit.close()


def test_it_runs_as_a_module_without_any_file() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_core.traces", "stats", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["runs"] == 0
    assert not paths.home().exists()


@pytest.mark.usefixtures("kept")
def test_stats_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["by_status"], found["turns"], found["steps"]) == (1, {"finished": 1}, 6, 7)
    assert (found["refused"], found["labels"], found["images"]) == (1, 2, 3)
    assert main(["stats"]) == 0
    assert "7 (1 refused)" in capsys.readouterr().out


@pytest.mark.usefixtures("kept")
def test_show_lists_runs_and_tells_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show"]) == 0
    assert RUN.task in capsys.readouterr().out
    assert main(["show", RUN.id]) == 0
    told = capsys.readouterr().out
    assert 'click on "New folder": Allowed (Reversible.), done in 62 ms' in told
    assert "run in the terminal: rm -r ~/Downloads: You refused it (This deletes files.), not done" in told
    assert "! The reply holds no action." in told
    assert main(["show", RUN.id, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["turns"][0]["steps"][0]["action"]["kind"] == "click"
    assert main(["show", "--search", "no such text", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.usefixtures("kept")
def test_export_writes_a_page_or_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", RUN.id, "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html")
    assert main(["export", RUN.id, "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["type"] for line in lines] == ["run"] + ["turn"] * 6 + ["label"] * 2
    assert all(Path(line["screenshot_file"]).exists() for line in lines if line["type"] == "turn")


@pytest.mark.usefixtures("kept")
def test_verify_finds_a_changed_line_and_a_changed_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify"]) == 0
    db = sqlite3.connect(paths.audit_file())
    db.execute("DROP TRIGGER audit_lines_are_never_updated")
    db.execute("UPDATE audit SET verdict = 'allow' WHERE verdict = 'deny'")
    db.commit()
    db.close()
    first, second, *_ = sorted(paths.images_folder().glob("??/*.png"))
    first.write_bytes(second.read_bytes())
    capsys.readouterr()
    assert main(["verify"]) == 1
    said = capsys.readouterr().err
    assert "was changed or taken out" in said
    assert f"{first} was changed after it was kept" in said


@pytest.mark.usefixtures("kept")
def test_delete_removes_and_says_how_much(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", "nope"]) == 1
    assert "No kept run has the id nope" in capsys.readouterr().err
    assert main(["delete", RUN.id]) == 0
    assert capsys.readouterr().out == "Deleted for good: 1 run, 3 images.\n"
    assert main(["delete", "--all"]) == 0
    assert main(["show"]) == 0
    assert "No runs are kept." in capsys.readouterr().out


def test_wrong_arguments_are_refused() -> None:
    for wrong in ([], ["delete"], ["delete", "x", "--all"], ["export"]):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 2
