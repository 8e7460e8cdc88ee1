"""What kind of window an action lands in, told by its title and by what can be read in it.

Covered: terminals, file managers, boxes that run programs, chats, mail composers, windows of settings, secrets, money
and system tools, logins; in English and Chinese.
Not covered: a program that hides what it is. A title is text like any other, so it can only ever raise a tier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_core.safety.plain import plain
from agent_core.step import Element, Screenshot

TERMINAL = re.compile(
    r"\bterminal\b|xterm|konsole|\b(?:ba|z|fi)?sh\b|powershell|pwsh|command prompt|\bcmd(?:\.exe)?\b|\bssh\b|tmux"
    r"|kitty|alacritty|wezterm|tilix|terminator|^[^ @]+@[^ :]+:|命令提示符|终端|控制台"
)
_PROMPT = re.compile(r"^(?:\([\w.-]+\) ?)?[\w.-]+@[\w.-]+[: ]\S*[$#%] ?|^(?:ps )?[a-z]:\\\S*> ?|^[$#] (?=\S)|^>>> ")
# Programs in which a terminal is one pane among others, told by its prompt.
_HOLDS_TERMINAL = re.compile(
    r"visual studio code|vscod\w*|\bcode\b|pycharm|intellij|jetbrains|jupyter|cloud shell|codespace|theia|\bkate\b"
    r"|emacs|vnc"
    r"|guacamole|cockpit"
)
_HOST_PROMPT = re.compile(r"^(?:\([\w.-]+\) ?)?[\w.-]+@[\w.-]+[: ]\S*[$#%](?: |$)|^(?:ps )?[a-z]:\\\S*> ?")
SENSITIVE = re.compile(
    r"keyring|passwords?\b|passphrase|keepass|bitwarden|1password|\bvault\b|settings\b|preferences\b|control panel"
    r"|authenticat|polkit|wallet|\bbank(?:ing)?\b|paypal|alipay|brokerage|synaptic|software (?:center|updater|sources)"
    r"|app store|package manager|gparted|disk (?:management|utility)|^disks$|registry editor|regedit|device manager"
    r"|task manager|firewall|user accounts|\bsudo\b|administrator|remote desktop|two-factor|security\b|certificate"
    r"|设置|偏好|控制面板|密码|密钥|银行|钱包|支付宝|网银|证券|软件中心|应用商店|软件更新|注册表|磁盘管理|任务管理器"
    r"|防火墙"
    r"|用户账户|身份验证|授权|管理员|远程桌面"
)
# Files that the system or the user's session acts on later, whatever program they are open in.
_ACTED_ON = re.compile(
    r"(?:^|[\s/~(])\.(?:bash\w*|z(?:sh\w*|profile|login)|profile|x(?:profile|initrc|session\w*)|inputrc|netrc"
    r"|gitconfig)\b"
    r"|authorized_keys|sudoers|crontab|\b[\w.-]+\.(?:desktop|service|timer)(?: - | — | \(|$)|/etc/|~/\.(?:ssh|config)"
    r"|/autostart\b"
)
_RUN_BOX = re.compile(r"^run(?: program| application| command)?(?:\.\.\.)?$|application finder|^运行(?:程序|命令)?$")
_CHAT = re.compile(
    r"\b(?:slack|discord|telegram|whatsapp|wechat|messenger|microsoft teams|irc|hexchat|pidgin|skype|zulip"
    r"|mattermost|google chat|imessage)\b|(?:^|- )(?:signal|element)$|微信|\bqq\b|钉钉|飞书|企业微信"
)
_MESSAGE_FIELD = re.compile(
    r"(?:type|write|send|enter|add) (?:a |an |your |the |to )?(?:new |public |quick )?(?:message|comment|reply)\W*$"
    r"|message [#@]\w|reply\W{1,3}$|(?:发|输入|写)(?:条|个|一条)?(?:消息|评论|回复|弹幕)\W*$"
)
_COMPOSER = re.compile(r"^write: |\bcompose\b|new message|new mail|^(?:re|fwd?): |写邮件|写信|新邮件|撰写|回复:|转发:")
_LOGIN = re.compile(
    r"\b(?:log|sign) ?in\b|\blogin\b|password|passphrase|passcode|authenticat|unlock|credentials"
    r"|登[录陆]|密码|验证|解锁"
)
SECRET_FIELD = re.compile(
    r"\b(?:password|passphrase|passcode|pin|otp|cvv|cvc|card number|security code|ssn|one-time code|verification code"
    r"|secret|api key|recovery (?:key|phrase)|iban)\b|密码|口令|验证码|卡号|校验码|密钥|身份证"
)
_FILES = re.compile(
    r"file manager|\b(?:nautilus|dolphin|thunar|nemo|caja|pcmanfm|finder)\b|file explorer|^files$|^trash$|^downloads$"
    r"|^documents$|^desktop$|文件管理器|资源管理器|^回收站$|^此电脑$|^下载$|^文档$|^桌面$"
)
_FILE_MENU = re.compile(
    r"bookmarks\b.*\bgo\b|\bgo\b.*\bbookmarks\b|date modified|quick access|修改日期|快速访问|书签.*转到"
)
_FILE_NAME = re.compile(r"\S+\.[a-z][a-z0-9]{1,4}")
_PATH = re.compile(r"^(?:/[\w.-]+){2,}/?$|^[a-z]:\\|^~/")
_NAMED_FILE = re.compile(r"\S+\.(?!exe\b)[a-z][a-z0-9]{0,4}(?= - | — |$)")
_EDITOR = re.compile(
    r"mousepad|gedit|notepad|text editor|\bkate\b|\bn?vim\b|emacs|visual studio code|\bcode\b|writer|\bword\b"
    r"|google docs|记事本|编辑器|文档编辑"
)
_MAIL = re.compile(r"\binbox\b|thunderbird|outlook|gmail|evolution|\bmail\b|收件箱|邮箱|邮件")
_BROWSER = re.compile(r"chrom(?:e|ium)|firefox|\bedge\b|safari|opera|brave|vivaldi|浏览器")
_MOST_FILES = 3
_TOP = 0.16  # the share of the screen in which menus and path bars stand


def title_of(window: str) -> str:
    """The title as its words count: without the mark of unsaved text and without the name of an open file."""
    return _NAMED_FILE.sub("", plain(window).lstrip("*• ")).strip(" -—")


def is_terminal(shot: Screenshot) -> bool:
    """Whether keys typed here reach a shell."""
    return reads_as_terminal(shot.window, shot.elements)


def reads_as_terminal(window: str, elements: Sequence[Element]) -> bool:
    """Told by the title, or by a prompt where there is nothing to press."""
    if TERMINAL.search(title_of(window)):
        return True
    if _HOLDS_TERMINAL.search(plain(window)) and any(_HOST_PROMPT.match(plain(e.text)) for e in elements):
        return True
    if any(e.kind in ("button", "field", "check", "radio") for e in elements):
        return False
    return any(_PROMPT.match(plain(e.text)) for e in elements if e.kind == "text")


def prompted(shot: Screenshot) -> str:
    """What stands behind the last prompt of a terminal, as read; empty if no prompt was read."""
    for element in reversed(shot.elements):
        if found := _PROMPT.match(plain(element.text)):
            return element.text.strip()[found.end() :].strip()
    return ""


def at_prompt(text: str) -> bool:
    """Whether a line of a terminal is one that was typed at its prompt."""
    return _PROMPT.match(plain(text)) is not None


def is_sensitive(window: str) -> bool:
    """Whether the title says settings, secrets, money, a tool of the system or a file that starts programs."""
    return SENSITIVE.search(title_of(window)) is not None or _ACTED_ON.search(plain(window)) is not None


def runs_programs(window: str) -> bool:
    """Whether this is a box whose text is run as a program."""
    return _RUN_BOX.search(plain(window)) is not None


def is_chat(shot: Screenshot) -> bool:
    """Whether Enter sends a message here: by the title, or by a field that waits for one."""
    if _CHAT.search(title_of(shot.window)):
        return True
    return any(_MESSAGE_FIELD.match(plain(e.text)) for e in shot.elements if e.kind in ("field", "text"))


def is_composer(shot: Screenshot) -> bool:
    """Whether a mail is being written here."""
    if _COMPOSER.search(plain(shot.window)):
        return True
    labels = {plain(e.text).strip(" :*") for e in shot.elements if e.kind in ("field", "text")}
    return ("subject" in labels or "主题" in labels) and bool(labels & {"to", "cc", "recipients", "收件人", "抄送"})


def is_editor(window: str) -> bool:
    """Whether most of what can be read here is a document's own text. A page in a browser never is."""
    if is_browser(window):
        return False
    return _EDITOR.search(plain(window)) is not None or _NAMED_FILE.search(plain(window)) is not None


