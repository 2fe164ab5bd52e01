"""Spellings of one word: variants that writers mix, folded before texts are compared.

A variant is folded only where both spellings mean the same, or where the second one means nothing else. Synonyms do not
belong here, because texts are compared by their folded forms, no matter who wrote them.
"""

import re

# Single characters: 帐号 and 账号, 缴费 and 交费.
CHARACTERS = {"帐": "账", "缴": "交"}
_WORDS = {
    "登陆": "登录",
    "登入": "登录",
    "其它": "其他",
    "部份": "部分",
    "成份": "成分",
    "身分": "身份",
    "纪录": "记录",
    "模版": "模板",
    "阀值": "阈值",
    "按装": "安装",
    "通迅": "通讯",
    "撤消": "撤销",
    "时侯": "时候",
    "查寻": "查询",
    "联接": "连接",
    "图象": "图像",
    "想像": "想象",
    "预定": "预订",
    "签定": "签订",
    "制订": "制定",
    "座落": "坐落",
    "坐位": "座位",
    "反覆": "反复",
    "帮定": "绑定",
    "惟一": "唯一",
    "甚么": "什么",
    "周天": "周日",
}
_WEEKDAY = r"(?:星期|礼拜)(?P<day>[一二三四五六日天])"
_VARIANT = re.compile(f"{_WEEKDAY}|{'|'.join(_WORDS)}")


def folded(text: str) -> str:
    """Return a text in simplified characters with one spelling for each word; folding it again changes nothing.

    >>> folded("其它登陆方式"), folded("礼拜天")
    ('其他登录方式', '周日')
    """
    return _VARIANT.sub(_fold, text)


def _fold(variant: re.Match[str]) -> str:
    if day := variant["day"]:
        return "周" + day.replace("天", "日")
    return _WORDS[variant[0]]
