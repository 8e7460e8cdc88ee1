"""The sentences of the windows, English and Chinese side by side; `words.py` says them.

Both are written, neither is joined by machine. A value in braces is put in by the caller.
"""

from __future__ import annotations

PHRASES: dict[str, tuple[str, str]] = {
    # states
    "state.idle": ("Ready", "就绪"),
    "state.running": ("Working", "正在操作"),
    "state.thinking": ("Thinking", "正在思考"),
    "state.waiting": ("Waiting for you", "等待您"),
    "state.paused": ("Paused", "已暂停"),
    "state.stopped": ("Stopped", "已停止"),
    "state.error": ("Ended with a problem", "出现问题"),
    "stage.looking": ("Looking at the screen", "正在看屏幕"),
    "stage.reading": ("Reading the screen", "正在读屏幕"),
    "stage.thinking": ("Thinking, {tokens} tokens, {seconds}", "正在思考，{tokens} 个词元，{seconds}"),
    "stage.thinking_first": ("Thinking, {seconds}", "正在思考，{seconds}"),
    "stage.asking": ("Waiting for your answer", "等待您的答复"),
    "stage.doing": ("Doing: {action}", "正在执行：{action}"),
    "stage.starting": ("Getting ready", "正在准备"),
    "stage.preparing": ("Getting the model ready, {percent} %", "正在准备模型，{percent} %"),
    "stage.stopping": ("Stopping", "正在停止"),
    "stage.paused": ("Paused before the next step", "已在下一步之前暂停"),
    "recording": ("This run is kept on this computer", "本次运行保存在这台电脑上"),
    # modes
    "mode.ask_all": ("Asks about everything", "每一步都询问"),
    "mode.ask_risky": ("Asks when it matters", "重要时才询问"),
    "mode.watch": ("Watches only", "只看不动"),
    "mode.tip": ("When Deskhand asks before it acts", "Deskhand 在什么时候先询问您"),
    # task window
    "task.title": ("Deskhand", "Deskhand"),
    "task.placeholder": ("Type a task", "输入任务"),
    "task.placeholder_busy": ("Stop the run to type another task", "停止当前任务后可输入新任务"),
    "task.you": ("You", "您"),
    "task.send": ("Start", "开始"),
    "task.pause": ("Pause", "暂停"),
    "task.resume": ("Go on", "继续"),
    "task.stop": ("Stop  Esc ×2", "停止  Esc ×2"),
    "task.history": ("History", "历史"),
    "task.settings": ("Settings", "设置"),
    "task.empty.title": ("What should be done?", "需要做什么？"),
    "task.empty.text": (
        "Type a task below. Deskhand looks at the screen and uses mouse, keyboard and terminal for you. "
        "It asks before anything that matters. Esc pressed twice stops it from anywhere.",
        "在下面输入任务。Deskhand 会看屏幕，并替您使用鼠标、键盘和终端。"
        "重要的操作会先询问您。在任何地方连按两次 Esc 即可停止。",
    ),
    "task.empty.first": ("Try: open the text editor and write a note", "试一试：打开文本编辑器并写一条便签"),
    "task.example": ("Open the text editor and write: buy milk", "打开文本编辑器并写下：买牛奶"),
    # turns and verdicts
    "verdict.allowed": ("allowed", "已允许"),
    "verdict.you_allowed": ("you allowed", "您已允许"),
    "verdict.grant": ("allowed for this run", "本次运行已允许"),
    "verdict.refused": ("refused", "已拒绝"),
    "verdict.you_refused": ("you refused", "您已拒绝"),
    "verdict.nobody": ("refused: not answered in time", "已拒绝：未及时答复"),
    "outcome.failed": ("did not work: {text}", "未成功：{text}"),
    "outcome.unchanged": ("nothing changed on the screen", "屏幕没有变化"),
    "turn.no_action": ("no action", "没有动作"),
    "shot.caption": ("What Deskhand saw. The ring marks where it acted.", "Deskhand 看到的画面，圆环是操作的位置。"),
    "shot.large": ("What Deskhand saw in turn {turn}", "第 {turn} 轮看到的画面"),
    # approval
    "approval.title": ("Deskhand asks", "Deskhand 请求许可"),
    "approval.wants": ("Deskhand wants to {action}", "Deskhand 想要{action}"),
    "approval.wants_on": ("Deskhand wants to {action} “{element}”", "Deskhand 想要{action}“{element}”"),
    "approval.verb_terminal": ("run this in the terminal", "在终端运行以下命令"),
    "approval.verb_type": ("type this", "输入以下文字"),
    "approval.where": ("in {window}", "位于 {window}"),
    "approval.why": ("Why it asks", "询问的原因"),
    "approval.ask_all": ("You want to be asked about everything. {reason}", "您选择了每一步都询问。{reason}"),
    "approval.instead": ("Do this instead", "改为这样做"),
    "approval.deny": ("Deny", "拒绝"),
    "approval.send_instead": ("Deny, do this instead", "拒绝并改做"),
    "approval.allow": ("Allow", "允许"),
    "approval.allow_run": ("Allow for this run", "本次运行都允许"),
    "approval.countdown": ("Answers itself with Deny in {time}", "{time} 后自动拒绝"),
    "approval.denied_by_you": ("You said no.", "您已拒绝。"),
    "approval.too_late": ("It was not answered in time.", "未在规定时间内答复。"),
    "approval.closed": ("The window was closed without an answer.", "窗口关闭，没有答复。"),
    # call user
    "call.title": ("Deskhand needs you", "Deskhand 需要您"),
    "call.answer": ("Your answer", "您的回答"),
    "call.help": (
        "Answer here, or do what is needed yourself and press I am done. Nothing is recorded meanwhile.",
        "在此回答；或自己完成所需操作，然后按“我已完成”。期间不会记录任何内容。",
    ),
    "call.take_over": ("Take over", "我来操作"),
    "call.done": ("I am done", "我已完成"),
    "call.send": ("Answer", "回答"),
    "call.stop": ("Stop", "停止"),
    "call.done_text": ("I did it myself. Look again.", "我已自己完成，请再看一次屏幕。"),
    "call.taken": (
        "You have the mouse. Press I am done when Deskhand can go on.",
        "现在由您操作。完成后请按“我已完成”。",
    ),
    # strip, tray
    "strip.open": ("Open", "打开"),
    "strip.stop": ("Stop", "停止"),
    "tray.open": ("Open Deskhand", "打开 Deskhand"),
    "tray.stop": ("Stop the run", "停止运行"),
    "tray.pause": ("Pause the run", "暂停运行"),
    "tray.resume": ("Go on with the run", "继续运行"),
    "tray.history": ("History", "历史"),
    "tray.settings": ("Settings", "设置"),
    "tray.quit": ("Quit", "退出"),
    # consent
    "consent.title": ("May Deskhand keep your runs?", "Deskhand 可以保存您的运行记录吗？"),
    "consent.text": (
        "If you agree, Deskhand keeps what it saw and did in each run, in a folder on this computer: screenshots, "
        "your task, its replies, your answers. The pictures hold whatever was on the screen, so close what is nobody's "
        "business before you start a task. The records let you replay a run and can be used to train a better model. "
        "Nothing is sent anywhere, and you can delete them at any time.",
        "如果您同意，Deskhand 会把每次运行看到和做过的内容保存在这台电脑的一个文件夹里："
        "截图、您的任务、它的回复和您的回答。"
        "截图包含当时屏幕上的所有内容，所以开始任务之前请先关闭不想留下的窗口。"
        "这些记录可用于回放，也可用于训练更好的模型。不会发送到任何地方，您可以随时删除。",
    ),
    "consent.without": (
        "If you do not agree, Deskhand works just the same and keeps none of it. Only a log of what kind of action was "
        "allowed, with no text and no pictures, is kept for your safety. You can change this in Settings.",
        "如果您不同意，Deskhand 照常工作，不保存这些内容。"
        "为了您的安全，只保留一份不含文字和图片的操作类型日志。您可以在设置中更改。",
    ),
    "consent.folder": ("Folder: {folder}", "文件夹：{folder}"),
    "consent.yes": ("Keep runs on this computer", "保存在这台电脑上"),
    "consent.no": ("Keep nothing", "不保存"),
    # history
    "history.title": ("History", "历史"),
    "history.empty.title": ("No runs yet", "还没有运行记录"),
    "history.empty.text": (
        "Each run that you agreed to keep appears here with its task, how it ended and a replay of every step.",
        "您同意保存的每次运行都会显示在这里：任务、结果和每一步的回放。",
    ),
    "history.off": (
        "Runs are not kept now. You can change this in Settings.",
        "目前不保存运行记录，您可以在设置中更改。",
    ),
    "history.replay": ("Replay", "回放"),
    "history.refresh": ("Refresh", "刷新"),
    "history.search": ("Find a task", "查找任务"),
    "history.column.started": ("Started", "开始时间"),
    "history.column.task": ("Task", "任务"),
    "history.column.status": ("Ended as", "结果"),
    "history.column.steps": ("Steps", "步数"),
    "status.running": ("not closed", "未结束"),
    "status.finished": ("finished", "已完成"),
    "status.stopped": ("stopped", "已停止"),
    "status.refused": ("refused", "被拒绝"),
    "status.limit": ("at a limit", "达到上限"),
    "status.failed": ("failed", "失败"),
    # settings
    "settings.title": ("Settings", "设置"),
    "settings.save": ("Save", "保存"),
    "settings.cancel": ("Cancel", "取消"),
    "settings.group.model": ("Model", "模型"),
    "settings.group.safety": ("Safety", "安全"),
    "settings.group.run": ("Runs", "运行"),
    "settings.group.privacy": ("Privacy", "隐私"),
    "settings.group.ui": ("Windows", "窗口"),
    "settings.note": (
        "Changes hold from the next run on, colours at once, the language after a restart.",
        "更改从下一次运行起生效，颜色立即生效，语言在重新启动后生效。",
    ),
    # crash and start
    "crash.title": ("Deskhand met a fault of its own", "Deskhand 自身出现故障"),
    "crash.text": (
        "The run was ended and the mouse and keyboard are released. Your kept runs are safe. "
        "What happened is written in {file}. You can go on; if it happens again, send that file to the developers.",
        "运行已结束，鼠标和键盘已释放。您保存的记录没有受影响。"
        "详情写在 {file}。您可以继续使用；如果再次出现，请把该文件发给开发者。",
    ),
    "crash.close": ("Close", "关闭"),
    "run.notice": ("Please note", "请注意"),
    "run.stopped_early": ("Stopped before it began. Nothing was done.", "在开始之前已停止，没有执行任何操作。"),
    "run.crashed": (
        "A fault in Deskhand ended this run. What was done so far stays. Details are in {file}.",
        "Deskhand 的故障结束了本次运行。已完成的内容保留。详情见 {file}。",
    ),
}  # fmt: skip

