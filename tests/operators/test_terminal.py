"""The terminal against real programs: state, prompts, limits, output, and what it ends."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from agent_core.actions import CallUser, Click, Finished, Point, Terminal, Type, Wait
from agent_core.operators import left_over
from agent_core.operators.jail import Jail, available
from agent_core.operators.terminal import TerminalOperator, TerminalSession
from agent_core.operators.terminal_output import Collected, capped, clean
from agent_core.step import Outcome

Run = Callable[[str], Outcome]
NAP = f"{10**6 + os.getpid()}"  # seconds that no program of another test run sleeps


@pytest.fixture(params=["free", "jailed"])
def jail(request: pytest.FixtureRequest, tmp_path: Path) -> Jail | None:
    """None, and a jail around the test's folder: the terminal has to do the same in both."""
    if request.param == "free":
        return None
    if not available():
        pytest.skip("bubblewrap cannot make a jail here (apt install bubblewrap; user namespaces allowed)")
    return Jail(tmp_path)


@pytest.fixture
def session(tmp_path: Path, jail: Jail | None) -> Iterator[TerminalSession]:
    made = TerminalSession(tmp_path, seconds=20, jail=jail)
    yield made
    made.close()


@pytest.fixture
def run(session: TerminalSession) -> Run:
    return lambda command: session.run(command, Event())