def is_mail(shot: Screenshot) -> bool:
    """Whether mails are listed or read here, so that the Delete key deletes one."""
    return _MAIL.search(title_of(shot.window)) is not None and not is_composer(shot)


def is_browser(window: str) -> bool:
    """Whether the title ends with the name of a browser."""
    return _BROWSER.search(plain(window)) is not None


def is_files(shot: Screenshot) -> bool:
    """Whether a file manager, or a desktop with its icons, is what the Delete key would reach."""
    if _FILES.search(title_of(shot.window)):
        return True
    top = " ".join(plain(e.text) for e in shot.elements if e.box.top < _TOP)
    if _FILE_MENU.search(top):
        return True
    files = sum(1 for e in shot.elements if e.kind != "field" and _FILE_NAME.fullmatch(plain(e.text)))
    placed = any(_PATH.match(plain(e.text)) or _PATH.match(plain(e.value)) for e in shot.elements if e.box.top < _TOP)
    return files >= _MOST_FILES and (placed or not shot.window)


def asks_for_login(shot: Screenshot) -> bool:
    """Whether a secret is what this window asks for."""
    if _LOGIN.search(title_of(shot.window)):
        return True
    return any(_LOGIN.search(plain(e.text)) for e in shot.elements if len(e.text) <= 60)


def is_secret_field(element: Element | None) -> bool:
    """Whether the element is a field whose label asks for something secret."""
    return element is not None and element.kind == "field" and SECRET_FIELD.search(plain(element.text)) is not None
