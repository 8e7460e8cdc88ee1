"""How much an action can cost: tables of screens, in English and Chinese, and what must hold for any screen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.safety.plain import plain, unmasked
from agent_core.safety.risk import judge
from agent_core.step import Box, Element, Tier
from tests.safety.scenes import MIDDLE, at, dialog, screen, shot, tier


@pytest.mark.parametrize("action", [Wait(), Finished(), CallUser("?"), Scroll("down"), Release("ctrl")])
def test_looking_and_talking_cost_nothing(action: Action) -> None:
    assert tier(action, screen("Delete", window="Passwords")) is Tier.R0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Open", Tier.R1),
        ("Save", Tier.R1),
        ("Cancel", Tier.R1),
        ("Sender address", Tier.R1),
        ("Deleted items", Tier.R1),
        ("Orders", Tier.R1),
        ("Payment methods", Tier.R1),
        ("Downloads", Tier.R1),
        ("Address book", Tier.R1),
        ("Format", Tier.R1),
        ("Reset", Tier.R1),
        ("Reply", Tier.R1),
        ("Undo send", Tier.R1),
        ("Don't delete", Tier.R1),
        ("Keep editing", Tier.R1),
        ("send-report.pdf", Tier.R1),
        ("Send to back", Tier.R1),
        ("已删除邮件", Tier.R1),
        ("最近删除", Tier.R1),
        ("已发送", Tier.R1),
        ("取消", Tier.R1),
        ("下载内容", Tier.R1),
        ("发送到桌面", Tier.R1),
        ("支付方式", Tier.R1),
        ("发布时间", Tier.R1),
        ("加入购物车", Tier.R1),
        ("退出全屏", Tier.R1),
        ("Log in", Tier.R2),
        ("登录", Tier.R2),
        ("Send", Tier.R3),
        ("X Send", Tier.R3),
        ("Submit", Tier.R3),
        ("Delete", Tier.R3),
        ("Delete report.txt", Tier.R3),
        ("Move to Trash", Tier.R3),
        ("Remove", Tier.R3),
        ("Discard", Tier.R3),
        ("Don't save", Tier.R3),
        ("Close without saving", Tier.R3),
        ("Post", Tier.R3),
        ("Share", Tier.R3),
        ("Publish", Tier.R3),
        ("Upload", Tier.R3),
        ("Download", Tier.R3),
        ("Install", Tier.R3),
        ("Uninstall", Tier.R3),
        ("Sign out", Tier.R3),
        ("Restart now", Tier.R3),
        ("Unsubscribe", Tier.R3),
        ("Cancel subscription", Tier.R3),
        ("Allow", Tier.R3),
        ("Book now", Tier.R3),
        ("Reset password", Tier.R3),
        ("Register", Tier.R3),
        ("Quit", Tier.R3),
        ("Overwrite", Tier.R3),
        ("Change password", Tier.R3),
        ("End task", Tier.R3),
        ("Accept", Tier.R3),
        ("同意", Tier.R3),
        ("清除历史记录", Tier.R3),
        ("发送", Tier.R3),
        ("提交", Tier.R3),
        ("删除", Tier.R3),
        ("移到回收站", Tier.R3),
        ("不保存", Tier.R3),
        ("发布", Tier.R3),
        ("上传", Tier.R3),
        ("下载", Tier.R3),
        ("安装", Tier.R3),
        ("卸载", Tier.R3),
        ("退出登录", Tier.R3),
        ("重启", Tier.R3),
        ("取消订阅", Tier.R3),
        ("允许", Tier.R3),
        ("Pay", Tier.R4),
        ("Buy now", Tier.R4),
        ("Order", Tier.R4),
        ("Place order", Tier.R4),
        ("Checkout", Tier.R4),
        ("Transfer money", Tier.R4),
        ("Delete account", Tier.R4),
        ("Delete permanently", Tier.R4),
        ("Empty Trash", Tier.R4),
        ("Format SD card", Tier.R4),
        ("Refund", Tier.R4),
        ("Sell", Tier.R4),
        ("恢复出厂设置", Tier.R4),
        ("Factory reset", Tier.R4),
        ("I agree", Tier.R4),
        ("Accept the terms", Tier.R4),
        ("Turn off firewall", Tier.R4),
        ("Run anyway", Tier.R4),
        ("支付", Tier.R4),
        ("立即购买", Tier.R4),
        ("提交订单", Tier.R4),
        ("转账", Tier.R4),
        ("永久删除", Tier.R4),
        ("清空回收站", Tier.R4),
        ("格式化", Tier.R4),
        ("注销账号", Tier.R4),
        ("同意并继续", Tier.R4),
        ("关闭防火墙", Tier.R4),
    ],
)
def test_a_button_costs_what_its_words_say(text: str, expected: Tier) -> None:
    assert tier(MIDDLE, screen(text)) is expected
    assert tier(DoubleClick(MIDDLE.at), screen(text)) is expected


@pytest.mark.parametrize(
    "text",
    [
        "D e l e t e",
        "Dеlete",  # a Cyrillic letter
        "Ｄｅｌｅｔｅ",
        "De\u200blete",
        "Délete",
        "De1ete",
        "D3LETE",
        "DeIete",
        "ᴅᴇʟᴇᴛᴇ",
        "𝐃𝐞𝐥𝐞𝐭𝐞",
        "D.e.l.e.t.e",
        "del\u00adete",
        "删 除",
        "删\u200b除",
        "\u202eDelete",
    ],
)
def test_disguised_words_are_read_as_a_person_reads_them(text: str) -> None:
    assert tier(MIDDLE, screen(text)) is Tier.R3


@pytest.mark.parametrize(
    ("text", "window", "expected"),
    [
        ("Delete", "Photos", Tier.R3),
        ("Delete file…", "Photos", Tier.R3),
        ("Send message", "Shop", Tier.R3),
        ("How to delete files", "Help", Tier.R1),
        ("Anna will send the report on Monday", "Inbox", Tier.R1),
        ("Please delete the old mails when you have read them all", "Inbox", Tier.R1),
        ("Send the market", "list.txt - Mousepad", Tier.R1),
        ("Recently deleted", "Photos", Tier.R1),
        ("删除", "照片", Tier.R3),
        ("如何删除文件的说明在这里", "帮助", Tier.R1),
    ],
)
def test_bare_text_is_a_control_only_when_short_and_first(text: str, window: str, expected: Tier) -> None:
    assert tier(MIDDLE, screen(text, "text", window)) is expected


def test_menu_names_read_as_one_line_count_each_for_itself() -> None:
    menu = shot(at("text", "Copy Paste Delete Rename", 0.5, 0.5, 0.4))
    assert tier(Click(Point(0.56, 0.5)), menu) is Tier.R3
    assert tier(Click(Point(0.31, 0.5)), menu) is Tier.R1


def test_ticks_are_reversible_unless_they_consent() -> None:
    assert tier(MIDDLE, screen("Delete after sending", "check")) is Tier.R1
    assert tier(MIDDLE, screen("I agree to the terms", "check")) is Tier.R4
    assert tier(MIDDLE, screen("Send me news", "radio")) is Tier.R1


def test_a_banner_about_cookies_is_no_contract() -> None:
    banner = shot(at("text", "This site uses cookies.", 0.5, 0.4, 0.4), at("button", "I agree", 0.5, 0.5))
    assert tier(MIDDLE, banner) is Tier.R1


@pytest.mark.parametrize("label", ["Password", "PIN", "Card number", "密码", "验证码"])
def test_fields_for_secrets_are_sensitive(label: str) -> None:
    assert tier(MIDDLE, screen(label, "field")) is Tier.R2


@pytest.mark.parametrize(
    "window",
    [
        "Settings",
        "Passwords and Keys",
        "Online Banking - Chromium",
        "Authentication Required",
        "Synaptic Package Manager",
        "KeePassXC",
        "Registry Editor",
        "系统设置",
        "网上银行",
        "软件中心",
    ],
)
def test_what_is_unknown_in_a_sensitive_window_is_never_below_ask(window: str) -> None:
    for seen in (screen(window=window), screen("Apply", window=window), screen("", "icon", window)):
        assert tier(MIDDLE, seen) >= Tier.R2
        assert tier(RightClick(MIDDLE.at), seen) >= Tier.R2
        assert tier(Type("x"), seen) >= Tier.R2
        assert tier(Hotkey(("a",)), seen) >= Tier.R2


@pytest.mark.parametrize(
    "window", ["wallet.txt - Mousepad", "settings.py - Code", "bank.txt", "passwords-howto.pdf - Viewer"]
)
def test_a_file_with_such_a_name_is_no_sensitive_window(window: str) -> None:
    assert tier(MIDDLE, screen("Open", window=window)) is Tier.R1


@pytest.mark.parametrize(
    ("question", "yes", "window", "expected"),
    [
        ("Delete 3 files?", "Yes", "Question", Tier.R3),
        ("Delete 3 files?", "OK", "Question", Tier.R3),
        ("Do you want to move the file 'a.txt' to trash can?", "C ) Yes", "Confirm", Tier.R3),
        ("Are you sure you want to permanently delete a.txt?", "OK", "Question", Tier.R4),
        ("The files will be deleted. This cannot be undone.", "Continue", "Warning", Tier.R4),
        ("Send this message without a subject?", "Yes", "Mail", Tier.R3),
        ("A file named a.txt already exists. Replace it?", "Replace", "Save As", Tier.R3),
        ("Uninstall 2 programs?", "Continue", "Software", Tier.R3),
        ("Do you want to pay 20 EUR?", "Confirm", "Shop", Tier.R4),
        ("确定要删除这 3 个文件吗？", "确定", "提示", Tier.R3),
        ("确定要永久删除该文件吗？", "是(Y)", "提示", Tier.R4),
        ("是否发送邮件？", "是", "提示", Tier.R3),
        ("What is your name?", "OK", "Hello", Tier.R1),
        ("Do you want to continue?", "Yes", "Setup", Tier.R1),
        ("Save changes before closing?", "Save", "Editor", Tier.R1),
        ("您叫什么名字？", "确定", "你好", Tier.R1),
    ],
)
def test_an_answer_takes_the_tier_of_its_question(question: str, yes: str, window: str, expected: Tier) -> None:
    seen = dialog(question, yes, "取消" if not question.isascii() else "Cancel", window)
    assert tier(MIDDLE, seen) is expected
    assert tier(Click(Point(0.35, 0.5)), seen) is Tier.R1
    if yes != "Save":
        for key in (Hotkey(("enter",)), Hotkey(("KP_Enter",)), Hotkey(("space",)), Hotkey(("alt", "y")), Type("y")):
            assert tier(key, seen) is expected
        assert tier(Type("\n"), seen) is expected
    for key in (Hotkey(("esc",)), Hotkey(("tab",)), Hotkey(("left",))):
        assert tier(key, seen) is Tier.R1


def test_a_question_over_two_lines_is_read_whole() -> None:
    seen = dialog("Are you sure that you want to permanently delete", second="the selected item?")
    assert tier(MIDDLE, seen) is Tier.R4


def test_a_question_far_away_is_not_asked_here() -> None:
    seen = shot(
        at("text", "Delete 3 files?", 0.5, 0.05, 0.3), at("button", "Yes", 0.5, 0.5), at("button", "No", 0.35, 0.5)
    )
    assert tier(MIDDLE, seen) is Tier.R1


def test_a_title_can_be_the_question() -> None:
    assert tier(MIDDLE, screen("OK", window="Empty Trash")) is Tier.R4
    assert tier(Hotkey(("enter",)), screen(window="Confirm delete")) is Tier.R3
    assert tier(Type("yes\n"), screen(window="Send invoice")) is Tier.R3
    assert tier(Hotkey(("enter",)), screen(window="How to delete files - Chromium")) is Tier.R1


@pytest.mark.parametrize("label", ["Delete", "删除"])
def test_a_picture_means_what_stands_beside_it(label: str) -> None:
    icon = Element("icon", "", Box(0.4, 0.49, 0.42, 0.51))
    beside = shot(icon, at("text", label, 0.46, 0.5, 0.06))
    below = shot(icon, at("text", label, 0.41, 0.53, 0.06))
    away = shot(icon, at("text", label, 0.7, 0.5, 0.06))
    click = Click(Point(0.41, 0.5))
    assert tier(click, beside) is Tier.R3
    assert tier(click, below) is Tier.R3
    assert tier(click, away) is Tier.R1
    assert tier(Click(Point(0.42, 0.5)), shot(at("text", label, 0.46, 0.5, 0.06))) is Tier.R3  # nothing read there


def test_the_cross_of_a_title_bar_closes_a_window() -> None:
    bar = [
        Element("icon", text, Box(x, 0.006, x + 0.012, 0.025)) for x, text in ((0.95, ""), (0.968, ""), (0.984, "x"))
    ]
    assert tier(Click(Point(0.99, 0.015)), shot(*bar)) is Tier.R3
    assert tier(Click(Point(0.955, 0.015)), shot(*bar)) is Tier.R1


@pytest.mark.parametrize("bin_", ["Trash", "Papierkorb", "Recycle Bin", "回收站"])
def test_dropping_on_the_bin_deletes(bin_: str) -> None:
    seen = shot(at("text", "report.txt", 0.2, 0.2), at("text", bin_, 0.8, 0.8))
    assert tier(Drag(Point(0.2, 0.2), Point(0.8, 0.8)), seen) is Tier.R3
    assert tier(Drag(Point(0.8, 0.8), Point(0.5, 0.5)), seen) is Tier.R1
    assert tier(Click(Point(0.8, 0.8)), seen) is Tier.R1


def test_programs_are_started_and_fetched_by_their_files() -> None:
    seen = screen("setup.exe", "text", "Downloads")
    assert tier(DoubleClick(MIDDLE.at), seen) is Tier.R3
    assert tier(MIDDLE, seen) is Tier.R1
    assert tier(MIDDLE, screen("setup.exe", "text", "Downloads - Chromium")) is Tier.R3
    assert tier(DoubleClick(MIDDLE.at), screen("report.pdf", "text", "Downloads")) is Tier.R1


def test_what_is_turned_to_the_opposite_must_be_the_act_itself() -> None:
    for text in ("Don't delete", "Undo send", "不删除", "Keep editing"):
        assert tier(MIDDLE, screen(text)) is Tier.R1
    for text in ("Don't ask again and send", "Keep the rest and delete", "No, discard changes", "Cancel and delete"):
        assert tier(MIDDLE, screen(text)) is Tier.R3


WORDS = st.sampled_from(
    ["", "Open", "Delete", "Send", "Pay now", "OK", "Yes", "No", "Password", "删除", "确定", "Delete it?"]
)
KINDS = st.sampled_from(["text", "button", "field", "check", "icon"])
PLACES = st.sampled_from([0.2, 0.35, 0.5, 0.65])
ELEMENTS = st.lists(st.builds(at, KINDS, WORDS, PLACES, PLACES), max_size=6)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(Click, st.builds(Point, PLACES, PLACES)),
    st.builds(RightClick, st.builds(Point, PLACES, PLACES)),
    st.builds(Drag, st.builds(Point, PLACES, PLACES), st.builds(Point, PLACES, PLACES)),
    st.builds(Type, st.sampled_from(["x", "hello\n", "ls\n"])),
    st.builds(Hotkey, st.sampled_from([("enter",), ("delete",), ("ctrl", "q"), ("a",), ("space",)])),
    st.builds(Press, st.sampled_from(["shift", "ctrl", "Return"])),
    st.builds(Terminal, st.sampled_from(["ls", "rm x"])),
)


@given(ACTIONS, ELEMENTS, st.sampled_from(["Notes", "Photos", "Form"]), st.sampled_from(["Passwords", "设置", "Bank"]))
def test_no_tier_falls_when_the_window_is_a_sensitive_one(
    action: Action, elements: list[Element], window: str, sensitive: str
) -> None:
    before = judge(action, shot(*elements, window=window)).tier
    assert judge(action, shot(*elements, window=f"{window} {sensitive}")).tier >= before
    assert judge(action, shot(*elements, window=sensitive)).tier >= before


@given(ACTIONS, st.text(max_size=40), st.text(max_size=40))
def test_any_text_on_the_screen_can_be_judged(action: Action, text: str, window: str) -> None:
    risk = judge(action, shot(at("button", text, 0.5, 0.5), at("text", text, 0.5, 0.4), window=window))
    assert risk.tier in Tier
    assert risk.reason


@given(st.text(max_size=60))
def test_plain_text_has_nothing_unseen(text: str) -> None:
    for said in (plain(text), unmasked(text)):
        assert "  " not in said
        assert said == said.strip()
        assert not any(unicodedata.category(c) in ("Cf", "Mn") for c in said)
