"""The shell gate against its two lists of commands, against itself, and against a real shell in a real sandbox."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.operators.jail import available
from agent_core.safety.shell import classify, stays_inside
from agent_core.safety.shell_words import parts_of
from agent_core.step import Tier
from tests.safety.shell_cases import FOLDER, HOME, INSERTS, bypass, harmless, mutated

SESAME = "open-sesame-4711"  # stands in the environment and in files that nobody may read unasked
# How many commands are run in the sandbox; more by hand, to look harder.
BATCH = int(os.environ.get("DESKHAND_TEST_COMMANDS", "150"))
# Programs that no reading command may start; each leaves a mark, unless asked for its version.
TRAPS = "sh bash rm touch tee xargs less more man pager vi python3 perl awk curl wget ssh nc chmod mv cp gpg sudo dash"
FILE_COMMANDS = [
    *("mkdir a", "touch b.txt", "cp a.txt b.txt", "mv a.txt sub/", "rm a.txt", "rm -r sub", "echo hi > c.txt"),
    *("ls sub | wc -l > n.txt", "sort a.txt > s.txt", "cat a.txt >> b.txt", "cd sub && touch x", "head -1 a.txt"),
    *("cp -t sub a.txt", "cat <<E > d.txt\nhi\nE", "sort -o a.txt a.txt", "cp -r sub sub2", "grep hi a.txt"),
]
OUTWARD = (
    "/",
    "../",
    " ..",
    " ~/",
    "\\/",
    '""/',
    "''..",
    " -t..",
    " -t ..",
    "=/",
    " {..,a}/",
    " .?/",
    " [.]./",
    " ~+/",
    " ~-",
)


@pytest.fixture(autouse=True)
def anna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)


def test_no_command_of_the_bypass_list_is_allowed() -> None:
    cases = bypass()
    words = [(classify(command, FOLDER).decision, expected, command) for expected, command in cases]
    count = Counter(decision for decision, _, _ in words)
    print(
        f"\nbypass list: {len(cases)} commands, {count['allow']} allowed, {count['ask']} asked, {count['deny']} denied"
    )
    assert len(cases) >= 200
    assert [command for decision, _, command in words if decision == "allow"] == []
    assert [word for word in words if word[0] != word[1]] == []


def test_most_everyday_commands_are_not_asked() -> None:
    cases = harmless()
    verdicts = {command: classify(command, FOLDER) for command in cases}
    asked = [command for command, verdict in verdicts.items() if verdict.decision != "allow"]
    share = 1 - len(asked) / len(cases)
    print(f"\nharmless list: {len(cases)} commands, {len(cases) - len(asked)} not asked ({share:.1%}); asked: {asked}")
    assert len(cases) >= 170
    assert share >= 0.8
    assert not any(verdict.decision == "deny" for verdict in verdicts.values())


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from([*INSERTS, "ls", "cat", " a"]), max_size=8).map("".join))
)
def test_any_text_gets_a_verdict(command: str) -> None:
    assert classify(command).decision in ("allow", "ask", "deny")
    assert parts_of(command) is None or parts_of(command)
    stays_inside(command)


def test_what_is_allowed_has_nothing_to_act_on_outside_of_quotes() -> None:
    for command in mutated(10_000, 1, harmless()):
        if classify(command, FOLDER).decision == "allow":
            assert not _acts(command), command


def _acts(command: str) -> bool:
    """A third reader, as simple as can be: whether a shell would act on a sign in this text."""
    text = re.sub(r"[012&]?>>?\s*/dev/null(?=\s|$)|2>&1(?=\s|$)|</dev/null(?=\s|$)", " ", command.strip())
    quote = ""
    signs = iter(text)
    for sign in signs:
        if quote == "'":
            quote = "" if sign == "'" else quote
        elif sign == "\\":
            next(signs, "")
        elif quote == '"':
            quote = "" if sign == '"' else quote
            if sign in "$`":
                return True
        elif sign in "'\"":
            quote = sign
        elif sign in "$`;&|<>(){}\n\r#" and not (sign == "#" and command):
            return True
    return bool(quote)


@pytest.mark.skipif(not available(), reason="bubblewrap cannot make a sandbox here")
def test_what_is_allowed_changes_starts_and_tells_nothing(tmp_path: Path) -> None:
    home = _made_home(tmp_path / "anna")
    os.environ["HOME"] = str(home)
    allowed = [
        c
        for c in [*harmless(), *mutated(40 * BATCH, 2, harmless())]
        if classify(c, str(home / "project")).decision == "allow"
    ]
    tried = _some(BATCH, {c for c in allowed if not c.startswith("sleep")})
    before = _contents(home)
    told = _told(tmp_path, home / "project", tried)
    print(f"\n{len(tried)} allowed commands were run in a sandbox")
    assert len(tried) == BATCH
    assert not (tmp_path / "marks").exists(), (tmp_path / "marks").read_text()
    assert _contents(home) == before
    assert [command for command, output in zip(tried, told, strict=True) if SESAME in output] == []


@pytest.mark.skipif(not available(), reason="bubblewrap cannot make a sandbox here")
def test_what_stays_inside_changes_nothing_outside(tmp_path: Path) -> None:
    home = _made_home(tmp_path / "anna")
    inside = home / "project/inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("hi\n")
    made = mutated(20 * BATCH, 3, FILE_COMMANDS)
    made += [
        c[:at] + out + c[at:]
        for c in FILE_COMMANDS
        for out in OUTWARD
        for at in (len(c), c.rfind(" "), c.find(" ") + 1)
    ]
    tried = _some(BATCH, {command for command in made if stays_inside(command)})
    before = {name: text for name, text in _contents(home).items() if "project/inside" not in name}
    told = _told(tmp_path, inside, tried)
    assert len(tried) == BATCH
    assert {name: text for name, text in _contents(home).items() if "project/inside" not in name} == before
    assert [command for command, output in zip(tried, told, strict=True) if SESAME in output] == []


@pytest.mark.skipif(not available(), reason="bubblewrap cannot make a sandbox here")
def test_the_sandbox_would_show_what_a_bad_command_does(tmp_path: Path) -> None:
    home = _made_home(tmp_path / "anna")
    before = _contents(home)
    told = _told(tmp_path, home / "project", ["cat .env", "echo $PLANTED", "ls | less", "echo x > MARK"])
    assert [SESAME in output for output in told] == [True, True, False, False]
    assert (tmp_path / "marks").read_text().strip().endswith("less")
    assert set(_contents(home)) - set(before) == {"project/MARK"}


def _some(count: int, commands: set[str]) -> list[str]:
    return random.Random(count).sample(sorted(commands), min(count, len(commands)))


def _made_home(home: Path) -> Path:
    """A home folder with a repository, secrets, and files whose names are options."""
    project = home / "project"
    files = {".ssh/id_rsa": SESAME, ".netrc": SESAME, "passwords.txt": SESAME, "Documents/todo.txt": "buy milk\n"}
    files |= {
        f"project/{name}": "one, two\nthree\n" for name in ("README.md", "notes.txt", "data.csv", "a.txt", "b.txt")
    }
    files |= {"project/src/main.py": "print(1)\n", "project/src/app.py": "import os\n", "project/.env": SESAME}
    files |= {
        "project/package.json": '{"name": "x", "scripts": {"a": "b"}, "items": []}',
        "project/server.log": "error\n",
    }
    files |= {
        f"project/{name}": "x\n" for name in ("--output=MARK", "-oMARK", "-exec", "-rf", "--files0-from=.env", "e")
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in ("init -q", "add src README.md", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=project, env=env, check=True)
    return home


def _contents(home: Path) -> dict[str, bytes]:
    """Every file and folder with what it holds; git may refresh its index when it looks."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in home.rglob("*")
        if path.name != "index"
    }