def running(mark: str) -> bool:
    """Whether any live process has the mark in its command line."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "cmdline").read_text():
                return True
        except OSError:
            continue
    return False


def test_folder_variables_and_functions_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert run("cd sub; X=5; f() { echo f of $1; }").ok
    assert run("pwd; echo $X; f y").text.splitlines() == [str(tmp_path / "sub"), "5", "f of y"]


def test_exit_codes_are_told(run: Run) -> None:
    assert (run("false").ok, run("false").text) == (False, "[exit code 1]")
    assert run("ls /nowhere").text.splitlines()[-1] == "[exit code 2]"
    assert run("echo fine").text == "fine"


@pytest.mark.parametrize(
    "command", ["read x", "python3 -c 'input()'", "cat < /dev/tty", "python3 -c 'import getpass; getpass.getpass()'"]
)
def test_prompts_do_not_hang(run: Run, command: str) -> None:
    started = time.monotonic()
    outcome = run(command)
    assert not outcome.ok
    assert time.monotonic() - started < 5
    if "read x" not in command:
        assert "nobody can type" in outcome.text


def test_open_quotes_and_several_lines(run: Run) -> None:
    assert "unexpected EOF" in run('echo "open').text
    assert run("for i in 1 2; do\n  echo $i\ndone").text == "1\n2"
    assert run("cat <<END\nhere\nEND").text == "here"


def test_time_limit_ends_the_whole_group(tmp_path: Path, jail: Jail | None) -> None:
    session = TerminalSession(tmp_path, seconds=1, jail=jail)
    assert session.run("cd /usr; export KEPT=yes", Event()).ok
    started = time.monotonic()
    outcome = session.run(f"(sleep {NAP} & sleep {NAP}); touch went_on", Event())
    assert not outcome.ok
    assert "time limit of 1 s" in outcome.text
    assert time.monotonic() - started < 5
    assert not running(NAP)
    assert session.run("pwd; echo $KEPT", Event()).text == "/usr\nyes"
    session.close()


@pytest.mark.parametrize(
    "command",
    [
        f"sleep {NAP}; touch went_on",
        f"trap '' INT; sleep {NAP}; touch went_on",
        "while :; do :; done; touch went_on",
        f"python3 -c 'import time\ntry: time.sleep({NAP})\nexcept KeyboardInterrupt: pass'; touch went_on",
        f"sleep {NAP} | cat; touch went_on",
    ],
)
def test_stop_ends_the_command_and_what_would_follow(session: TerminalSession, tmp_path: Path, command: str) -> None:
    session.run("X=7", Event())
    stop = Event()
    threading.Timer(0.5, stop.set).start()
    outcome = session.run(command, stop)
    assert outcome.text.splitlines()[-1] == "[stopped]"
    assert not running(NAP)
    assert session.run("echo $X", Event()).text == "7"
    assert not (tmp_path / "went_on").exists()


def test_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    session = TerminalSession(tmp_path, seconds=20, output_limit=1000)
    text = session.run("seq 1 200000", Event()).text
    session.close()
    assert len(text) < 1100
    assert text.startswith("1\n2\n")
    assert text.endswith("200000")
    assert "left out" in text


def test_colours_progress_bars_and_binary(run: Run) -> None:
    assert run("printf '\\e[31mred\\e[0m \\e]0;title\\a1%%\\r99%%'").text == "99% 1%"
    assert run("printf '10%%\\r100%%\\n'").text == "100%"
    assert "binary data" in run("head -c 4000 /dev/urandom").text
    assert run("echo 你好 żółw").text == "你好 żółw"


def test_background_jobs_output_and_interrupt(run: Run) -> None:
    assert run(f"(sleep 0.5; echo late; sleep {NAP}) &").ok
    assert run("").text == "late"
    assert run("").text == "[no more output]"
    assert running(NAP)
    assert "ended" in run("C-c").text
    assert not running(NAP)
    assert run("C-c").text == "[nothing was running]"


def test_a_shell_that_exits_is_started_again(run: Run) -> None:
    outcome = run("exit 3")
    assert not outcome.ok
    assert "exit code 3" in outcome.text
    assert run("echo again").text == "again"


def test_close_ends_everything(tmp_path: Path, jail: Jail | None) -> None:
    session = TerminalSession(tmp_path, jail=jail)
    session.run(f"sleep {NAP} & setsid sleep {NAP} &", Event())
    session.close()
    session.close()
    time.sleep(0.1)
    assert not running(NAP)


def test_a_folder_that_is_not_there(tmp_path: Path, jail: Jail | None) -> None:
    session = TerminalSession(tmp_path / "nowhere", jail=jail)
    outcome = session.run("echo hi", Event())
    session.close()
    assert not outcome.ok
    assert "nowhere" in outcome.text


def test_the_environment_can_be_given(tmp_path: Path, jail: Jail | None) -> None:
    session = TerminalSession(tmp_path, env={"PATH": os.environ["PATH"], "ONLY": "this"}, jail=jail)
    assert session.run("echo $ONLY; echo ${HOME:-none}", Event()).text == "this\nnone"
    session.close()


def test_clean_and_capped() -> None:
    assert clean(b"a\x08b\r\nc") == "b\nc"
    assert capped("x" * 10, 10) == "x" * 10
    assert "[... 90 characters left out ...]" in capped("x" * 100, 10)
    output = Collected(100)
    for n in range(1000):
        output.add(b"%d\n" % n)
    text = output.text(60)
    assert text.startswith("0\n1\n")
    assert text.rstrip().endswith("999")


def test_the_operator_shows_what_the_terminal_shows(tmp_path: Path) -> None:
    operator = TerminalOperator(tmp_path)
    shot = operator.look()
    outcome = operator.do(Terminal("echo hello"), shot, Event())
    assert (outcome.ok, outcome.text, outcome.changed) == (True, "hello", None)
    shot = operator.look()
    assert [e.text for e in shot.elements] == ["$ echo hello", "hello"]
    assert len(shot.rgb) == shot.width * shot.height * 3
    assert len(set(shot.rgb)) > 2
    assert not operator.do(Click(Point(0.5, 0.5)), shot, Event()).ok
    assert "terminal" in operator.do(Type("x"), shot, Event()).text
    assert operator.do(Finished(), shot, Event()).ok
    assert operator.do(CallUser(), shot, Event()).ok
    assert operator.do(Wait(0.01), shot, Event()).ok
    operator.let_go()
    operator.close()


@pytest.mark.parametrize("ending", ["exit 3", "kill -9 $$", "sleep 60"])
def test_jobs_in_the_background_outlive_the_shell_they_came_from(
    tmp_path: Path, jail: Jail | None, ending: str
) -> None:
    session = TerminalSession(tmp_path, seconds=2, jail=jail)
    session.run(f"X=8; sleep {NAP} > /dev/null 2>&1 &", Event())
    assert not session.run(ending, Event()).ok
    assert running(NAP)
    assert session.run("echo $X; pwd", Event()).text.splitlines() == ["8", str(tmp_path)]
    assert "ended 1 running" in session.run("C-c", Event()).text
    assert not running(NAP)
    session.close()


def test_a_shell_that_ends_between_two_commands_is_started_again(session: TerminalSession) -> None:
    session.run("X=6; (sleep 0.2; kill -9 $$) &", Event())
    time.sleep(0.5)
    assert session.run("echo $X", Event()).text == "6"


def test_everything_stands_still_while_frozen(session: TerminalSession, tmp_path: Path) -> None:
    count = tmp_path / "count"
    session.run("(while :; do echo . >> count; sleep 0.02; done) &", Event())
    stopped_before = session.run(f"sleep {NAP} & kill -STOP $!; echo $!", Event())
    assert stopped_before.ok
    time.sleep(0.3)
    session.freeze()
    size = count.stat().st_size
    time.sleep(0.3)
    assert count.stat().st_size == size > 0
    session.freeze()  # twice is once
    session.thaw()
    time.sleep(0.3)
    assert count.stat().st_size > size
    session.freeze()
    session.close()
    assert not running(NAP)
    size = count.stat().st_size
    time.sleep(0.2)
    assert count.stat().st_size == size


def test_a_command_that_ends_all_it_can_reach_does_not_end_the_session(session: TerminalSession) -> None:
    session.run("X=9", Event())
    assert not session.run("trap '' TERM; kill -TERM 0; kill -INT 0; exit 4", Event()).ok
    assert session.run("echo $X", Event()).text == "9"


def test_variables_that_look_secret_are_left_out(tmp_path: Path, jail: Jail | None) -> None:
    secret = {
        "GITHUB_TOKEN": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "MY_API_KEY": "x",
        "DB_PASSWORD": "x",
        "SERVICE": "https://anna:hunter2@example.org/",
        "PLAIN": "ghp_" + "a" * 36,
        "BASH_ENV": str(tmp_path / "startup"),
        "BASH_FUNC_ls%%": "() { echo taken; }",
        "PROMPT_COMMAND": "echo taken",
    }
    kept = {"PATH": os.environ["PATH"], "KEYBOARD": "us", "LANG": "C.UTF-8", "EDITOR": "vi"}
    (tmp_path / "startup").write_text("echo taken\n")
    session = TerminalSession(tmp_path, env=secret | kept, jail=jail)
    text = session.run("env; ls", Event()).text
    session.close()
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert not secret.keys() & lines.keys()
    assert {name: lines[name] for name in kept} == kept
    assert "taken" not in text


def test_a_killed_programs_folder_is_removed_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    left = tmp_path / f"{left_over.PREFIX}{ended}-x"
    mine = tmp_path / f"{left_over.PREFIX}{os.getpid()}-y"
    for folder in (left, mine):
        folder.mkdir()
        (folder / "state").write_text("TOKEN=abc")
    left_over.sweep(tmp_path)
    assert not left.exists()
    assert mine.exists()
