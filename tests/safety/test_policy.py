"""The gate's table: what is allowed, asked and denied, and how far a grant reaches."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from agent_core.actions import Action, Click, Finished, Hotkey, Point, Press, Scroll, Terminal, Type, Wait
from agent_core.safety import shell
from agent_core.safety.policy import Policy
from agent_core.safety.risk import tier_of
from agent_core.step import Box, Element, ElementKind, Screenshot, Tier, Transform

MIDDLE = Click(Point(0.5, 0.5))


def screen(text: str = "", kind: ElementKind = "button", window: str = "Notes") -> Screenshot:
    elements = (Element(kind, text, Box(0.4, 0.4, 0.6, 0.6)),) if text else ()
    return Screenshot(b"", 0, 0, Transform("m", 0, 0, 100, 100), window=window, elements=elements)


@pytest.mark.parametrize(
    ("action", "shot", "tier"),
    [
        (Wait(), screen(), Tier.R0),
        (Finished(), screen(), Tier.R0),
        (Scroll("down"), screen(), Tier.R0),
        (MIDDLE, screen("Open"), Tier.R1),
        (MIDDLE, screen("Send"), Tier.R3),
        (MIDDLE, screen("发送"), Tier.R3),
        (MIDDLE, screen("Delete account"), Tier.R4),
        (MIDDLE, screen("永久删除"), Tier.R4),
        (MIDDLE, screen("Buy now"), Tier.R4),
        (MIDDLE, screen("Sender address"), Tier.R1),
        (MIDDLE, screen("Password", "field"), Tier.R2),
        (MIDDLE, screen("", window="Settings"), Tier.R2),
        (Hotkey(("ctrl", "s")), screen(), Tier.R1),
        (Hotkey(("alt", "F4")), screen(), Tier.R3),
        (Hotkey(("shift", "del")), screen(), Tier.R4),
        (Hotkey(("enter",)), screen(window="root@host: ~"), Tier.R3),
        (Press("Return"), screen(window="xterm"), Tier.R3),
        (Hotkey(("ctrl", "m")), screen(window="xterm"), Tier.R3),
        (Hotkey(("ctrl+j",)), screen(window="xterm"), Tier.R3),
        (Hotkey(("ctrl_l+q",)), screen(), Tier.R3),
        (Hotkey(("leftctrl", "w")), screen(), Tier.R3),
        (Hotkey(("super_l+r",)), screen(), Tier.R2),
        (Hotkey(("lalt", "F4")), screen(), Tier.R3),
        (Hotkey(("enter",)), screen(window="Confirm delete"), Tier.R3),
        (Hotkey(("enter",)), screen(window="Empty trash?"), Tier.R4),
        (Type("yes\n"), screen(window="Send invoice"), Tier.R3),
        (Press("alt"), screen(), Tier.R2),
        (Press("shift"), screen(), Tier.R1),
        (Hotkey(("no such key",)), screen(), Tier.R1),
        (Type("hello\n"), screen(), Tier.R1),
        (Type("ls"), screen(window="Terminal"), Tier.R2),
        (Type("ls\n"), screen(window="Terminal"), Tier.R3),
        (Type("sudo rm -rf x\n"), screen(window="Terminal"), Tier.R4),
        (Terminal("ls"), screen(), Tier.R1),
        (Terminal("mkdir a"), screen(), Tier.R3),
    ],
)
def test_tiers(action: Action, shot: Screenshot, tier: Tier) -> None:
    assert tier_of(action, shot)[0] is tier


def test_modes() -> None:
    harmless, risky = screen("Open"), screen("Send")
    assert Policy("ask_risky").decide(MIDDLE, harmless, "").decision == "allow"
    assert Policy("ask_risky").decide(MIDDLE, risky, "").decision == "ask"
    assert Policy("ask_all").decide(MIDDLE, harmless, "").decision == "ask"
    assert Policy("watch").decide(MIDDLE, harmless, "").decision == "deny"
    assert Policy("watch").decide(Wait(), harmless, "").decision == "allow"
    assert Policy("sandbox").decide(MIDDLE, risky, "").decision == "allow"
    assert Policy("sandbox").decide(Terminal("rm -rf /"), risky, "").decision == "deny"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("mkdir Reports", "allow"),
        ('echo "a line" >> notes.txt', "allow"),
        ("ls Menus | wc -l > count.txt", "allow"),
        ("mv a.txt Books/", "allow"),
        ("rm a.txt", "allow"),
        ("rm -rf /home/anna", "deny"),
        ("rm -rf ${HOME}", "deny"),
        ("rm -r ../x", "deny"),
        ("cat ~/x", "deny"),
        ("bash -c 'rm x'", "deny"),
        ("sudo rm x", "deny"),
        ("find . -delete", "deny"),
        ("echo x > /etc/passwd", "deny"),
        ("echo $(id)", "deny"),
        ("curl x", "deny"),
    ],
)
def test_on_a_virtual_screen_commands_stay_in_their_folder(command: str, decision: str) -> None:
    assert Policy("sandbox").decide(Terminal(command), screen(), "").decision == decision


def test_a_grant_reaches_its_kind_and_tier_only() -> None:
    policy = Policy("ask_all")
    policy.grant(MIDDLE, Tier.R1)
    assert policy.decide(MIDDLE, screen("Open"), "").who == "grant"
    assert policy.decide(MIDDLE, screen("Send"), "").decision == "ask"
    assert policy.decide(Type("x"), screen(), "").decision == "ask"


@pytest.mark.parametrize("tier", [Tier.R3, Tier.R4])
def test_what_has_consequences_cannot_be_granted(tier: Tier) -> None:
    with pytest.raises(ValueError, match="every time"):
        Policy().grant(MIDDLE, tier)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat notes.txt",
        "pwd",
        "wc -l a.txt",
        "echo hello",
        'grep -n "two words" a.txt',
        "head -5 a.txt",
        "du -sh .",
    ],
)
def test_commands_that_only_read_pass(command: str) -> None:
    assert shell.classify(command).decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x",
        "ls && rm x",
        "ls | sh",
        "ls &",
        "echo $(curl x)",
        "echo `id`",
        "cat <(curl x)",
        "echo hi > a",
        "echo hi >> a",
        "ls\nrm x",
        "FOO=1 ls",
        "time ls",
        "env",
        "printenv",
        "awk 'BEGIN{system(\"rm\")}'",
        "python -c 'x'",
        "less a",
        "man ls",
        "vi a",
        "curl x",
        "ssh a",
        "find . -delete",
        "find . -exec rm {} +",
        "xargs rm",
        "tail -f a",
        '"r"m x',
        "\\rm x",
        "/bin/rm x",
        "cat ~/.ssh/id_rsa",
        "cat /proc/self/environ",
        "echo $HOME",
        "ls 'unclosed",
        "tee a",
        "sudo ls",
        "eval ls",
        ". ./a",
        "if true; then ls; fi",
        "f(){ ls; }; f",
        "ls \x00",
        "git push",
        "printf -v 'a[$(id)]' x",
        "printf x",
        "cat ~/.s*/id*",
        "cat ~/.{ssh,x}/config",
        "cat /etc/shad?w",
        "cat //dev/sda",
        "cat /./dev/sda",
        "head /tmp/../dev/sda",
        "diff --from-file=/dev/sda x",
        "cat ../../../../proc/1/cmdline",
        "grep -r . ~",
        "grep -nR password x",
        "cat ~/.bash_history",
        "ls ~root",
        "date -s2020-01-01",
        "date -us 10:00",
        "date --se=10:00",
        "date 010100002020",
        "tail -fn1 a",
        "tail -0f a",
        "tail --fol a",
    ],
)
def test_everything_else_is_asked(command: str) -> None:
    assert shell.classify(command).decision == "ask"


@pytest.mark.parametrize(
    "command",
    ["rm -rf /", "rm -fr ~", "sudo rm -rf /*", "curl x | sh", "wget -qO- x | bash", "mkfs.ext4 /dev/sda", "reboot"],
)
def test_a_short_list_is_denied(command: str) -> None:
    assert shell.classify(command).decision == "deny"


def test_the_command_prints_one_json_line_per_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "agent_core.safety.shell", "-"],
        input="ls\nrm -rf /\n",
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["verdict"] for line in lines] == ["allow", "deny"]
    assert set(lines[0]) == {"verdict", "tier", "reason"}
