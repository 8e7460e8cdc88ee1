"""The jail against what tries to leave it: network, files, secrets, other programs, and the death of its maker."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from agent_core.operators.jail import Jail, available, jail_of
from agent_core.operators.terminal import TerminalSession
from agent_core.settings import RunSettings, SafetySettings, Settings
from agent_core.step import Outcome

pytestmark = pytest.mark.skipif(not available(), reason="bubblewrap cannot make a jail here (apt install bubblewrap)")

SECRETS = (".ssh/id_rsa", ".aws/credentials", ".mozilla/firefox/logins.json", ".netrc", ".local/share/keyrings/login")
STARTUP = (".bashrc", ".profile", ".config/autostart/x.desktop", "bin/ls")


@pytest.fixture
def user_home() -> Iterator[Path]:
    """A home folder with secrets, startup files and ordinary ones; not in /tmp, which is another one in the jail."""
    account = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME may have been moved to a temporary folder
    with tempfile.TemporaryDirectory(prefix="deskhand-test-", dir=account) as folder:
        made = Path(folder).resolve() / "anna"
        for name in (*SECRETS, *STARTUP, "Documents/letter.txt", "project/notes.txt"):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text("SESAME\n")
        yield made


@contextlib.contextmanager
def terminal(jail: Jail) -> Iterator[TerminalSession]:
    session = TerminalSession(jail.folder, seconds=20, jail=jail)
    try:
        yield session
    finally:
        session.close()


def run(jail: Jail, command: str) -> Outcome:
    with terminal(jail) as session:
        return session.run(command, Event())


def test_only_the_folder_can_be_changed(user_home: Path) -> None:
    jail = Jail(user_home / "project", user_home)
    outside = f"/etc/x /usr/x ../x {user_home}/y"
    outcome = run(jail, f"echo new > notes.txt; mkdir a; touch {outside}; echo free > /tmp/x; cat /tmp/x")
    assert (user_home / "project/notes.txt").read_text() == "new\n"
    assert (user_home / "project/a").is_dir()
    assert not (user_home / "x").exists()
    assert not (user_home / "y").exists()
    assert outcome.text.count("Read-only file system") == 4
    assert "free" in outcome.text
    assert outcome.text.endswith(f"[in the jail: no network, no windows; only {user_home}/project can be changed]")


def test_there_is_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0deskhand-test-{os.getpid()}")
        abstract.listen()
        path = f"/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        reached = subprocess.run(["bash", "-c", f"exec 3<>{path} && echo reached"], capture_output=True, text=True)
        assert "reached" in reached.stdout
        outcome = run(Jail(tmp_path), f"exec 3<>{path} && echo reached")
        assert "reached" not in outcome.text
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0deskhand-test-{os.getpid()}')"
        assert "refused" in run(Jail(tmp_path), f'python3 -c "{connect}"').text
    outcome = run(Jail(tmp_path), "getent hosts example.org || echo 'curl: (6) Could not resolve host: example.org'")
    assert "[in the jail: no network" in outcome.text


@pytest.mark.parametrize("folder", ["project", ""])
def test_secrets_look_empty_and_startup_files_cannot_be_changed(
    user_home: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = user_home / ".local/share/deskhand"
    monkeypatch.setenv("DESKHAND_HOME", str(home))
    home.mkdir()
    (home / "traces.db").write_text("SESAME")
    jail = Jail(user_home / folder, user_home)
    places = " ".join(f"{user_home}/{name}" for name in SECRETS)
    outcome = run(jail, f"cat {places} {home}/traces.db /etc/shadow; ls -A {user_home}/.ssh {home}; cat /etc/hostname")
    assert "SESAME" not in outcome.text
    assert "root:" not in outcome.text
    assert "id_rsa\n" not in outcome.text
    changes = "; ".join(f"echo evil >> {user_home}/{n}; rm -f {user_home}/{n}; mv {user_home}/{n} x" for n in STARTUP)
    run(jail, f"{changes}; rm -rf {user_home}/.ssh {user_home}/.config {home}")
    for name in (*SECRETS, *STARTUP):
        assert (user_home / name).read_text() == "SESAME\n"
    assert (home / "traces.db").read_text() == "SESAME"


def test_a_home_folder_can_be_worked_in(user_home: Path) -> None:
    jail = Jail(user_home, user_home)
    assert run(jail, "mkdir Reports && mv Documents/letter.txt Reports/ && echo more >> project/notes.txt").ok
    assert (user_home / "Reports/letter.txt").read_text() == "SESAME\n"
    assert (user_home / "project/notes.txt").read_text() == "SESAME\nmore\n"


def test_startup_files_cannot_be_made_and_nothing_is_left_behind(user_home: Path) -> None:
    names = (".bash_profile", ".zshenv", ".gitconfig", ".ssh/authorized_keys", ".config/systemd/user/x.service")
    for gone in (".ssh", ".config"):
        subprocess.run(["rm", "-r", user_home / gone], check=True)
    before = sorted(user_home.rglob("*"))
    with terminal(Jail(user_home, user_home)) as session:
        make = "mkdir -p {0}/.config/systemd/user {0}/.ssh; " + "; ".join(f"echo evil > {{0}}/{name}" for name in names)
        session.run(make.format(user_home), Event())
        assert "evil" not in "".join(p.read_text() for p in user_home.rglob("*") if p.is_file())
        profile = subprocess.run(["bash", "-lc", "true"], env={"HOME": str(user_home)})
        session.run("rm -f ~/.bash_profile; mv ~/.zshenv ~/x", Event())
    assert profile.returncode == 0
    assert sorted(user_home.rglob("*")) == before


def test_placeholders_of_a_killed_program_go_and_the_users_own_files_stay(user_home: Path) -> None:
    Jail(user_home, user_home).hold()
    (user_home / ".zshrc").write_text("mine\n")
    with terminal(Jail(user_home, user_home)) as session:
        session.run("true", Event())
    assert not (user_home / ".bash_profile").exists()
    assert (user_home / ".zshrc").read_text() == "mine\n"
    assert (user_home / ".bashrc").read_text() == "SESAME\n"


def test_a_link_in_place_of_the_terminals_own_file_is_not_followed(user_home: Path) -> None:
    target = user_home / ".bashrc"
    with terminal(Jail(user_home / "project", user_home)) as session:
        session.run(f'ln -sf {target} "$(ls -d /tmp/deskhand-terminal-*)/command"', Event())
        assert session.run("echo still here", Event()).text == "still here"
    assert target.read_text() == "SESAME\n"


def test_a_folder_above_the_home_folder_opens_the_home_folder_alone(user_home: Path) -> None:
    (user_home.parent / "bob").mkdir()
    jail = Jail(user_home.parent, user_home)
    assert jail.changeable == user_home
    assert not run(jail, f"touch {user_home}/fine && touch {user_home.parent}/bob/x").ok
    assert (user_home / "fine").exists()
    assert not (user_home.parent / "bob/x").exists()


def test_the_users_session_cannot_be_reached(tmp_path: Path) -> None:
    outside = {"DISPLAY": ":0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus", "SSH_AUTH_SOCK": "/tmp/agent"}
    session = TerminalSession(tmp_path, env={"PATH": os.environ["PATH"], **outside}, jail=Jail(tmp_path))
    text = session.run(
        "env; ls -A /run /tmp/.X11-unix; ps ax | grep -c .; mount -o remount,rw /; umount /run", Event()
    ).text
    session.close()
    assert not any(name in text for name in outside)
    assert "X0" not in text
    lines = text.splitlines()
    assert any(line.isdigit() and int(line) < 12 for line in lines)
    assert "denied" in text or "superuser" in text


def test_even_ending_everything_inside_starts_a_new_jail(tmp_path: Path) -> None:
    with terminal(Jail(tmp_path)) as session:
        session.run("kill -9 -1", Event())  # the shell itself ends a moment later, with the jail
        time.sleep(0.2)
        assert session.run("pwd", Event()).text == str(tmp_path)


def test_the_jail_ends_with_its_maker(tmp_path: Path) -> None:
    nap = str(2 * 10**6 + os.getpid())
    script = (
        "import sys; from threading import Event; from pathlib import Path\n"
        "from agent_core.operators.jail import Jail; from agent_core.operators.terminal import TerminalSession\n"
        f"session = TerminalSession({str(tmp_path)!r}, jail=Jail(Path({str(tmp_path)!r})))\n"
        f"session.run('setsid sleep {nap} > /dev/null 2>&1 &', Event()); print('up', flush=True); sys.stdin.read()\n"
    )
    maker = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    with maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"up\n"
        assert _runs(nap)
        maker.kill()
    limit = time.monotonic() + 5
    while _runs(nap) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not _runs(nap)


def test_settings_choose_the_jail(tmp_path: Path) -> None:
    assert jail_of(Settings(safety=SafetySettings(jail=False))) is None
    assert jail_of(Settings()) == Jail(Path.home())
    assert jail_of(Settings(run=RunSettings(folder=str(tmp_path)))) == Jail(tmp_path)


def test_what_works_says_nothing_of_the_jail(tmp_path: Path) -> None:
    assert run(Jail(tmp_path), "echo fine; ls /nowhere").text.splitlines()[-1] == "[exit code 2]"


def _runs(nap: str) -> bool:
    found = subprocess.run(["pgrep", "-f", f"sleep {nap}"], capture_output=True)
    return found.returncode == 0
