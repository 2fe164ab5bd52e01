"""Replies to greetings and thanks, which ask nothing about any document."""

import re

from services.text.cleaning import compatible

_NOT_LETTERS = re.compile(r"[^\w]|_")
_REPLIES = (
    (
        re.compile(
            r"(?:你|您|大家|各位)?(?:好|早|早上好|中午好|下午好|晚上好|早安)[啊呀哦]?|h(?:i|ello|ey)|嗨|哈喽|在[吗么不]|在不在",
            re.I,
        ),
        "你好，我在。把文件发到群里，有问题就问我；能做什么发 /help 看。",
    ),
    (
        re.compile(
            r"你(?:是谁|叫什么(?:名字)?|是什么(?:机器人)?|是机器人吗|能做什么|会(?:做)?什么|能干(?:什么|嘛|啥)|会干(?:什么|嘛|啥)|有什么(?:功能|用)"
            r"|怎么用)|(?:自我)?介绍一?下(?:你)?自己|怎么用你?|whoareyou|whatcanyoudo",
            re.I,
        ),
        "我从发到这里的文件里找答案，并写明出处。把文件发出来就会入库，能做什么发 /help 看。",
    ),
    (
        re.compile(
            r"(?:非常|太|多|十分)?(?:谢谢|感谢|多谢|谢了|谢啦|辛苦)(?:你|您|了|啦|大佬|群知)*|th(?:ank(?:s|you)?|x)",
            re.I,
        ),
        "不客气。",
    ),
    (
        re.compile(r"(?:哈|呵|嘿|嘻){2,}|6{2,}|嗯+|哦+|好(?:的|吧|嘞)?|ok(?:ay)?|收到|晚安|再见|拜拜|bye", re.I),
        "在的，有问题就问我。",
    ),
)
_MOST_CHARS = 20


def small_talk_reply(text: str) -> str | None:
    """Return the reply to a message that is only a greeting, thanks or an interjection, or None for any other.

    >>> small_talk_reply("谢谢啦！"), small_talk_reply("你好，宿舍几点熄灯") is None
    ('不客气。', True)
    """
    plain = _NOT_LETTERS.sub("", compatible(text))
    if len(plain) > _MOST_CHARS:
        return None
    return next((reply for pattern, reply in _REPLIES if pattern.fullmatch(plain)), None)