def _told(tmp_path: Path, folder: Path, commands: list[str]) -> list[str]:
    """What each command printed, run by bash in a sandbox without network in which everything can be seen."""
    scripts, outputs, traps = tmp_path / "scripts", tmp_path / "outputs", tmp_path / "traps"
    for place in (scripts, outputs, traps):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    for number, command in enumerate(commands):
        (scripts / f"{number:05}").write_text(command + "\n", errors="surrogateescape")
    for name in TRAPS.split():
        real = shutil.which(name, path="/usr/bin:/bin") or "/bin/false"
        asks = f'[ "$#" = 1 ] && case "$1" in -V|-v|--version) exec {real} "$1";; esac'
        trap = f'#!/bin/dash\n{asks}\necho "$0 $*" >> {tmp_path}/marks\n'
        (traps / name).write_text(trap)
        (traps / name).chmod(0o755)
    run_all = (
        f"for script in {scripts}/*; do cd {folder}; "
        f'PATH={traps}:/usr/bin:/bin /usr/bin/timeout -k 1 2 /bin/bash --norc --noprofile "$script" '
        f'< /dev/null > "{outputs}/${{script##*/}}" 2>&1; done; exit 0'
    )
    home = next(parent for parent in folder.parents if parent.name == "anna")
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PLANTED": SESAME,
        "PAGER": f"{traps}/pager",
        "LANG": "C.UTF-8",
    }
    sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid"]
    sandbox += ["--bind", str(tmp_path), str(tmp_path), "--die-with-parent", "/bin/bash", "-c", run_all]
    subprocess.run(sandbox, env=env, check=True, timeout=20 + BATCH)
    return [(outputs / f"{number:05}").read_text(errors="replace") for number in range(len(commands))]


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("cat notes.txt", True),
        ("cat ~/Documents/a.txt", True),
        (f"cat {FOLDER}/src/main.py", True),
        ("cat /srv/desk/a.txt", False),
        ("cat /home/bob/a.txt", False),
        ("ls /srv", True),
        ("cd ..", False),
        ("cat ../a.txt", False),
    ],
)
def test_places(command: str, allowed: bool) -> None:
    verdict = classify(command, FOLDER)
    assert (verdict.decision == "allow") is allowed
    assert allowed or verdict.tier is Tier.R2


