"""The acts that cannot be undone, cost money or bind: a part of the table in `acts`."""

from __future__ import annotations

from agent_core.safety.act import TRASH, Act, act, alone
from agent_core.step import Tier

CRITICAL: tuple[Act, ...] = (
    act(
        "pay",
        Tier.R4,
        rf"pay(?! slip| period)(?: now| with| invoice| bill)?|buy(?: now| it now)?|purchase|check ?out"
        rf"|place (?:your |my |the )?order|order now|{alone('order|transfer')}"
        r"|complete (?:purchase|order|payment)|transfer (?:money|funds|now)"
        r"|wire(?: money)?|withdraw|donate|place (?:your )?bid|start (?:free )?trial|top up"
        rf"|refund|release funds|redeem|cash out|order again|{alone('renew(?: now)?')}"
        rf"|{alone('sell|trade|bid|swap|stake|mint')}"
        r"|confirm (?:the )?(?:payment|order|purchase|transfer)|send (?:money|payment)|make (?:a )?payment",
        r"付款|支付|购买|下单|结算|结账|转账|汇款|捐款|捐赠|提交订单|立即订购|充值|提现|确认订单|退款|卖出|打赏|续费"
        r"|抢购|马上抢|确认收货|(?:发|进)红包",
        r"pay|pays|paying|buy|buying|purchase|order|donate|transfer",
        r"付款|支付|购买|买|下单|转账",
    ),
    act(
        "erase",
        Tier.R4,
        r"(?:delete|remove|close|deactivate|cancel) (?:(?:my|your|this|the) )?account"
        r"|delete (?:all|everything|forever)|(?:permanently|irreversibly) (?!lost)\w+|delete permanently"
        r"|(?:delete|remove|erased?|deleted|removed) (?:\w+ ){0,6}permanently"
        rf"|empty {TRASH}|empty (?:deleted items|junk|spam)|wipe|factory reset"
        r"|erase (?:all|disk|everything|data|device|this)"
        r"|reset (?:this pc|all settings|to factory)|write changes(?: to disk)?"
        r"|format (?:the |this )?(?:\w+ )?(?:disk|drive|volume|partition|card|usb)"
        r"|(?:cannot|can't|can not) be (?:undone|reversed|recovered)|irreversible|initiali[sz]e disk|shred|destroy",
        r"永久删除|彻底删除|清空(?:回收站|废纸篓|垃圾桶|垃圾箱)|格式化|抹掉|抹除|恢复出厂(?:设置)?|注销账[号户]"
        r"|删除账[号户]|全部删除"
        r"|(?:无法|不可|不能)(?:撤销|撤消|恢复|还原|逆)|销毁|擦除",
        r"erase|wipe|format|empty|permanently",
        r"永久|清空|格式化|抹掉",
    ),
    act(
        "consent",
        Tier.R4,
        r"(?:accept|agree to) (?:the |our |these |all )?(?:terms|licen[cs]e|agreement|conditions|eula|contract)"
        rf"|i (?:agree|accept)|(?:agree|accept) (?:and|&) \w+|{alone('agree')}|sign (?:the )?(?:contract|document"
        rf"|agreement)|e-?sign",
        r"(?:同意|接受)(?:并继续|协议|条款|许可)|我(?:已阅读并)?同意|签署|签字",
        r"agree|accept|sign",
        r"同意|接受|签署|签字",
        framed="sign",
    ),
    act(
        "unprotect",
        Tier.R4,
        r"(?:disable|turn off|switch off|deactivate|stop|pause) (?:\w+ ){0,2}"
        r"(?:firewall|antivirus|defender|protection|security|two-factor|2fa|encryption|screen lock|uac)"
        r"|run anyway|(?:proceed|continue) .{0,40}\(?unsafe\)?|enable (?:macros|content)|disable security",
        r"(?:关闭|停用|禁用).{0,6}(?:防火墙|杀毒|防护|保护|安全|两步验证|加密)|仍要运行|启用(?:宏|内容)"
        r"|继续前往.{0,6}不安全",
        r"disable|turn off|switch off|run",
        r"关闭|停用|禁用",
    ),
)
