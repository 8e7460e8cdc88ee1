"""The sentences of the windows, English and Chinese side by side; `words.py` says them.

Both are written, neither is joined by machine. A value in braces is put in by the caller. The settings' own words are
in `setting_phrases.py`.
"""

from __future__ import annotations

from app.phrases_first_run import FIRST_RUN
from app.phrases_history import HISTORY
from app.phrases_training import TRAINING

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
    "mode.sandbox": ("Sandbox: asks nothing", "沙盒：不询问"),
    "mode.tip": ("When Deskhand asks before it acts", "Deskhand 在什么时候先询问您"),
    "mode.now": ("Mode: {mode}", "模式：{mode}"),
    "mode.next": ("{mode}: from the next run on", "{mode}：从下一次运行起生效"),
    "mode.note": ("Stricter: at once. Looser: from the next run on.", "更严格：立即生效。更宽松：从下一次运行起生效。"),
    # task window
    "task.title": ("Deskhand", "Deskhand"),
    "task.placeholder": ("Type a task", "输入任务"),
    "task.placeholder_busy": ("Pause the run to add something", "暂停后可以补充说明"),
    "task.placeholder_paused": ("Add something for the agent to know", "补充告诉智能体的内容"),
    "task.add": ("Add and resume", "补充并继续"),
    "task.you_add": ("You add", "您补充"),
    "task.you": ("You", "您"),
    "task.send": ("Start", "开始"),
    "task.pause": ("Pause", "暂停"),
    "task.resume": ("Resume", "继续"),
    "task.stop": ("Stop  Esc ×2", "停止  Esc ×2"),
    "task.keep": ("Keep this run", "保存本次运行"),
    "task.keep_tip": (
        "Kept runs stay on this computer, for replay and training. Untick it to leave this one out.",
        "保存的记录只留在这台电脑上，用于回放和训练。取消勾选则不保存本次运行。",
    ),
    "task.keep_off": (
        "Runs are not kept. Agree to it in Settings, Privacy, to keep one.",
        "目前不保存运行记录。如需保存，请先在“设置 → 隐私”中同意。",
    ),
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
    # what a person says about a run
    "rating.question": ("Was the task done as you wanted?", "任务是否按您的要求完成？"),
    "rating.yes": ("Yes", "是"),
    "rating.no": ("No", "否"),
    "rating.kept_yes": ("You said it was done as you wanted.", "您认为任务已按要求完成。"),
    "rating.kept_no": ("You said it was not done as you wanted.", "您认为任务未按要求完成。"),
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
    "approval.grant": ("Allow {doing} for {minutes} min\nin {where}", "允许{doing} {minutes} 分钟\n{where}"),
    "approval.grant_command": ("Allow for {minutes} min\n{command}", "允许 {minutes} 分钟\n{command}"),
    "approval.warning": ("Text on the screen may be giving orders", "屏幕上的文字可能在下命令"),
    "approval.confirm": (
        "This is critical. To allow it, type these words:",
        "这是关键操作。若要允许，请输入以下文字：",
    ),
    "approval.confirm_field": ("The words above", "上面的文字"),
    "approval.confirm_first": ("Type the words first", "请先输入上面的文字"),
    "approval.picture": ("The place on the screen", "屏幕上的位置"),
    "approval.exact": ("Exactly this", "完整内容"),
    "approval.failed": ("The question could not be shown.", "无法显示询问窗口。"),
    "only_you": (
        "That came from a program, not from your mouse or keyboard, so it does not count. "
        "If you work through a remote desktop, see Settings, Safety.",
        "该操作来自程序，而不是您的鼠标或键盘，因此无效。如果您使用远程桌面，请查看“设置 → 安全”。",
    ),
    "doing.click": ("clicking", "单击"),
    "doing.double_click": ("double-clicking", "双击"),
    "doing.right_click": ("right-clicking", "右键单击"),
    "doing.drag": ("dragging", "拖动"),
    "doing.scroll": ("scrolling", "滚动"),
    "doing.hotkey": ("key presses", "按键"),
    "doing.press": ("holding keys", "按住按键"),
    "doing.release": ("letting keys go", "松开按键"),
    "doing.type": ("typing", "输入"),
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
    "taken.text": ("You moved the mouse, so Deskhand paused.", "您移动了鼠标，Deskhand 已暂停。"),
    "strip.resume": ("Resume", "继续"),
    "strip.open": ("Open", "打开"),
    "strip.stop": ("Stop", "停止"),
    "tray.open": ("Open Deskhand", "打开 Deskhand"),
    "tray.stop": ("Stop the run", "停止运行"),
    "tray.pause": ("Pause the run", "暂停运行"),
    "tray.resume": ("Resume the run", "继续运行"),
    "tray.history": ("History", "历史"),
    "tray.models": ("Models", "模型"),
    "tray.training": ("Training", "训练"),
    "tray.settings": ("Settings", "设置"),
    "tray.help": ("Help", "帮助"),
    "tray.quit": ("Quit", "退出"),
    # consent
    "consent.title": ("May Deskhand keep your runs?", "Deskhand 可以保存您的运行记录吗？"),
    "consent.text": (
        "If you agree, Deskhand keeps what it saw and did in each run, in a folder on this computer: screenshots, "
        "your task, its replies, your answers. The records let you replay a run and can be used to train a better "
        "model. They are sent nowhere, the oldest are deleted by themselves, and you can delete any at any time.",
        "如果您同意，Deskhand 会把每次运行看到和做过的内容保存在这台电脑的一个文件夹里："
        "截图、您的任务、它的回复和您的回答。这些记录可用于回放，也可用于训练更好的模型。"
        "记录不会发送到任何地方，过旧的会自动删除，您也可以随时删除。",
    ),
    "consent.taken_out": (
        "Before anything is written, what is recognised as a typed password, key, card number, e-mail address or "
        "phone number is taken out of the texts and covered in the pictures. Of windows that you exclude, nothing is "
        "kept. It cannot be promised that everything is recognised: names, letters and photos stay in. So close what "
        "is nobody's business before you start a task, or untick Keep this run.",
        "写入之前，凡是被识别为输入的密码、密钥、卡号、电子邮箱或电话号码的内容，都会从文字中去除，并在截图中遮盖。"
        "您排除的窗口不会保存任何内容。但无法保证全部识别：姓名、信件和照片会保留。"
        "所以开始任务之前，请先关闭不想留下的窗口，或取消勾选“保存本次运行”。",
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
    "settings.group.training": ("Training", "训练"),
    "settings.group.ui": ("Windows", "窗口"),
    "settings.note": (
        "Changes hold from the next run on, colours at once, the language after a restart.",
        "更改从下一次运行起生效，颜色立即生效，语言在重新启动后生效。",
    ),
    "settings.search": ("Find a setting", "查找设置"),
    "settings.clear": ("Clear", "清除"),
    "settings.nothing": ("No setting says that.", "没有匹配的设置。"),
    "settings.import": ("Import", "导入"),
    "settings.export": ("Export", "导出"),
    "settings.files": ("Settings (*.toml)", "设置 (*.toml)"),
    "settings.exported": (
        "Exported to {file}. It holds no passwords or keys.",
        "已导出到 {file}，其中没有密码或密钥。",
    ),
    "settings.imported": (
        "Imported, all but your consent. Look it over; nothing is changed until you save.",
        "已导入（“是否同意保存”除外）。请检查，保存之后才会生效。",
    ),
    "settings.monitor": ("{number}: {name}{width} × {height}", "{number}：{name}{width} × {height}"),
    "settings.monitor_away": ("{number}: not connected now", "{number}：目前未连接"),
    "keys.unusable": ("Deskhand cannot listen for this key. Choose another.", "Deskhand 无法监听此按键，请另选。"),
    "keys.typing": (
        "This is needed for typing. Hold Ctrl, Alt or the system key with it.",
        "打字时会用到此键，请同时按住 Ctrl、Alt 或系统键。",
    ),
    "keys.everyones": ("Nearly every program uses this. Choose another.", "几乎所有程序都使用它，请另选。"),
    "keys.twice": ("Chosen twice. Choose another for one of the two.", "重复使用了同一组按键，请更改其中一个。"),
    "keys.taken": (
        "Another program uses this already; both will act on it.",
        "另一个程序已在使用它，按下时两者都会响应。",
    ),
    "keys.first": ("Choose other keys first", "请先更改按键"),
    "settings.help": ("What Deskhand asks, and what it cannot promise", "Deskhand 会询问什么，不能保证什么"),
    "help.title": ("Help", "帮助"),
    "help.guide": ("Guide", "使用指南"),
    "help.keyboard": ("Keyboard", "键盘"),
    "help.what-deskhand-asks": ("What it asks", "会询问什么"),
    "help.use-ui-tars": ("Use UI-TARS", "使用 UI-TARS"),
    "help.missing": ("The page {file} is missing. Install Deskhand again.", "找不到页面 {file}，请重新安装 Deskhand。"),
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
    **FIRST_RUN,
    **HISTORY,
    **TRAINING,
}  # fmt: skip
