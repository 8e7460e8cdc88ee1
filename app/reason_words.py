"""The policy's reasons and warnings in Chinese, by the sentence it writes in English; `{}` stands for what it quotes.

The policy itself stays in one language: its sentences go into the records too. A sentence that is not in the table is
shown as it is.
"""

from __future__ import annotations

import re
from functools import cache

IN_CHINESE: dict[str, str] = {
    # what an action costs
    "This can be undone.": "此操作可以撤销。",
    "This only looks or talks.": "这只是查看或交谈。",
    "“{}” is a window with settings, secrets or money.": "“{}”是涉及设置、机密或钱款的窗口。",
    "“{}” is a field for something secret.": "“{}”是填写机密内容的输入框。",
    "“{}” answers “{}”: this cannot be undone, costs money or binds you.": (
        "“{}”回答“{}”：此操作无法撤销、会花钱或对您有约束力。"
    ),
    "“{}” answers “{}”: this has consequences beyond this window.": "“{}”回答“{}”：影响会超出此窗口。",
    "“{}” answers “{}”: this gives access to something of yours.": "“{}”回答“{}”：这会交出您某些内容的访问权。",
    "“{}”: this cannot be undone, costs money or binds you.": "“{}”：此操作无法撤销、会花钱或对您有约束力。",
    "“{}”: this has consequences beyond this window.": "“{}”：影响会超出此窗口。",
    "“{}”: this gives access to something of yours.": "“{}”：这会交出您某些内容的访问权。",
    "This starts the program “{}”.": "这会启动程序“{}”。",
    "This fetches the program “{}”.": "这会下载程序“{}”。",
    "In some terminals a right click pastes, and may run, a text.": "在某些终端里，右键单击会粘贴并可能运行一段文字。",
    "This drops something on “{}”.": "这会把某个内容拖放到“{}”上。",
    "This drops “{}” on “{}”.": "这会把“{}”拖放到“{}”上。",
    "This hands something to a page or program.": "这会把某个内容交给网页或程序。",
    "This hands “{}” to a page or program.": "这会把“{}”交给网页或程序。",
    # keys and typing
    "This closes a window; unsaved work could be lost.": "这会关闭一个窗口，未保存的内容可能丢失。",
    "This closes a window or program; unsaved work could be lost.": "这会关闭窗口或程序，未保存的内容可能丢失。",
    "This reaches the system itself.": "这会影响系统本身。",
    "This ends the whole session.": "这会结束整个登录会话。",
    "In browsers this clears what was kept of your visits.": "在浏览器中，这会清除您的访问记录。",
    "This deletes without the trash.": "这会直接删除，不经过回收站。",
    "In file managers this moves to the trash.": "在文件管理器中，这会移到回收站。",
    "This locks the screen.": "这会锁定屏幕。",
    "This opens a terminal.": "这会打开终端。",
    "This opens a box that runs programs.": "这会打开一个可以运行程序的输入框。",
    "This opens a menu of system tools.": "这会打开系统工具菜单。",
    "Enter in a terminal window runs what stands there.": "在终端窗口中按 Enter 会运行其中的内容。",
    "There is no such key, so nothing will be pressed.": "没有这个键，因此不会按下任何键。",
    "A held key changes what every further key does.": "按住的键会改变之后每个按键的作用。",
    "A held Enter key repeats itself into whatever opens next.": "按住的 Enter 会不断重复，作用到接下来打开的内容上。",
    "A held key repeats itself into whatever opens next.": "按住的键会不断重复，作用到接下来打开的内容上。",
    "This lets a key go.": "这会松开一个键。",
    "This deletes what is selected.": "这会删除选中的内容。",
    "Enter runs the program that stands in this box.": "按 Enter 会运行此输入框中的程序。",
    "Enter sends the message.": "按 Enter 会发送消息。",
    "Enter confirms “{}”.": "按 Enter 会确认“{}”。",
    "A key is held down, so every letter is a command and not text.": "有键被按住，因此每个字母都是命令而不是文字。",
    "This types into a box that runs programs.": "这会在可以运行程序的输入框中输入。",
    "This types something that looks private ({}).": "这会输入看起来属于隐私的内容（{}）。",
    "Enter runs “{}” in a terminal window.": "按 Enter 会在终端窗口中运行“{}”。",
    "In an open menu this may choose “{}”.": "在打开的菜单中，这可能会选中“{}”。",
    "This may answer “{}” with no.": "这可能会对“{}”回答“否”。",
    "This sends the message.": "这会发送消息。",
    "In many programs this sends or submits.": "在许多程序中，这会发送或提交。",
    "Tab moved the focus, so this may press “{}”.": "Tab 已移动焦点，因此这可能会按下“{}”。",
    "This address runs a program in the page.": "此地址会在网页中运行程序。",
    "This address opens a page of the browser's own settings.": "此地址会打开浏览器自身的设置页面。",
    "This address opens a file of this computer.": "此地址会打开这台电脑上的文件。",
    "This address hands data to a web site.": "此地址会把数据交给网站。",
    "This types your secret “{}” into a terminal, where it can be read.": (
        "这会把您的密钥“{}”输入终端，在那里可被读取。"
    ),
    "This types your secret “{}” where nothing asks for one.": "这会在并未要求密钥的地方输入您的密钥“{}”。",
    "This types your secret “{}”.": "这会输入您的密钥“{}”。",
    "This types into a terminal window.": "这会在终端窗口中输入。",
    "This runs a command in a terminal window. {}": "这会在终端窗口中运行命令。{}",
    "This pastes a text into a terminal, and may run it.": "这会把文字粘贴到终端，并可能运行它。",
    "This ends the shell or the program in the terminal.": "这会结束终端中的 shell 或程序。",
    "This stops what runs in the terminal.": "这会停止终端中正在运行的程序。",
    "This answers “{}”.": "这会回答“{}”。",
    "Enter may press “{}” here.": "在这里按 Enter 可能会按下“{}”。",
    # the policy
    "Watch-only mode is on, so nothing is done.": "当前是只看不动模式，因此不执行任何操作。",
    "You allowed this for a while in this run.": "您已在本次运行中允许此类操作一段时间。",
    "On a virtual screen commands must stay inside its own folder.": "在虚拟屏幕上，命令不能超出它自己的文件夹。",
    "This is a virtual screen made for the agent.": "这是为智能体准备的虚拟屏幕。",
    "This text was read from the screen, and you did not write it in the task: “{}”.": (
        "这段文字是从屏幕上读到的，您并没有写在任务里：“{}”。"
    ),
    "Text on the screen gives orders that are not from you: “{}”.": "屏幕上的文字在下命令，而那不是您说的：“{}”。",
    "Text that was on the screen a moment ago gave orders that are not from you: “{}”.": (
        "刚才屏幕上的文字下了命令，而那不是您说的：“{}”。"
    ),
    "What a command printed a moment ago gave orders that are not from you: “{}”.": (
        "刚才某个命令的输出中含有命令，而那不是您说的：“{}”。"
    ),
    # commands
    "An empty command only reads more output.": "空命令只是读取更多输出。",
    "This interrupts the running command.": "这会中断正在运行的命令。",
    "The command is too long to be judged.": "命令太长，无法判断。",
    "The command holds a character that cannot be seen or told apart: {}.": "命令中含有看不见或难以分辨的字符：{}。",
    "{} only reads.": "{} 只读取内容。",
    "The command cannot be read for certain.": "无法确切读懂这条命令。",
    "This starts several programs at once, each of which only reads.": "这会同时启动几个程序，每个都只读取内容。",
    "This is more than one plain command (it chains, expands or redirects).": (
        "这不只是一条简单的命令（含有串联、展开或重定向）。"
    ),
    "{} can change or remove things for good.": "{} 可能会永久更改或删除内容。",
    "This talks to the network.": "这会访问网络。",
    "{} is never run by the agent.": "智能体从不运行 {}。",
    "This runs what it fetches from the network unseen.": "这会未经查看就运行从网络下载的内容。",
    "This would change or delete a whole system or home folder.": "这会更改或删除整个系统文件夹或主目录。",
    "This would delete a whole system or home folder.": "这会删除整个系统文件夹或主目录。",
    "This would overwrite a disk.": "这会覆盖整个磁盘。",
    "This starts itself over and over until the computer stands still.": "这会不断启动自己，直到电脑停止响应。",
    "This leads out of the folders that commands may read in.": "这超出了命令可以读取的文件夹。",
    "{} is not on the list of programs that only read.": "{} 不在只读取内容的程序之列。",
    "{} is an unusual way to write a program's name.": "{} 是程序名的不寻常写法。",
    "{} stands for several words.": "{} 代表多个词。",
    "{} reads every file below a folder, hidden ones too.": "{} 会读取文件夹下的所有文件，包括隐藏文件。",
    "{} with so many names does more than read.": "{} 带这么多名称时不只是读取。",
    "date with a time sets the clock.": "date 带时间参数会设置时钟。",
    "{} is somebody else's folder.": "{} 是别人的文件夹。",
    "{} stands for arguments written in a file.": "{} 代表写在文件中的参数。",
    "{} stands for another folder.": "{} 代表另一个文件夹。",
    "{} stands for hidden files.": "{} 代表隐藏文件。",
    "{} may stand for files that hold something secret.": "{} 可能代表含有机密内容的文件。",
    "{} may stand for an option of find.": "{} 可能代表 find 的选项。",
    "{} may hold something secret.": "{} 可能含有机密内容。",
    "{} is hidden and may hold something secret.": "{} 是隐藏文件，可能含有机密内容。",
    "{} lies outside of the folder the command runs in.": "{} 位于命令运行的文件夹之外。",
    "{} lies outside of the task's folder.": "{} 位于任务文件夹之外。",
    "{} calls up an earlier command in some shells.": "{} 在某些 shell 中会调出之前的命令。",
    "A file named like an option could slip in through this glob.": "通过这个通配符，名称像选项的文件可能会混入。",
    "A file named like an option could slip in through {}; ./{} could not.": (
        "通过 {}，名称像选项的文件可能会混入；用 ./{} 则不会。"
    ),
    "{} is not known to only look.": "不确定 {} 是否只是查看。",
    "{} with these words does more than look.": "{} 带这些参数时不只是查看。",
    "{} is not known to only read.": "不确定 {} 是否只读取内容。",
    "jq needs a filter that can be read for certain.": "jq 需要一个能确切读懂的过滤器。",
    "This jq filter does more than pick out values.": "这个 jq 过滤器不只是取出值。",
    "This use of ps can show what programs were told in secret.": "这样使用 ps 可能会显示程序收到的机密参数。",
    "tar does more than list one archive here.": "这里的 tar 不只是列出一个归档的内容。",
    "sed does more than print lines by their numbers.": "sed 不只是按行号显示内容。",
    "sed with further options does more than print lines.": "sed 带其他选项时不只是显示内容。",
    "test does more than ask about one file.": "test 不只是询问一个文件。",
    "systemctl can change how the computer runs, or start a pager.": (
        "systemctl 可能会改变电脑的运行方式，或启动分页程序。"
    ),
    "{} does more than read.": "{} 不只是读取内容。",
}  # fmt: skip


def in_chinese(sentence: str) -> str:
    """The sentence in Chinese, with what it quotes left as it was; one that is not known stays as it is."""
    if said := IN_CHINESE.get(sentence):
        return said
    for shape, chinese in _shapes():
        if found := shape.fullmatch(sentence):
            return chinese.format(*(in_chinese(part) for part in found.groups()))
    return sentence


@cache
def _shapes() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The sentences that quote something, the wordiest first: those are the most certain."""
    quoting = sorted((english for english in IN_CHINESE if "{}" in english), key=len, reverse=True)
    return tuple(
        (re.compile("(.+)".join(map(re.escape, english.split("{}"))), re.DOTALL), IN_CHINESE[english])
        for english in quoting
    )
