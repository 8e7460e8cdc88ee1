"""Tasks in a text editor (Mousepad) that has a file open: write, add, replace, copy, save under a new name, close.

Checked by what the file holds, what the clipboard holds, and whether the editor still runs.
"""

from __future__ import annotations

from random import Random

from agent_core.actions import Type
from agent_core.step import Screenshot
from training.tasks.desk_task import DeskTask, Move, Stage, Values, in_window, keys
from training.tasks.desk_words import sentence, sentences, text_files

_SAVE = "ctrl s"


def _draw(rng: Random) -> Values:
    """A file with some lines of text, and a new line that is not among them."""
    *lines, new = sentences(rng, rng.randint(2, 5))
    file, other = text_files(rng, 2)
    return {"file": file, "other": other, "old": "\n".join(lines), "text": new}


def _draw_empty(rng: Random) -> Values:
    return {**_draw(rng), "old": "", "text": sentence(rng)}


def _open(stage: Stage, values: Values) -> None:
    stage.put(values["file"], values["old"])
    stage.start(["mousepad", values["file"]], f"{values['file']} - Mousepad")


def _holds(stage: Stage, values: Values, text: str) -> bool:
    return stage.text(values["file"]) == text


def _is_changed(shot: Screenshot) -> bool:
    """Mousepad marks the title of a text that is not saved."""
    return shot.window.startswith("*")


def _save() -> Move:
    return keys("Save the file with ctrl+s.", _SAVE)


def _write(values: Values) -> list[Move]:
    return [keys("Type the text.", Type(values["text"]), done=_is_changed), _save()]


def _append(values: Values) -> list[Move]:
    return [keys("Type the line at the end.", "ctrl end", Type("\n" + values["text"]), done=_is_changed), _save()]


def _insert(values: Values) -> list[Move]:
    return [keys("Type the line at the top.", "ctrl home", Type(values["text"] + "\n"), done=_is_changed), _save()]


def _replace(values: Values) -> list[Move]:
    return [keys("Select everything and type the new text.", "ctrl a", Type(values["text"]), done=_is_changed), _save()]


def _clear(values: Values) -> list[Move]:
    return [keys("Select everything and delete it.", "ctrl a", "delete", done=_is_changed), _save()]


def _copy(values: Values) -> list[Move]:
    return [keys("Select everything and copy it.", "ctrl a", "ctrl c")]


def _save_as(values: Values) -> list[Move]:
    return [
        keys("Open the dialog Save As with ctrl+shift+s.", "ctrl shift s", done=in_window("Save As")),
        keys("Type the new name and press Enter.", "ctrl a", Type(values["other"] + "\n")),
    ]


def _close(values: Values) -> list[Move]:
    return [keys("Close the editor with ctrl+q.", "ctrl q")]


EDITOR = (
    DeskTask(
        "editor_write",
        (
            'Type "{text}" into the empty file and save it.',
            'Write "{text}" in the text editor, then save the file.',
            'Put the text "{text}" into {file} and save.',
            'The open file is empty. Enter "{text}" and save the file.',
            'Please note "{text}" in the open document and store it.',
        ),
        _draw_empty,
        _open,
        lambda stage, values: _holds(stage, values, values["text"]),
        _write,
        "{file} is saved.",
    ),
    DeskTask(
        "editor_append",
        (
            'Add the line "{text}" at the end of {file} and save it.',
            'Append "{text}" as a new last line to the open file, then save.',
            'Write "{text}" below the last line and save the file.',
            'Put "{text}" on a new line at the bottom of the text and save.',
            'At the end of the open document, add a line that says "{text}" and save.',
        ),
        _draw,
        _open,
        lambda stage, values: _holds(stage, values, values["old"] + "\n" + values["text"]),
        _append,
        "The line is added and {file} is saved.",
    ),
    DeskTask(
        "editor_insert",
        (
            'Add the line "{text}" at the top of {file} and save it.',
            'Insert "{text}" as the first line of the open file, then save.',
            'Write "{text}" above the first line and save the file.',
            'Put "{text}" on a new line at the very beginning of the text and save.',
            'At the start of the open document, add a line that says "{text}" and save.',
        ),
        _draw,
        _open,
        lambda stage, values: _holds(stage, values, values["text"] + "\n" + values["old"]),
        _insert,
        "The first line is added and {file} is saved.",
    ),
    DeskTask(
        "editor_replace",
        (
            'Replace everything in {file} with "{text}" and save it.',
            'Delete the whole text, write "{text}" instead and save the file.',
            'Change the whole content of the open file to "{text}" and save.',
            'Overwrite all the text with "{text}", then save.',
            'The open document should only say "{text}". Change it and save.',
        ),
        _draw,
        _open,
        lambda stage, values: _holds(stage, values, values["text"]),
        _replace,
        "The text is replaced and {file} is saved.",
        consequential=True,
    ),
    DeskTask(
        "editor_clear",
        (
            "Delete all the text in {file} and save it.",
            "Empty the open file and save it.",
            "Remove everything from the text editor, then save the file.",
            "Erase the whole text and save.",
            "Make {file} an empty document and save it.",
        ),
        _draw,
        _open,
        lambda stage, values: _holds(stage, values, ""),
        _clear,
        "{file} is empty and saved.",
        consequential=True,
    ),
    DeskTask(
        "editor_copy",
        (
            "Copy the whole text of {file} to the clipboard.",
            "Select all the text in the editor and copy it.",
            "Copy everything in the open file.",
            "Put all the text of {file} on the clipboard.",
            "Take a copy of the complete text in the open document.",
        ),
        _draw,
        _open,
        lambda stage, values: stage.clipboard() == values["old"],
        _copy,
        "The text is on the clipboard.",
    ),
    DeskTask(
        "editor_save_as",
        (
            "Save the open file under the name {other}.",
            "Save {file} as {other}.",
            "Save a copy of the open file with the new name {other}.",
            "Use save as to store the text as {other}.",
            "Keep the open document in a new file called {other}.",
        ),
        _draw,
        _open,
        lambda stage, values: stage.text(values["other"]) == values["old"],
        _save_as,
        "The file is saved as {other}.",
    ),
    DeskTask(
        "editor_close",
        (
            "Close the text editor.",
            "Quit Mousepad.",
            "Close the window with {file}.",
            "Exit the editor, {file} is no longer needed.",
            "I am done with {file}, please shut the editor.",
        ),
        _draw,
        _open,
        lambda stage, values: stage.has_ended() and _holds(stage, values, values["old"]),
        _close,
        "The editor is closed.",
    ),
)
