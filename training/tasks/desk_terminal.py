"""Tasks that one shell command solves: folders, files, moving, copying, counting. Checked by what lies in the home.

Nothing is open on the screen. The agent has its own terminal, which starts in the home folder.
"""

from __future__ import annotations

from random import Random

from training.tasks.desk_task import DeskTask, Move, Stage, Values, terminal
from training.tasks.desk_words import folders, sentence, text_files


def _draw(rng: Random) -> Values:
    """Three files, two folders of which the first holds some files, and a line of text."""
    file, other, third = text_files(rng, 3)
    folder, target = folders(rng, 2)
    inside = rng.randint(3, 15)
    return {
        "file": file,
        "other": other,
        "third": third,
        "folder": folder,
        "target": target,
        "inside": str(inside),
        "text": sentence(rng),
        "line": sentence(rng),
    }


def _prepare(stage: Stage, values: Values) -> None:
    """The home holds `file`, `third` and `folder` with `inside` files; `other` and `target` do not exist."""
    stage.put(values["file"], values["line"] + "\n")
    stage.put(values["third"], "keep\n")
    for i in range(int(values["inside"])):
        stage.put(f"{values['folder']}/page{i}.txt", "page\n")


def _exists(stage: Stage, name: str) -> bool:
    return (stage.home / name).exists()


def _line(values: Values) -> str:
    return values["line"]


def _is_deleted(stage: Stage, values: Values) -> bool:
    return not _exists(stage, values["file"]) and _exists(stage, values["third"])


def _is_moved(stage: Stage, values: Values) -> bool:
    moved = stage.text(f"{values['folder']}/{values['file']}") == _line(values)
    return moved and not _exists(stage, values["file"])


def _is_renamed(stage: Stage, values: Values) -> bool:
    return stage.text(values["other"]) == _line(values) and not _exists(stage, values["file"])


def _is_copied(stage: Stage, values: Values) -> bool:
    return stage.text(values["other"]) == _line(values) and stage.text(values["file"]) == _line(values)


def _is_listed(stage: Stage, values: Values) -> bool:
    wanted = {f"page{i}.txt" for i in range(int(values["inside"]))}
    return set(stage.text(values["other"]).split()) == wanted


def _one(thought: str, command: str) -> list[Move]:
    return [terminal(thought, command)]


TERMINAL = (
    DeskTask(
        "terminal_folder",
        (
            "Create a folder named {target} with the terminal.",
            "Use the terminal to make a new folder called {target}.",
            "In the terminal, create the directory {target}.",
            "Make the folder {target} in my home folder using a command.",
            "With a terminal command, add a new directory {target}.",
        ),
        _draw,
        _prepare,
        lambda stage, values: (stage.home / values["target"]).is_dir(),
        lambda v: _one("Create the folder with mkdir.", f"mkdir {v['target']}"),
        "The folder {target} is created.",
    ),
    DeskTask(
        "terminal_write",
        (
            'Write "{text}" into the file {other} with the terminal.',
            'Use the terminal to create the file {other} with the text "{text}".',
            'In the terminal, put "{text}" into {other}.',
            'Make a file {other} that says "{text}" using a command.',
            'With a terminal command, store the words "{text}" in {other}.',
        ),
        _draw,
        _prepare,
        lambda stage, values: stage.text(values["other"]) == values["text"],
        lambda v: _one("Write the text with echo.", f"echo '{v['text']}' > {v['other']}"),
        "The text is in {other}.",
    ),
    DeskTask(
        "terminal_append",
        (
            'Add the line "{text}" to the end of the file {file} with the terminal.',
            'Use the terminal to append "{text}" to {file}.',
            'In the terminal, append the line "{text}" to the file {file}.',
            'Append "{text}" to {file} using a command.',
            'With a terminal command, put "{text}" as a new last line into {file}.',
        ),
        _draw,
        _prepare,
        lambda stage, values: stage.text(values["file"]) == f"{_line(values)}\n{values['text']}",
        lambda v: _one("Append the line with echo.", f"echo '{v['text']}' >> {v['file']}"),
        "The line is added to {file}.",
    ),
    DeskTask(
        "terminal_delete",
        (
            "Delete the file {file} with the terminal.",
            "Use the terminal to remove {file}.",
            "In the terminal, delete {file}.",
            "Remove the file {file} using a command.",
            "With a terminal command, get rid of {file}.",
        ),
        _draw,
        _prepare,
        _is_deleted,
        lambda v: _one("Delete the file with rm.", f"rm {v['file']}"),
        "{file} is deleted.",
        consequential=True,
    ),
    DeskTask(
        "terminal_move",
        (
            "Move the file {file} into the folder {folder} with the terminal.",
            "Use the terminal to move {file} to {folder}.",
            "In the terminal, put {file} into the folder {folder}.",
            "Move {file} into {folder} using a command.",
            "With a terminal command, bring {file} over to the folder {folder}.",
        ),
        _draw,
        _prepare,
        _is_moved,
        lambda v: _one("Move the file with mv.", f"mv {v['file']} {v['folder']}/"),
        "{file} is in {folder}.",
    ),
    DeskTask(
        "terminal_rename",
        (
            "Rename the file {file} to {other} with the terminal.",
            "Use the terminal to rename {file} to {other}.",
            "In the terminal, change the name of {file} to {other}.",
            "Give {file} the new name {other} using a command.",
            "With a terminal command, {file} should from now on be called {other}.",
        ),
        _draw,
        _prepare,
        _is_renamed,
        lambda v: _one("Rename the file with mv.", f"mv {v['file']} {v['other']}"),
        "{file} is now {other}.",
    ),
    DeskTask(
        "terminal_copy",
        (
            "Copy the file {file} to {other} with the terminal.",
            "Use the terminal to make a copy of {file} named {other}.",
            "In the terminal, copy {file} to {other}.",
            "Make a copy of {file} called {other} using a command.",
            "With a terminal command, duplicate {file} as {other}.",
        ),
        _draw,
        _prepare,
        _is_copied,
        lambda v: _one("Copy the file with cp.", f"cp {v['file']} {v['other']}"),
        "{file} is copied to {other}.",
    ),
    DeskTask(
        "terminal_count",
        (
            "Count the files in {folder} with the terminal and write the number into {other}.",
            "Use the terminal to write the number of files in {folder} into {other}.",
            "In the terminal, count what is in the folder {folder} and save the number in {other}.",
            "Put the number of files in {folder} into {other} using a command.",
            "With a terminal command, find how many files {folder} has and note it in {other}.",
        ),
        _draw,
        _prepare,
        lambda stage, values: stage.text(values["other"]).strip() == values["inside"],
        lambda v: _one("Count the files with ls and wc.", f"ls {v['folder']} | wc -l > {v['other']}"),
        "The number of files is in {other}.",
    ),
    DeskTask(
        "terminal_list",
        (
            "List the files of the folder {folder} into {other} with the terminal.",
            "Use the terminal to save a list of the files in {folder} as {other}.",
            "In the terminal, write the names of the files in {folder} to {other}.",
            "Put a list of what is in {folder} into {other} using a command.",
            "With a terminal command, store the file names of {folder} in {other}.",
        ),
        _draw,
        _prepare,
        _is_listed,
        lambda v: _one("List the files with ls.", f"ls {v['folder']} > {v['other']}"),
        "The list is in {other}.",
    ),
)