# The help text of each setting in Chinese; the English one is in the declaration.
SETTINGS: dict[str, str] = {
    "model.name": "由哪个模型回答：bundled，或模型文件夹中某个清单的名称。",
    "model.adapter": "要使用的适配器文件夹；留空则使用自带的适配器。",
    "model.url": "兼容 OpenAI 的服务器地址，例如 http://localhost:8080/v1；供 http 模型使用。",
    "model.threads": "推理使用的线程数；0 表示使用全部核心。",
    "model.max_new_tokens": "一次回复最多的词元数。",
    "safety.mode": "Deskhand 何时询问：每一步、重要时，或只看不动。",
    "safety.approval_seconds": "在此时间（秒）内未答复的请求视为拒绝。",
    "run.max_steps": "一次运行最多的动作数。",
    "run.max_minutes": "一次运行最长的时间（分钟），等待您的时间不计。",
    "run.settle_seconds": "每个动作之后等待屏幕静止的时间（秒）。",
    "run.terminal_seconds": "一条终端命令最长的时间（秒），超过即结束。",
    "run.monitor": "使用哪个显示器，从 1 开始。",
    "privacy.consent": "在这台电脑上保存运行记录，用于回放和训练：尚未询问、是、否。",
    "ui.theme": "窗口的颜色。",
    "ui.language": "窗口的语言。",
    "ui.send_with_enter": "按 Enter 发送任务，Shift+Enter 换行。",
}

# The choices of settings in words.
CHOICES: dict[str, tuple[str, str]] = {
    "ask_all": ("about everything", "每一步"),
    "ask_risky": ("when it matters", "重要时"),
    "watch": ("watch only", "只看不动"),
    "unasked": ("not asked yet", "尚未询问"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "system": ("as the desktop", "跟随系统"),
    "light": ("light", "浅色"),
    "dark": ("dark", "深色"),
    "en": ("English", "English"),
    "zh": ("中文", "中文"),
}
