"""Getting from a fresh checkout to a start: what can be shown in seconds and without installing anything."""

from __future__ import annotations

import ast
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from installer import bootstrap, python_packages, system_packages
from installer.python_packages import Place
from installer.setting_up import purposes
from installer.system_packages import Need
from installer.work import SetupError, Work, cause, doing

ROOT = Path(__file__).resolve().parents[2]


def test_an_old_python_can_read_the_file_that_tells_it_that_it_is_too_old() -> None:
    ast.parse((ROOT / "installer/bootstrap.py").read_text("utf-8"), feature_version=(3, 7))


def test_an_unknown_command_is_answered_with_the_usage() -> None:
    done = subprocess.run(
        [sys.executable, "installer/bootstrap.py", "walk"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


def test_what_is_started() -> None:
    assert bootstrap.program("run", ["open the editor"], display=True) == ["-m", "app", "open the editor"]
    assert bootstrap.program("run", ["-v is a flag"], display=True) == ["-m", "app", "--", "-v is a flag"]
    assert bootstrap.program("run", [""], display=False) == ["-m", "agent_core.demonstration"]
    assert bootstrap.program("test", ["--fast"], display=False) == [os.path.join("tests", "check.py"), "--fast"]


TASKS = [
    "open the text editor",
    "type \"it's\" and 'that'",
    "pay $5, not $HOME nor $(HOME) nor ${HOME}",
    "run `id` # and $(shell touch made_by_make); echo done && false | cat > x",
    "back\\slash \\n 100 % *",
    "打开文本编辑器，输入“你好”",
    "-v --help",
    "",
]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("task", TASKS)
def test_make_hands_the_task_over_word_for_word(task: str, tmp_path: Path) -> None:
    shown = tmp_path / "shown.json"
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({str(shown)!r}, 'w'))\n")
    python.chmod(0o755)
    subprocess.run(["make", "run", f"TASK={task}", f"PYTHON={python}"], cwd=ROOT, check=True, capture_output=True)
    assert json.loads(shown.read_text()) == ["installer/bootstrap.py", "run", task]
    assert not (ROOT / "made_by_make").exists()


# System packages


def test_every_line_of_the_table_can_be_read_and_has_a_known_purpose_and_proof() -> None:
    needs = system_packages.table(system_packages.TABLE.read_text("utf-8"))
    assert {need.purpose for need in needs} == {"venv", "build", "window", "virtual", "check"}
    for need in needs:
        assert isinstance(need.met, bool)


def test_only_what_is_not_there_is_missing() -> None:
    needs = system_packages.table(
        """
        shell      window  program:sh      # everyone has it
        nothing    window  program:no_such_program_here
        ssl|crypto window  library:libnothing.so.77
        python     window  module:json
        """
    )
    assert [need.packages for need in needs if not need.met] == [("nothing",), ("ssl", "crypto")]


def test_a_proof_of_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="no such proof"):
        _ = Need(("a",), "window", "feeling:good").met


def test_a_display_saves_the_virtual_screen_and_the_tests_need_all() -> None:
    assert purposes("run", display=True, ready=True) == {"window"}
    assert purposes("run", display=False, ready=False) == {"venv", "window", "virtual"}
    assert purposes("test", display=True, ready=True) == {"window", "virtual", "check"}


ASK = """
from installer.system_packages import Need, check_installable
from installer.work import SetupError
try:
    check_installable([Need(("xvfb",), "virtual", "program:Xvfb"), Need(("no-such",), "check", "program:no-such")])
except SetupError as error:
    print(error)
"""


def ask(prefix: list[str], path: str) -> str:
    environment = {**os.environ, "PATH": path}
    command = [*prefix, sys.executable, "-c", ASK]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="needs apt-get")
def test_without_rights_the_person_gets_the_one_command() -> None:
    as_nobody: list[str] = []
    if os.geteuid() == 0:
        as_nobody = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
        if subprocess.run([*as_nobody, "true"], capture_output=True, check=False).returncode != 0:
            pytest.skip("cannot become someone else here")
    elif subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0:
        pytest.skip("this user may become root without a password")
    said = ask(as_nobody, os.environ["PATH"])
    assert said.startswith("2 system packages are missing")
    assert "apt-get update && apt-get install -y --no-install-recommends xvfb no-such'" in said
    assert len([line for line in said.splitlines() if "apt-get" in line]) == 1


def test_without_apt_the_person_gets_the_names(tmp_path: Path) -> None:
    said = ask([], str(tmp_path))
    assert "package manager" in said
    assert "Xvfb (Debian's xvfb)" in said


