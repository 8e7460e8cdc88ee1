"""The gate's word: modes, grants and what they reach, what the request named, and what is to be typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.actions import Action, Click, Finished, Hotkey, Point, Press, Release, RightClick, Terminal, Type, Wait
from agent_core.safety.policy import Mode, Policy
from agent_core.step import Screenshot, Tier, Verdict
from tests.safety.scenes import MIDDLE, at, dialog, screen, shot


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_modes() -> None:
    harmless, risky, sensitive = screen("Open"), screen("Send"), screen("Open", window="Settings")
    table: dict[Mode, tuple[str, str, str]] = {
        "ask_risky": ("allow", "ask", "ask"),
        "ask_all": ("ask", "ask", "ask"),
        "watch": ("deny", "deny", "deny"),
        "sandbox": ("allow", "allow", "allow"),
    }
    for mode, decisions in table.items():
        assert tuple(Policy(mode).decide(MIDDLE, s, "").decision for s in (harmless, sensitive, risky)) == decisions
        assert Policy(mode).decide(Wait(), risky, "").decision == "allow"
        assert Policy(mode).decide(Finished(), risky, "").decision == "allow"
        assert Policy(mode).decide(Terminal("rm -rf /"), risky, "").decision == "deny"
        assert Policy(mode).decide(Type("rm -rf /\n"), screen(window="xterm"), "").decision == "deny"
    assert Policy("sandbox").decide(Terminal("cat /etc/passwd"), risky, "").decision == "deny"


def test_what_the_request_named_is_allowed_at_r3_and_never_at_r4() -> None:
    verdict = Policy().decide(MIDDLE, screen("Send"), "Press Send.")
    assert (verdict.decision, verdict.who, verdict.tier) == ("allow", "task", Tier.R3)
    assert "Press Send." in verdict.reason
    assert Policy("ask_all").decide(MIDDLE, screen("Send"), "Press Send.").decision == "ask"
    assert Policy().decide(MIDDLE, screen("Pay now"), "Press Pay now.").decision == "ask"


@pytest.mark.parametrize(
    ("action", "seen", "words"),
    [
        (MIDDLE, screen("Delete account"), "delete account"),
        (MIDDLE, screen("立即支付"), "立即支付"),
        (MIDDLE, dialog("Permanently delete a.txt?"), "permanently delete"),
        (Hotkey(("enter",)), dialog("Empty the trash?", window="Question"), "empty the trash"),
        (Terminal("sudo apt install a b c"), screen(), "sudo apt install a"),
        (Type("sudo reboot now\n"), screen(window="xterm"), ""),
        (Hotkey(("shift", "delete")), screen(), "shift delete"),
        (Type("{{secret:bank}}"), screen(), "bank"),
    ],
)
def test_what_is_critical_is_allowed_by_its_own_words(action: Action, seen: Screenshot, words: str) -> None:
    verdict = Policy().decide(action, seen, "")
    assert verdict.tier is Tier.R4
    assert verdict.confirm == words
    assert verdict.decision == ("ask" if words else "deny")


def test_only_what_is_critical_needs_words() -> None:
    assert Policy().decide(MIDDLE, screen("Send"), "").confirm == ""
    assert Policy("ask_all").decide(MIDDLE, screen("Open"), "").confirm == ""


def test_a_grant_reaches_its_kind_tier_and_window_only() -> None:
    policy = Policy("ask_all")
    verdict = policy.decide(MIDDLE, screen("Open"), "")
    assert policy.can_grant(verdict)
    assert verdict.resource == "the window “Notes”"
    policy.grant(MIDDLE, verdict)
    assert policy.decide(MIDDLE, screen("Open"), "").who == "grant"
    assert policy.decide(Click(Point(0.1, 0.1)), screen("Open"), "").who == "grant"
    assert policy.decide(MIDDLE, screen("Open", window="Photos"), "").decision == "ask"
    assert policy.decide(MIDDLE, screen("Send"), "").decision == "ask"
    assert policy.decide(MIDDLE, screen("Open", window="Settings"), "").decision == "ask"
    assert policy.decide(Type("x"), screen(), "").decision == "ask"
    assert Policy("ask_all").decide(MIDDLE, screen("Open"), "").decision == "ask"  # another run


def test_a_grant_in_a_sensitive_window_is_for_that_window() -> None:
    policy = Policy()
    policy.grant(MIDDLE, policy.decide(MIDDLE, screen(window="Settings"), ""))
    assert policy.decide(MIDDLE, screen(window="Settings"), "").decision == "allow"
    assert policy.decide(MIDDLE, screen(window="Passwords"), "").decision == "ask"
    assert policy.decide(MIDDLE, screen("Delete", window="Settings"), "").decision == "ask"


def test_a_grant_expires() -> None:
    clock = Clock()
    policy = Policy(now=clock, grant_s=600)
    policy.grant(MIDDLE, policy.decide(MIDDLE, screen(window="Settings"), ""))
    clock.seconds = 599.9
    assert policy.decide(MIDDLE, screen(window="Settings"), "").decision == "allow"
    clock.seconds = 600.0
    assert policy.decide(MIDDLE, screen(window="Settings"), "").decision == "ask"


@pytest.mark.parametrize("text", ["Send", "Pay now"])
def test_what_has_consequences_is_granted_once_and_for_that_act_alone(text: str) -> None:
    policy = Policy()
    verdict = policy.decide(MIDDLE, screen(text), "")
    assert not policy.can_grant(verdict)  # never offered for a while
    policy.grant(MIDDLE, verdict)
    assert policy.decide(Click(Point(0.51, 0.5)), screen(text), "").decision == "ask"
    assert policy.decide(MIDDLE, screen(text, window="Other"), "").decision == "ask"
    assert policy.decide(MIDDLE, screen(text), "").who == "grant"
    assert policy.decide(MIDDLE, screen(text), "").decision == "ask"


def test_a_window_without_a_title_cannot_be_granted() -> None:
    policy = Policy("ask_all")
    verdict = policy.decide(MIDDLE, screen("Open", window=""), "")
    assert not policy.can_grant(verdict)
    with pytest.raises(ValueError, match="every time"):
        policy.grant(MIDDLE, verdict)


def test_a_grant_for_a_sensitive_command_is_for_that_command() -> None:
    policy = Policy()
    verdict = policy.decide(Terminal("cat .bashrc"), screen(), "")
    assert verdict.tier is Tier.R2
    policy.grant(Terminal("cat .bashrc"), verdict)
    assert policy.decide(Terminal("cat .bashrc"), screen(), "").who == "grant"
    assert policy.decide(Terminal("cat .ssh/id_rsa"), screen(), "").decision == "ask"


def test_a_key_held_down_makes_the_next_key_what_it_is() -> None:
    policy = Policy()
    assert policy.decide(Press("shift"), screen(), "").decision == "allow"
    assert policy.decide(Hotkey(("delete",)), screen(), "").tier is Tier.R4
    policy.decide(Release("shift"), screen(), "")
    assert policy.decide(Hotkey(("delete",)), screen(), "").tier is Tier.R1


def test_tab_is_remembered_until_a_click() -> None:
    policy, form = Policy(), screen("Send")
    assert policy.decide(Hotkey(("tab",)), form, "").decision == "allow"
    assert policy.decide(Hotkey(("space",)), form, "").decision == "ask"
    policy.decide(Click(Point(0.1, 0.1)), form, "")
    assert policy.decide(Hotkey(("space",)), form, "").decision == "allow"


def test_no_decision_without_a_reason() -> None:
    for mode in ("ask_all", "ask_risky", "watch", "sandbox"):
        for action in (MIDDLE, Type("x"), Terminal("ls"), Hotkey(("enter",)), Wait()):
            verdict = Policy(mode).decide(action, screen("Send"), "Read it.")
            assert verdict.reason[0].isupper() or verdict.reason[0] == "“" or action == Terminal("ls")
            assert verdict.reason.endswith((".", "”"))


SCREENS = st.builds(
    screen,
    st.sampled_from(["Open", "Send", "Pay now", "Delete", "OK", ""]),
    st.sampled_from(["button", "text", "icon"]),
    st.sampled_from(["Notes", "Settings", "Photos", "xterm", ""]),
)
ACTIONS: st.SearchStrategy[Action] = st.sampled_from(
    [
        MIDDLE,
        Click(Point(0.45, 0.5)),
        RightClick(MIDDLE.at),
        Type("x"),
        Type("ls\n"),
        Hotkey(("enter",)),
        Terminal("cat .x"),
    ]
)


@given(ACTIONS, SCREENS, ACTIONS, SCREENS)
def test_a_grant_turns_nothing_else_to_allow(
    granted: Action, seen: Screenshot, other: Action, later: Screenshot
) -> None:
    policy = Policy("ask_all")
    verdict = policy.decide(granted, seen, "")
    if verdict.decision != "ask" or not verdict.resource:
        return
    policy.grant(granted, verdict)
    after = policy.decide(other, later, "")
    if after.who == "grant":
        assert type(other) is type(granted)
        assert (after.tier, after.resource) == (verdict.tier, verdict.resource)
        assert after.tier in (Tier.R1, Tier.R2) or other == granted
    else:
        assert after.decision != "allow" or after.tier is Tier.R0


@given(ACTIONS, SCREENS, st.text(max_size=60))
def test_what_is_allowed_unasked_is_little_or_was_named(action: Action, seen: Screenshot, task: str) -> None:
    verdict: Verdict = Policy().decide(action, seen, task)
    if verdict.decision == "allow":
        assert verdict.tier in (Tier.R0, Tier.R1) or (verdict.who == "task" and verdict.tier in (Tier.R2, Tier.R3))
    if verdict.tier is Tier.R4:
        assert verdict.decision != "allow"


def test_a_window_beside_is_not_the_one_that_is_asked_about() -> None:
    seen = shot(at("button", "Open", 0.5, 0.5), at("button", "Delete", 0.8, 0.5))
    assert Policy().decide(MIDDLE, seen, "").decision == "allow"


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
