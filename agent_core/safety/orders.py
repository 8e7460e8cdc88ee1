"""The patterns by which text that gives orders is known: instructions to an assistant, commands, fake dialogs.

Each is (kind, a text without which it cannot match, the pattern), over a screen's text made plain. The second part is
there for speed alone; empty where nothing short is common to all that the pattern means.
"""

from __future__ import annotations

_WHO = (
    r"(?:ai|a\.i\.|assistants?|agents?|chat ?bots?|bots?|llms?|language models?|deskhand|claude|chatgpt|gpt|copilot"
    r"|gemini|ui-?tars|automated (?:systems?|assistants?|agents?))"
)
_DO = (
    r"(?:click|press|run|type|open|download|copy|paste|execute|visit|enter|go to|send|delete|ignore|install|navigate"
    r"|use|follow|perform|buy|transfer|reveal|forward|upload|grant|disable)"
)
_PAST = r"(?:previous|prior|above|earlier|preceding|past|other|original|former|user'?s?|owner'?s?)"
_RULES = (
    r"(?:instructions?|prompts?|messages?|rules?|commands?|directions?|tasks?|requests?|orders?|guidelines|context"
    r"|polic(?:y|ies)|restrictions?|guidance)"
)
_SHELL = r"(?:terminal|command (?:prompt|line)|console|powershell|cmd|shell|run (?:box|dialog|window|prompt))"

