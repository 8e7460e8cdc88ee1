"""Tutorials: what is a how-to is kept once, secrets covered, whatever the order of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training.ct import read_texts
from training.tutorials import collect, main, sections

RENAME = """# Files
## Rename a file
You can rename any file that you own.

1. Open the file manager and go to the folder.
2. Right-click the file and choose Rename in the menu.

   The name can be edited now.
3. Type the new name and press the Enter key.
"""
PAGE = """<html><head><style>p {{color: red}}</style></head><body><nav>
<li>Click the menu button to open a page</li></nav>
<main><h1>Browser</h1><h2>Save a page</h2><ol><li>Open the page and press <b>Ctrl</b>+S.</li>
<li>Choose a folder in the dialog.</li><li>Click the <i>Save</i> button, your token is {secret}</li></ol>
<h2>History</h2><p>The browser was first shown at a conference, and its makers were proud of it for many years, since
nobody had thought that such a thing could be made by so few people in such a short time.</p></main></body></html>"""
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    howtos = tmp_path / "howtos"
    (howtos / "deep").mkdir(parents=True)
    (howtos / "rename.md").write_text(RENAME)
    (howtos / "deep" / "again.md").write_text(RENAME.replace("that you own", "which you own"))  # a near copy
    (howtos / "save.html").write_text(PAGE.format(secret=SECRET))
    (howtos / "broken.md").write_bytes(b"\xff\xfe\x00 click the button")
    (howtos / "short.md").write_text("# Undo\nPress the key.")
    (howtos / "notes.txt").write_text(RENAME)
    return howtos


def test_only_steps_at_a_screen_are_kept_and_copies_once(folder: Path) -> None:
    rows, counts = collect(folder)
    assert sorted(row["source"] for row in rows) == ["deep/again.md", "save.html"]
    assert counts["left out: a copy"] == 1
    assert counts["left out: no steps at a screen"] == 1  # the history of the browser
    assert counts["left out: too short"] == 1
    assert counts["files that cannot be read as UTF-8"] == 1
    assert counts["files"] == 5
    assert not any("conference" in row["text"] or "nav" in row["text"] for row in rows)


def test_steps_keep_their_numbers_and_titles_their_place() -> None:
    found = list(sections(RENAME, ".md"))
    assert [section.title for section in found] == ["Files: Rename a file"]
    assert found[0].lines[1] == "1. Open the file manager and go to the folder."
    assert found[0].lines[2].startswith("2. Right-click")
    assert found[0].lines[3] == "The name can be edited now."
    assert found[0].lines[4].startswith("3. Type")


def test_secrets_are_covered_and_the_trainer_reads_the_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "tutorials.jsonl"
    assert main([str(folder), "--out", str(out)]) == 0
    assert SECRET not in out.read_text()
    assert len(read_texts(str(out))) == 2
    assert all(json.loads(line)["sha256"] for line in out.read_text().splitlines())


def test_the_same_folder_gives_the_same_file(folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    main([str(folder), "--out", str(files[0])])
    for path in sorted(folder.rglob("*.md"), reverse=True):  # written anew, in another order
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    main([str(folder), "--out", str(files[1])])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_missing_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 1
    assert "There is no folder" in capsys.readouterr().err
