"""What is taken out of texts, what must stay, and the laws: total, idempotent, linear."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.redaction import Redactor, findings, redact
from agent_core.secret_words import asks_for_secret, is_secret_name, labels_a_secret, secret_values

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

FOUND = [
    ("mail ann.lee+x@mail.example.co.uk now", "mail «email» now"),
    ("邮箱ann@example.com请联系", "邮箱«email»请联系"),
    ("electronic: jörg@müller.de.", "electronic: «email»."),
    ("电话13812345678请", "电话«phone»请"),
    ("138 1234 5678 or +86 138-1234-5678", "«phone» or «phone»"),
    ("call +49 30 1234567, (555) 123-4567, 555-123-4567", "call «phone», «phone», «phone»"),
    ("Tel: 030 123 45 67", "Tel: «phone»"),
    ("4111 1111 1111 1111 and 4111111111111111", "«card» and «card»"),
    ("5500-0000-0000-0004, 3782 822463 10005", "«card», «card»"),
    ("6222021234567890128", "«card»"),
    ("pay to DE89 3704 0044 0532 0130 00 today", "pay to «iban» today"),
    ("GB29NWBK60161331926819", "«iban»"),
    ("身份证 11010519491231002X", "身份证 «id»"),
    ("ssn 123-45-6789", "ssn «id»"),
    ("AKIAIOSFODNN7EXAMPLE", "«key»"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "«key»"),
    ("sk-ant-api03-abcdEFGH1234567890abcd", "«key»"),
    ("sk-proj-9f8e7d6c5b4a39281706", "«key»"),
    ("xoxb-123456789012-abcdefGHIJ", "«key»"),
    ("AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "«key»"),
    (JWT, "«key»"),
    ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nb", "a\n«key»\nb"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbm", "«key»"),
    ('curl -H "Authorization: Basic dXNlcjpwYXNz"', 'curl -H "Authorization: Basic «password»"'),
    ("Authorization: Bearer abc.def123", "Authorization: Bearer «password»"),
    ("curl -u bob:hunter2 x", "curl -u «password» x"),
    ("https://bob:pw@host/x?token=abcdef12&x=1", "https://«password»@host/x?token=«password»&x=1"),
    ("Cookie: sid=8f3; theme=dark", "Cookie: «password»"),
    ("export MY_TOKEN=abc123def", "export MY_TOKEN=«password»"),
    ("DB_PASSWORD='correct horse' x", "DB_PASSWORD='«password»' x"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", "aws_secret_access_key = «password»"),
    ('{"api_key": "k-12ab34cd"}', '{"api_key": "«password»"}'),
    ("--token Zq81hhh2 -v", "--token «password» -v"),
    ("Log in with the password hunter2 and press Enter", "Log in with the password «password» and press Enter"),
    ('the username "bob" and the password "fX3d"', 'the username "bob" and the password "«password»"'),
    ("password: sunshine", "password: «password»"),
    ("密码是hunter2", "密码是«password»"),
    ("PIN: 4711, otp 123456", "PIN: «password», otp «password»"),
    ("field Password = correct horse 400 300", "field Password = «password» 400 300"),
    ("field Email = ann@example.com 400 300", "field Email = «email» 400 300"),
    ("field Phone = +49 30 1234567 400 300", "field Phone = «phone» 400 300"),
    ("text 4111 1111 1111 1111 500 600", "text «card» 500 600"),
    ("session token for you: 8f3aK29dLQ0xZZ81bb", "session token for you: «token»"),
    ("卡 ４１１１ １１１１ １１１１ １１１１，手机１３８１２３４５６７８", "卡 «card»，手机«phone»"),
    ("ann＠example.com", "«email»"),
    ("4111 1111\n1111 1111 and 4111.1111.1111.1111", "«card» and «card»"),
    ("4l11 1111 1O11 1111 or 4111\u00a01111\u00a01111\u00a01111", "4l11 1111 1O11 1111 or «card»"),  # no card: Luhn
    ("card 4ll1 1111 1111 11I1", "card «card»"),
    ("AKlAIOSFODNN7EXAMPLE ghp 16C7e42F292c6912E7710c838347Ae178B4a", "«key» «key»"),
    ("- BEGIN\n----- BEGIN PRIVATE KEY ----\nMIIE\n--END PRIVATE KEY--\nb", "- BEGIN\n«key»\nb"),
    (
        r'{\"password\": \"hunter2\"} {"password":"hun\"ter2"}',
        r'{\"password\": \"«password»\"} {"password":"«password»"}',
    ),
    ('pw: "it\'s4you", password: "it\'s4you"', 'pw: "it\'s4you", password: "«password»"'),
    ("<password>hunter2</password>", "<password>«password»</password>"),
    ('<add key="Password" value="hunter2x"/>', '<add key="Password" value="«password»"/>'),
    ("- name: DB_PASSWORD\n  value: hunter2x", "- name: DB_PASSWORD\n  value: «password»"),
    ("Password:\nhunter2", "Password:\n«password»"),
    ("PGPASSWORD=hunter psql; mysql -u root -phunter2x", "PGPASSWORD=«password» psql; mysql -u root -p«password»"),
    ("postgres://u:p@ss@w0rd@host/db", "postgres://«password»@host/db"),
    (
        "Your code is 483920. 483920 is your bank verification code",
        "Your code is «password». «password» is your bank verification code",
    ),
    ("passphrase: correct horse battery", "passphrase: «password»"),
    ("Use hunter2 as the password, or Password → hunter3", "Use «password» as the password, or Password → «password»"),
    ("my password's hunter2, the password (hunter3)", "my password's «password», the password («password»)"),
    ("密码: hunter2，密码 abc123", "密码: «password»，密码 «password»"),
    ("SSN 123 45 6789, phone (030) 1234567", "SSN «id», phone «phone»"),
]

STAYS = [
    "Price 1,299.00 on 2024-01-02 12:00:00 +0100; 1.234.567,89; 3.14159265358979; $4,111.11",
    "12345678 1699999999999 1700000000000000000 1234567890123456",
    "click(point='<point>500 640</point>') hotkey(key='ctrl shift t')",
    "2019 2020 2021 2022 and 100 200 300 400 500 600 700",
    "text Password 210 300\ntext PIN 1000 300\nfield Password empty 400 300\ntext Phone 1000 300\ntext Code 500 1000",
    "button Forgot password? 10 20\ncheck Show password off 1 2",
    'Click the field "Password" and then "Submit"',
    "Password must have 8 characters. The password is required. Your password is too weak",
    "max_tokens=256 token_ids: 12, tokenizer: fast; Token: Click; PASSWORD_FILE=/run/x",
    "password.py: error  def f(password: str, token: str) -> None; token = next(tokens)",
    "PASSWORD=$DB_PASSWORD {{secret:MAIL}} password={{secret:MAIL}} type(content='{{secret:DB-2}}\\n')",
    "5b010257c1e2d3f4a5b6c7d8e9f0a1b2c3d4e5f6 550e8400-e29b-41d4-a716-446655440000",
    "icon@2x.png git@github.com:a/b.git react@18.2.0 @user",
    "/usr/lib/python3/dist-packages/FooBarBaz/QuxQuux/file_name_1.py",
    "Version 10.0.19045.3803 at 192.168.100.200:8080, IMG_20240102_120000.jpg, invoice-2024-0117.pdf",
    "secret Santa keyboard key F12 monkey turkey",
    "0.1 + 0.2 = 0.30000000000000004, 1e-10, 12:34:56, 3/4, 50 %",
    "ISBN 978-3-16-148410-0, order 2024-123456-7, seat 12A",
    "密码错误，请重试。密码长度不少于8位，密码强度：高",
    "password = getpass.getpass(); self.token = token; api_key = settings.api_key; token = await next_one()",
    "pass = 0, pass_rate: 0.85, PASS: test_login\npwd: /home/ann\nroot:x:0:0 passwd:x:0:0:root:/root:/bin/bash",
    '<input type="password" name="password" placeholder="Password">',
    "text into tokens; max_new_tokens=512, Access key: Alt+S, docker run -u 1000:1000, package@1.2.3.tgz",
    "2019\n2020\n2021\n2022\n2023 1200 1300\n1400 1500",
]


@pytest.mark.parametrize(("text", "clean"), FOUND)
def test_what_is_personal_or_secret_becomes_a_token(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize("text", STAYS)
def test_ordinary_texts_stay(text: str) -> None:
    assert redact(text) == text


def test_findings_say_where_and_what() -> None:
    text = "to ann@example.com, card 4111 1111 1111 1111"
    assert [(f.rule, text[f.start : f.end]) for f in findings(text)] == [
        ("email", "ann@example.com"),
        ("card", "4111 1111 1111 1111"),
    ]


FRAGMENTS = st.sampled_from(
    [text for text, _ in FOUND]
    + STAYS
    + ["password", "=", ":", " ", "\n", "«email»", "«", "»", "•••••", "4111", "@", "'"]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=3)), max_size=8).map("".join))


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_redaction_is_total_and_idempotent(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.lists(st.text(min_size=4, max_size=20), max_size=3))
def test_with_known_secrets_too(text: str, known: list[str]) -> None:
    redactor = Redactor(known)
    once = redactor.redact(text)
    assert redactor.redact(once) == once
    assert redactor.without_known(once) == once


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="«»•●"), min_size=8, max_size=20), TEXTS, TEXTS)
def test_a_known_secret_is_nowhere_left(secret: str, before: str, after: str) -> None:
    secret = secret.strip()
    redactor = Redactor([secret])
    if len(secret) >= 8 and secret not in "".join(f"«{name}»" for name in ("email", "typed secret", "password")):
        assert secret not in redactor.redact(f"{before} {secret} {after}").replace("«secret»", "")


BAD = {
    "one letter": "a" * 1_000_000,
    "at signs": "a@" * 500_000,
    "domains": "a@" + "x." * 500_000,
    "names": "token=" * 170_000,
    "prose": "password is " * 83_000,
    "digits": "1 " * 500_000,
    "plus": "+1" * 500_000,
    "begin": "-----BEGIN RSA PRIVATE KEY-----" * 32_000,
    "addresses": "://a:" * 200_000,
    "fields": "field password = a\n" * 55_000,
    "tokens": "cookie:a=" * 111_000,
    "random": "".join(random.Random(1).choices("abcABC0123 \n.@:=-_+/\"'", k=1_000_000)),
}


@pytest.mark.parametrize("name", BAD)
def test_time_is_linear_in_the_text(name: str) -> None:
    redactor = Redactor(["S3cretValue99xyz"])
    size = 1_000_000 if name == "names" else 200_000
    began = time.process_time()
    redactor.redact(BAD[name][:size])
    assert time.process_time() - began < 8 * size / 1_000_000 + 1  # a third of it on a quiet machine


def test_a_known_secret_is_found_however_it_is_written() -> None:
    redactor = Redactor(["S3cretValue99", 'tab\'le "x" 9'])
    for way in ("S3cretValue99", "S3cret Value99", "53cretVa1ue99", "xS3cretValue99x"):
        assert redactor.redact(f"see {way} here") == "see «secret» here"
    assert redactor.redact("see S3cretVal... here") == "see «secret»... here"  # cut off by a prompt
    assert redactor.redact("type(content='tab\\'le \"x\" 9')") == "type(content='«secret»')"
    assert redactor.redact('{"text":"tab\'le \\"x\\" 9"}') == '{"text":"«secret»"}'


def test_a_short_known_secret_is_found_only_as_a_word() -> None:
    redactor = Redactor(["4711"])
    assert redactor.redact("PIN 4711, not 147112 or a4711") == "PIN «secret», not 147112 or a4711"
    assert Redactor(["sun"]).redact("sunshine sun") == "sunshine sun"  # too short to be known


def test_a_source_is_asked_each_time() -> None:
    values: list[str] = []
    redactor = Redactor(sources=[lambda: values])
    assert redactor.redact("Qx81 zzTop9") == "Qx81 zzTop9"
    values.append("zzTop9")
    assert redactor.redact("Qx81 zzTop9") == "Qx81 «secret»"


def test_lines_of_a_screen_are_judged_together() -> None:
    lines = [
        "hi",
        "-----BEGIN PRIVATE KEY-----",
        "MIIabc",
        "-----END PRIVATE KEY-----",
        "ok",
        JWT[:40],
        JWT[40:70],
        "Files",
    ]
    assert Redactor().lines(lines) == ["", "key", "key", "key", "", "key", "key", ""]


def test_names_of_variables_tell_secrets() -> None:
    yes = ("DB_PASSWORD", "GITHUB_TOKEN", "apiKey", "AWS_SECRET_ACCESS_KEY", "SECRET_KEY_BASE", "X-Api-Key", "userPin")
    no = ("max_tokens", "TOKEN_FILE", "PASSWORD_STORE_DIR", "PATH", "token_count", "keyboard", "tokenizer", "PINEAPPLE")
    assert [name for name in yes if not is_secret_name(name)] == []
    assert [name for name in no if is_secret_name(name)] == []
    assert list(secret_values({"A_TOKEN": "abc123", "B_TOKEN": "1", "HOME": "/root/x"})) == ["abc123"]


def test_labels_and_prompts() -> None:
    assert labels_a_secret("Password:")
    assert labels_a_secret("Current PIN")
    assert labels_a_secret("密码")
    assert not labels_a_secret("Forgot password?")
    assert not labels_a_secret("Show password")
    assert asks_for_secret("[sudo] password for ann:")
    assert asks_for_secret("Enter passphrase for key '/home/ann/.ssh/id_rsa':")
    assert not asks_for_secret("password: done")
