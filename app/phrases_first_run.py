"""The sentences of the first run, English and Chinese side by side."""

from __future__ import annotations

FIRST_RUN: dict[str, tuple[str, str]] = {
    "first.title": ("Welcome to Deskhand", "欢迎使用 Deskhand"),
    "first.step": ("{n} of {of}", "第 {n} 步，共 {of} 步"),
    "first.back": ("Back", "上一步"),
    "first.next": ("Next", "下一步"),
    "first.end": ("Begin", "开始使用"),
    "first.what": (
        "Deskhand does tasks on this computer for you: you type what you want, it looks at the screen and uses mouse, "
        "keyboard, terminal and files as you would. The model runs here; screenshots are not sent anywhere unless you "
        "choose a model on a server.",
        "Deskhand 在这台电脑上替您完成任务：您输入想做的事，它看屏幕，像您一样使用鼠标、键盘、终端和文件。"
        "模型在本机运行；除非您选择服务器上的模型，否则屏幕截图不会发送到任何地方。",
    ),
    "first.asks": (
        "Before something of consequence, such as deleting, sending or paying, it asks. No answer means no.",
        "在删除、发送、付款等重要操作之前，它会先询问。不答复即为不同意。",
    ),
    "first.stop": (
        "You can stop it at any time: press Esc twice, or press Stop. Move the mouse and it waits.",
        "您可以随时停止：连按两次 Esc，或点击“停止”。移动鼠标，它就会等待。",
    ),
    "first.model": ("Which model should think?", "使用哪个模型？"),
    "first.bundled": ("The small agent that comes along", "随附的小型智能体"),
    "first.bundled_note": (
        "Ready at once and quick; it understands English tasks only. Right for short tasks and for trying Deskhand.",
        "立即可用，速度快，只理解英文任务。适合简短任务和试用。",
    ),
    "first.other": ("Another model", "其他模型"),
    "first.other_note": (
        "Choose or download one, such as UI-TARS, in the window Models, which opens when you are done here.",
        "完成后会打开“模型”窗口，您可以在那里选择或下载，例如 UI-TARS。",
    ),
    "first.later": ("Ask me later", "以后再问我"),
    "first.check": ("Can Deskhand see and point?", "Deskhand 能看到屏幕并移动指针吗？"),
    "first.checking": ("Looking at the screen and moving the pointer a little…", "正在查看屏幕并稍微移动指针…"),
    "first.checked": (
        "It can: {monitors} seen, and the pointer goes where it is sent.",
        "可以：看到{monitors}，指针能到达指定位置。",
    ),
    "first.one_monitor": ("one monitor", "一台显示器"),
    "first.monitors": ("{n} monitors", "{n} 台显示器"),
    "first.again": ("Check again", "重新检查"),
    "first.try": ("A first task", "第一个任务"),
    "first.try_note": (
        "Choose one to put into the window; it begins when you press Start. Or write your own.",
        "选择一个放入窗口；按“开始”后执行。也可以自己输入。",
    ),
    "first.own": ("My own", "自己输入"),
}  # fmt: skip
TASKS = (
    "Open the text editor and write: bread, milk, apples",
    "Create a folder named Invoices in my home folder",
    "Open the calculator and work out 12 * 34",
)
"""English, because the agent that comes along understands no other language."""
