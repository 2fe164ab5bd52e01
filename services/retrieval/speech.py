"""Spoken Chinese in written form: documents say 什么时候 and 旷课, members of a group say 啥时候 and 翘课.

Only questions are converted. A document that uses the spoken word is still found by the rest of the question and by its
vector, while the usual document would not be found at all.
"""

import re

_END = r"(?=$|[\s,，。.!！?？;；~～…、])"
_HAN = r"\u4e00-\u9fff"
# In order: a later rule sees what the earlier ones made.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"(?:咋个|咋|肿么|怎麽|怎么)(?:整|弄|搞|破|办)(?=呀|啊|呢|吗|哈|呗|[\s,，。.!！?？;；~～…、]|$)", "怎么办"),
        (r"咋地|咋的", "怎么"),
        (r"咋个|咋|肿么|怎麽", "怎么"),
        (r"啥时候|啥时(?![区段期光间刻])|几时|多会儿|多咱", "什么时候"),
        (r"为啥|为嘛", "为什么"),
        (r"干[嘛吗啥](?=的)", "做什么"),
        (r"啥子|啥", "什么"),
        (r"(?:几个|几块|几毛|几多|多)钱|几毛" + _END, "多少钱"),
        (r"哪儿|哪块儿|哪旮", "哪里"),
        (r"几成", "百分之几"),
        (r"(?:来着|呗|嘞|捏|哈|哟|呐|滴)" + _END, ""),
        (rf"(?<=[{_HAN}a-z0-9])(?<![还也都是从并就但要对差有])(?:没有|不|没)" + _END, "吗"),
        # Words that are spoken only, with the one word that rules, contracts and manuals use.
        (r"翘(?:了)?课|逃(?:了)?课", "旷课"),
        (r"爸妈|爹妈", "父母"),
        (r"饭钱", "餐费"),
        (r"销掉", "注销"),
        (r"生娃", "生育"),
        (r"登不上去?|登不了", "无法登录"),
        (r"连不上去?|连不了", "无法连接"),
        (r"装不上去?|装不了", "无法安装"),
        (r"打不开", "无法打开"),
        (r"用不了", "无法使用"),
        (r"电瓶车", "电动车"),
        (r"仨", "三个"),
        (r"俩", "两个"),
    )
)


def written(text: str) -> str:
    """Return a question in the words of written Chinese.

    >>> written("密码忘了肿么办呀"), written("啥时候交 能退不")
    ('密码忘了怎么办呀', '什么时候交 能退吗')
    """
    for pattern, form in _RULES:
        text = pattern.sub(form, text)
    return text