# (kind, a word without which the pattern cannot match, the pattern)
ANYWHERE: tuple[tuple[str, str, str], ...] = (
    ("order", "gnor", rf"[il1]gnor(?:e|ing) (?:(?:all|any|your|the|my|these|those|of) )*{_PAST} (?:\w+ )?{_RULES}"),
    (
        "order",
        "ignore",
        r"ignore (?:everything|anything|all) (?:above|before|previously|you were told|the user)"
        r"|ignore the user\b|ignore all instructions\b",
    ),
    ("order", "user", r"(?:do not|don't) (?:follow|obey|listen to) the user\b|disregard the user\b"),
    ("order", "you were", r"(?:disregard|forget|ignore) what you were (?:asked|told)"),
    ("order", "", rf"\b{_WHO}\b (?:that (?:is |are )?)?(?:reading|viewing|processing|seeing|parsing) (?:this|the)\b"),
    ("order", "as a", rf"\bas an? (?:\w+ )?{_WHO}\b,? you (?:must|need|should|have)\b"),
    ("order", "", rf"\b{_WHO}\b (?:must|should) (?:say yes|approve|accept|agree)\b"),
    ("order", "only", rf"\b(?:for|to) {_WHO} only\b"),
    ("order", "instruction", r"\b(?:ai|llm|agent|bot) instructions? ?:"),
    ("order", "system", r"\bsystem\]? ?:? ?(?:override\b|new (?:task|instruction))"),
    (
        "order",
        "you are",
        rf"(?:from now on,? you are|you are authori[sz]ed to) (?:an? )?(?:unrestricted|root|{_WHO}|{_DO})\b",
    ),
    (
        "order",
        "your",
        rf"your instructions (?:have been|were) (?:updated|changed|replaced)"
        rf"|your task (?:has been|was) (?:updated|changed) ?: ?(?:please )?{_DO}\b|(?:to )?complete your task,? (?:you"
        rf"|the agent)\b",
    ),
    (
        "order",
        "user",
        r"(?:new|updated) (?:task|request|instructions?) from (?:the |your )?user\b|updated user (?:request|task"
        r"|instructions?)"
        r"|the user (?:has )?(?:changed|updated) (?:the|their|his|her) (?:task|request|mind)"
        r"|(?:no need|not necessary) to (?:ask|tell|inform|notify) the user\b",
    ),
    ("order", "until", r"task is not (?:complete|done|finished) until\b"),
    ("order", "ask", r"(?:do not|don't|without) ask(?:ing)? for (?:permission|confirmation|approval)(?! again)"),
    ("order", "from", r"\bmessage is from (?:anthropic|openai|the developers? of)\b"),
    ("order", "prompt", r"\bhidden prompt\b"),
    (
        "order",
        "",
        rf"(?:disregard|forget|override|bypass) (?:(?:all|any|your|the|my|these|of) )*{_PAST} (?:\w+ )?{_RULES}",
    ),
    (
        "order",
        "",
        rf"(?:disregard|forget) (?:everything|all) (?:above|before|you|previous)|(?:forget|disregard) your {_RULES}",
    ),
    ("order", "", rf"\b{_WHO}\b ?[:,;!-]+ ?(?:please |now |you |must |immediately |do not |first )*{_DO}\b"),
    (
        "order",
        "",
        rf"\b{_WHO}\b (?:must|should|needs? to|have to|has to|are required to|is required to|will now) (?:now "
        rf"|first )?{_DO}\b",
    ),
    (
        "order",
        "",
        r"(?:attention|note|message|instructions?|hey|hello|dear|memo|notice|important)[ ,:]+(?:to "
        rf"|for )?(?:all |the |any )?{_WHO}\b",
    ),
    (
        "order",
        "",
        r"(?:new|updated|real|actual|important|urgent|special|hidden|secret) (?:system )?(?:instructions?"
        rf"|tasks?|prompts?|directives?|orders?) (?:for|to) (?:the |an |any |all )?{_WHO}\b",
    ),
    ("order", "if you", rf"if you(?: are|'re) (?:an? )?(?:\w+ )?{_WHO}\b"),
    ("order", "prompt", r"\b(?:your|new|updated|reveal|print|show|the) system prompt\b|system prompt ?:"),
    ("order", "<", r"<\|?(?:im_start|system|assistant|endoftext)\|?>|\[/?inst\]|<system>"),
    (
        "order",
        "system",
        r"^\W*(?:system|admin(?:istrator)?|developer)(?: message| override| instruction| notice)? ?: .{0,60}\b(?:y"
        r"ou|agent|assistant|must|ignore)\b",
    ),
    (
        "order",
        "you are",
        rf"you are now (?:an? )?(?:\w+ )?(?:{_WHO}|root|unrestricted|jailbroken|dan|evil|in \w+ mode"
        r"|acting as|operating|authori[sz]ed to|allowed to|free (?:to|from))\b",
    ),
    (
        "order",
        "your",
        r"your (?:new|real|actual|true|only) (?:task|goal|objective|mission|instruction|job|purpose) (?:is"
        r"|:)",
    ),
    (
        "order",
        "",
        r"(?:do not|don'?t|never|without) (?:tell|inform|notify|alert|warn|telling|informing|notifying"
        r"|alerting|ask|asking|mention (?:this|it) to) (?:\w+ )?(?:the |your |this )?(?:user|human"
        r"|owner|operator)\b",
    ),
    (
        "order",
        "user",
        r"the (?:user|owner|human) (?:has )?(?:already )?(?:approved|authori[sz]ed|consented|agreed to"
        r"|allowed|confirmed) (?:this|the|all|it|every)",
    ),
    (
        "order",
        "",
        r"(?:developer|god) mode (?:is )?(?:now )?(?:enabled|activated"
        r"|on)\b|safety (?:checks?|rules?) (?:are |is )?(?:off|disabled|suspended)",
    ),
    (
        "command",
        "",
        r"(?:run|execute|enter|issue|launch|invoke|type|paste|copy) (?:\w+ ){0,4}(?:following"
        r"|this|these|below)(?: \w+){0,3} (?:command|script|code|one-?liner)",
    ),
    ("command", "command", r"(?:run|execute|type|enter|issue) the command\b"),
    (
        "command",
        "",
        r"(?:paste|type|enter|copy|run|put|execute)\b.{0,60}\b(?:in|into|inside|to) (?:a|the"
        rf"|your|an)? ?(?:\w+ )?{_SHELL}\b",
    ),
    ("command", "", rf"open (?:a|an|the|your|up a)? ?{_SHELL}\b.{{0,40}}\b(?:run|type|paste|enter|execute|and)\b"),
    (
        "command",
        "",
        r"(?:press|hit|hold|use|push) (?:the )?(?:win(?:dows)?(?: logo)?(?: key)?|super|⊞)(?: key)? ?(?:\+"
        r"|and|-|plus) ?(?:the )?[\"']?(?:r|x)\b",
    ),
    ("command", "ctrl", r"(?:press|hit) ctrl ?(?:\+|-) ?v\b.{0,40}\b(?:enter|return|ok)\b"),
    (
        "code",
        "|",
        r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|base64|echo)\b[^\n]{2,240}\| ?(?:sudo )?(?:(?:ba"
        r"|z|da|k|fi)?sh|python\d?|perl|ruby|node|iex|invoke-expression)\b",
    ),
    ("code", "curl", r"\b(?:ba|z|da)?sh (?:-c )?[\"']?(?:<\(|\$\() ?(?:curl|wget)"),
    ("code", "rm", r"\brm (?:-\w+ )*-\w*[rf]\w*(?: -\w+)* +(?!\w+ing\b)[\w/~.*$\"'{-]"),
    (
        "code",
        "powershell",
        r"\bpowershell(?:\.exe)? .{0,60}-(?:e|ec|en|enc|encodedcommand|nop|noprofile|ep|exec\w*"
        r"|w|windowstyle|c|command)\b",
    ),
    (
        "code",
        "",
        r"\bmshta(?:\.exe)? (?:https?|javascript|vbscript)|\bcertutil .{0,20}-(?:urlcache|decode)"
        r"|\bregsvr32 .{0,10}/s|\brundll32 |\bcmd(?:\.exe)? /[ck] |\biex ?\(",
    ),
    (
        "code",
        "",
        r"\bsudo (?:rm|dd|chmod|chown|bash|sh|curl|apt|mkfs|visudo|tee|su)\b|\bdd if=\S+ of=|\bmkfs\."
        r"|\bchmod (?:\+x|[0-7]{3,4}) \S|/dev/tcp/|:\(\) ?\{",
    ),
    ("code", "base64", r"base64 (?:-d|--decode)\b|frombase64string"),
    ("code", "-", r"\bpython\d? -c [\"']|\bnc (?:-\w+ )*-e\b|\bosascript -e\b|\bperl -e\b"),
    (
        "fake",
        "deskhand",
        r"\bdeskhand (?:wants?|would like|needs?|is asking|asks?|requests?|requires?|has approved"
        r"|approval|must)\b|\b(?:allow|approve|trust) deskhand\b",
    ),
    (
        "fake",
        "your",
        r"your (?:computer|pc|mac|device|system|browser|windows) (?:\w+ ){0,3}(?:infected|hacked"
        r"|blocked|locked|compromised|at risk|corrupted)",
    ),
    (
        "fake",
        "",
        r"(?:call|dial) (?:\w+ ){0,3}(?:support|helpline|technicians?|help ?desk|microsoft"
        r"|apple)\b.{0,30}\d{3}|\b(?:virus(?:es)?|trojan|malware|spyware) (?:was |were |has been "
        r"|have been )?(?:detected|found)",
    ),
    (
        "fake",
        "account",
        r"your account (?:has been|will be|is) (?:suspended|locked|limited|disabled|closed|terminated).{0,120}(?:v"
        r"erify|confirm|click|password|log ?in|sign ?in)",
    ),
    ("fake", "claim", r"claim your (?:prize|reward|gift|winnings)"),
    (
        "order",
        "",
        r"(?:忽略|无视|忘记|忘掉|不要理会|跳过).{0,8}(?:之前|以上|上面|先前|前面|此前|所有|一切|原来"
        r"|用户)的?.{0,6}(?:指令|指示|提示|命令"
        r"|说明|要求|规则|任务|内容)",
    ),
    (
        "order",
        "",
        r"(?:人工智能|\bai|智能)?(?:助手|助理|代理|智能体|机器人|大?模型)[,:!、 ]+(?:请|现在|立即|务必|必须|你)*"
        r"(?:点击|运行|打开|输入"
        r"|执行|删除|发送|下载|访问|复制|粘贴|忽略|购买|转账)",
    ),
    (
        "order",
        "",
        r"(?:助手|代理|智能体|机器人|模型)(?:必须|应该|应当|需要|务必|请)(?:立即|马上|现在)?(?:点击|运行|打开|输入"
        r"|执行|删除|发送|下载|访问|复制"
        r"|粘贴)",
    ),
    (
        "order",
        "",
        r"(?:不要|别|请勿|不得|无需|不必)(?:告诉|通知|告知|询问|提醒|惊动)(?:用户|主人|使用者|机主)|(?:你|您)的(?:新"
        r"|真正的?|实际)(?:任务"
        r"|目标|指令)(?:是|:)|系统提示词|如果你是.{0,6}(?:助手|代理|智能体|模型|机器人|ai(?![a-z]))|用户(?:已经?"
        r"|早已)(?:同意|授权|批准|允许)",
    ),
    (
        "order",
        "",
        r"(?:助手|智能体|代理|模型|ai)请?注意.{0,10}(?:点击|运行|打开|输入|执行|删除|发送|下载|访问|复制|粘贴|转账)"
        r"|(?:你|您)的任务已经?(?:更新|更改|变更) ?[:,]|从现在(?:起|开始).{0,4}你(?:是|就是)|新的?(?:指令|指示) ?[:]",
    ),
    (
        "command",
        "",
        r"(?:运行|执行|输入|粘贴|键入|敲入).{0,8}(?:以下|下面|下列|这[条个段行]|如下).{0,6}(?:命令|脚本|代码|指令)"
        r"|(?:粘贴|输入|复制"
        r"|敲入|键入).{0,20}(?:到|进|入|在)(?:终端|命令行|命令提示符|控制台|运行框|运行窗口)|(?:在|打开)(?:终端|命令行"
        r"|命令提示符|控制台|运行窗口)[^。]{0,12}(?:运行"
        r"|执行|输入|粘贴)|按下?.{0,3}win(?:dows)?.{0,4}\+ ?r\b",
    ),
    (
        "fake",
        "",
        r"\bdeskhand ?(?:想要?|请求|需要|要求|申请)|(?:您|你)的(?:电脑|计算机|设备|手机|系统|浏览器).{0,8}"
        r"(?:感染|中毒|病毒|被锁定"
        r"|被黑|存在风险|受损)|拨打.{0,14}(?:客服|技术支持|热线)",
    ),
)
ON_PAGES: tuple[tuple[str, str, str], ...] = (
    ("fake", "", r"session (?:has )?(?:expired|timed out).{0,100}\bpassword"),
    (
        "fake",
        "password",
        r"(?:re-?enter|confirm|enter|verify|type) your (?:\w+ ){0,2}(?:windows|system|computer"
        r"|desktop|sudo|root|admin(?:istrator)?|keyring|login) (?:\w+ )?password",
    ),
    ("fake", "", r"(?:会话|登录)已?(?:过期|超时|失效).{0,30}密码|(?:重新)?输入.{0,6}(?:系统|电脑|管理员|开机)密码"),
)