# The environment


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A checkout with an environment in it that has no packages."""
    root = tmp_path / "checkout"
    (root / "installer").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt", "installer/work.py"):
        shutil.copy(ROOT / name, root / name)
    made = Place(root)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made.venv)], check=True)
    return made


def test_the_stamp_of_the_tests_counts_for_a_run_but_not_the_other_way_round(place: Place) -> None:
    assert not place.is_ready("run")
    python_packages.mark_ready(place, "run")
    assert place.is_ready("run")
    assert not place.is_ready("test")
    python_packages.mark_ready(place, "test")
    assert place.is_ready("run")
    assert place.is_ready("test")


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "installer/work.py"])
def test_a_change_of_what_is_to_be_installed_ends_the_readiness(place: Place, name: str) -> None:
    python_packages.mark_ready(place, "run")
    with (place.root / name).open("a") as file:
        file.write("# one more line\n")
    assert not place.is_ready("run")


def test_a_moved_folder_and_a_damaged_stamp_are_noticed(place: Place, tmp_path: Path) -> None:
    python_packages.mark_ready(place, "run")
    moved = Place(place.root.rename(tmp_path / "moved"))
    assert not moved.is_ready("run")
    moved.stamp.write_text("{ not JSON")
    assert not moved.is_ready("run")


def test_an_environment_of_another_folder_or_of_a_python_that_is_gone_is_not_used(place: Place, tmp_path: Path) -> None:
    assert python_packages.usable(place)
    python_packages.mark_ready(place, "run")
    moved = Place(place.root.rename(tmp_path / "moved"))
    assert not python_packages.usable(moved)
    python_packages.mark_ready(moved, "run")
    assert python_packages.usable(moved)
    moved.python.unlink()
    assert not python_packages.usable(moved)


def test_every_requirement_of_ours_has_its_version_pinned() -> None:
    here = Place(ROOT)
    ours = python_packages.wanted(here) + python_packages.wanted(here, "train", "dev")
    assert not any(entry.startswith("llama") for entry in ours)
    for entry in [*ours, python_packages.LLAMA, *python_packages.DATA_ONLY["test"]]:
        name = entry.partition(";")[0].strip()
        assert python_packages.pin(here, name).partition("==")[2]


def test_a_missing_pin_is_told(place: Place) -> None:
    with pytest.raises(SetupError, match="leftpad has no version"):
        python_packages.pin(place, "leftpad")


# The ready-made llama.cpp


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The address of a package index on this machine whose pages lie in tmp_path/pages."""
    pages = tmp_path / "pages" / python_packages.LLAMA
    pages.mkdir(parents=True)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "pages"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_an_index_counts_only_when_it_has_the_pinned_version(place: Place, index: str, tmp_path: Path) -> None:
    page = tmp_path / "pages" / python_packages.LLAMA / "index.html"
    page.write_text("<a href='llama_cpp_python-0.0.1-py3-none-linux_x86_64.whl'>")
    assert not python_packages.prebuilt_offered(place, index)
    wheel = python_packages.pin(place, "llama-cpp-python").replace("-", "_").replace("==", "-")
    page.write_text(f"<a href='{wheel}-py3-none-linux_x86_64.whl'>")
    assert python_packages.prebuilt_offered(place, index)


def test_a_silent_index_is_given_up_after_its_time(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        assert not python_packages.prebuilt_offered(place, address, seconds=0.5)
        assert 0.4 < time.monotonic() - began < 2


def test_an_index_that_is_not_there_is_given_up_at_once(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert not python_packages.prebuilt_offered(place, address)


# Long commands


def test_a_failed_command_becomes_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('OSError: [Errno 28] No space left on device')"]
    with pytest.raises(SetupError, match="The disk is full; make room and start again") as error:
        Work("step", command, tmp_path / "step.log").wait()
    assert str(tmp_path / "step.log") in str(error.value)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="could not be started"):
        Work("step", ["no_such_program_here"], tmp_path / "step.log")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("Failed to establish a new connection: [Errno 111]", "check the network connection"),
        ("W: Temporary failure resolving 'deb.debian.org'", "check the network connection"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend", "Another program is installing"),
        ("Collecting x\nERROR: No matching distribution found for x==9\nmore", "No matching distribution found"),
        ("", "it said nothing"),
    ],
)
def test_causes(said: str, sentence: str) -> None:
    assert sentence in cause(said)


def test_what_a_command_is_doing() -> None:
    assert doing("[  1/200] Building\n[ 50/200] Building C object x.o\n") == "25 %"
    assert doing("Collecting numpy==2.4.6\n  Downloading numpy-2.4.6.whl (16 MB)\n") == "numpy-2.4.6.whl"
    assert doing("Collecting numpy\nInstalling collected packages: a, b\n") == "unpacking"
    assert doing("hello") == ""


WAIT = """
import sys
from pathlib import Path
from installer.work import Work, stop_on_signals
stop_on_signals()
work = Work("long", ["sh", "-c", "echo $$; sleep 60 & wait"], Path(sys.argv[1]))
print("begun", flush=True)
work.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_control_c_ends_the_command_and_what_it_started(tmp_path: Path, name: str) -> None:
    log = tmp_path / "long.log"
    with subprocess.Popen(
        [sys.executable, "-c", WAIT, str(log)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as waiting:
        assert waiting.stdout is not None
        waiting.stdout.readline()
        limit = time.monotonic() + 10
        while not log.read_text().strip() and time.monotonic() < limit:
            time.sleep(0.05)
        group = int(log.read_text())
        waiting.send_signal(getattr(signal, name))
        waiting.wait(timeout=10)
    limit = time.monotonic() + 5
    while _alive(group) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not _alive(group)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
