"""How much keys, typed text and commands can cost."""

from __future__ import annotations

import pytest

from agent_core.actions import Hotkey, Press, Terminal, Type
from agent_core.safety.keyboard import Keyboard
from agent_core.safety.risk import judge
from agent_core.step import Tier
from tests.safety.scenes import MIDDLE, at, files, screen, shot, tier


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("ctrl", "s"), Tier.R1),
        (("ctrl", "c"), Tier.R1),
        (("ctrl", "v"), Tier.R1),
        (("Delete",), Tier.R1),
        (("f5",), Tier.R1),
        (("no such key",), Tier.R1),
        (("super_l+r",), Tier.R2),
        (("ctrl", "alt", "t"), Tier.R2),
        (("alt", "F4"), Tier.R3),
        (("lalt", "F4"), Tier.R3),
        (("ctrl_l+q",), Tier.R3),
        (("leftctrl", "w"), Tier.R3),
        (("ctrl", "shift", "Delete"), Tier.R3),
        (("shift", "del"), Tier.R4),
        (("ctrl", "alt", "del"), Tier.R4),
    ],
)
def test_chords_carry_tiers(keys: tuple[str, ...], expected: Tier) -> None:
    assert tier(Hotkey(keys), screen()) is expected


def test_keys_that_only_some_windows_give_a_meaning() -> None:
    assert tier(Hotkey(("delete",)), files("a.txt", "b.txt", "c.txt")) is Tier.R3
    assert tier(Hotkey(("delete",)), screen(window="Inbox - Thunderbird")) is Tier.R3
    assert tier(Hotkey(("delete",)), screen(window="a.txt - Mousepad")) is Tier.R1
    composer = shot(at("field", "To", 0.3, 0.1), at("field", "Subject", 0.3, 0.2), window="(no subject)")
    assert tier(Hotkey(("ctrl", "Return")), composer) is Tier.R3
    assert tier(Hotkey(("ctrl", "Return")), screen()) is Tier.R2
    assert tier(Hotkey(("Return",)), composer) is Tier.R1
    assert tier(Hotkey(("Return",)), screen(window="general - Slack")) is Tier.R3
    assert tier(Type("hello\n"), screen(window="微信")) is Tier.R3
    assert tier(Type("calc\n"), screen(window="Run")) is Tier.R3
    assert tier(Type("calc"), screen(window="运行")) is Tier.R2
    shop = shot(at("field", "Voucher", 0.5, 0.3), at("button", "Place order", 0.5, 0.6))
    assert tier(Hotkey(("enter",)), shop) is Tier.R3


def test_a_held_key_changes_what_follows() -> None:
    assert judge(Press("alt"), screen()).tier is Tier.R2
    assert judge(Press("shift"), screen()).tier is Tier.R1
    assert judge(Hotkey(("delete",)), screen(), Keyboard(frozenset({"shift"}))).tier is Tier.R4
    assert judge(Hotkey(("F4",)), screen(), Keyboard(frozenset({"alt"}))).tier is Tier.R3
    assert judge(Type("w"), screen(), Keyboard(frozenset({"ctrl"}))).tier is Tier.R3


@pytest.mark.parametrize(
    "window", ["xterm", "Terminal", "root@host: ~", "Windows PowerShell", "C:\\Windows\\cmd.exe", "终端"]
)
def test_a_terminal_window_runs_what_is_entered(window: str) -> None:
    seen = screen(window=window)
    assert tier(Type("ls"), seen) is Tier.R2
    assert tier(Type("ls\n"), seen) is Tier.R3
    assert tier(Type("sudo rm -rf x\n"), seen) is Tier.R4
    assert tier(Type("ls\nsudo reboot\n"), seen) is Tier.R4
    assert judge(Type("rm -rf /\n"), seen).denied
    for enter in (Hotkey(("enter",)), Press("Return"), Hotkey(("ctrl", "m")), Hotkey(("ctrl+j",))):
        assert tier(enter, seen) is Tier.R3
    assert tier(Hotkey(("ctrl", "shift", "v")), seen) is Tier.R3
    assert tier(Hotkey(("ctrl", "d")), seen) is Tier.R3


def test_after_tab_a_key_may_press_any_button() -> None:
    form = shot(at("field", "Name", 0.5, 0.3), at("button", "Send", 0.5, 0.5), at("button", "Cancel", 0.35, 0.5))
    tabbed = Keyboard().after(Hotkey(("tab",)), screen())
    assert judge(Hotkey(("space",)), form).tier is Tier.R1
    for press in (Hotkey(("space",)), Hotkey(("enter",)), Type(" "), Type("\n")):
        assert judge(press, form, tabbed).tier is Tier.R3
    assert judge(Type("Ann\t\n"), form).tier is Tier.R3
    assert judge(Hotkey(("space",)), form, tabbed.after(MIDDLE, form)).tier is Tier.R1
    assert judge(Type("Ann"), form, tabbed).tier is Tier.R1


def test_addresses_that_do_something() -> None:
    assert tier(Type("javascript:alert(1)\n"), screen()) is Tier.R3
    assert tier(Type("file:///etc/passwd"), screen()) is Tier.R2
    assert tier(Type("https://example.com/?q=secret\n"), screen()) is Tier.R2
    assert tier(Type("https://example.com\n"), screen()) is Tier.R1


def test_a_prompt_tells_a_terminal_without_a_title() -> None:
    seen = shot(at("text", "anna@box:~$ sudo rm -rf build", 0.3, 0.5, 0.5), window="")
    assert tier(Hotkey(("enter",)), seen) is Tier.R4
    begun = shot(at("text", "anna@box:~$ sudo rm -rf", 0.3, 0.5, 0.5), window="")
    assert tier(Type("x\n"), begun) is Tier.R4
    assert tier(Type("x"), shot(at("text", "anna@box:~$", 0.3, 0.5, 0.5), window="htop")) is Tier.R2


def test_secrets_go_where_they_are_asked_for() -> None:
    login = shot(at("field", "Password", 0.5, 0.5), at("button", "Log in", 0.5, 0.6), window="Shop")
    assert tier(Type("{{secret:shop}}"), login) is Tier.R3
    assert tier(Type("{{secret:shop}}"), screen(window="登录")) is Tier.R3
    assert tier(Type("{{secret:shop}}"), screen(window="Notes")) is Tier.R4
    assert tier(Type("{{secret:shop}}"), shot(at("text", "Password:", 0.5, 0.5), window="xterm")) is Tier.R4
    assert tier(Type("4111 1111 1111 1111"), screen()) is Tier.R2
    assert tier(Type("4111 1111 1111 1112"), screen()) is Tier.R1
    assert tier(Type("anna@example.com"), screen()) is Tier.R1


def test_commands_have_the_tier_of_the_shell() -> None:
    assert tier(Terminal("ls"), screen()) is Tier.R1
    assert tier(Terminal("mkdir a"), screen()) is Tier.R3
    assert judge(Terminal("rm -rf /"), screen()).denied
