"""The acts that cost something, and the words by which each is known on the screen and in a request.

Each act has a tier and two patterns over `plain` text, English and Chinese. `shown` finds it on a control or in a
dialog's question; `said` finds it in a request, in the words that people use for it. A word that is often something
else ("order", "post", "book", "format") counts only where it stands alone or with what makes it an act.
"""

from __future__ import annotations

from agent_core.safety.act import TRASH, Act, act, alone
from agent_core.safety.acts_critical import CRITICAL
from agent_core.step import Tier

ACTS: tuple[Act, ...] = (
    *CRITICAL,
    act(
        "send",
        Tier.R3,
        r"(?:re)?send(?! to back| backwards?| to desktop)(?: \w+)?|broadcast",
        r"发送(?!到桌面)|寄出|群发|投递",
        r"(?:re)?send|sends|sending|sent|write to|repl(?:y|ies)(?! with\b)|tell(?! (?:me|us|the time)\b)"
        r"|forward (?:it|this|that|the|all|every|his|her|my)\b"
        r"|(?:e-?mail|mail|message|text)(?! (?:is|are|was|me|us|from|with|that|in|on|of|and|or|as|to|into|below|above"
        r"|only"
        r"|program|app|client|address|editor|box|field|file|area|body|window|list|folder)\b)(?= \w)"
        r"|answer (?:him|her|them|(?:the|this|that|his|her|their|my|every|all) (?:\w+ )?(?:(?:e-?)?mail|message|letter"
        r"|chat)s?)",
        r"发送|发给|发(?:一?[封条个份])|寄|回复|转发|告诉|发邮件|发消息|群发",
    ),
    act(
        "submit",
        Tier.R3,
        r"submit(?: \w+)?|apply now|hand in|turn in|file (?:claim|return|report)",
        r"提交|递交|上报|报名",
        r"submit|submitting|submitted|hand in|turn in|send|sending|file (?:a|my|the|this) (?:\w+ )?(?:claim|return"
        r"|complaint)",
        r"提交|递交|发送|上报",
    ),
    act(
        "publish",
        Tier.R3,
        r"publish(?: \w+)?|post (?:now|comment|reply|message|update|it|anonymously)|tweet|repost|go live"
        r"|share (?:now|with|to|link|publicly|file|screen)|start (?:sharing|recording|broadcast\w*)|make public|vote"
        r"|rsvp|add friend|unfriend|close (?:issue|pull request|ticket)"
        rf"|{alone('post|share|(?:un)?follow|comment|connect')}",
        r"发布|发表|分享|转发|公开|投票|加好友|添加好友|关注",
        r"publish|publishing|post|posting|tweet|share|sharing|vote|unfollow|connect (?:with|to)|rsvp|like|release"
        r"|follow(?! (?:up|this|these|those|the (?:link|instructions?|steps?|guide|path|rules?))\b)|comment(?! (?:line"
        r"|out)\b)"
        r"|close (?:\S+ ){0,3}?(?:issue|pull request|ticket)|(?:up|down)vote|start (?:\S+ ){0,2}?(?:sharing|recording)",
        r"发布|发表|分享|转发|公开|投票|关注|发帖|发微博|加好友|点赞|评论",
        framed="(?:dis)?like|(?:up|down)vote|release|点赞|评论",
    ),
    act(
        "download",
        Tier.R3,
        r"download(?! ?s)(?! list| history| folder)(?: \w+)?",
        r"下载(?!内容|列表|记录|文件夹|目录)",
        r"download|downloading|fetch|save",
        r"下载",
        True,
    ),
    act(
        "upload",
        Tier.R3,
        r"upload(?: \w+)?|(?:im|ex)port (?:contacts|passwords|keys)|drop files here",
        r"上传",
        r"upload|uploading|attach|attaching|hand in",
        r"上传|附上|附件",
        True,
    ),
    act(
        "install",
        Tier.R3,
        r"install(?: \w+)?|update now|install updates?|upgrade(?: now)?|add extension|add to (?:chrome|firefox|edge)",
        r"安装(?!程序目录)|立即更新|升级|添加扩展",
        r"install|installing|set up|update|upgrade|add",
        r"安装|装上|更新|升级|添加",
        True,
    ),
    act(
        "uninstall",
        Tier.R3,
        r"uninstall(?: \w+)?|remove (?:app|program|package|extension)s?",
        r"卸载|移除(?:应用|程序|扩展)",
        r"uninstall|uninstalling|remove|removing|get rid of",
        r"卸载|删除|移除",
        True,
    ),
    act(
        "delete",
        Tier.R3,
        r"delete(?! items)|(?:be|is|are) deleted|remove(?! filters?)"
        rf"|(?:move|moved|send|put) .{{0,80}}\b(?:to|in|into) {TRASH}"
        r"|erased?|purge|drop (?:table|database)|revoke"
        r"|clear (?:\w+ )?(?:history|data|cache|cookies|chats?|conversation|all|everything)|recall message"
        r"|stash drop|drop stash",
        r"删除|删掉|移除|移[到至动](?:回收站|废纸篓|垃圾桶|垃圾箱)|清除(?:所有|全部|数据|(?:历史|浏览)?记录|历史|缓存)"
        r"|放入回收站|撤回|将被删|清空聊天记录",
        r"delete|deletes|deleting|deleted|deletion|remove|removing|removed|removal|trash|erase|bin|clear|clearing"
        r"|discard"
        r"|drop (?:the )?(?:\w+ )?(?:table|database|stash)|wipe|get rid of|throw (?:\S+ ){0,6}?away"
        r"|throw (?:\S+ ){0,6}?out|clean up|clean out|dispose of|purge"
        rf"|(?:put|move|moving|send|throw|drag) (?:\S+ ){{1,8}}?(?:to|in|into) {TRASH}",
        r"删除|删掉|删了|移除|清除|清空|扔掉|丢掉|去掉|移[到至动]?(?:回收站|废纸篓|垃圾桶)|不要了",
        True,
    ),
    act(
        "discard",
        Tier.R3,
        r"discard|don'?t save|do not save|close without saving|without saving|lose (?:your |the )?(?:\w+ )?changes"
        r"|abandon|revert|changes (?:\w+ ){0,3}(?:lost|discarded)|leave (?:this )?(?:page|site)",
        r"丢弃|不保存|放弃|还原更改|舍弃",
        r"discard|without saving|don'?t save|do not save|throw (?:\S+ ){0,6}?away|abandon|revert"
        r"|drop (?:\S+ ){0,2}?(?:changes|draft|edits)",
        r"丢弃|不保存|不要保存|放弃|舍弃",
    ),
    act(
        "overwrite",
        Tier.R3,
        r"overwrite|already exists?|(?:replace|merge) (?:the )?(?:existing |destination )?(?:file|folder|it)s?"
        r"|keep both|replace (?:in (?:the )?destination)",
        r"覆盖|已(?:经)?存在|替换(?:文件|目标|现有)",
        r"overwrite|overwriting|replace|replacing",
        r"覆盖|替换",
        True,
    ),
    act(
        "reset",
        Tier.R3,
        r"change password|reset (?:password|settings|pin|device|app|to defaults?|profile|permissions|network)"
        r"|reset hard"
        r"|(?:regenerate|rotate) \w+|restore (?:(?:to )?defaults?|backup)|roll ?back|restore settings",
        r"重置|修改密码|恢复默认(?:设置)?|还原(?:设置|备份)|回滚",
        r"reset|resetting|restore|restoring|roll back",
        r"重置|恢复|还原|回滚",
    ),
    act(
        "sign out",
        Tier.R3,
        r"(?:sign|log) ?(?:out|off)",
        r"退出登录|注销(?!账)|登出",
        r"(?:sign|log|signing|logging) ?(?:me |us )?(?:out|off)",
        r"退出登录|注销|登出",
    ),
    act(
        "power",
        Tier.R3,
        r"restart(?: now)?|(?:kill|end|terminate) (?:process|task|session)"
        rf"|force quit|(?:stop|terminate) (?:instance|server|service|container|job|vm)|{alone('terminate')}"
        rf"|shut ?down|power off|reboot|hibernate|{alone('suspend')}",
        r"重启|重新启动|关机|休眠|结束(?:任务|进程)",
        r"restart(?:ing)?(?= (?:(?:the|my|this|your) )?(?:computer|pc|mac|machine|system|laptop|device|server|service"
        r"|it)\b|\W*$)"
        r"|shut (?:\S+ ){0,3}?down|shutdown|power off|reboot|hibernate|kill|terminate|force quit|suspend"
        r"|(?:turn|switch) off (?:the |my |this )?(?:computer|pc|mac|machine|laptop|system|device)"
        r"|(?:end|stop) (?:\S+ ){0,3}?(?:task|process|session|instance|server|service)",
        r"重启|重新启动|关机|休眠|关闭电脑",
        framed="kill",
    ),
    act(
        "book",
        Tier.R3,
        rf"book (?:now|it|this|a|the|flight|hotel|room|table|ticket|appointment)|{alone('book')}|reserve(?: \w+)?"
        r"|confirm (?:the |my |your )?(?:booking|reservation|appointment)",
        r"预订|预约|订票|订座",
        r"book|booking|reserve|reserving|order",
        r"预订|预约|订",
        True,
    ),
    act(
        "join",
        Tier.R3,
        r"sign ?up|register now|create (?:my |an? )?account|subscribe(?: now)?|enrol+|join now"
        rf"|{alone('register|join')}",
        r"注册|(?<!取消)订阅|加入|创建账[号户]|开通",
        r"sign (?:\S+ ){0,4}?up|register|registering|create (?:\S+ ){0,2}?account|subscribe|enrol+"
        r"|join(?:ing)? (?:\S+ ){0,4}?(?:meeting|call|group|channel|team|server|class|course|room|chat|club|community"
        r"|list"
        r"|session|conference|game|workspace|organi[sz]ation|waitlist)",
        r"注册|订阅|加入|开通|创建账",
    ),
    act(
        "leave",
        Tier.R3,
        r"unsubscribe|cancel (?:my |the |your |this )?(?:order|subscription|booking|reservation|appointment|plan"
        r"|membership|flight|trip)|leave (?:meeting|group|call|channel|team|server)|end (?:meeting|call)"
        rf"|{alone('block')}|block (?:user|contact|sender|number)|kick(?: \w+)?|ban(?: \w+)?|hang up|report (?:user"
        rf"|abuse|spam)|resign|decline(?: invitation)?",
        r"取消(?:订阅|订单|预订|预约|会员|关注)|退订|退出群|结束会议|拉黑|屏蔽|举报|踢出|移出群|封禁|挂断|解散",
        r"unsubscribe|decline|hang up|resign|kick|ban|block(?! (?:of|letters|text)\b)"
        r"|cancel(?:l?ing)? (?:\S+ ){0,4}?(?:order|subscription|booking|reservation|appointment|plan|membership|flight"
        r"|trip"
        r"|account|invitation|meeting)|report (?:\S+ ){0,4}?(?:spam|abuse|user|post|message|him|her|them)"
        r"|(?:leave|leaving|end) (?:\S+ ){0,3}?(?:meeting|call|group|channel|team|server|chat|room|conversation)",
        r"取消|退订|退出|结束|拉黑|屏蔽|举报|踢|移出|封禁|挂断|解散",
        framed="leave|report",
    ),
    act(
        "authorise",
        Tier.R3,
        rf"(?:always )?allow (?:access|once|always|all)|{alone('(?:always )?allow|accept(?: all| invitation)?')}"
        rf"|authori[sz]e(?: \w+)?|grant (?:access|permission)"
        r"|trust \w+|give access|open anyway|keep anyway|make (?:owner|admin)|approve(?: \w+)?"
        r"|transfer ownership|add (?:member|admin|user|collaborator)s?|invite (?:people|members?|users?"
        r"|collaborators?)",
        r"授权|允许|信任|授予|批准|审批通过|^同意$|^接受$|^通过$|^驳回$",
        r"allow|allowing|accept(?! (?:the |all )?cookies)|authori[sz]e|grant|trust|approve|approving|reject|invite|pair"
        r"|give (?:\S+ ){0,4}?(?:access|permission|rights?)|add (?:\S+ ){0,4}?(?:member|admin|user|collaborator)s?"
        r"|transfer (?:\S+ ){0,3}?ownership",
        r"授权|允许|信任|批准|同意|通过|驳回",
        framed="invite|reject|pair|邀请",
    ),
    act(
        "release",
        Tier.R3,
        rf"merge pull request|{alone('merge|push|execute')}|deploy(?: \w+)?|force (?:push|pull)|run (?:script|query)"
        r"|commit and push|(?:squash|rebase) and merge|push to \w+|launch instance",
        r"部署|合并请求|推送|执行",
        r"merge|merging|deploy|deploying|push(?:ing)?(?! (?:\"\"|(?:the |on )?(?:\"\" )?(?:button|key)))|execute"
        r"|commit|pull|rebase"
        r"|run(?:ning)?(?! through)|launch",
        r"部署|合并|推送|执行|运行|上线",
        True,
        framed="run|commit|pull|rebase|运行|合并",
    ),
    act(
        "call",
        Tier.R3,
        rf"(?:call|dial) now|(?:start|accept|answer) (?:video |voice )?call|{alone('call|dial')}",
        r"拨打|呼叫|拨号|视频通话|语音通话|接听",
        r"call(?:ing)?(?! (?:it|this|that|\"\"|(?:the|a) (?:\w+ )?(?:file|folder|document|sheet))\b)|dial|phone"
        r"|hang up",
        r"打电话|拨打|呼叫|通话|接听",
        framed="(?:video|voice) call",
    ),
    act(
        "switch off",
        Tier.R3,
        r"forget (?:this |the )?(?:network|device|wi-?fi)|unpair(?: \w+)?|disable (?:account|user|service|device)",
        r"(?:忘记|忽略)(?:此|该)?网络|取消配对|停用|禁用",
        r"forget|unpair|turn off|turn .{1,40} off|switch off|disable|deactivate|disconnect",
        r"忘记|忽略|取消配对|停用|禁用|关闭|断开",
        True,
        framed="forget|turn off|switch off|disable|deactivate|disconnect",
    ),
    act(
        "print",
        Tier.R3,
        r"print (?:now|\d+ \w+)",
        r"立即打印",
        r"print|printing|prints",
        r"打印",
        framed="print|打印",
    ),
    act(
        "close",
        Tier.R3,
        alone(r"(?:quit|exit)(?: \w+)?|close (?:window|all|all tabs|program|application)"),
        r"退出(?!登录|群)(?:程序|应用)?|关闭(?:窗口|所有)",
        r"close|closes|closed|closing|quit|quitting|exit|exiting|shut|leave|end",
        r"关闭|关掉|退出|关上",
    ),
    act(
        "sign in",
        Tier.R2,
        rf"{alone('(?:sign|log) ?in(?: with [^ ]+)?')}|continue with (?:google|apple|facebook|microsoft|github)",
        r"(?<!退出)登[录陆](?!名|方式|记录)",
        r"(?:sign|log|signing|logging) ?(?:\S+ ){0,6}?in(?:to)?|login|authenticate|username|password|press login",
        r"登[录陆]",
    ),
)
