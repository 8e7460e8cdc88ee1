"""The words of the settings form: the help texts in Chinese (the English ones are in the declarations), the choices."""

from __future__ import annotations

# The help text of each setting in Chinese; the English one is in the declaration.
SETTINGS: dict[str, str] = {
    "model.name": "由哪个模型回答：bundled，或模型文件夹中某个清单的名称。",
    "model.adapter": "要使用的适配器文件夹；留空则使用自带的适配器。",
    "model.url": "兼容 OpenAI 的服务器地址，例如 http://localhost:8080/v1；供 http 模型使用。",
    "model.threads": "推理使用的线程数；0 表示使用全部核心。",
    "model.max_new_tokens": "一次回复最多的词元数。",
    "safety.mode": "Deskhand 何时询问：每一步、重要时，或只看不动。",
    "safety.approval_seconds": "在此时间（秒）内未答复的请求视为拒绝。",
    "safety.grant_minutes": "对一类操作的许可最长有效多少分钟；运行结束时一并失效。",
    "safety.jail": "在装有 bubblewrap 的电脑上，终端命令在隔离环境中运行：没有网络，系统只读，只能更改任务文件夹。",
    "safety.pause_on_mouse": "您自己移动鼠标时暂停运行。",
    "safety.only_real_input": "电脑有真实的鼠标和键盘时，许可只接受来自它们的答复。使用远程桌面时请关闭。",
    "run.max_steps": "一次运行最多的动作数。",
    "run.max_minutes": "一次运行最长的时间（分钟），等待您的时间不计。",
    "run.best_of": "每一步向模型要几个回复，以多数为准；1 最快。",
    "run.settle_seconds": "每个动作之后等待屏幕静止的时间（秒）。",
    "run.actions_per_minute": "每分钟最多的动作数，超出的会推迟执行。",
    "run.folder": "任务文件夹，终端命令从这里开始；留空则为您的主目录。",
    "run.terminal_seconds": "一条终端命令最长的时间（秒），超过即结束。",
    "run.monitor": "使用哪个显示器，从 1 开始。",
    "privacy.consent": "在这台电脑上保存运行记录，用于回放和训练：尚未询问、是、否。",
    "privacy.keep_days": "保存的记录超过多少天后删除；0 表示一直保留。",
    "privacy.keep_megabytes": "保存的记录超过多少 MB 时，从最旧的开始删除；0 表示不限。",
    "privacy.never_keep": "不保存任何内容的窗口：标题中的词，用逗号分隔。",
    "training.quiet_from": "安静时段：从一天中的这个整点起，训练不再开始新的阶段；正在进行的阶段会做完。",
    "training.quiet_until": "安静时段在这个整点结束；与上面相同则没有安静时段。",
    "ui.theme": "窗口的颜色。",
    "ui.language": "窗口的语言。",
    "ui.send_with_enter": "按 Enter 发送任务，Shift+Enter 换行。",
    "ui.autostart": "登录时启动 Deskhand，并留在托盘中等待。",
    "ui.open_key": "在任何地方打开窗口的按键；留空则没有。",
    "ui.pause_key": "在任何地方暂停和继续运行的按键；留空则没有。",
    "ui.stop_key": "在任何地方停止运行的按键；连按两次 Esc 始终有效。",
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
