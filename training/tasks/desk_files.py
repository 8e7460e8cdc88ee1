"""Tasks in a file manager (PCManFM) that shows a folder: open, create, rename, delete. Checked by what lies there.

The window shows the folder "Desk" and nothing else, so the lists that the agent reads stay short.
"""

from __future__ import annotations

from random import Random

from agent_core.actions import Type
from training.tasks.desk_task import Aim, DeskTask, Move, Stage, Values, double_click, in_window, keys
from training.tasks.desk_words import folders, text_files

ROOT = "Desk"
LONGEST = 10  # characters of a file name: longer ones are broken in two lines below their icons
_SETTINGS = """[config]
bm_open_method=0
[ui]
always_show_tabs=0
side_pane_mode=hidden;places
show_statusbar=0
toolbar=navigation;
view_mode=icon
sort=name;ascending;
"""

_ICONS = "[ui]\nbig_icon_size=64\n"  # larger icons leave more room for their names


def _draw(rng: Random) -> Values:
    """A folder and a file to work on, names that do not exist yet, and some more of both around."""
    folder, new_folder, *more_folders = folders(rng, rng.randint(4, 6))
    file, new_file, *more_files = text_files(rng, rng.randint(4, 6), LONGEST)
    return {
        "folder": folder,
        "new_folder": new_folder,
        "file": file,
        "new_file": new_file,
        "folders": " ".join(more_folders),
        "files": " ".join(more_files),
    }


def _open(stage: Stage, values: Values) -> None:
    stage.put(".config/pcmanfm/default/pcmanfm.conf", _SETTINGS)
    stage.put(".config/libfm/libfm.conf", _ICONS)
    for name in (values["folder"], *values["folders"].split()):
        (stage.home / ROOT / name).mkdir(parents=True, exist_ok=True)
    for name in (values["file"], *values["files"].split()):
        stage.put(f"{ROOT}/{name}", f"{name}\n")
    stage.start(["pcmanfm", "--no-desktop", str(stage.home / ROOT)], ROOT)


def _names(stage: Stage) -> set[str]:
    return {path.name for path in (stage.home / ROOT).iterdir()}


def _expected(values: Values) -> set[str]:
    """The names at the start."""
    return {values["folder"], values["file"], *values["folders"].split(), *values["files"].split()}


def _new_folder(values: Values) -> list[Move]:
    name = values["new_folder"]
    return [
        keys("Open the dialog for a new folder with ctrl+shift+n.", "ctrl shift n", done=in_window("Creating")),
        keys("Type the name and press Enter.", Type(name + "\n")),
    ]


def _rename(old: str, new: str) -> list[Move]:
    return [
        keys(f'Select "{old}" and press F2 to rename it.', Aim(old), "f2", done=in_window("Rename")),
        keys("Type the new name and press Enter.", "ctrl a", Type(new + "\n")),
    ]


def _delete(name: str) -> list[Move]:
    return [
        keys(f'Select "{name}" and press delete.', Aim(name), "delete", done=in_window("Confirm")),
        keys("Confirm with Enter.", "enter"),
    ]


FILES = (
    DeskTask(
        "files_open_folder",
        (
            "Open the folder {folder}.",
            "Open {folder} in the file manager.",
            "Go into the folder named {folder}.",
            "Show what is in the folder {folder}.",
            "Please browse to the folder {folder}.",
        ),
        _draw,
        _open,
        lambda stage, values: values["folder"] in stage.desktop.titles(),
        lambda v: [double_click(v["folder"])],
        "The folder {folder} is open.",
    ),
    DeskTask(
        "files_new_folder",
        (
            "Create a new folder named {new_folder} in the file manager.",
            "Make a folder called {new_folder} here.",
            "Add the folder {new_folder} to the open folder.",
            "In the open window, create a folder with the name {new_folder}.",
            "I need another folder in this window, call it {new_folder}.",
        ),
        _draw,
        _open,
        lambda stage, values: (stage.home / ROOT / values["new_folder"]).is_dir(),
        _new_folder,
        "The folder {new_folder} is created.",
    ),
    DeskTask(
        "files_rename_folder",
        (
            "Rename the folder {folder} to {new_folder}.",
            "Change the name of the folder {folder} to {new_folder}.",
            "Give the folder {folder} the name {new_folder}.",
            "In the file manager, rename {folder} to {new_folder}.",
            "The folder {folder} should be called {new_folder}.",
        ),
        _draw,
        _open,
        lambda stage, values: _names(stage) == _expected(values) - {values["folder"]} | {values["new_folder"]},
        lambda v: _rename(v["folder"], v["new_folder"]),
        "The folder is now called {new_folder}.",
    ),
    DeskTask(
        "files_rename_file",
        (
            "Rename the file {file} to {new_file}.",
            "Change the name of {file} to {new_file} in the file manager.",
            "Give the file {file} the name {new_file}.",
            "In the file manager, rename {file} to {new_file}.",
            "The file {file} should be called {new_file}.",
        ),
        _draw,
        _open,
        lambda stage, values: _names(stage) == _expected(values) - {values["file"]} | {values["new_file"]},
        lambda v: _rename(v["file"], v["new_file"]),
        "The file is now called {new_file}.",
    ),
    DeskTask(
        "files_delete_file",
        (
            "Delete the file {file} in the file manager.",
            "Move the file {file} to the trash.",
            "Remove {file} from the open folder.",
            "Put {file} into the trash can.",
            "I do not need the file {file} any more, throw it away.",
        ),
        _draw,
        _open,
        lambda stage, values: _names(stage) == _expected(values) - {values["file"]},
        lambda v: _delete(v["file"]),
        "{file} is in the trash.",
        consequential=True,
    ),
    DeskTask(
        "files_delete_folder",
        (
            "Delete the folder {folder} in the file manager.",
            "Move the folder {folder} to the trash.",
            "Remove the folder {folder} from the open folder.",
            "Put the folder {folder} into the trash can.",
            "I do not need the folder {folder} any more, throw it away.",
        ),
        _draw,
        _open,
        lambda stage, values: _names(stage) == _expected(values) - {values["folder"]},
        lambda v: _delete(v["folder"]),
        "The folder {folder} is in the trash.",
        consequential=True,
    ),
)