def test_the_tasks_folder_opens_its_own_files_alone() -> None:
    assert classify("cat /srv/desk/a.txt", "/srv/desk").decision == "allow"
    assert classify("cat /srv/deskshop/a.txt", "/srv/desk").decision == "ask"
    assert classify("cat /srv/desk/../x", "/srv/desk").decision == "ask"
    assert classify("cat /srv/desk/.env", "/srv/desk").decision == "ask"
    assert classify("cat /etc/crontab", "/").decision == "ask"


@pytest.mark.parametrize("command", ["ls | wc -l", "cat a.txt | sort | uniq -c", "cd src && ls", "ls; pwd"])
def test_chains_of_readers_ask_at_a_tier_that_can_be_granted(command: str) -> None:
    verdict = classify(command, FOLDER)
    assert (verdict.decision, verdict.tier) == ("ask", Tier.R2)


@pytest.mark.parametrize("command", ["ls | tee a", "ls | sh", "cat .env | sort", "ls; rm x", "ls | sort -o a", "ls &"])
def test_chains_with_anything_else_do_not(command: str) -> None:
    assert classify(command, FOLDER).tier >= Tier.R3


def test_parts_of_one_plain_command() -> None:
    parts = parts_of("mv -n 'old name.txt' Books/ 2>/dev/null")
    assert parts is not None
    assert (parts.program, parts.options, parts.paths) == ("mv", ("-n",), ("old name.txt", "Books/"))
    assert parts.words == ("-n", "old name.txt", "Books/")
    assert not parts.expands
    dashed = parts_of("rm -- -x")
    assert dashed is not None
    assert (dashed.options, dashed.paths) == ((), ("-x",))
    assert parts_of("mkdir ~/a") == parts_of("mkdir  ~/a")
    assert [p.expands for c in ("rm *.txt", "mkdir ~/a", "rm '*'") if (p := parts_of(c))] == [True, True, False]


@pytest.mark.parametrize(
    "command", ["", "a; b", "a | b", "a $b", "a `b`", "a > b", "a {b,c}", "X=1 a", "a\nb", "'a' b", "a 'b", "a\u200b b"]
)
def test_what_is_not_one_plain_command_has_no_parts(command: str) -> None:
    assert parts_of(command) is None
